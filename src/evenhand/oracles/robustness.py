"""A small change to the same person, protected cells untouched, gets another answer: AITEST's robustness.

Paper: Saha, Aggarwal, Hans, "Data Synthesis for Testing Black-Box Machine Learning Models", arXiv 2111.02161, 2022 (AITEST).

Differs: the paper changes the half of the columns that LIME finds most prominent, to every category and every step within reach, so that
the number of questions differs from row to row and from model to model.  Here every row has the same number of neighbours, drawn from
the row and the seed alone: the budget is known beforehand, and a finding can be replayed.  `measure` has the paper's own score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, TypeAlias

import numpy as np

from evenhand.arrays import Reals, Rows
from evenhand.contract import Model, Verdict
from evenhand.domain.columns import Column
from evenhand.domain.keys import hash_cells
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.limits import Count, Limit, WholeNumber
from evenhand.oracles.parts.people import IMPOSSIBLE, People, given_pairs
from evenhand.oracles.parts.tolerated import Tolerated

OneOrMore: TypeAlias = Annotated[float, Limit(least=1)]


@dataclass(frozen=True)
class SmallChange(Tolerated):
    """Unfair when one cell, moved a little, changes the answer.

    tolerance: compare scores or amounts instead of labels, and call them different when they are further apart than this.
    neighbours: how many changed copies of each row are asked.
    reach: how far a whole number moves at most; a real number moves by up to this many hundredths of its range.
    seed: of the changes; the same row and seed always meet the same neighbours.
    """

    neighbours: Count = 16
    reach: OneOrMore = 3.0
    seed: WholeNumber = 0

    because: ClassVar[str] = "after a small change to the same person"
    shows_pairs: ClassVar[bool] = True

    def judge(self, rows: Rows, domain: TabularDomain, model: Model) -> Verdict:
        """One entry per input; of the labels only the row's own combination is known."""
        self.check(model, "robustness")
        verdict = self.people(rows, domain).ask(model).judge(self.apart)
        own = domain.own_combination(rows)
        labels = np.full((len(rows), len(domain.combinations)), IMPOSSIBLE, dtype=np.int16)
        labels[own >= 0, own[own >= 0]] = verdict.labels[own >= 0, 0]
        return replace(verdict, labels=labels)

    def judge_pairs(self, first: Rows, second: Rows, _domain: TabularDomain, model: Model) -> Verdict:
        """One entry per pair."""
        return given_pairs(first, second).ask(model).judge(self.apart)

    def people(self, rows: Rows, domain: TabularDomain) -> People:
        """The row itself first, then its neighbours."""
        made = np.stack([rows, *(self._neighbour(rows, domain, turn) for turn in range(1, self.neighbours + 1))])
        possible = domain.contains(made.reshape(-1, rows.shape[1])).reshape(made.shape[:2])
        possible[1:] &= ((made[1:] != rows) & ~(np.isnan(made[1:]) & np.isnan(rows))).any(axis=2)
        return People(made, possible, np.zeros(len(rows), dtype=np.intp), rows)

    def _neighbour(self, rows: Rows, domain: TabularDomain, turn: int) -> Rows:
        """Every row with one cell moved, which one and how far being told by the row, the seed and the turn."""
        if not domain.free_places:
            raise InvalidArgument("every column is protected, so that there is nothing to change a little")
        chance = [_chance(rows, self.seed, 2 * turn + part) for part in (0, 1)]
        which = np.array(domain.free_places)[(chance[0] * len(domain.free_places)).astype(np.intp)]
        changed = rows.copy()
        for place in np.unique(which):
            here = which == place
            changed[here, place] = _moved(rows[here, place], chance[1][here], domain.columns[place], self.reach)
        return changed

    def rows_per_candidate(self, _domain: TabularDomain) -> int:
        """The row and its neighbours."""
        return 1 + self.neighbours


def _chance(rows: Rows, seed: int, turn: int) -> Reals:
    """Numbers from 0 to below 1 that only the row, the seed and the turn decide."""
    keys = hash_cells(np.column_stack([rows, np.full(len(rows), float(seed)), np.full(len(rows), float(turn))]))
    chance: Reals = (keys >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return chance


def _moved(cells: Reals, chance: Reals, column: Column, reach: float) -> Reals:
    """Another category, or a number nearby; at a border the step goes the other way.  A missing cell stays missing."""
    if column.is_listed:
        count = len(column.values)
        other: Reals = (cells + 1 + np.floor(chance * max(1, count - 1))) % count
        return other
    signed = 2 * chance - 1
    if column.is_integral:
        step = np.sign(signed) * np.ceil(np.abs(signed) * np.floor(reach))
    else:
        step = signed * reach / 100 * (column.highest - column.lowest)
    inside = (cells + step >= column.lowest) & (cells + step <= column.highest)
    moved: Reals = np.where(inside, cells + step, cells - step)
    return moved
