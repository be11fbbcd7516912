"""How a neural generator is trained: epochs with progress, early stop, checkpoints to resume from.  Knows no network.

Every epoch draws from generators made of (seed, epoch), so a resumed training equals an uninterrupted one, and the global
state of no library is touched.  Files are npz archives of plain arrays with a JSON header; nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Rows
from evenhand.contract import Headway, Watch
from evenhand.disk import whole_file
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import StoreError
from evenhand.limits import Count, check_limits

HEADER = "header"


@dataclass(frozen=True)
class Schedule:
    """Outer conditions of a training.

    patience: stop after this many looks without a closer match to the data, and keep the closest; None trains to the end
    look_every: epochs between two looks
    checkpoint: a file that is written every `save_every` epochs, and continued from where it exists
    watch: is told of every epoch, with its losses and how far samples are from the data where that was looked at
    """

    patience: Count | None = None
    look_every: Count = 5
    checkpoint: Path | None = None
    save_every: Count = 10
    watch: Watch | None = None

    def __post_init__(self) -> None:
        check_limits(self)


class Learner(Protocol):
    """A training under way."""

    def epoch(self, number: int) -> dict[str, float]:
        """Train one epoch; its losses."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that the next epoch depends on."""

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up a state."""

    def distance(self) -> float:
        """How far samples are from the data."""


def train(learner: Learner, epochs: int, schedule: Schedule, header: Mapping[str, Any]) -> int:
    """Run the epochs that are not behind yet; returns how many the learner has seen.  `header` guards the checkpoint."""
    best = _BestState(schedule)
    first = _resume(learner, best, schedule, header)
    for number in range(first, epochs):
        if best.is_over:
            break
        losses = learner.epoch(number)
        looked = best.look(learner, number) if schedule.patience is not None and (number + 1) % schedule.look_every == 0 else None
        if schedule.watch:
            schedule.watch(Headway("epochs", number + 1, epochs, _told(losses, looked)))
        if schedule.checkpoint and ((number + 1) % schedule.save_every == 0 or number + 1 == epochs or best.is_over):
            write_arrays(schedule.checkpoint, {**learner.state(), **best.state()}, {**header, "epoch": number + 1})
        first = number + 1
    if best.best is not None:
        learner.restore(best.best)
    return first


def _told(losses: Mapping[str, float], distance: float | None) -> str:
    known = losses if distance is None else {**losses, "distance": distance}
    return ", ".join(f"{name} {value:.4g}" for name, value in known.items())


class _BestState:
    """Early stop: the closest state so far and how long ago it was."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.best: dict[str, NDArray[Any]] | None = None
        self.closest, self.idle = float("inf"), 0

    @property
    def is_over(self) -> bool:
        """Whether the patience has ended."""
        return self.schedule.patience is not None and self.idle >= self.schedule.patience

    def look(self, learner: Learner, number: int) -> float:  # noqa: ARG002
        """Compare samples with the data."""
        distance = learner.distance()
        if distance < self.closest:
            self.best, self.closest, self.idle = learner.state(), distance, 0
        else:
            self.idle += 1
        return distance

    def state(self) -> dict[str, NDArray[Any]]:
        """For the checkpoint."""
        kept = {f"best.{name}": array for name, array in (self.best or {}).items()}
        return kept | {"watch": np.array([self.closest, self.idle])}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """From the checkpoint."""
        self.closest, self.idle = float(arrays["watch"][0]), int(arrays["watch"][1])
        self.best = {name.removeprefix("best."): a for name, a in arrays.items() if name.startswith("best.")} or None


def _resume(learner: Learner, best: _BestState, schedule: Schedule, header: Mapping[str, Any]) -> int:
    path = schedule.checkpoint
    if path is None or not path.exists():
        return 0
    arrays, found = read_arrays(path)
    if {name: found.get(name) for name in header} != json.loads(json.dumps(dict(header))):
        raise StoreError(f"checkpoint {path} belongs to another training (other data, parameters or seed); name another file or remove it")
    learner.restore({name: array for name, array in arrays.items() if not name.startswith("best.") and name != "watch"})
    best.restore(arrays)
    return int(found["epoch"])


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
    """Write plain arrays and a JSON header; the file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as new, new.open("wb") as file:
        kept: dict[str, Any] = {HEADER: np.array(json.dumps(dict(header))), **arrays}
        np.savez(file, **kept)


def read_arrays(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Arrays and header of a file that `write_arrays` made."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        if not all(isinstance(array, np.ndarray) for array in arrays.values()):
            raise ValueError("an entry is no array")  # NumPy hands out the bytes of one that does not begin as an array
        return arrays, json.loads(str(arrays.pop(HEADER)))
    except FileNotFoundError:
        raise StoreError(f"there is no file {str(path)!r}") from None
    except (ValueError, OSError, KeyError, zipfile.BadZipFile) as fault:
        raise StoreError(f"{path} is not a readable archive of plain arrays: {fault}") from fault


@contextmanager
def one_thread(torch: Any) -> Iterator[None]:
    """Small networks train fastest on one thread, and alike on every machine; the former number is put back."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def digest(rows: Rows, domain: TabularDomain, *more: object) -> str:
    """A short text that is equal for equal data, columns and parameters."""
    made = hashlib.sha256(repr((domain.columns, *more)).encode())
    made.update(np.ascontiguousarray(rows).tobytes())
    return made.hexdigest()[:24]


def cache_folder() -> Path:
    """Where trained generators are kept: $EVENHAND_CACHE, else the user's cache folder."""
    named = os.environ.get("EVENHAND_CACHE")
    if named:
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "evenhand"
