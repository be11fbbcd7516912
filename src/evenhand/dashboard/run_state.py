"""Where a search stands, read from its folder alone: what it was asked, how far it has come, and whether its process still lives."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from evenhand.disk import read_bytes
from evenhand.errors import StoreError

ENDS = {"finished": "finished", "interrupted": "interrupted", "failed": "failed", "crashed": "failed"}
"""Events of a log after which nothing goes on, and what they leave the search as."""


@dataclass(frozen=True)
class LogLine:
    """One event of a search."""

    moment: float
    event: str
    detail: str = ""


@dataclass(frozen=True)
class SearchProgress:
    """How far a search has come, by what it has kept."""

    state: str  # running, finished, interrupted, failed, or stopped: its process is gone
    judged: int = 0
    findings: int = 0
    total: int | None = None  # candidates of the budget
    since: float = 0.0  # when it began, or was continued
    detail: str = ""
    process: int | None = None

    @property
    def share(self) -> float | None:
        """Of the budget; None where it is not counted in candidates."""
        return min(1.0, self.judged / self.total) if self.total else None

    @property
    def words(self) -> str:
        """For a reader."""
        of = f" of {self.total:,}" if self.total else ""
        return f"{self.judged:,}{of} judged, {self.findings:,} findings"


def progress_of(folder: Path, budget: Mapping[str, Any]) -> SearchProgress:
    """How far the search in this folder has come."""
    log = read_log(folder)
    state, process = state_of(folder, log), lock_owner(folder)
    begun = [line.moment for line in log if line.event in ("created", "resumed")]
    total = budget.get("candidates")
    last = log[-1] if log else LogLine(0.0, "")
    return SearchProgress(
        state,
        rows_of(folder / "journal"),
        rows_of(folder / "findings"),
        total if isinstance(total, int) else None,
        begun[-1] if begun else 0.0,
        last.detail if state == "failed" else "",
        process if state == "running" else None,
    )


def state_of(folder: Path, log: list[LogLine]) -> str:
    """What has become of the search."""
    if (folder / "result.json").exists():
        return "finished"
    last = log[-1].event if log else ""
    if last in ENDS:
        return ENDS[last]
    return "running" if lock_owner(folder) is not None else "stopped"


def lock_owner(folder: Path) -> int | None:
    """The living process that holds the folder; None where there is none."""
    try:
        process = int((folder / "lock").read_text(encoding="ascii") or 0)
        os.kill(process, 0) if process > 0 else None
    except PermissionError:  # it lives, and belongs to somebody else
        return process
    except (OSError, ValueError, OverflowError):
        return None
    return process or None


def read_log(folder: Path) -> list[LogLine]:
    """The events of a search; lines that cannot be read are passed over."""
    try:
        lines = read_bytes(folder / "log.jsonl", 10_000_000).decode("utf-8", "replace").splitlines()
    except StoreError:
        return []
    return [line for line in (_line(text) for text in lines) if line is not None]


def _line(text: str) -> LogLine | None:
    try:
        told = json.loads(text)
        return LogLine(datetime.fromisoformat(told["time"]).timestamp(), str(told["event"]), str(told.get("detail", "")))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def rows_of(folder: Path) -> int:
    """How many rows the Parquet parts in a folder have together."""
    return sum(rows_in(part, part.stat().st_size) for part in parts_in(folder))


def parts_in(folder: Path) -> list[Path]:
    """The parts of a search, in the order of their making."""
    return sorted(folder.glob("part-*.parquet"))


@lru_cache(maxsize=100_000)
def rows_in(part: Path, size: int) -> int:  # noqa: ARG001 - a part of another size is another part
    """The rows of one part; parts never change once they are there."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        return int(parquet.read_metadata(part).num_rows)
    except (OSError, pa.ArrowException):
        return 0
