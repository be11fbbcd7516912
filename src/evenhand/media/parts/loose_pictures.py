"""Pictures without twins or protected values: what a reader of one attribute is asked about.  A row is a picture's number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Pictures
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain


@dataclass(frozen=True, eq=False)
class LoosePictures:
    """Pictures, and the attribute that is read from them."""

    pictures: Pictures
    label: Label

    @property
    def kind(self) -> str:
        """For a reader."""
        return "album"

    @cached_property
    def domain(self) -> TabularDomain:
        """The number of a picture."""
        return TabularDomain((Column("picture", "integer", low=0, high=max(1, len(self.pictures) - 1)),), (), self.label)

    @property
    def rows(self) -> Rows:
        """Every picture."""
        return np.arange(len(self.pictures), dtype=np.float64)[:, None]

    def show(self, rows: Rows) -> Pictures:
        """The pictures of these rows."""
        return self.pictures[np.minimum(np.asarray(rows)[:, 0].astype(np.intp), len(self.pictures) - 1)]

    def digest(self) -> str:
        """Loose pictures are never the subject of a run."""
        return f"loose-{len(self.pictures)}"
