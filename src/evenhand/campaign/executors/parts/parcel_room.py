"""A private folder of this process in which packed work lies for as long as workers may want it."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from evenhand.campaign.executors.parts.parcel import Parcel
from evenhand.contract import Work


@dataclass(frozen=True)
class StayingParcel:
    """The folder of a work that may be asked again."""

    work: weakref.ref[Work]
    folder: Path


@dataclass
class ParcelRoom:
    """The folder, and the parcels in it that stay."""

    path: Path
    staying: list[StayingParcel] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def holding(self, work: Work) -> Iterator[Path]:
        """The parcel of a work on disk: gone when the block ends, or kept where the work says that it is asked again."""
        if not getattr(work, "is_asked_again", False):
            folder = self._packed(work)
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            return
        yield self._kept(work)

    def _kept(self, work: Work) -> Path:
        with self.lock:
            for each in self.staying:
                if each.work() is work:
                    return each.folder
            made = StayingParcel(weakref.ref(work), self._packed(work))
            for old in self.staying[:-1]:  # at most one more stays beside it
                shutil.rmtree(old.folder, ignore_errors=True)
            self.staying = [*self.staying[-1:], made]
            return made.folder

    def _packed(self, work: Work) -> Path:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Parcel.of(work).written(self.path / f"{next(self.numbers):06d}")

    def empty(self) -> None:
        """Nothing is wanted any longer."""
        shutil.rmtree(self.path, ignore_errors=True)


class ParcelRooms:
    """The room of this process; a forked one gets its own."""

    def __init__(self) -> None:
        self._room: ParcelRoom | None = None
        self._owner = 0

    def mine(self) -> ParcelRoom:
        """Made when it is first wanted."""
        if self._room is None or self._owner != os.getpid():
            self._room, self._owner = ParcelRoom(Path(tempfile.mkdtemp(prefix="evenhand-parcel-"))), os.getpid()
        return self._room

    def end(self) -> None:
        """It goes with the process."""
        if self._room is not None and self._owner == os.getpid():
            self._room.empty()
            self._room = None


ROOMS = ParcelRooms()
atexit.register(ROOMS.end)
