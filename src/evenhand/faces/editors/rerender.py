"""Exact twins of synthetic portraits: the same factors drawn again, one of them changed."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.datasets.faces.album import Album
from evenhand.datasets.faces.factors import factor
from evenhand.datasets.faces.painting import render
from evenhand.datasets.faces.planted import mirrored
from evenhand.errors import DataError
from evenhand.faces.abilities import Pictures


@dataclass(frozen=True)
class Rerender:
    """Mirrors a listed factor: Monk step 1 becomes 10, 2 becomes 9; masculine cues become feminine."""

    attribute: str

    def __post_init__(self) -> None:
        factor(self.attribute)

    @property
    def flip(self) -> str:
        """Exact: nothing but the factor differs."""
        return "exact re-rendering"

    def twins(self, album: Album) -> Pictures:
        """The album's portraits with the factor mirrored."""
        if album.factors is None:
            raise DataError(f"album {album.name!r} has no factors: only rendered portraits can be re-rendered; use a learned editor")
        return render(mirrored(album.factors, self.attribute), album.pictures.shape[1])
