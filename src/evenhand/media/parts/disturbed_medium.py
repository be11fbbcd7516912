"""A medium of pictures seen through a disturbance: every row shows what it showed, changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Disturbance, Medium, Pictures
from evenhand.domain.tabular import TabularDomain
from evenhand.media.album import as_bytes
from evenhand.media.picture_batches import batches


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
        """The changed pictures of these rows, bytes; some at a time, because a change works in numbers."""
        shown = np.array(as_bytes(self.seen.show(rows)))
        for part in batches(len(shown), shown[:1].nbytes):
            shown[part] = as_bytes(self.disturbance.changed(shown[part]))
        return shown

    def digest(self) -> str:
        """Of what is seen, and of how it is changed."""
        return f"{self.seen.digest()}-{self.disturbance!r}"
