"""A scorer for scikit-learn: how many rows keep their label when what is protected changes, for cross-validation and searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Labels
from evenhand.domain.tabular import TabularDomain
from evenhand.limits import Share, check_limits


@dataclass(frozen=True)
class FairnessScorer:
    """Called by scikit-learn with a fitted estimator, rows and labels; larger is better.

    domain: what a row may be, with its protected columns.  accuracy: the weight of accuracy in the score, 0 to 1; 0 for fairness alone.

    >>> import pandas as pd
    >>> from sklearn.dummy import DummyClassifier
    >>> from evenhand import Column, TabularDomain
    >>> domain = TabularDomain((Column("sex", "category", ("f", "m")), Column("age", "integer", low=18, high=90)), ("sex",))
    >>> people = pd.DataFrame({"sex": ["f", "m"], "age": [30, 40]})
    >>> FairnessScorer(domain)(DummyClassifier().fit(people, [0, 1]), people, [0, 1])
    1.0
    """

    domain: TabularDomain
    accuracy: Share = 0.0

    def __post_init__(self) -> None:
        check_limits(self)

    def __call__(self, estimator: Any, rows: Any, truth: Any = None) -> float:
        """The share of rows whose label no other protected value changes, weighed with accuracy."""
        frame = rows[list(self.domain.names)]
        given = estimator.predict(frame)
        score = float((~self._changed(estimator, frame, given)).mean())
        if not self.accuracy or truth is None:
            return score
        return (1 - self.accuracy) * score + self.accuracy * float(np.mean(given == np.asarray(truth)))

    def _changed(self, estimator: Any, frame: Any, given: Labels) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Rows that some twin gives another label."""
        twins = self.domain.twins(self.domain.encode(frame))
        changed = np.zeros(len(frame), dtype=bool)
        for values, valid in zip(twins.rows, twins.valid, strict=True):
            told = estimator.predict(self.domain.decode(values)[list(frame.columns)])
            changed |= valid & (np.asarray(told) != given)
        return changed


def fairness_scorer(domain: TabularDomain, accuracy: float = 0.0) -> FairnessScorer:
    """A scorer to pass as `scoring=` to `cross_val_score` or `GridSearchCV`.

    >>> import evenhand as eh
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.model_selection import cross_val_score
    >>> data = eh.open("credit", protected=["age"])
    >>> rows, label = data.frame[list(data.domain.names)], data.frame["credit_risk"]
    >>> float(cross_val_score(DummyClassifier(), rows, label, scoring=eh.fairness_scorer(data.domain), cv=2).mean())
    1.0
    """
    return FairnessScorer(domain, accuracy)
