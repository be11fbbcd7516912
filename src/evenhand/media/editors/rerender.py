"""Exact twins of synthetic portraits: the same factors drawn again, one of them changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Labels, Rows
from evenhand.contract import Pictures
from evenhand.errors import DataError
from evenhand.media.album import Album
from evenhand.media.portraits.factors import factor, place
from evenhand.media.portraits.painting import render
from evenhand.planted.portraits import mirrored


@dataclass(frozen=True)
class Rerender:
    """Mirrors a listed factor: Monk step 1 becomes 10, 2 becomes 9; masculine cues become feminine.

    A value in the middle of an odd number, such as round glasses, becomes the first one.
    """

    attribute: str

    def __post_init__(self) -> None:
        factor(self.attribute)

    @property
    def flip(self) -> str:
        """Exact: nothing but the factor differs."""
        return "exact re-rendering"

    def twins(self, album: Album) -> Pictures:
        """The album's portraits with the factor mirrored."""
        return render(mirrored(self._factors(album), self.attribute), album.pictures.shape[1])

    def sides(self, album: Album) -> Labels:
        """1 where the twin has the lower value of the two, else 0."""
        factors, column = self._factors(album), place(self.attribute)
        return (factors[:, column] > mirrored(factors, self.attribute)[:, column]).astype(np.intp)

    def _factors(self, album: Album) -> Rows:
        if album.factors is None:
            raise DataError(f"album {album.name!r} has no factors: only rendered portraits can be re-rendered; use a learned editor")
        return album.factors
