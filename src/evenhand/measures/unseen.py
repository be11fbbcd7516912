"""What a set of findings has not shown yet, and how far apart its members are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arrays import Rows
from evenhand.domain.tabular import TabularDomain

PAIRS = 2_000


def good_turing(cells: ArrayLike) -> float | None:
    """The estimated chance that the next visit goes to a cell that none went to yet: cells visited once, of all visits.

    It speaks of the process that made these visits: a search that only ever looks in one corner has nothing unseen there.
    None without visits.
    """
    _, counts = np.unique(np.asarray(cells), return_counts=True)
    return float((counts == 1).sum() / counts.sum()) if counts.size else None


def spread(rows: Rows, domain: TabularDomain, rng: np.random.Generator) -> float | None:
    """The mean Gower distance of random pairs of rows over the non-protected columns, 0 to 1; None below two rows.

    A category differs by 0 or 1, a number by its difference over the column's range, a missing cell from a present one by 1.
    """
    if len(rows) < 2:
        return None
    first = rng.integers(len(rows), size=PAIRS)
    second = (first + rng.integers(1, len(rows), size=PAIRS)) % len(rows)
    free = list(domain.free_places)
    a, b = rows[first][:, free], rows[second][:, free]
    listed = np.array([domain.columns[at].is_listed for at in free])
    width = np.maximum((domain.high - domain.low)[free], np.finfo(float).tiny)
    apart = np.where(listed, a != b, np.minimum(np.abs(a - b) / width, 1.0))
    apart = np.where(np.isnan(a) | np.isnan(b), np.isnan(a) != np.isnan(b), apart)
    return float(apart.mean())
