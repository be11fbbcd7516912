"""No twins at all: the pictures as they are, for group metrics on labelled pictures.

Every attribute may have any number of values.  A row under another value shows the same picture, so nothing may be concluded from pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenhand.media.album import Album, Attribute

if TYPE_CHECKING:
    from evenhand.arrays import Labels
    from evenhand.contract import Pictures


NONE = "none"
"""The name under which it is asked for in place of an editor's."""


@dataclass(frozen=True)
class WithoutTwins:
    """Leaves every picture as it is."""

    attribute: str

    learns: ClassVar[bool] = False
    makes_twins: ClassVar[bool] = False

    @property
    def flip(self) -> str:
        """Nothing is changed."""
        return "no twins"

    def twins(self, album: Album) -> Pictures:
        """The same pictures."""
        return album.pictures

    def edited(self, album: Album, codes: Labels) -> Album:
        """The same pictures, whatever the value is."""
        own = album.attribute(self.attribute)
        attributes = {**album.attributes, self.attribute: Attribute(own.values, np.asarray(codes, dtype=np.intp))}
        return replace(album, attributes=attributes)
