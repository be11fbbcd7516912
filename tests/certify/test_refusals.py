"""What certify cannot read exactly it refuses, and the message names it."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import InvalidArgument, MissingAbility
from evenhand.measures.proofs import ProofLimits, certify
from tests.certify.test_exact import domain_of, training


def test_a_callable_is_refused() -> None:
    domain = domain_of()
    model = eh.wrap(lambda rows: (rows[:, 0] > 0).astype(float) * 0.8 + 0.1, domain, takes="codes")
    with pytest.raises(MissingAbility, match="cannot look inside"):
        certify(model, domain)


def test_other_estimators_and_preparations_are_named() -> None:
    from sklearn.decomposition import PCA
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier

    domain = domain_of()
    rows, labels = training(domain)
    for estimator, named in (
        (make_pipeline(SimpleImputer(), LogisticRegression(max_iter=1000)), "LogisticRegression"),
        (make_pipeline(SimpleImputer(), PCA(2), DecisionTreeClassifier()), "PCA"),
    ):
        model = eh.wrap(estimator.fit(rows, labels), domain, takes="codes", classes=list(domain.label.values))
        with pytest.raises(MissingAbility, match=named):
            certify(model, domain)


def test_a_domain_without_protection_and_impossible_limits_are_refused() -> None:
    from sklearn.tree import DecisionTreeClassifier

    domain = domain_of()
    rows, labels = training(domain)
    model = eh.wrap(DecisionTreeClassifier().fit(rows, labels), domain, takes="codes", classes=list(domain.label.values))
    with pytest.raises(InvalidArgument, match="protected"):
        certify(model, domain_of(protected=()))
    with pytest.raises(InvalidArgument, match="seconds"):
        ProofLimits(seconds=0)


def test_trees_that_do_not_add_up_to_the_margin_are_refused() -> None:
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.tree import DecisionTreeClassifier

    domain = domain_of()
    rows, labels = training(domain)
    rows = np.nan_to_num(rows)
    narrow = domain_of()
    estimator = GradientBoostingClassifier(n_estimators=3, init=DecisionTreeClassifier(max_depth=2)).fit(rows, labels)
    columns = tuple(type(c)(c.name, c.kind, c.values, c.low, c.high) for c in narrow.columns)
    whole = type(narrow)(columns, ("sex",), narrow.label)
    model = eh.wrap(estimator, whole, takes="codes", classes=list(whole.label.values))
    with pytest.raises(MissingAbility, match="do not add up"):
        certify(model, whole)
