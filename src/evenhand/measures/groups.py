"""Who is compared: groups by one protected column or by several together, and which columns are too fine for groups.

No group is privileged: every comparison is between all of them, or between one and all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from evenhand.arrays import Index, Rows
from evenhand.domain.tabular import TabularDomain

MOST_GROUPS_OF_NUMBERS = 12
"""A number with more different values than this in the data is a continuum, which is compared as a curve and not cut into groups."""

MISSING = "(missing)"


@dataclass(frozen=True)
class Grouping:
    """A division of rows: its name, the group of every row, and the groups' names."""

    name: str
    codes: Index
    names: tuple[str, ...]

    @property
    def sizes(self) -> Index:
        """Rows of every group."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.names)).astype(np.intp)


def is_continuum(rows: Rows, domain: TabularDomain, name: str) -> bool:
    """Whether a column is a number with too many different values to be groups."""
    place = domain.place(name)
    if domain.columns[place].is_listed:
        return False
    cells = rows[:, place]
    return len(np.unique(cells[~np.isnan(cells)])) > MOST_GROUPS_OF_NUMBERS


def grouping_of(rows: Rows, domain: TabularDomain, names: Sequence[str]) -> Grouping:
    """The groups that the data has by these columns together; a missing cell is a value of its own."""
    cells = rows[:, [domain.place(name) for name in names]]
    distinct, codes = np.unique(np.where(np.isnan(cells), np.inf, cells), axis=0, return_inverse=True)
    titles = tuple(", ".join(_title(domain, name, code) for name, code in zip(names, row, strict=True)) for row in distinct)
    return Grouping(" and ".join(names), codes.reshape(-1).astype(np.intp), titles)


def _title(domain: TabularDomain, name: str, code: float) -> str:
    return MISSING if np.isinf(code) else str(domain.columns[domain.place(name)].value(float(code)))


def groupings(rows: Rows, domain: TabularDomain) -> list[Grouping]:
    """One for every protected column that has groups, one for every two of them, and one for all of them together."""
    named = [name for name in domain.protected if not is_continuum(rows, domain, name)]
    together = [(name,) for name in named] + list(combinations(named, 2)) + ([tuple(named)] if len(named) > 2 else [])
    return [grouping_of(rows, domain, names) for names in together]


def continua(rows: Rows, domain: TabularDomain) -> list[str]:
    """The protected columns that are compared as curves."""
    return [name for name in domain.protected if is_continuum(rows, domain, name)]
