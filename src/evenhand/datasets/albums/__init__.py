"""Albums from a user's own folders: one file per layout, found by name.  Reading pictures needs pillow, from the extra `image`."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from evenhand.datasets.albums.reading import Reading
from evenhand.media.album import Album
from evenhand.registry import Registry


class AlbumLayout(Protocol):
    """How a folder is laid out: a module with these two functions."""

    def fits(self, root: Path) -> bool:
        """Whether a folder looks like it."""

    def read(self, root: Path | str, reading: Reading) -> Album:
        """The pictures with what is known about them."""


LAYOUTS: Registry[AlbumLayout] = Registry("layout", __name__, AlbumLayout)
