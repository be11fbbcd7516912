"""Individual discrimination: the same person under another protected value gets another answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals, Rows, Scores
from evenhand.contract import Model, Verdict, labels_of
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument

IMPOSSIBLE = -1
"""The label of a twin that the domain's constraints forbid."""


@dataclass(frozen=True)
class LabelFlip:
    """Unfair when two possible twins get different labels: the papers' individual discriminatory instance."""

    def judge(self, rows: Rows, domain: TabularDomain, model: Model) -> Verdict:
        """One entry per input, over every protected combination."""
        labels, gap = ask_twins(rows, domain, model)
        return Verdict(differ(labels), gap, labels)

    def rows_per_candidate(self, domain: TabularDomain) -> int:
        """One row for every protected combination."""
        return len(domain.combinations)


@dataclass(frozen=True)
class ScoreGap:
    """Unfair when the scores of two possible twins differ by more than a threshold, whatever the labels."""

    threshold: float = 0.1

    def __post_init__(self) -> None:
        if not 0.0 < self.threshold < 1.0:
            raise InvalidArgument(f"threshold={self.threshold!r} must lie strictly between 0 and 1")

    def judge(self, rows: Rows, domain: TabularDomain, model: Model) -> Verdict:
        """One entry per input, over every protected combination."""
        if model.is_hard:
            raise InvalidArgument("the score-gap oracle needs scores, but this model only says labels; use the label-flip oracle")
        labels, gap = ask_twins(rows, domain, model)
        return Verdict(gap > self.threshold, gap, labels)

    def rows_per_candidate(self, domain: TabularDomain) -> int:
        """One row for every protected combination."""
        return len(domain.combinations)


def ask_twins(rows: Rows, domain: TabularDomain, model: Model) -> tuple[NDArray[np.int16], Reals]:
    """Labels (n, combinations) and the largest score gap (n,) of every input's possible twins."""
    if not len(rows):
        return np.empty((0, len(domain.combinations)), dtype=np.int16), np.empty(0)
    twins = domain.twins(rows)
    combinations, n, width = twins.rows.shape
    scores = model.scores(twins.rows.reshape(combinations * n, width))
    labels = labels_of(scores).astype(np.int16).reshape(combinations, n)
    if domain.constraints:
        labels[~twins.valid] = IMPOSSIBLE
    return labels.T, _gap(scores.reshape(combinations, n, -1), twins.valid if domain.constraints else None)


def _gap(scores: Scores, valid: NDArray[np.bool_] | None) -> Reals:
    """The largest difference of any class's score between two possible twins, (n,)."""
    watched = scores[:, :, 1:] if scores.shape[2] == 2 else scores
    if valid is None:
        spread = watched.max(axis=0) - watched.min(axis=0)
    else:
        high = np.where(valid[:, :, None], watched, -np.inf).max(axis=0)
        low = np.where(valid[:, :, None], watched, np.inf).min(axis=0)
        spread = np.maximum(high - low, 0.0)
    largest: Reals = spread[:, 0] if spread.shape[1] == 1 else spread.max(axis=1)
    return largest


def differ(labels: NDArray[np.int16]) -> Mask:
    """Which inputs have two possible twins with different labels; `labels` is (n, combinations)."""
    possible = labels != IMPOSSIBLE
    if possible.all():
        flips: Mask = (labels != labels[:, :1]).any(axis=1)
        return flips
    highest = np.where(possible, labels, np.iinfo(np.int16).min).max(axis=1)
    lowest = np.where(possible, labels, np.iinfo(np.int16).max).min(axis=1)
    apart: Mask = highest > lowest
    return apart
