"""How often a population may repeat a row that it was learnt from: as often as a fresh real row would, and not more.

Good and Turing: of n rows of which s stand alone, about (n - s) / n of fresh rows equal one of them.  Trees fine enough to be realistic
repeat more than that; the surplus is drawn again.  A large surplus means that the leaves learn single rows by heart; they are
cut larger then.  Larger leaves everywhere, or leaves pruned by the likelihood of held-out rows, would be worse: where columns have
much to do with each other, they blur it, and the rows are told from real ones far more easily.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from evenhand.arrays import Index, Keys, Mask, Reals, Rows
from evenhand.domain.keys import hash_cells

FIRST_DRAWS = 2_000
DRAWS = 20_000
"""Rows drawn to see how many repeat one: a few first, which settle most tables."""
NEGLIGIBLE = 0.002
ONE_SIDED_99, POINT = 2.326, 0.01
"""How sure it is to be that copies are not a point more than fresh rows would bring."""
TRIALS = 4
"""Samples, at most, that are drawn until no more copies than due are left."""
MOST_KEPT = 0.5
"""Of a chain, when a row is first drawn again.  Were all but a few columns kept, those few would be what no learnt row of its kind has."""
ROUNDS = 8
"""Times that a row is drawn again at most; fixed cells may leave little else than known rows."""


Again = Callable[[Rows, Index, float], Rows]  # rows, which of them to draw again, and the share of the chain whose cells they keep


@dataclass(frozen=True, eq=False)
class CopyLimit:
    """Keys of the learnt rows, those that stand alone and those that occur several times, and the part of copies of each that is kept."""

    alone: Keys  # ascending
    repeated: Keys  # ascending
    kept_alone: float
    kept_repeated: float
    surplus: float = 0.0  # share of rows that repeat a learnt one beyond what is due, before any is drawn again

    @classmethod
    def of(cls, learnt: Rows, draw: Callable[[int], Rows], again: Again, rng: np.random.Generator) -> CopyLimit | None:
        """The limit for rows of `draw`, a population learnt from some rows; None where there is no surplus."""
        keys, counts = np.unique(hash_cells(learnt), return_counts=True)
        free = cls(keys[counts == 1], keys[counts > 1], 1.0, 1.0)
        due = due_mass(counts)
        if free._mass(draw(FIRST_DRAWS)).total <= due.total + NEGLIGIBLE or due.total >= 1:
            return None
        rows = draw(DRAWS)
        drawn = free._mass(rows)
        if drawn.total <= due.total + NEGLIGIBLE or drawn.total >= 1:
            return None
        found = cls(free.alone, free.repeated, *_kept(drawn, due), drawn.total - due.total)
        for _ in range(TRIALS):  # a row that is drawn again is of the same kind, so it is a copy again more often than any other
            left = free._mass(found.thinned(rows.copy(), again, rng))
            if left.total <= due.total + NEGLIGIBLE:
                break
            found = found._scaled(_part(due.alone, left.alone), _part(due.repeated, left.repeated))
        return found

    def _scaled(self, alone: float, repeated: float) -> CopyLimit:
        return replace(self, kept_alone=self.kept_alone * alone, kept_repeated=self.kept_repeated * repeated)

    def _mass(self, rows: Rows) -> CopyMass:
        keys = hash_cells(rows)
        return CopyMass(float(_among(keys, self.alone).mean()), float(_among(keys, self.repeated).mean()))

    def kept_shares(self, rows: Rows) -> Reals:
        """The part of draws of each row that is kept: 1 for a row that is no copy."""
        keys = hash_cells(rows)
        shares: Reals = np.where(_among(keys, self.alone), self.kept_alone, 1.0)
        return np.where(_among(keys, self.repeated), self.kept_repeated, shares)

    def thinned(self, rows: Rows, again: Again, rng: np.random.Generator) -> Rows:
        """The rows, surplus copies drawn again in their places, each time with a little less of the beginning that they keep.

        So a copy makes room for a row of its own kind.  Whole rows drawn again would come from all over, and the kinds of
        people whose rows repeat would become rarer.
        """
        left = np.arange(len(rows))
        for turn in range(ROUNDS):
            left = left[rng.random(len(left)) >= self.kept_shares(rows[left])]
            if not left.size:
                break
            rows[left] = again(rows, left, MOST_KEPT * (1.0 - turn / (ROUNDS - 1)))
        return rows


@dataclass(frozen=True)
class CopyMass:
    """How much of a distribution lies on learnt rows that stand alone, and on those that occur several times."""

    alone: float
    repeated: float

    @property
    def total(self) -> float:
        """Both together."""
        return self.alone + self.repeated


def due_mass(counts: Index) -> CopyMass:
    """What fresh rows owe to learnt ones that occur so many times; so much less that as many fresh rows rarely owe a point less."""
    n = int(counts.sum())
    total = 1.0 - float((counts == 1).sum()) / n
    alone = min(total, 2.0 * float((counts == 2).sum()) / n)
    spared = float(np.clip(ONE_SIDED_99 * np.sqrt(2 * total * (1 - total) / n) + NEGLIGIBLE - POINT, 0.0, total))
    part = 1.0 - spared / total if total else 0.0
    return CopyMass(part * alone, part * (total - alone))


def _kept(drawn: CopyMass, due: CopyMass) -> tuple[float, float]:
    """The parts to keep so that what is left has the due mass on copies; rows that occur several times are owed theirs first."""
    room = due.total * (1 - drawn.total) / (1 - due.total)  # mass of copies beside what is no copy
    of_repeated = min(drawn.repeated, room * due.repeated / due.total) if due.total else 0.0
    of_alone = min(drawn.alone, room - of_repeated)
    of_repeated = min(drawn.repeated, room - of_alone)
    return of_alone / drawn.alone if drawn.alone else 1.0, of_repeated / drawn.repeated if drawn.repeated else 1.0


def _part(due: float, drawn: float) -> float:
    """How much of what is drawn is due."""
    return min(1.0, due / drawn) if drawn else 1.0


def _among(keys: Keys, known: Keys) -> Mask:
    """Which keys are among ascending known ones."""
    if not len(known):
        return np.zeros(len(keys), dtype=bool)
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    found: Mask = known[place] == keys
    return found
