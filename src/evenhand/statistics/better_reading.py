"""Whether one reader of the same things is shown to read them better than another one: more right answers, or more told of the label."""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Mask, Reals, Scores
from evenhand.contract import labels_of

FEWEST_MOVED = 8
"""Fewer things that only one of two readers reads rightly tell nothing."""
LEAST_PROBABILITY = 1e-4
"""Below which a probability counts no less: saturated answers have all the same."""
STIFFNESS = 10.0
"""How little the weights of a recalibration are held back; one for each class and group, for hundreds of answers."""


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
    gain = _logarithms(second, labels, groups) - _logarithms(first, labels, groups)
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
