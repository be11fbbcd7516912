"""What a finding's label should have been: the majority vote of five classifiers that never see what is protected.

Paper: Zhang et al., "White-box Fairness Testing through Adversarial Sampling", ICSE 2020, whose rule LIMI and EIDIG follow.  The papers
do not agree on the members; these five are quick, different in kind, and an odd number.  Columns that must change along with a protected
one are left out too, so that all twins of a person get the same vote.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.models.fitting_again import check_labels, seed_of, standards


@dataclass(frozen=True, eq=False)
class LabelVote:
    """Fitted members, and how rows of codes become what they take."""

    members: tuple[Any, ...]
    places: tuple[int, ...]
    mean: Reals
    scale: Reals
    classes: int

    def votes(self, rows: Rows) -> NDArray[np.intp]:
        """How many members vote for each class, (n, classes)."""
        inputs = _inputs(rows, self.places, self.mean, self.scale)
        counts = np.zeros((len(rows), self.classes), dtype=np.intp)
        for member in self.members if len(rows) else ():
            counts[np.arange(len(rows)), member.predict(inputs).astype(np.intp)] += 1
        return counts

    def label(self, rows: Rows) -> Labels:
        """The class with most votes; the first of equals."""
        return np.asarray(self.votes(rows).argmax(axis=1), dtype=np.intp)


def fit_ensemble(rows: Rows, labels: Labels, domain: TabularDomain, classes: int, rng: np.random.Generator) -> LabelVote:
    """Five classifiers on the columns that say nothing about protection by themselves."""
    check_labels(rows, labels, classes)
    places = unprotected_places(domain)
    mean, scale = standards(rows)
    inputs = _inputs(rows, places, mean, scale)
    members = _members(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a member that has not fully converged still votes
        for member in members:
            member.fit(inputs, labels)
    return LabelVote(members, places, mean, scale, classes)


def unprotected_places(domain: TabularDomain) -> tuple[int, ...]:
    """The columns that neither are protected nor must change along with a protected one."""
    implied = {domain.place(name) for rule in domain.implied for name in rule.changes}
    places = tuple(place for place in domain.free_places if place not in implied)
    if not places:
        raise InvalidArgument("every column is protected or changes along with a protected one: nothing is left to label findings by")
    return places


def _members(rng: np.random.Generator) -> tuple[Any, ...]:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.tree import DecisionTreeClassifier

    return (
        HistGradientBoostingClassifier(max_iter=60, random_state=seed_of(rng)),
        RandomForestClassifier(40, min_samples_leaf=3, random_state=seed_of(rng)),
        DecisionTreeClassifier(max_depth=10, min_samples_leaf=10, random_state=seed_of(rng)),
        LogisticRegression(max_iter=200),
        GaussianNB(),
    )


def _inputs(rows: Rows, places: tuple[int, ...], mean: Reals, scale: Reals) -> NDArray[np.float32]:
    return np.nan_to_num((rows - mean) / scale, nan=0.0)[:, list(places)].astype(np.float32)
