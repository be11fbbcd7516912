"""Cells of the papers' tables, kept between runs: an interrupted item goes on where it stopped, and nothing stale is ever shown.

A cell is found by its parameters and the versions of what it was computed with.  It holds only where every file of the repository that was
imported or opened while it was computed, and every data file named with it, has the same content.  Files of the repository are named as
they are within it, so that a cell that one checkout has kept is judged by the files of the checkout that asks.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pace import PACE

from evenhand.disk import write_whole
from evenhand.synthesis.learning import cache_folder

ROOT = Path(__file__).resolve().parents[1]
BUILT_WITH = ("numpy", "scipy", "scikit-learn", "torch", "onnxruntime", "opencv-python-headless")
KEPT_KINDS = (".csv", ".npz", ".yaml", ".json", ".onnx", ".parquet", ".gz")
WORDED = ("_items", "_setup", "setups", "overviews", "picture_sheets", "face_cells", "redone", "inventory", "__main__")
_opened: set[Path] = set()


@cache
def digest(path: Path, size: int, changed: int) -> str:  # noqa: ARG001 - part of the key
    """The content of a file; its size and time of change spare reading it twice."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def content_of(path: Path) -> str:
    """What identifies a file's content; empty for a file that is gone."""
    if not path.is_file():
        return ""
    told = path.stat()
    return digest(path, told.st_size, told.st_mtime_ns)


def _listen(event: str, given: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(given[0], str) and given[0].endswith(KEPT_KINDS) and str(given[1] or "r").startswith("r"):
        _opened.add(Path(given[0]))


sys.addaudithook(_listen)


def files_used(work: Callable[[], Any], data: Iterable[Path] = ()) -> dict[str, str]:
    """Every file of the repository that this process has imported or opened so far, and the data named, each with its content.

    Modules that only word and lay out pages are left out, unless the work itself stands in one.
    """
    listed = [(name, getattr(module, "__file__", None)) for name, module in list(sys.modules.items())]
    modules = [Path(file) for name, file in listed if file and not (name.endswith(WORDED) and name != work.__module__)]
    given = [each for path in data for each in ([path] if path.is_file() else sorted(path.rglob("*"))) if each.is_file()]
    ours = [path for path in (*modules, *_opened) if ROOT in path.resolve().parents and ".venv" not in path.parts]
    known = {_named(path.resolve()): content_of(path) for path in (*ours, *given)}
    return {path: content for path, content in sorted(known.items()) if content}


def _named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix() if ROOT in path.parents else str(path)


@cache
def versions() -> dict[str, str]:
    """Python and the packages that figures rest on."""
    found = {"python": platform.python_version()}
    for name in BUILT_WITH:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@dataclass(frozen=True)
class Cell:
    """What was computed, what it rests on, and what it cost."""

    value: Any
    rests_on: Mapping[str, str]
    cpu_seconds: float
    unit: float = 0.0  # CPU-seconds of the yardstick about the time when it was computed; 0 where that is not known

    @property
    def holds(self) -> bool:
        """Whether everything that it rests on is as it was."""
        return all(content_of(ROOT / path) == content for path, content in self.rests_on.items())


@dataclass
class Cells:
    """Cells in a folder, one file each; what they have cost is known, whenever that was."""

    folder: Path = field(default_factory=lambda: cache_folder() / "papers")
    is_fresh: bool = False
    _taken: dict[Path, Cell] = field(default_factory=dict)

    @property
    def spent(self) -> float:
        """CPU-seconds of all cells taken."""
        return sum(cell.cpu_seconds for cell in self._taken.values())

    def sorts(self, unit: float) -> float:
        """What they cost in sorts, each by the pace of its own time; by this unit where that is not known."""
        return sum(cell.cpu_seconds / (cell.unit or unit) for cell in self._taken.values())

    def take(self, name: str, parameters: Mapping[str, Any], work: Callable[[], Any], data: Iterable[Path] = ()) -> Any:
        """The value under these parameters: kept, or computed now and kept."""
        path = self.folder / f"{self.key(name, parameters)}.json"
        cell = self._taken.get(path) or (None if self.is_fresh else self._kept(path))
        if cell is None:
            cell = self._computed(work, data)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, json.dumps(asdict(cell)))
        self._taken[path] = cell
        return cell.value

    @staticmethod
    def key(name: str, parameters: Mapping[str, Any]) -> str:
        """The name of a cell's file."""
        told = json.dumps([name, sorted(parameters.items()), sorted(versions().items())], default=str)
        return f"{name}-{hashlib.sha256(told.encode()).hexdigest()[:20]}"

    @staticmethod
    def _kept(path: Path) -> Cell | None:
        try:
            cell = Cell(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        return cell if cell.holds else None

    @staticmethod
    def _computed(work: Callable[[], Any], data: Iterable[Path]) -> Cell:
        begun = time.process_time()
        value = json.loads(json.dumps(work(), default=float))  # what a kept cell would give
        spent = time.process_time() - begun
        return Cell(value, files_used(work, data), spent, PACE.now())
