"""What a search has already proposed, with the verdicts, so that no row is proposed twice."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias

import numpy as np

from evenhand.arrays import Keys, Mask, Rows
from evenhand.contract import Candidates, Verdict
from evenhand.domain.seen import KeyTable
from evenhand.domain.tabular import TabularDomain

Judging: TypeAlias = Generator[Candidates, Verdict, Mask]
"""`unfair = yield from known.judge(rows, phase)`."""


class Known:
    """Proposes only rows that nobody has proposed before, and remembers the answer to the others."""

    def __init__(self, domain: TabularDomain) -> None:
        self.domain = domain
        self._table = KeyTable()
        self._unfair = np.zeros(4096, dtype=bool)
        self.is_new = np.zeros(0, dtype=bool)  # which rows of the last batch nobody had proposed before

    def __len__(self) -> int:
        return self._table.size

    def judge(self, rows: Rows, phase: str) -> Judging:
        """Which rows are unfair; only new ones go to the engine."""
        return (yield from self.judge_keyed(rows, self.domain.keys(rows), phase))

    def judge_keyed(self, rows: Rows, keys: Keys, phase: str) -> Judging:
        """The same for rows whose keys are already at hand."""
        before = self._table.size
        places, new = self._table.add(keys)
        self.is_new = new
        self._reserve()
        if self._table.size > before:
            verdict = yield Candidates(rows if new.all() else rows[new], phase)
            self._unfair[before : self._table.size] = verdict.unfair
        return self._unfair[places]

    def knows(self, keys: Keys) -> Mask:
        """Which rows have been proposed before; costs no question."""
        is_known: Mask = self._table.find(keys) >= 0
        return is_known

    def _reserve(self) -> None:
        if self._table.size > len(self._unfair):
            self._unfair = np.concatenate([self._unfair, np.zeros(self._table.size, dtype=bool)])
