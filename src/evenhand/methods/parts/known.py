"""What a search has already proposed, so that no row is proposed twice.  The keys and verdicts are the run's own, kept once."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Keys, Mask, Rows
from evenhand.contract import Candidates, Task, Verdict
from evenhand.domain.row_verdicts import RowVerdicts
from evenhand.domain.shown_twins import is_believable

Judging: TypeAlias = Generator[Candidates, Verdict, Mask]
"""`unfair = yield from known.judge(rows, phase)`."""


class Known:
    """Proposes only rows that it has not proposed before, and reads the answer to the others where the run keeps it.

    What other parts of the method have proposed is not its business: such a row is proposed again, and counts as a duplicate.
    """

    def __init__(self, task: Task) -> None:
        self.domain = task.domain
        self._heard = task.heard if task.heard is not None else RowVerdicts(len(task.domain.combinations))
        self._is_alone = task.heard is None  # outside of a run nobody else writes the verdicts down
        self._mine = np.zeros(4096, dtype=bool)  # by place
        self._count = 0
        self.is_new = np.zeros(0, dtype=bool)  # which rows of the last batch had not been proposed before
        self.is_listed = np.zeros(0, dtype=bool)  # which are unfair between people whom one can believe in

    def __len__(self) -> int:
        return self._count

    def judge(self, rows: Rows, phase: str) -> Judging:
        """Which rows are unfair; only new ones go to the engine."""
        return (yield from self.judge_likely(rows, phase, None))

    def judge_likely(self, rows: Rows, phase: str, likelihood: NDArray[np.floating] | None) -> Judging:
        """The same for rows of which it is known how likely they are under each protected combination."""
        places = yield from self._propose(Candidates(rows, phase, None, likelihood))
        unfair = self._heard.unfair(places)
        self.is_listed = unfair if likelihood is None else unfair & self._believable(places, likelihood)
        return unfair

    def take_proven(self, rows: Rows, phase: str, labels: NDArray[np.int16]) -> Judging:
        """The same for rows whose labels are proven."""
        places = yield from self._propose(Candidates(rows, phase, None, None, labels))
        return self._heard.unfair(places)

    def _propose(self, candidates: Candidates) -> Generator[Candidates, Verdict, Index]:
        """What is new goes to the engine; the place of every row."""
        places, entered = self._heard.enter(self.domain.keys(candidates.rows))
        new = self.is_new = self._claimed(places, entered)
        if new.any():
            candidates = replace(candidates, places=places)
            verdict = yield candidates if new.all() else candidates[new]
            if self._is_alone:
                self._heard.record(verdict)
        return places

    def _believable(self, places: Index, likelihood: NDArray[np.floating]) -> Mask:
        if self._heard.combinations == 2:
            return np.asarray(np.isfinite(likelihood).all(axis=1))
        return is_believable(self._heard.recall(places).labels, likelihood)

    def _claimed(self, places: Index, entered: Mask) -> Mask:
        """The first row at each place that was not proposed here before; a place that has just been given is one."""
        if self._heard.entered > len(self._mine):
            self._mine = np.concatenate([self._mine, np.zeros(self._heard.entered, dtype=bool)])
        self._mine[places[entered]] = True
        new = entered
        others = np.flatnonzero(~self._mine[places])
        if others.size:  # judged in this run, but not through here
            distinct, first = np.unique(places[others], return_index=True)
            new = entered.copy()
            new[others[first]] = True
            self._mine[distinct] = True
        self._count += int(new.sum())
        return new

    def knows(self, keys: Keys) -> Mask:
        """Which rows have been proposed here before; costs no question."""
        places = self._heard.find(keys)
        is_known: Mask = (places >= 0) & self._mine[np.minimum(places, len(self._mine) - 1)]
        return is_known
