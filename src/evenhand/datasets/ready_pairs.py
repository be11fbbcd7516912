"""Ready-made twins in a folder: pictures of the same file names under the values that they show.

`pairs/VALUE/FILE` for every other value of a picture; with several protected attributes `pairs/ATTRIBUTE/VALUE/FILE`; of an attribute with
two values also just `pairs/FILE`.  A twin of a JPEG may be a PNG of the same name, as `save_pairs` writes them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels
from evenhand.contract import Pictures
from evenhand.datasets.albums.missing_by_group import missing_by_group
from evenhand.datasets.albums.reading import SHOWN, SkippedPictures, read_square
from evenhand.disk import below
from evenhand.errors import DataError
from evenhand.media.album import Album, Attribute


@dataclass(frozen=True, eq=False)
class ReadyPairs:
    """Shows the twins that somebody has made.

    learns: whether they may differ in more than the attribute, so that what they show is weighed first; their owner says.
    """

    attribute: str
    folder: Path
    learns: bool = True

    edits_pictures: ClassVar[bool] = False  # a twin that somebody made cannot be turned back

    @property
    def flip(self) -> str:
        """Whose they are."""
        return f"twins from {self.folder.name}{'' if self.learns else ' (exact, as their owner declares)'}"

    def file(self, name: str, value: str, is_alone: bool) -> Path | None:
        """The twin of a picture under a value; None where there is none."""
        names = dict.fromkeys((name, f"{Path(name).stem}.png"))
        places = [each for one in names for each in (f"{self.attribute}/{value}/{one}", f"{value}/{one}", *([one] if is_alone else []))]
        found = (below(self.folder, place) for place in places)
        return next((file for file in found if file is not None and file.is_file()), None)

    def known(self, album: Album) -> NDArray[np.bool_]:
        """Which pictures have a twin under every other value."""
        own = album.attribute(self.attribute)
        others = [[value for code, value in enumerate(own.values) if code != mine] for mine in own.codes]
        is_alone = len(own.values) == 2
        return np.array(
            [all(self.file(name, value, is_alone) for value in values) for name, values in zip(album.sources, others, strict=True)],
            dtype=bool,
        )

    def twins(self, album: Album) -> Pictures:
        """The pictures with the next value, of two the other one."""
        own = album.attribute(self.attribute)
        return self.edited(album, (own.codes + 1) % len(own.values)).pictures

    def edited(self, album: Album, codes: Labels) -> Album:
        """The ready twins under these values."""
        own, codes = album.attribute(self.attribute), np.asarray(codes, dtype=np.intp)
        pictures = np.array(album.pictures)
        for place in np.flatnonzero(codes != own.codes):
            file = self.file(album.sources[place], own.values[codes[place]], len(own.values) == 2)
            if file is None:
                raise DataError(f"pairs={str(self.folder)!r}: no twin of {album.sources[place]} as {own.values[codes[place]]!r}")
            pictures[place] = read_square(file, pictures.shape[1])
        return replace(
            album, pictures=pictures, attributes={**album.attributes, self.attribute: Attribute(own.values, codes)}, factors=None
        )


def with_pairs(album: Album, pairs: Sequence[ReadyPairs]) -> Album:
    """The pictures that have every twin; refuses an album without any."""
    if not album.sources:
        raise DataError(f"pairs need pictures with file names, and album {album.name!r} has none")
    kept = np.logical_and.reduce([each.known(album) for each in pairs])
    if not kept.any():
        wanted = f"{pairs[0].folder}/{album.attribute(pairs[0].attribute).values[0]}/{album.sources[0]}"
        raise DataError(f"pairs={str(pairs[0].folder)!r}: no picture of {album.name} has a twin there; expected files such as {wanted}")
    if kept.all():
        return album
    told = _missing(album, kept, pairs[0].folder.name)
    warnings.warn(f"{album.name}: {told}", SkippedPictures, stacklevel=2)
    return replace(album[np.flatnonzero(kept)], left_out="; ".join(each for each in (album.left_out, told) if each))


def _missing(album: Album, kept: NDArray[np.bool_], folder: str) -> str:
    """How many pictures have no twin, the first of them by name, and of which groups they are."""
    lost, found = np.flatnonzero(~kept), np.flatnonzero(kept)
    named = ", ".join(album.sources[place] for place in lost[:SHOWN]) + (", ..." if len(lost) > SHOWN else "")
    words = {name: np.array([*known.values, ""], dtype=object)[known.codes].tolist() for name, known in album.attributes.items()}
    by_group = missing_by_group(words, lost.tolist(), found.tolist())
    return f"{len(lost):,} of {len(kept):,} pictures have no twin in {folder} and are left out ({named}); by group: {by_group}"
