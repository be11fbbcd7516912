"""A folder for every class, as in `young/a.jpg` and `old/b.jpg`: the folder's name is the attribute `class`; one above it is `part`."""

from __future__ import annotations

from pathlib import Path

from evenhand.datasets.albums import utkface
from evenhand.datasets.albums.reading import KINDS, Listing, Reading, album_from, pictures_below
from evenhand.media.album import Album


def fits(root: Path) -> bool:
    """By at least two folders of pictures, and no table or picture beside them; parts of UTKFace are no classes."""
    if utkface.fits(root) or any(
        file.suffix.lower() in (*KINDS, ".csv", ".txt", ".json", ".xml") for file in root.iterdir() if file.is_file()
    ):
        return False
    return len({file.parent for file in pictures_below(root)}) >= 2


def read(root: Path | str, reading: Reading) -> Album:
    """Pictures with their `class`, and their `part` (such as train or test) where the classes lie in folders."""
    root = Path(root)
    files = [file for file in pictures_below(root) if file.parent != root]
    listing = Listing(root.resolve().name)
    is_deep = any(file.parent.parent != root for file in files)
    for file in files:
        above = {"part": file.parent.parent.name if file.parent.parent != root else ""} if is_deep else {}
        listing.add(file, {"class": file.parent.name} | above)
    return album_from(listing, reading)
