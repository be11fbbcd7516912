"""Walks over all findings of a domain, plausible or not: one cell of every walk changes at a time, by a step or to any value.

Walks that lose their finding go on from one that did not, so that they gather where nearly every change leads to another finding: most
findings in a second, and not a sample of anything.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.contract import Search, Task
from evenhand.methods.parts.known import Known
from evenhand.methods.parts.move_shares import favoured
from evenhand.methods.parts.patience import PATIENCE
from evenhand.methods.parts.walks import Moves, signs


class Roaming:
    """Where the walks stand, and how often each change has led to a new finding.

    A change is a column with a step of one, or with any of its values.  Before it is tried, it is hoped to lead on every second time.
    """

    def __init__(self, start: Rows, task: Task, known: Known, rng: np.random.Generator) -> None:
        self.rows, self.task, self.known, self.rng = start, task, known, rng
        self.moves = Moves(task.domain)
        self.columns = self.moves.free[self.moves.units[self.moves.free] > 0]  # a column of one value cannot change
        self.asked: Reals = np.full(2 * len(self.columns), 2.0)
        self.found: Reals = np.ones(2 * len(self.columns))

    def go(self, elsewhere: int) -> Search:
        """Until the budget ends, or nothing new turns up; one walk in so many is tried anywhere in every round, or all would stay around
        the first findings."""
        stale = 0
        while len(self.columns) and stale < PATIENCE and (fitting := self.task.fitting(len(self.rows))):
            changes = self._changes()
            there = self._changed(changes)
            there[::elsewhere] = anywhere(self.task, len(there[::elsewhere]), self.rng)
            who = self._unknown(there)[:fitting]
            unfair = yield from self.known.judge(there[who], "anybody")
            won = who[unfair]
            self._note(changes, won)
            self.rows[won] = there[won]
            self._follow(who[~unfair], won)
            stale = 0 if len(who) > 1 else stale + 1

    def _changes(self) -> Index:
        """One change for every walk."""
        return self.rng.choice(len(self.asked), size=len(self.rows), p=favoured(self.found / self.asked))

    def _changed(self, changes: Index) -> Rows:
        """Where each change leads."""
        domain, place, line = self.task.domain, self.columns[changes // 2], np.arange(len(changes))
        low, high, unit = domain.low[place], domain.high[place], self.moves.units[place]
        cells = low + np.floor(self.rng.random(len(changes)) * ((high - low) / unit + 1)) * unit
        far = (cells - self.rows[line, place]) / unit
        return self.moves.step_one(self.rows, place, np.where(changes % 2, far, signs(len(changes), self.rng)))

    def _unknown(self, there: Rows) -> Index:
        """Possible rows that nobody has asked about."""
        unknown = ~self.known.knows(self.task.domain.keys(there))
        return np.flatnonzero(unknown & self.task.domain.contains(there))

    def _note(self, changes: Index, new: Index) -> None:
        self.asked += np.bincount(changes, minlength=len(self.asked))
        self.found += np.bincount(changes[new], minlength=len(self.found))

    def _follow(self, lost: Index, won: Index) -> None:
        if len(won):
            self.rows[lost] = self.rows[won[self.rng.integers(len(won), size=len(lost))]]


def anywhere(task: Task, n: int, rng: np.random.Generator) -> Rows:
    """Rows of the whole domain, every second one with about half of its cells at an end of their range: what is odd is often odd there."""
    domain = task.domain
    rows = domain.sample(n, rng)
    odd = rows[::2]
    end = np.where(rng.random(odd.shape) < 0.5, domain.low, domain.high)
    extreme = np.where((rng.random(odd.shape) < 0.5) & ~np.isnan(odd), end, odd)
    valid = domain.contains(extreme)
    rows[::2][valid] = extreme[valid]
    return rows
