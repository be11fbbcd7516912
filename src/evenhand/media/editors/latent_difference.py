"""What a reflection in a latent space changes, added to the picture itself.

Reflection draws both pictures of a pair from the latent space, so that everything which the space cannot draw is lost in both.  Here the
first picture is the user's own, and the twin is the same picture plus the difference of the two drawings: what is tested is what was given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenhand.contract import Pictures
from evenhand.media.album import Album
from evenhand.media.editors.reflection import Reflection

if TYPE_CHECKING:
    from evenhand.contract import EditorTools


@dataclass(frozen=True, eq=False)
class LatentDifference:
    """Adds to a picture what a reflection changes in its drawing."""

    reflection: Reflection

    learns: ClassVar[bool] = True

    @classmethod
    def made(cls, album: Album, attribute: str, tools: EditorTools) -> LatentDifference:
        """For this attribute, in the latent space that the tools fit to the album."""
        return cls(Reflection.made(album, attribute, tools))

    @property
    def attribute(self) -> str:
        """What it changes."""
        return self.reflection.attribute

    @property
    def flip(self) -> str:
        """The difference that a reflection makes."""
        return f"difference of a latent reflection ({self.reflection.space.name})"

    def twins(self, album: Album) -> Pictures:
        """The same pictures, changed as their drawings are."""
        before = self.reflection.decoded(album).pictures.astype(np.float32)
        twins: Pictures = album.pictures.astype(np.float32) + self.reflection.twins(album).astype(np.float32) - before
        return np.clip(twins, 0.0, 255.0)
