"""What every worker needs, packed once: pickled by value, with large arrays apart so that processes of one machine share them."""

from __future__ import annotations

import hashlib
import mmap
import pickle
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import cloudpickle

from evenhand.contract import Work
from evenhand.errors import InvalidArgument

LARGE = 1 << 18
"""Bytes from which on an array is kept apart."""


@dataclass(frozen=True)
class Parcel:
    """Packed work: its pickle, and the large arrays that this refers to, in their order."""

    content: bytes
    arrays: tuple[Any, ...]

    @classmethod
    def of(cls, work: Work) -> Parcel:
        """Pack it; what cannot be sent to another process is refused in words."""
        arrays: list[memoryview] = []
        try:
            content = cloudpickle.dumps(work, protocol=5, buffer_callback=lambda buffer: _kept_inside(buffer, arrays))
        except Exception as fault:
            raise InvalidArgument(
                f"workers: the model or the data cannot be sent to another process ({type(fault).__name__}: {fault}); "
                "use one worker, or name a model file"
            ) from fault
        return cls(content, tuple(bytes(array) for array in arrays))

    def unpacked(self) -> Work:
        """The work, ready to be opened.  Its arrays may be written to: nobody else sees that."""
        work: Work = pickle.loads(self.content, buffers=[_writable(array) for array in self.arrays])  # noqa: S301 - our own bytes
        return work

    @cached_property
    def digest(self) -> str:
        """Sixteen digits that name the content."""
        told = hashlib.sha256(self.content)
        for array in self.arrays:
            told.update(array)
        return told.hexdigest()[:16]

    def written(self, folder: Path) -> Path:
        """The parcel in a new folder."""
        folder.mkdir(mode=0o700)
        (folder / "content").write_bytes(self.content)
        for place, array in enumerate(self.arrays):
            (folder / f"array-{place:04d}").write_bytes(array)
        return folder

    @classmethod
    def read(cls, folder: Path) -> Parcel:
        """A parcel on disk, its arrays mapped into memory rather than read."""
        return cls((folder / "content").read_bytes(), tuple(_mapped(file) for file in sorted(folder.glob("array-*"))))


def _kept_inside(buffer: pickle.PickleBuffer, apart: list[memoryview]) -> bool:
    """Whether a buffer stays in the pickle: small ones do, others are put apart."""
    raw = buffer.raw()
    if raw.nbytes < LARGE:
        return True
    apart.append(raw)
    return False


def _mapped(file: Path) -> mmap.mmap:
    with file.open("rb") as opened:
        return mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY)  # pages are shared until somebody writes to one


def _writable(array: Any) -> Any:
    return bytearray(array) if isinstance(array, bytes) else array
