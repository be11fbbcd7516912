"""A medium of pictures seen through a disturbance: every row shows what it showed, changed."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.arrays import Rows
from evenhand.contract import Disturbance, Medium, Pictures
from evenhand.domain.tabular import TabularDomain


@dataclass(frozen=True, eq=False)
class DisturbedMedium:
    """Shows what another medium shows, changed."""

    seen: Medium
    disturbance: Disturbance

    @property
    def kind(self) -> str:
        """As the medium behind it."""
        return self.seen.kind

    @property
    def domain(self) -> TabularDomain:
        """As the medium behind it."""
        return self.seen.domain

    def show(self, rows: Rows) -> Pictures:
        """The changed pictures of these rows."""
        return self.disturbance.changed(self.seen.show(rows))

    def digest(self) -> str:
        """Of what is seen, and of how it is changed."""
        return f"{self.seen.digest()}-{self.disturbance!r}"
