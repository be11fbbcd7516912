"""Exact twins of synthetic portraits: the same factors drawn again, one of them changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evenhand.arrays import Labels, Rows
from evenhand.contract import EditorTools, Pictures
from evenhand.errors import DataError
from evenhand.media.album import Album, Attribute
from evenhand.media.portraits.factors import changed, factor, mirrored, place
from evenhand.media.portraits.painting import render


@dataclass(frozen=True)
class Rerender:
    """Mirrors a listed factor: Monk step 1 becomes 10, 2 becomes 9; masculine cues become feminine.

    A value in the middle of an odd number, such as round glasses, becomes the first one.
    """

    attribute: str

    learns: ClassVar[bool] = False

    def __post_init__(self) -> None:
        factor(self.attribute)

    @classmethod
    def made(cls, album: Album, attribute: str, tools: EditorTools) -> Rerender:  # noqa: ARG003 - drawing needs no tools
        """For this factor of drawn portraits."""
        made = cls(attribute)
        made._factors(album)
        return made

    @property
    def flip(self) -> str:
        """Exact: nothing but the factor differs."""
        return "exact re-rendering"

    def twins(self, album: Album) -> Pictures:
        """The album's portraits with the factor mirrored."""
        return render(mirrored(self._factors(album), self.attribute), album.pictures.shape[1])

    def edited(self, album: Album, codes: Labels) -> Album:
        """The portraits drawn again: with the factor's own values where the attribute lists them, else mirrored where it turns."""
        factors, own, known = self._factors(album), album.attribute(self.attribute), factor(self.attribute)
        turned = np.flatnonzero(codes != own.codes)
        listed = own.values == known.values
        new = np.array(factors)
        new[turned] = (
            changed(factors[turned], self.attribute, codes[turned].astype(np.float64))
            if listed
            else mirrored(factors[turned], self.attribute)
        )
        pictures = np.array(album.pictures)
        if len(turned):
            pictures[turned] = render(new[turned], album.pictures.shape[1])
        attributes = {**album.attributes, self.attribute: Attribute(own.values, np.asarray(codes, dtype=np.intp))}
        return replace(album, pictures=pictures, attributes=attributes, factors=new)

    def sides(self, album: Album) -> Labels:
        """1 where the twin has the lower value of the two, else 0."""
        factors, column = self._factors(album), place(self.attribute)
        return (factors[:, column] > mirrored(factors, self.attribute)[:, column]).astype(np.intp)

    def _factors(self, album: Album) -> Rows:
        if album.factors is None:
            raise DataError(f"album {album.name!r} has no factors: only rendered portraits can be re-rendered; use a learned editor")
        return album.factors
