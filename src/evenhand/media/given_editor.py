"""An editor of the user's: a function of pictures and wanted values, for one attribute with any number of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels
from evenhand.contract import Pictures
from evenhand.media.album import Album, Attribute, as_bytes

Edits = Callable[[Pictures, Sequence[str], NDArray[Any]], Pictures]
"""Pictures, the value that each is to show, and the values' codes, to pictures."""


@dataclass(frozen=True, eq=False)
class GivenEditor:
    """Shows pictures under other values by a function of the user's.

    learns: whether it may change more than the attribute, so that what its twins show is weighed first; its owner says.
    """

    attribute: str
    edits: Edits
    label: str
    learns: bool = True

    @property
    def flip(self) -> str:
        """Whose it is."""
        return f"{self.label}{'' if self.learns else ' (exact, as its owner declares)'}"

    def twins(self, album: Album) -> Pictures:
        """The pictures with the next value, of two the other one."""
        own = album.attribute(self.attribute)
        return self.edited(album, (own.codes + 1) % len(own.values)).pictures

    def edited(self, album: Album, codes: Labels) -> Album:
        """The pictures with the attribute at these values; one that has its value already stays as it is."""
        own, codes = album.attribute(self.attribute), np.asarray(codes, dtype=np.intp)
        turned = np.flatnonzero(codes != own.codes)
        pictures = np.array(album.pictures)
        if len(turned):
            wanted = [own.values[code] for code in codes[turned]]
            pictures[turned] = as_bytes(self.edits(album.pictures[turned], wanted, codes[turned].astype(np.int64)))
        return replace(
            album, pictures=pictures, attributes={**album.attributes, self.attribute: Attribute(own.values, codes)}, factors=None
        )
