"""Reflection in the latent space of an autoencoder: as `reflection`, in a space that is learned with torch instead of principal components.

Paper: Y. Xiao et al., "Latent Imitator" (LIMI), ISSTA 2023, Eq. 15.
"""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.contract import EditorTools
from evenhand.errors import InvalidArgument
from evenhand.media.album import Album
from evenhand.media.editors.reflection import Reflection


@dataclass(frozen=True, eq=False)
class Autoencoder(Reflection):
    """Mirrors the codes of an autoencoder at an attribute's hyperplane."""

    @classmethod
    def made(cls, album: Album, attribute: str, tools: EditorTools) -> Autoencoder:
        """For this attribute, in the space of an autoencoder that the tools train on the album."""
        if tools.latent is None:
            raise InvalidArgument("editor 'autoencoder' needs a latent space of pictures; give tools with `latent`")
        reflection = cls.fit(album, attribute, tools.latent("convolutional", album, tools.rng))
        return cls(reflection.attribute, reflection.space, reflection.plane)
