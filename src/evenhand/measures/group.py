"""What may differ between groups: parity, odds, predictive value, accuracy, calibration, amounts.

Each metric says which rows it looks at and what is counted there; nothing is computed here.  Fairlearn's names are given where both exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals
from evenhand.errors import InvalidArgument

UNKNOWN = -1
"""The truth of a row whose label is missing."""


@dataclass(frozen=True)
class Outcomes:
    """What a model said about rows, and what was true of them.

    chosen: who gets the favourable outcome.  truth: 1 who deserves it, 0 who does not, -1 unknown.  score: how sure the model is of the
    favourable outcome.  amount and actual: the number that a regression says, and the true one, NaN where unknown.
    """

    chosen: Mask | None = None
    truth: NDArray[np.int8] | None = None
    score: Reals | None = None
    amount: Reals | None = None
    actual: Reals | None = None
    weights: Reals | None = None

    def __post_init__(self) -> None:
        lengths = {name: len(value) for name, value in vars(self).items() if value is not None}
        if not lengths or len(set(lengths.values())) > 1:
            raise InvalidArgument(f"outcomes must be lists of one length, got {lengths or 'none'}")
        if self.weights is not None and not (np.isfinite(self.weights).all() and (self.weights >= 0).all() and self.weights.any()):
            raise InvalidArgument("weights must be finite numbers of at least 0, and not all 0")


@dataclass(frozen=True)
class Cases:
    """Rows that a share is taken of, and which of them are hits."""

    rows: Mask
    hits: Mask


@dataclass(frozen=True)
class ShareMetric:
    """A difference of shares; `cases` gives one or two kinds of rows within which shares are compared."""

    name: str
    title: str
    meaning: str
    size: Literal["gap", "ratio", "mean gap", "largest gap"]
    cases: Callable[[Outcomes], tuple[Cases, ...] | None]
    fairlearn: str = ""


@dataclass(frozen=True)
class AmountMetric:
    """A difference of mean amounts; `values` gives a number per row, NaN where the row does not count."""

    name: str
    title: str
    meaning: str
    values: Callable[[Outcomes], Reals | None]
    strata: Callable[[Outcomes], Reals | None] = lambda _: None
    fairlearn: str = ""


def _known(outcomes: Outcomes) -> Mask | None:
    return None if outcomes.truth is None else outcomes.truth != UNKNOWN


def _selected(o: Outcomes) -> tuple[Cases, ...] | None:
    return None if o.chosen is None else (Cases(np.ones(len(o.chosen), dtype=bool), o.chosen),)


def _among(truth: int) -> Callable[[Outcomes], tuple[Cases, ...] | None]:
    return lambda o: None if o.chosen is None or o.truth is None else (Cases(o.truth == truth, o.chosen),)


def _odds(o: Outcomes) -> tuple[Cases, ...] | None:
    return None if o.chosen is None or o.truth is None else (Cases(o.truth == 1, o.chosen), Cases(o.truth == 0, o.chosen))


def _predicted(chosen: bool) -> Callable[[Outcomes], tuple[Cases, ...] | None]:
    def cases(o: Outcomes) -> tuple[Cases, ...] | None:
        return None if o.chosen is None or o.truth is None else (Cases((o.chosen == chosen) & (o.truth != UNKNOWN), o.truth == 1),)

    return cases


def _right(o: Outcomes) -> tuple[Cases, ...] | None:
    return None if o.chosen is None or o.truth is None else (Cases(o.truth != UNKNOWN, o.chosen == (o.truth == 1)),)


def _surplus(o: Outcomes) -> Reals | None:
    """How much more often the favourable outcome was true than the score said."""
    known = _known(o)
    if known is None or o.score is None or o.truth is None:
        return None
    return np.where(known, o.truth - o.score, np.nan)


def _error(o: Outcomes) -> Reals | None:
    return None if o.amount is None or o.actual is None else o.amount - o.actual


SHARES = (
    ShareMetric("statistical_parity", "Statistical parity (SPD)", "share who get the favourable outcome", "gap", _selected,
                "selection_rate"),
    ShareMetric("disparate_impact", "Disparate impact", "lowest share who get the favourable outcome over the highest", "ratio", _selected,
                "selection_rate"),
    ShareMetric("equal_opportunity", "Equal opportunity", "share of those who deserve it who get it", "gap", _among(1),
                "true_positive_rate"),
    ShareMetric("predictive_equality", "Predictive equality", "share of those who do not deserve it who get it", "gap", _among(0),
                "false_positive_rate"),
    ShareMetric("average_odds", "Average odds (AOD)", "the gaps of the two shares before, averaged", "mean gap", _odds),
    ShareMetric("equalized_odds", "Equalised odds", "the larger of these two gaps", "largest gap", _odds),
    ShareMetric("predictive_parity", "Predictive parity", "share of those who get it who deserve it", "gap", _predicted(True),
                "precision_score"),
    ShareMetric("false_omission", "False omission", "share of those who do not get it who deserve it", "gap", _predicted(False)),
    ShareMetric("accuracy", "Accuracy", "share who are judged rightly", "gap", _right, "accuracy_score"),
)  # fmt: skip
AMOUNTS = (
    AmountMetric("mean_score", "Mean score", "mean score of the favourable outcome", lambda o: o.score, fairlearn="mean_prediction"),
    AmountMetric("calibration", "Calibration", "how much more often it was deserved than the score said, at like scores", _surplus,
                 lambda o: o.score),
    AmountMetric("mean_amount", "Mean amount", "mean of what the model says", lambda o: o.amount, fairlearn="mean_prediction"),
    AmountMetric("mean_error", "Mean error", "what the model says minus what is true", _error),
    AmountMetric("absolute_error", "Absolute error", "how far the model is off",
                 lambda o: None if (error := _error(o)) is None else np.abs(error), fairlearn="mean_absolute_error"),
)  # fmt: skip
BY_NAME: dict[str, ShareMetric | AmountMetric] = {metric.name: metric for metric in (*SHARES, *AMOUNTS)}
WHERE_NOBODY_HOPES = {
    "equal_opportunity": ("Recall", "share of those of this class who are taken for it"),
    "predictive_equality": ("Taken for", "share of all others who are taken for this class"),
}
"""Titles and meanings where nobody hopes for a class."""
