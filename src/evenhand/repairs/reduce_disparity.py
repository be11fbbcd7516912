"""Fairlearn's ExponentiatedGradient: the model is fitted in rounds to rows reweighed against the largest difference between groups.

Paper: Agarwal et al., "A Reductions Approach to Fair Classification", ICML 2018.

Weights become a resampling of as many rows, because not every model takes weights, so that every trainable model can be used.  The
result is a mixture of the rounds' models; its weighted mean decides, where Fairlearn would draw lots.  For two classes.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evenhand.contract import Model, Trainable, labels_of
from evenhand.errors import InvalidArgument, MissingAbility
from evenhand.models.composed import ConstantModel, Mixture
from evenhand.repairs.adjust_thresholds import distinct_groups
from evenhand.repairs.parts.case import Case, Mended, Role
from evenhand.repairs.parts.retraining import trainable

CONSTRAINTS = ("demographic_parity", "equalized_odds")


@dataclass(frozen=True)
class ReduceDisparity:
    """A mixture of new models of the same kind.  rounds: how many are fitted at most; slack: the difference that is allowed."""

    constraint: str = "demographic_parity"
    rounds: int = 4
    slack: float = 0.01

    needs: ClassVar[type] = Trainable
    role: ClassVar[Role] = "repair"

    def __post_init__(self) -> None:
        if self.constraint not in CONSTRAINTS:
            raise InvalidArgument(f"constraint={self.constraint!r} must be one of {', '.join(CONSTRAINTS)}")

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:
        """Run the rounds."""
        case.check_classes("Fairlearn's reductions are for two classes")
        from fairlearn.reductions import DemographicParity, EqualizedOdds, ExponentiatedGradient

        if len(case.model.classes) != 2:
            raise MissingAbility(f"Fairlearn's reductions are for two classes, the model has {len(case.model.classes)}")
        trainable(case.model)
        moment = DemographicParity if self.constraint == "demographic_parity" else EqualizedOdds
        search = ExponentiatedGradient(
            Resampling(case.model, rng), constraints=moment(difference_bound=self.slack), max_iter=self.rounds, eps=self.slack
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.fit(case.rows, case.labels, sensitive_features=distinct_groups(case)[1])
        weights = np.asarray(search.weights_, dtype=np.float64)
        used = np.flatnonzero(weights > 1e-9)
        models = tuple(_model(search.predictors_.iloc[int(place)], case.model) for place in used)
        mixture = Mixture(models, tuple(float(w) for w in weights[used] / weights[used].sum()), by_label=True)
        return Mended(mixture, {"models": len(models), "fitted": len(search.predictors_), "constraint": self.constraint})


class Resampling:
    """What scikit-learn calls an estimator, around a model that can be fitted again; weights become a resampling."""

    def __init__(self, model: Model, rng: np.random.Generator) -> None:
        self.model, self.rng = model, rng
        self.fitted_: Model | None = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - the interface's
        """For scikit-learn's clone."""
        return {"model": self.model, "rng": self.rng}

    def __deepcopy__(self, _memo: Any) -> Resampling:
        return Resampling(self.model, self.rng)

    def __sklearn_clone__(self) -> Resampling:
        return Resampling(self.model, self.rng)

    def fit(self, rows: Any, labels: Any, sample_weight: Any = None) -> Resampling:
        """Draw rows by their weights and fit."""
        rows, labels = np.asarray(rows, dtype=np.float64), np.asarray(labels).astype(np.intp)
        weights = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        chosen = self.rng.choice(len(rows), len(rows), p=weights / weights.sum())
        seen = np.unique(labels[chosen])
        if len(seen) < 2:
            self.fitted_ = ConstantModel(self.model.classes, np.eye(len(self.model.classes))[seen[0]])
        else:
            self.fitted_ = trainable(self.model).refit(rows[chosen], labels[chosen], self.rng)
        return self

    def predict(self, rows: Any) -> Any:
        """Labels."""
        assert self.fitted_ is not None
        return labels_of(self.fitted_.scores(np.asarray(rows, dtype=np.float64)))


def _model(predictor: Any, like: Model) -> Model:
    """The model of one round; Fairlearn puts a constant where a round's labels were all the same."""
    if isinstance(predictor, Resampling) and predictor.fitted_ is not None:
        return predictor.fitted_
    answer = int(predictor.predict(np.zeros((1, 1)))[0])
    return ConstantModel(like.classes, np.eye(len(like.classes))[answer])
