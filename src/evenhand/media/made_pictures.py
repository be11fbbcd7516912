"""Pictures that methods make: kept on disk, bounded, each under a code that its content gives it.

The code depends on nothing but what the picture is, so that the same picture has the same code in every run and every process.
"""

from __future__ import annotations

import tempfile
import weakref
import zlib
from dataclasses import dataclass
from hashlib import blake2b
from threading import Lock
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import BudgetSpent

CODES = 1 << 48
"""How many codes are held in reserve for made pictures: two of a hundred thousand share one with a chance of 2e-5."""

ROOM_BYTES = 4 << 30
"""How much disk the made pictures of one album may take."""


@dataclass(frozen=True)
class MadePicture:
    """One picture as it was made: an offset to its parent, or one picture of its own for every protected combination."""

    parent: int | None
    values: NDArray[Any]  # the offset (height, width, 3) of whole numbers, or pictures (combinations, height, width, 3) of bytes


@dataclass(frozen=True)
class _Place:
    start: int
    length: int
    parent: int | None


class MadePictures:
    """A bounded store in one temporary file; only where each picture stands is held in memory."""

    def __init__(self, size: tuple[int, int], room_bytes: int = ROOM_BYTES) -> None:
        self.size, self.room_bytes = size, room_bytes
        self._places: dict[int, _Place] = {}
        self._end = 0
        self._lock = Lock()
        self._file: IO[bytes] | None = None

    def __len__(self) -> int:
        return len(self._places)

    def keep(self, made: MadePicture) -> int:
        """The picture's place among the reserved codes; one that is kept already is not kept twice."""
        raw = np.ascontiguousarray(made.values).tobytes()
        digest = blake2b(raw + repr(made.parent).encode(), digest_size=8).digest()
        code = int.from_bytes(digest, "big") % CODES
        with self._lock:
            if code not in self._places:
                self._places[code] = self._write(zlib.compress(raw, 1), made.parent)
        return code

    def _write(self, packed: bytes, parent: int | None) -> _Place:
        if self._end + len(packed) > self.room_bytes:
            raise BudgetSpent(
                f"the album's room for made pictures ({self.room_bytes / 2**30:.1f} GB of disk) is full after {len(self):,} of them"
            )
        file = self._opened()
        file.seek(self._end)
        file.write(packed)
        place = _Place(self._end, len(packed), parent)
        self._end += len(packed)
        return place

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="evenhand-made-")  # noqa: SIM115 - it lives as long as the store
            weakref.finalize(self, self._file.close)
        return self._file

    def __contains__(self, code: int) -> bool:
        return code in self._places

    def parent(self, code: int) -> int | None:
        """The album's picture that a made one is derived from; None for one of its own."""
        return self._places[code].parent

    def values(self, code: int) -> NDArray[Any]:
        """What was kept."""
        place = self._places[code]
        with self._lock:
            file = self._opened()
            file.seek(place.start)
            raw = zlib.decompress(file.read(place.length))
        kind: Any = np.uint8 if place.parent is None else np.int16
        values: NDArray[Any] = np.frombuffer(raw, dtype=kind).reshape(-1, *self.size, 3)
        return values if place.parent is None else values[0]

    def __getstate__(self) -> dict[str, Any]:
        """Another process gets the pictures along."""
        with self._lock:
            file = self._opened()
            file.seek(0)
            return {"size": self.size, "room_bytes": self.room_bytes, "places": self._places, "content": file.read(self._end)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["size"], state["room_bytes"])  # type: ignore[misc]
        self._places, self._end = dict(state["places"]), len(state["content"])
        self._opened().write(state["content"])
