"""Another threshold for every protected group, by Fairlearn's ThresholdOptimizer: for binary models with scores, nothing is trained.

Paper: Hardt, Price, Srebro, "Equality of Opportunity in Supervised Learning", NeurIPS 2016.

It narrows differences between groups by looking at the protected value, so that it may treat twins *more* differently; the comparison
shows both.  Fairlearn draws lots between two thresholds where that is optimal; here the likelier side is the answer, so that a
person always gets the same one.  Groups with fewer than `fewest` rows of either class share one rule.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.contract import Model
from evenhand.errors import InvalidArgument, MissingAbility
from evenhand.models.composed import ScoreCut, Thresholded, ThresholdRule, group_of
from evenhand.models.meter import Meter
from evenhand.repairs.parts.case import Case, Mended, Role

CONSTRAINTS = ("demographic_parity", "equalized_odds", "true_positive_rate_parity", "false_positive_rate_parity")


@dataclass(frozen=True)
class AdjustThresholds:
    """The same model with thresholds by group."""

    constraint: str = "equalized_odds"
    fewest: int = 10

    needs: ClassVar[type] = Model
    role: ClassVar[Role] = "repair"

    def __post_init__(self) -> None:
        if self.constraint not in CONSTRAINTS:
            raise InvalidArgument(f"constraint={self.constraint!r} must be one of {', '.join(CONSTRAINTS)}")

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:  # noqa: ARG002 - nothing here is random
        """Fit the rules to the training rows."""
        case.check_classes("thresholds are for two classes")
        if len(case.model.classes) != 2:
            raise MissingAbility(f"thresholds are for two classes, the model has {len(case.model.classes)}")
        if case.model.is_hard:
            raise MissingAbility("thresholds need scores, and the model only says labels")
        places = case.domain.protected_places
        groups, rule_of = self._grouped(case)
        own = np.array(rule_of, dtype=np.intp)[group_of(case.rows[:, list(places)], groups)]
        scores = np.asarray(Meter(case.model).scores(case.rows)[:, 1], dtype=np.float64)
        rules = _fitted(self.constraint, scores, case, own)
        model = Thresholded(case.model, places, groups, rule_of, rules)
        return Mended(model, {"groups": len(groups), "rules": len(rules), "constraint": self.constraint})

    def _grouped(self, case: Case) -> tuple[Rows, tuple[int, ...]]:
        """The protected combinations of the data, and which rule each one gets; small ones share the last."""
        groups, group = distinct_groups(case)
        counts = np.stack([np.bincount(group[case.labels == label], minlength=len(groups)) for label in (0, 1)])
        large = counts.min(axis=0) >= self.fewest
        rule = np.where(large, np.cumsum(large) - 1, large.sum())
        rest = counts[:, ~large].sum(axis=1)
        if not large.all() and rest.min() < max(1, self.fewest):
            rule = np.where(large, rule, 0)  # too few to have a rule even together
        if len(np.unique(rule)) < 2:
            raise InvalidArgument(
                f"protected: fewer than two groups have {self.fewest} rows of either class; thresholds by group need more data"
            )
        return groups, tuple(int(each) for each in rule)


def distinct_groups(case: Case) -> tuple[Rows, Index]:
    """The protected codes of every group that the training rows have, and the group of every row."""
    cells = case.rows[:, list(case.domain.protected_places)]
    groups, group = np.unique(cells, axis=0, return_inverse=True)
    return groups, group.reshape(-1).astype(np.intp)


def _known() -> Any:
    """An estimator whose only column is already the score."""
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Known(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """Answers with what it is given."""

        classes_ = np.array([0, 1])

        def fit(self, *_: Any) -> Any:
            """Nothing to learn."""
            return self

        def predict(self, column: Any) -> Any:
            """The score itself."""
            return np.asarray(column)[:, 0]

    return Known()


def _fitted(constraint: str, scores: Reals, case: Case, own: Index) -> tuple[ThresholdRule, ...]:
    from fairlearn.postprocessing import ThresholdOptimizer

    optimiser = ThresholdOptimizer(
        estimator=_known(),
        constraints=constraint,
        prefit=True,
        predict_method="predict",
        objective="balanced_accuracy_score" if constraint == "equalized_odds" else "accuracy_score",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimiser.fit(scores[:, None], case.labels, sensitive_features=own)
    found = optimiser.interpolated_thresholder_.interpolation_dict
    return tuple(_rule(found[place]) for place in range(len(found)))


def _rule(part: Any) -> ThresholdRule:
    first, second = (ScoreCut(">" if op.operator == ">" else "<", float(op.threshold)) for op in (part["operation0"], part["operation1"]))
    return ThresholdRule(float(part.get("prediction_constant", 0.0)), float(part.get("p_ignore", 0.0)), float(part["p0"]), first, second)
