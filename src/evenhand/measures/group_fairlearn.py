"""The rest through Fairlearn: any metric of Fairlearn or scikit-learn by its name, over groups, with a test of whether they differ.

Fairlearn computes the values.  The test deals the groups out at random and asks Fairlearn again, so it takes as many calls as deals.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals
from evenhand.errors import InvalidArgument, UnknownName
from evenhand.measures.groups import Grouping

USUAL = ("balanced_accuracy_score", "f1_score", "matthews_corrcoef", "roc_auc_score", "log_loss")
TAKES_SCORES = ("roc_auc_score", "log_loss", "brier_score_loss", "average_precision_score")


@dataclass(frozen=True)
class GroupAnswers:
    """What is compared: the truth and the prediction of every row as 0 and 1, the score where there is one, and the rows' weights."""

    truth: NDArray[Any]
    predicted: NDArray[Any]
    score: Reals | None = None
    weights: Reals | None = None


@dataclass(frozen=True)
class FairlearnFigure:
    """One metric as Fairlearn sees it."""

    metric: str
    attribute: str
    by_group: dict[str, float]
    overall: float
    difference: float
    ratio: float
    p_value: float | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dict(vars(self))


def through_fairlearn(
    names: Sequence[str], answers: GroupAnswers, grouping: Grouping, rng: np.random.Generator, draws: int = 0
) -> list[FairlearnFigure]:
    """Fairlearn's figures of these metrics; with draws, each with its permutation p-value."""
    found = []
    for name in names:
        metric = _metric(name)
        if name in TAKES_SCORES and answers.score is None:
            continue
        seen = _frame(name, metric, answers, grouping.codes)
        dealt = [_difference(_frame(name, metric, answers, rng.permutation(grouping.codes))) for _ in range(draws)]
        p_value = (1 + sum(each >= _difference(seen) - 1e-12 for each in dealt)) / (1 + draws) if draws else None
        by_group = {grouping.names[int(code)]: float(value) for code, value in seen.by_group.items()}
        found.append(FairlearnFigure(name, grouping.name, by_group, float(seen.overall), _difference(seen), _ratio(seen), p_value))
    return found


def _difference(frame: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(frame.difference())


def _ratio(frame: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(frame.ratio())


def _metric(name: str) -> Callable[..., float]:
    import fairlearn.metrics
    import sklearn.metrics

    for home in (fairlearn.metrics, sklearn.metrics):
        if callable(getattr(home, name, None)):
            metric: Callable[..., float] = getattr(home, name)
            return metric
    raise UnknownName("metric of Fairlearn or scikit-learn", name, [*fairlearn.metrics.__all__, *sklearn.metrics.__all__])


def _frame(name: str, metric: Callable[..., float], answers: GroupAnswers, codes: NDArray[Any]) -> Any:
    from fairlearn.metrics import MetricFrame

    said = answers.score if name in TAKES_SCORES else answers.predicted
    parameters = {} if answers.weights is None else {"sample_weight": answers.weights}
    guarded = _guarded(metric, answers)
    try:
        # Scores of few rows look like a regression to scikit-learn, which warns; groups without a value are NaN here.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return MetricFrame(metrics=guarded, y_true=answers.truth, y_pred=said, sensitive_features=codes, sample_params=parameters)
    except (TypeError, ValueError) as fault:
        raise InvalidArgument(f"metric {name!r} cannot be computed from labels and predictions: {fault}") from fault


def _guarded(metric: Callable[..., float], answers: GroupAnswers) -> Callable[..., float]:
    """The metric, NaN in a group where it has no value (one class only) instead of an error or a warning."""
    classes = np.unique(answers.truth)

    def value(y_true: NDArray[Any], y_pred: NDArray[Any], **more: Any) -> float:
        if len(np.unique(y_true)) < len(classes):
            return float("nan")
        return float(metric(y_true, y_pred, **more))

    return value
