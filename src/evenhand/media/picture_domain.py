"""The image domain: which pictures are possible, and the editor that gives each its twin.  Knows nothing of models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask
from evenhand.contract import Editor, Pictures
from evenhand.errors import InvalidArgument
from evenhand.media.album import Album


@dataclass(frozen=True, eq=False)
class ImageDomain:
    """Square colour pictures like those of an album; one attribute is protected."""

    album: Album
    editor: Editor

    def __post_init__(self) -> None:
        self.album.attribute(self.editor.attribute)

    @property
    def protected(self) -> str:
        """The protected attribute."""
        return self.editor.attribute

    def sample(self, n: int, rng: np.random.Generator) -> Album:
        """Pictures of the album, drawn without repeats."""
        if not 1 <= n <= len(self.album):
            raise InvalidArgument(f"n={n!r} must lie between 1 and the album's {len(self.album)} pictures")
        return self.album[rng.choice(len(self.album), n, replace=False)]

    def contains(self, pictures: Pictures) -> Mask:
        """Which pictures have this size and pixels between 0 and 255."""
        if pictures.shape[1:] != self.album.pictures.shape[1:]:
            return np.zeros(len(pictures), dtype=bool)
        flat = pictures.reshape(len(pictures), -1)
        return np.asarray((flat >= 0).all(axis=1) & (flat <= 255).all(axis=1))

    def project(self, pictures: Pictures) -> NDArray[np.float32]:
        """The nearest picture with whole pixel values between 0 and 255."""
        return np.clip(np.rint(pictures), 0, 255).astype(np.float32)

    def twins(self, album: Album) -> Pictures:
        """The same pictures under the other protected value."""
        return self.editor.twins(album)
