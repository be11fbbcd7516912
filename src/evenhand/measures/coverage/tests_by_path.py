"""How many tests every path of a surrogate gets: equally many, but as a wish has it where it decides the shares of a category.

Where all paths of one value together would have more tests than its share, they get fewer, one each at least: no path goes without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.measures.coverage.surrogate import Path
from evenhand.synthesis.constraint_graph import ConstraintGraph
from evenhand.synthesis.generation import CategoryStep
from evenhand.synthesis.steered_trees import SteeredTrees

Shares = Mapping[int, Reals]  # category -> the share of every value that a wish asks for, the missing cell last
ROUNDS = 8
"""Times that tests are handed on at most: those that one value gives away may be too many for another."""


def wished_shares(population: object) -> Shares:
    """The categories whose shares a wish decides in this population."""
    if isinstance(population, SteeredTrees):
        steps = [step for step in population.leaders if isinstance(step, CategoryStep) and step.joint is None]
        return {step.place: np.diff(step.upto[0], prepend=0.0) for step in steps}
    if isinstance(population, ConstraintGraph):
        shares = population.graph.shares
        return {place: shares[place] for place in population.graph.settled if place in shares}
    return {}


def counts_by_path(paths: Sequence[Path], n: int, wished: Shares) -> Index:
    """(paths,) tests, n in all."""
    wanted = spread(n, len(paths))
    for place, shares in wished.items():
        value = np.array([_only_value(path, place) for path in paths])
        for _ in range(ROUNDS):
            if not _shrink(wanted, value, np.rint(shares * n).astype(np.intp), n):
                break
    return wanted


def _shrink(wanted: Index, value: Index, quotas: Index, n: int) -> bool:
    """Take tests from paths of values that have too many, and give them to the others; whether any was moved."""
    full = np.zeros(len(wanted), dtype=bool)
    for each in np.unique(value[value >= 0]):
        mine = value == each
        if wanted[mine].sum() >= quotas[each]:
            full |= mine
            wanted[mine] = spread(max(int(quotas[each]), int(mine.sum())), int(mine.sum()))
    freed = n - int(wanted.sum())
    if freed <= 0 or full.all():
        return False
    wanted[~full] += spread(freed, int((~full).sum()))
    return True


def spread(n: int, parts: int) -> Index:
    """n in so many parts that differ by one at most."""
    counts = np.full(parts, n // parts)
    counts[: n % parts] += 1
    return counts


def _only_value(path: Path, place: int) -> int:
    """The one value of a category that all boxes of a path allow; -1 where they leave more."""
    allowed = {int(code) for box in path.boxes for code in np.flatnonzero(box.values[place])} if _names(path, place) else set()
    return allowed.pop() if len(allowed) == 1 else -1


def _names(path: Path, place: int) -> bool:
    return bool(path.boxes) and all(place in box.values for box in path.boxes)


def unmet_shares(rows: Rows, wished: Shares, domain: TabularDomain) -> list[str]:
    """The values that came out otherwise than wished, by more than a row."""
    told = []
    for place, shares in wished.items():
        column = domain.columns[place]
        for code, name in enumerate(column.values):
            count, quota = int((rows[:, place] == code).sum()), float(shares[code]) * len(rows)
            if abs(count - quota) > 1:
                told.append(f"{column.name} = {name}: {count:,} of {quota:,.0f} wished for")
    return told
