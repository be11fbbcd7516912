"""Whether one reader of the same things is shown to read them better than another one.

Of labels: more right answers, or more told of the label.  Of amounts: smaller errors, or more told of the amount.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, sqrt
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Labels, Mask, Reals, Scores
from evenhand.contract import labels_of

FEWEST_MOVED = 8
"""Fewer things that only one of two readers reads rightly tell nothing."""
LEAST_PROBABILITY = 1e-4
"""Below which a probability counts no less: saturated answers have all the same."""
STIFFNESS = 10.0
"""How little the weights of a recalibration are held back; one for each class and group, for hundreds of answers."""


class Truth(Protocol):
    """What is true of things, and how two readers of them compare; the second one is the one that may be better."""

    def __len__(self) -> int:
        """Of how many things it is known."""

    def at(self, places: Index | Mask | slice) -> Self:
        """Of these things only."""

    def gains(self, first: Scores, second: Scores) -> Reals:
        """For each thing, by how much the second reads it better: at most about 1."""

    def gain(self, first: Scores, second: Scores) -> float:
        """By how much it reads them better as a whole."""

    def p_of_fewer_errors(self, first: Scores, second: Scores) -> float:
        """The one-sided p-value that it errs less."""

    def p_of_more_told(self, first: Scores, second: Scores, groups: Labels) -> float:
        """The one-sided p-value that it tells more within groups, whatever its thresholds, its scale and its zero are."""

    def told(self, as_wired: Scores, otherwise: Scores) -> str:
        """How well both do, after "with this wiring"."""


@dataclass(frozen=True, eq=False)
class TrueLabels:
    """Things that have a label each."""

    labels: Labels

    def __len__(self) -> int:
        return len(self.labels)

    def at(self, places: Index | Mask | slice) -> Self:
        """Of these things only."""
        return type(self)(self.labels[places])

    def gains(self, first: Scores, second: Scores) -> Reals:
        """1 where only the second is right, -1 where only the first one is."""
        return np.asarray(self._right(second).astype(float) - self._right(first))

    def gain(self, first: Scores, second: Scores) -> float:
        """How much more the second reads rightly: of all things, or of the mean class, where that is less.

        One that only says the commonest label is right more often and reads nothing; one that guesses the rarer ones has a better mean.
        """
        before, after = (how_well_read(scores, self.labels) for scores in (first, second))
        return min(after.share - before.share, after.mean_of_classes - before.mean_of_classes)

    def p_of_fewer_errors(self, first: Scores, second: Scores) -> float:
        """That it is right more often."""
        return p_of_more_right(self._right(first), self._right(second), self.labels)

    def p_of_more_told(self, first: Scores, second: Scores, groups: Labels) -> float:
        """That its scores tell more of the label."""
        return p_of_more_told(first, second, self.labels, groups)

    def told(self, as_wired: Scores, otherwise: Scores) -> str:
        """Right answers of both."""
        before, after = (how_well_read(scores, self.labels) for scores in (as_wired, otherwise))
        return (
            f"it reads {after.share:.1%} of {len(self):,} labelled pictures rightly (of the mean class {after.mean_of_classes:.1%}), "
            f"as it is wired {before.share:.1%} ({before.mean_of_classes:.1%})"
        )

    def _right(self, scores: Scores) -> Mask:
        return np.asarray(labels_of(scores) == self.labels)


@dataclass(frozen=True, eq=False)
class TrueAmounts:
    """Things that have an amount each; errors are told in the mean error of always saying the middle amount."""

    amounts: Reals
    unit: float

    @classmethod
    def of(cls, amounts: Reals) -> Self:
        """With the unit that they have together."""
        return cls(amounts, float(np.abs(amounts - np.median(amounts)).mean()))

    def __len__(self) -> int:
        return len(self.amounts)

    def at(self, places: Index | Mask | slice) -> Self:
        """Of these things only, in the same unit."""
        return type(self)(self.amounts[places], self.unit)

    def gains(self, first: Scores, second: Scores) -> Reals:
        """By how much the second errs less, at most the whole error of a guess either way: one number that is far off tells little."""
        return np.asarray(self._errors(first) - self._errors(second))

    def gain(self, first: Scores, second: Scores) -> float:
        """The mean of these."""
        return float(self.gains(first, second).mean())

    def p_of_fewer_errors(self, first: Scores, second: Scores) -> float:
        """That its mean error is smaller (signs exchanged, normal)."""
        return _p_of_rise(self.gains(first, second))

    def p_of_more_told(self, first: Scores, second: Scores, groups: Labels) -> float:
        """That its amounts, on a straight line with a constant for each group, come nearer to the true ones (Vuong)."""
        if np.ptp(self.amounts) == 0:
            return 1.0
        return _p_of_gain(_on_a_line(second, self.amounts, groups) - _on_a_line(first, self.amounts, groups))

    def told(self, as_wired: Scores, otherwise: Scores) -> str:
        """Mean errors of both."""
        before, after = (float(np.abs(scores[:, 0] - self.amounts).mean()) for scores in (as_wired, otherwise))
        return f"its mean error on {len(self):,} pictures is {after:.4g}, as it is wired {before:.4g}"

    def _errors(self, scores: Scores) -> Reals:
        return np.asarray(np.minimum(np.abs(scores[:, 0] - self.amounts) / self.unit, 1.0))


def _on_a_line(said: Scores, amounts: Reals, groups: Labels) -> Reals:
    """The logarithms of the normal densities of the true amounts about the line fitted to what was said and to the group."""
    known = np.unique(groups)
    of_group = (groups[:, None] == known[None, :]).astype(float)
    seen = np.column_stack([said[:, :1] - said[:, :1].mean(), of_group])
    missed = amounts - seen @ np.linalg.lstsq(seen, amounts, rcond=None)[0]
    spread = max(float(missed.std()), 1e-12)
    return np.asarray(-0.5 * (missed / spread) ** 2 - np.log(spread))


@dataclass(frozen=True)
class ReadShares:
    """Of right answers: of all things, and as the mean over the classes."""

    share: float
    mean_of_classes: float


def how_well_read(scores: Scores, labels: Labels) -> ReadShares:
    """The shares of right answers."""
    right = labels_of(scores) == labels
    return ReadShares(float(right.mean()), float((_weights(labels) * right).sum()))


def _weights(labels: Labels) -> Reals:
    """Every class counts alike."""
    counts = np.bincount(labels)
    return np.asarray(1.0 / (counts[labels] * np.count_nonzero(counts)))


def p_of_more_right(first: Mask, second: Mask, labels: Labels) -> float:
    """The one-sided p-value that the second reader is right more often, both of all things and of the mean class.

    For each, either reader is as likely to be the right one of a thing that only one reads rightly (signs exchanged, normal).
    """
    moved = second.astype(float) - first
    return max(_p_of_rise(moved), _p_of_rise(moved * _weights(labels)))


def _p_of_rise(moved: Reals) -> float:
    if np.count_nonzero(moved) < FEWEST_MOVED:
        return 1.0
    return _upper_tail(moved.sum() / np.sqrt((moved**2).sum()))


def p_of_more_told(first: Scores, second: Scores, labels: Labels, groups: Labels) -> float:
    """The one-sided p-value that the second reader's scores tell more of the label than the first's, within groups.

    Both are calibrated again, with a threshold of its own for each class and group, so that neither overconfidence nor a leaning towards
    a class or a group counts; then the logarithms of the probabilities of the true labels are compared (Vuong, Econometrica 1989).
    """
    if len(np.unique(labels)) < 2:
        return 1.0
    return _p_of_gain(_logarithms(second, labels, groups) - _logarithms(first, labels, groups))


def _p_of_gain(gain: Reals) -> float:
    spread = float(gain.std())
    return 1.0 if spread < 1e-9 else _upper_tail(gain.mean() / spread * np.sqrt(len(gain)))


def _upper_tail(standardised: float) -> float:
    """Of the normal distribution."""
    return erfc(standardised / sqrt(2)) / 2


def _logarithms(scores: Scores, labels: Labels, groups: Labels) -> Reals:
    """Of the probability of each true label, by scores that are calibrated again."""
    from sklearn.linear_model import LogisticRegression

    shares = np.log(np.clip(scores / np.maximum(scores.sum(axis=1, keepdims=True), 1e-12), LEAST_PROBABILITY, 1.0))
    relative = (shares - shares.mean(axis=1, keepdims=True))[:, :-1]
    known = np.unique(groups)
    of_group = (groups[:, None] == known[None, 1:]).astype(float)
    seen: NDArray[np.float64] = np.column_stack([relative, of_group])
    fitted = LogisticRegression(C=STIFFNESS, max_iter=300, tol=1e-3).fit(seen, labels)
    told = fitted.predict_log_proba(seen)
    return np.asarray(told[np.arange(len(labels)), np.searchsorted(fitted.classes_, labels)])
