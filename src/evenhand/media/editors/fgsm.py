"""FGSM on an attribute classifier: pixels pushed until that classifier reads the other value.

Paper: H. Zheng et al., NeuronFair, ICSE 2022, Eq. for delta_senatt: eta * sign of the loss gradient, as small an eta as flips the reading.
What changes is the classifier's reading, not the person in the picture: such a flip is called a classifier flip everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.contract import DifferentiablePictureModel, EditorTools, Pictures
from evenhand.errors import InvalidArgument
from evenhand.media.album import Album


@dataclass(frozen=True, eq=False)
class Fgsm:
    """One signed gradient step per picture, the smallest of the given sizes that flips the attribute classifier."""

    attribute: str
    reader: DifferentiablePictureModel
    sizes: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)

    learns: ClassVar[bool] = True

    @classmethod
    def made(cls, album: Album, attribute: str, tools: EditorTools) -> Fgsm:
        """Against the reader of this attribute that the tools train on the album."""
        if tools.reader is None:
            raise InvalidArgument("editor 'fgsm' needs a classifier of the attribute; give tools with `reader`")
        album.sides(attribute)
        return cls(attribute, tools.reader(album, attribute, tools.rng))

    @property
    def flip(self) -> str:
        """It fools a classifier; a person sees the same face."""
        return "classifier flip (FGSM)"

    def twins(self, album: Album) -> Pictures:
        """Pictures that the attribute classifier reads as the other value, where one of the sizes achieves that."""
        album.sides(self.attribute)
        codes = np.maximum(album.attribute(self.attribute).codes, 0)
        direction = np.sign(self.reader.loss_gradient(album.pictures, codes)).astype(np.float32)
        twins = album.pictures.astype(np.float32)
        unread = np.ones(len(album), dtype=bool)
        for size in self.sizes:
            tried = np.clip(album.pictures[unread] + size * direction[unread], 0, 255)
            twins[unread] = tried
            unread[unread] = self.reader.scores(tried).argmax(axis=1) == codes[unread]
            if not unread.any():
                break
        return np.rint(twins).astype(np.uint8)
