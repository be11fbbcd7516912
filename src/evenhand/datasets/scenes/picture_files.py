"""Reading pictures and maps from disk, with errors that name the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from evenhand.datasets.open_picture import check_picture, open_picture
from evenhand.datasets.scenes.map_layouts import PICTURE_ENDING
from evenhand.disk import below, write_whole
from evenhand.errors import DataError, EvenhandError, require
from evenhand.media.scene import Picture, Regions

Item = TypeVar("Item")


@dataclass(frozen=True)
class SceneSample:
    """Which of many pictures are read: at most `count`, drawn by the seed, so that no folder or film comes first; all without a count."""

    count: int | None = None
    seed: int = 0

    def of(self, items: Sequence[Item]) -> list[Item]:
        """The drawn ones, in their own order."""
        if self.count is None or len(items) <= self.count:
            return list(items)
        drawn = np.random.default_rng([self.seed, len(items)]).choice(len(items), self.count, replace=False)
        return [items[int(place)] for place in sorted(drawn)]


EVERY = SceneSample()
SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff")


def read_picture(path: Path) -> Picture:
    """A picture as red, green, blue."""
    cv2 = require("cv2", "image")
    _exists(path)
    check_picture(path)
    content = _read(path, cv2.IMREAD_COLOR)
    if content is None:
        raise DataError(f"{path} is not a picture that can be read; expected one of {', '.join(SUFFIXES)}")
    return np.ascontiguousarray(content[..., ::-1])


def _read(path: Path, flags: int) -> Any:
    """What OpenCV reads; None where it reads nothing, or refuses: a picture may have few pixels and still be wider than it takes."""
    cv2 = require("cv2", "image")
    try:
        return cv2.imread(str(path), flags)
    except cv2.error:
        return None


def _exists(path: Path) -> None:
    if not path.is_file():
        raise DataError(f"{path} is missing; expected a picture there")


def read_map(path: Path) -> Regions:
    """A map of whole numbers as it is stored, the numbers of a palette included; of a colour file, an error."""
    cv2 = require("cv2", "image")
    _exists(path)
    check_picture(path)
    content = _read(path, cv2.IMREAD_UNCHANGED)
    if content is None:
        raise DataError(f"{path} is not a picture that can be read")
    if content.ndim != 2:
        with open_picture(path) as opened:
            if opened.mode == "P":
                return np.asarray(opened)
    if content.ndim != 2:
        raise DataError(f"{path} has {content.shape[2]} channels; a label map has one: a number for each pixel")
    return np.asarray(content)


def picture_path(folder: Path, name: str) -> Path:
    """A picture that an annotation file names: at its own place below the folder, directly in it, or in a folder in it; never outside."""
    whole = below(folder, name)
    inside = not Path(name).is_absolute() and ".." not in Path(name).parts
    if whole is not None and inside and _is_file(whole):
        return whole
    last = Path(name.replace("\0", "")).name
    found = below(folder, last)
    if found is None:
        raise DataError(f"{folder} holds {name!r} only as a link out of the folder; copy the picture into it")
    return found if _is_file(found) else _in_a_folder(folder, last) or found


def _in_a_folder(folder: Path, name: str) -> Path | None:
    """Data sets share their pictures out among folders: `imgs_1`, `imgs_2`."""
    inner = sorted(one for one in folder.iterdir() if one.is_dir()) if folder.is_dir() and name else []
    paths = (below(folder, f"{one.name}/{name}") for one in inner)
    return next((path for path in paths if path is not None and _is_file(path)), None)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


@contextmanager
def annotation_faults(path: Path) -> Iterator[None]:
    """What Python says of an annotation file of another shape, as one line about the file."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError, MemoryError) as fault:
        if isinstance(fault, EvenhandError):
            raise
        told = f"no {fault}" if isinstance(fault, KeyError) else " ".join(str(fault).split())[:200] or type(fault).__name__
        raise DataError(f"{path} is not what it should be: {told}; compare it with the format's description") from fault


def scene_name(folder: Path, path: Path) -> str:
    """The path below the folder without its ending, as one word: pictures of equal name in two folders stay two scenes."""
    return "_".join(path.relative_to(folder).with_suffix("").parts)


def write_picture(path: Path, picture: Picture) -> None:
    """A picture to disk; the folder is made."""
    cv2 = require("cv2", "image")
    quality = [cv2.IMWRITE_JPEG_QUALITY, 92] if path.suffix.lower() in (".jpg", ".jpeg") else []
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        is_made, coded = cv2.imencode(path.suffix, picture[..., ::-1], quality)
        if not is_made:
            raise DataError(f"{path} could not be written: no picture of this kind can be made of it")
        write_whole(path, coded.tobytes())
    except (OSError, cv2.error) as fault:
        raise DataError(f"{path} could not be written: {getattr(fault, 'strerror', None) or fault}") from fault


def pairs(frames: Path, maps: Path, ending: str = "") -> Iterator[tuple[Path, Path]]:
    """Pictures with the map of the same place and stem, by name; a picture without a map is an error.

    ending: what a map's name adds to its picture's; other maps are not looked at.
    """
    for folder in (frames, maps):
        if not folder.is_dir():
            raise DataError(f"{folder} is not a folder")
    known = {_place(maps, path, ending): path for path in _pictures_below(maps) if path.stem.endswith(ending)}
    for path in _pictures_below(frames):
        place = _place(frames, path, PICTURE_ENDING)
        if place not in known:
            raise DataError(f"{path} has no label map of the same name in {maps}")
        yield path, known[place]


def _pictures_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)


def _place(folder: Path, path: Path, ending: str) -> Path:
    """Where a file is below its folder, without what its name adds."""
    return path.relative_to(folder).with_name(path.stem.removesuffix(ending))
