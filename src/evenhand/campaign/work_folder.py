"""Work that is kept while it goes on, for verbs that are no search: what fixes it, a lock, a log, and a shelf of finished tasks.

The same command with the same data and model finds its folder again and goes on with what is missing.
"""

from __future__ import annotations

import hmac
import os
import pickle
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cloudpickle

from evenhand.disk import locked, own_seal, private_folder, read_bytes, sealed, write_whole
from evenhand.engine.store import append_event, read_events, run_id
from evenhand.errors import StoreError

SEAL_BYTES = 65
"""A seal in hexadecimal digits and the end of its line stand before the content."""
QUIET_EVENTS = ("created", "started", "finished")
MOST_BYTES = 1 << 32


@dataclass(frozen=True)
class WorkFolder:
    """The folder of one piece of work."""

    path: Path
    fixed: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, base: Path, verb: str, fixed: Mapping[str, Any]) -> WorkFolder:
        """The folder of what these entries fix, below `base`."""
        return cls(base / "work" / f"{verb}-{run_id(fixed)}", fixed)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold it for this process; what happens to it is logged."""
        with ExitStack() as stack:
            try:
                private_folder(self.path.parent)
                private_folder(self.path)
                stack.enter_context(locked(self.path / "lock"))
                self._begin()
            except OSError as fault:
                raise _unwritten(self.path, fault) from fault
            try:
                yield
            except KeyboardInterrupt:
                self.log("interrupted")
                raise
            self.log("finished")

    def _begin(self) -> None:
        header = self.path / "fixed.json"
        if not header.exists():
            write_whole(header, sealed({"format": 1, **self.fixed}, str), private=True)
        before = [event["event"] for event in self.events()]
        self.log("resumed" if before and before[-1] != "finished" else "started")

    def log(self, event: str, detail: str = "") -> None:
        """One more line."""
        append_event(self.path / "log.jsonl", event, detail)

    def events(self) -> list[dict[str, Any]]:
        """What happened to it, line by line."""
        return read_events(self.path / "log.jsonl")

    def clear(self) -> None:
        """All is done, and nothing of it is needed any more; only the log stays, where it tells something."""
        for shelf in (part for part in self.path.iterdir() if part.is_dir()):
            shutil.rmtree(shelf, ignore_errors=True)
        if happened(self.events()):
            return
        shutil.rmtree(self.path, ignore_errors=True)
        with suppress(OSError):  # other work may lie beside it
            self.path.parent.rmdir()
            self.path.parent.parent.rmdir()

    def shelf(self, name: str = "tasks") -> TaskShelf:
        """Where the finished tasks of one kind lie."""
        return TaskShelf(self.path / name, self)


@dataclass(frozen=True)
class TaskShelf:
    """One sealed file for each finished task; what is damaged, or was sealed by somebody else, is set aside, told, and made again.

    The files hold Python objects as pickles, which can run code, so the seal needs a secret of this user: a checksum could be made by
    whoever packed the folder.
    """

    path: Path
    folder: WorkFolder

    def kept(self, place: int) -> Any | None:
        """What was finished before; None where nothing was, or where the file is not the one that was written."""
        file = self._file(place)
        if not file.exists():
            return None
        check_own(file)
        content = read_bytes(file, MOST_BYTES)
        if hmac.compare_digest(content[: SEAL_BYTES - 1], own_seal(content[SEAL_BYTES:]).encode()):
            return pickle.loads(content[SEAL_BYTES:])  # noqa: S301 - our own bytes, sealed with our secret
        free = next(name for n in range(1, 1_000_000) if not (name := file.with_suffix(f".damaged-{n}")).exists())
        file.rename(free)
        self.folder.log("damaged", f"task {place}, whose seal is not this user's own, is set aside as {free.name} and made again")
        return None

    def keep(self, place: int, answer: Any) -> None:
        """Write what is finished."""
        content = cloudpickle.dumps(answer, protocol=5)
        try:
            private_folder(self.path)
            write_whole(self._file(place), f"{own_seal(content)}\n".encode() + content, private=True)
        except OSError as fault:
            raise _unwritten(self.path, fault) from fault

    def forget(self) -> None:
        """Remove what is no longer wanted."""
        for file in self.path.glob("task-*.kept"):
            file.unlink(missing_ok=True)

    def _file(self, place: int) -> Path:
        return self.path / f"task-{place:06d}.kept"


def check_own(file: Path) -> None:
    """StoreError where another user could have written the file."""
    told = file.stat()
    if hasattr(os, "getuid") and (told.st_uid != os.getuid() or stat.S_IMODE(told.st_mode) & 0o022):
        raise StoreError(f"{file} belongs to another user or can be written by others, so it is not read; remove it, and it is made again")


def happened(events: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """What a reader should know of the way to a result: interruptions, damage, and that it was taken up again.

    >>> happened([{"event": "started", "time": "2026-01-02T03:00:00+00:00"}, {"event": "resumed", "time": "2026-01-02T03:04:05+00:00"}])
    ('resumed on 2026-01-02 at 03:04:05 UTC',)
    """
    told = []
    for before, event in zip([{}, *events], events, strict=False):
        is_quiet = event.get("event") in QUIET_EVENTS or (event.get("event") == "resumed" and before.get("event") == "finished")
        time, detail = str(event.get("time", "")), event.get("detail")
        told += [] if is_quiet else [f"{event['event']} on {time[:10]} at {time[11:19]} UTC" + (f": {detail}" if detail else "")]
    return tuple(told)


def _unwritten(path: Path, fault: OSError) -> StoreError:
    return StoreError(
        f"cannot write to {path}: {fault.strerror or fault}; what was saved before is intact, and the same command continues once "
        "there is room and permission"
    )
