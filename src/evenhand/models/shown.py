"""ShownModel: the one adapter between rows and anything that is asked about what a row shows: pictures or texts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Protocol

import numpy as np

from evenhand.arrays import Rows, Scores
from evenhand.contract import Medium

PROBED = 16


class Reader(Protocol):
    """Scores what a medium shows."""

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label values, in the order of the score columns."""

    def scores(self, shown: Any) -> Scores:
        """One row of scores for each shown thing."""


@dataclass(frozen=True, eq=False)
class ShownModel:
    """A reader behind a medium: it is shown the rows that a model is asked about."""

    medium: Medium
    reader: Reader
    is_hard: bool = False
    batch_rows: int = 256
    is_costly: bool = True  # showing a row costs more than remembering its answer

    @property
    def classes(self) -> tuple[Any, ...]:
        """The reader's own."""
        return tuple(self.reader.classes)

    def scores(self, rows: Rows) -> Scores:
        """What the reader says of what the rows show."""
        return self.reader.scores(self.medium.show(rows))

    def fingerprint(self) -> str:
        """The reader's own, else a digest of its answers to a few fixed rows."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        own = getattr(self.reader, "fingerprint", None)
        if callable(own):
            return str(own())
        answers = self.scores(self.medium.domain.sample(PROBED, np.random.default_rng(0)))
        return sha256(np.round(np.asarray(answers, np.float64), 6).tobytes()).hexdigest()[:16]
