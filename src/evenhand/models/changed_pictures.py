"""A medium of pictures that hands them over otherwise than they are, to try whether a model reads them better so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Medium
from evenhand.domain.tabular import TabularDomain


def shows_people(medium: Medium) -> bool:
    """Whether a row is a picture of somebody, and no text, scene or line of a table."""
    return medium.kind in ("album", "portraits")


@dataclass(frozen=True, eq=False)
class ChangedPictures:
    """A medium whose pictures are changed before they are shown, as numbers that may be no bytes."""

    medium: Medium
    change: Callable[[Any], Any]

    @property
    def kind(self) -> str:
        """As of the medium."""
        return self.medium.kind

    @property
    def domain(self) -> TabularDomain:
        """As of the medium."""
        return self.medium.domain

    def show(self, rows: Rows) -> Any:
        """What the medium shows, changed."""
        return self.change(np.asarray(self.medium.show(rows), dtype=np.float32))

    def digest(self) -> str:
        """That of the medium; changed pictures are never kept."""
        return f"{self.medium.digest()} changed"
