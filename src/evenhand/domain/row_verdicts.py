"""What a run has heard: every distinct row has one place, and at it one verdict.  Keys are kept once, verdicts are kept once.

The engine writes here; a method reads here what has been proposed before, and may enter rows that it proposes next.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Keys, Mask
from evenhand.contract import Verdict
from evenhand.domain.key_table import KeyTable


class RowVerdicts:
    """Places by key, verdicts by place.  Rows are entered in the order in which their verdicts then come."""

    def __init__(self, combinations: int, expected: int = 1 << 11) -> None:
        self.size = 0  # how many of the entered rows have their verdict
        self._table = KeyTable(expected)
        self._unfair = np.empty(expected, dtype=bool)
        self._gap = np.empty(expected)
        self._labels = np.empty((combinations, expected), dtype=np.int16)

    @property
    def combinations(self) -> int:
        """How many people each row stands for."""
        return len(self._labels)

    @property
    def entered(self) -> int:
        """How many distinct rows have a place."""
        return self._table.size

    @property
    def keys(self) -> Keys:
        """The key at every place."""
        return self._table.keys[: self._table.size]

    def enter(self, keys: Keys) -> tuple[Index, Mask]:
        """The place of every key, and whether it has just been given; the rows of new places must be judged next, in this order."""
        return self._table.add(keys)

    def find(self, keys: Keys) -> Index:
        """The place of every key; -1 for one that was never entered."""
        return self._table.find(keys)

    def record(self, verdict: Verdict) -> None:
        """The verdicts of the next places."""
        end = self.size + len(verdict)
        if end > len(self._unfair):
            room = max(2 * end, 4096)
            self._unfair, self._gap, self._labels = (_grown(a, room) for a in (self._unfair, self._gap, self._labels))
        self._unfair[self.size : end] = verdict.unfair
        self._gap[self.size : end] = verdict.gap
        self._labels[:, self.size : end] = verdict.labels.T
        self.size = end

    def recall(self, places: Index) -> Verdict:
        """The verdicts at these places."""
        return Verdict(self._unfair[places], self._gap[places], self._labels[:, places].T)

    def unfair(self, places: Index) -> Mask:
        """Which of these places were judged unfair."""
        return self._unfair[places]


def _grown(array: NDArray[Any], room: int) -> NDArray[Any]:
    bigger = np.empty((*array.shape[:-1], room), dtype=array.dtype)
    bigger[..., : array.shape[-1]] = array
    return bigger
