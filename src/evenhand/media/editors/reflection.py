"""Reflection of a picture's latent point at the hyperplane between the two values of an attribute.

Paper: Y. Xiao et al., "Latent Imitator" (LIMI), ISSTA 2023, Eq. 15.  The latent space may be PCA, an autoencoder or a user's generator.
What a decoder cannot draw is lost in both pictures of a pair, so the first picture of such a pair is the decoded one too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from evenhand.contract import Pictures
from evenhand.errors import DataError, InvalidArgument
from evenhand.media.album import Album
from evenhand.media.hyperplane import Hyperplane, separating

if TYPE_CHECKING:
    from evenhand.contract import EditorTools
    from evenhand.synthesis.picture_latent.space import PictureLatent


@dataclass(frozen=True, eq=False)
class Reflection:
    """Mirrors latent points at an attribute's hyperplane."""

    attribute: str
    space: PictureLatent
    plane: Hyperplane

    learns: ClassVar[bool] = True

    @classmethod
    def fit(cls, album: Album, attribute: str, space: PictureLatent) -> Reflection:
        """The attribute's plane, from pictures whose attribute is known."""
        album.sides(attribute)
        known = album.known(attribute)
        if len(set(known.attribute(attribute).codes.tolist())) < 2:
            raise DataError(f"attribute {attribute!r} of album {album.name!r} has one value only: no hyperplane separates it")
        return cls(attribute, space, separating(space.encode(known.pictures), known.attribute(attribute).codes > 0))

    @classmethod
    def made(cls, album: Album, attribute: str, tools: EditorTools) -> Reflection:
        """For this attribute, in the latent space that the tools fit to the album."""
        if tools.latent is None:
            raise InvalidArgument("editor 'reflection' needs a latent space of pictures; give tools with `latent`")
        return cls.fit(album, attribute, tools.latent("pca", album, tools.rng))

    @property
    def flip(self) -> str:
        """A shift along one latent direction."""
        return f"latent reflection ({self.space.name})"

    def decoded(self, album: Album) -> Album:
        """The album as the latent space can draw it: the first pictures of reflected pairs."""
        return replace(album, pictures=self.space.decode(self.space.encode(album.pictures)))

    def twins(self, album: Album) -> Pictures:
        """Pictures of the mirrored points."""
        return self.space.decode(self.plane.reflected(self.space.encode(album.pictures)))
