"""Whether one set of findings reaches where another does: NeuronFair's generation diversity by cosine coverage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Mask, Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument

ROWS_AT_ONCE = 2_048


@dataclass(frozen=True)
class Diversity:
    """Coverage both ways at one radius; above 1 the first set covers more of the second than the other way round."""

    radius: float
    covers: float  # the share of the other's findings within the radius of one of ours
    covered: float  # the share of our findings within the radius of one of the other's

    @property
    def ratio(self) -> float:
        """GD; infinite where the other covers nothing of ours, NaN where neither covers anything."""
        if self.covered == 0:
            return float("inf") if self.covers > 0 else float("nan")
        return self.covers / self.covered


def generation_diversity(ours: Rows, others: Rows, domain: TabularDomain, radii: Sequence[float]) -> list[Diversity]:
    """GD at every radius of the sweep; rows are compared in their non-protected columns."""
    if not len(ours) or not len(others):
        raise InvalidArgument(f"diversity compares two sets of findings; they have {len(ours)} and {len(others)} rows")
    for radius in radii:
        if not 0.0 <= radius <= 2.0:
            raise InvalidArgument(f"radius={radius!r} must be a cosine distance between 0 and 2")
    first, second = (directions(rows, domain) for rows in (ours, others))
    to_ours, to_others = nearest_distances(second, first), nearest_distances(first, second)
    return [Diversity(float(r), _within(to_ours, r), _within(to_others, r)) for r in radii]


def directions(rows: Rows, domain: TabularDomain) -> Rows:
    """The non-protected cells at length 1; a missing cell counts as 0, and a row of zeros stays one."""
    cells = np.nan_to_num(rows[:, list(domain.free_places)])
    length = np.linalg.norm(cells, axis=1, keepdims=True)
    return cells / np.where(length > 0, length, 1.0)


def nearest_distances(rows: Rows, others: Rows) -> Reals:
    """For every row of length 1 its cosine distance to the nearest of the others."""
    nearest = np.empty(len(rows))
    for at in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[at : at + ROWS_AT_ONCE]
        best = np.full(len(part), -np.inf)
        for other in range(0, len(others), ROWS_AT_ONCE):
            np.maximum(best, (part @ others[other : other + ROWS_AT_ONCE].T).max(axis=1), out=best)
        nearest[at : at + len(part)] = 1.0 - best
    return np.maximum(nearest, 0.0)


def _within(distances: Reals, radius: float) -> float:
    # Equal directions differ by rounding.
    reached: Mask = distances <= radius + 1e-12
    return float(reached.mean())
