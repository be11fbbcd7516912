"""Estimators, pipelines and boosters: asked with the right columns, read with the right labels, fitted again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from small_domain import DOMAIN, frame, names, rows, truth

from evenhand.contract import Trainable, labels_of
from evenhand.domain.tabular import Label
from evenhand.errors import InvalidArgument, ModelFailed, UnclearAnswers, WrongAnswer
from evenhand.models.meter import Meter
from evenhand.models.wrap import wrap

CODES, FRAME = rows(), frame()


def pipeline() -> object:
    prepare = make_column_transformer((OneHotEncoder(handle_unknown="error"), ["job", "sex"]), remainder="passthrough")
    return make_pipeline(prepare, RandomForestClassifier(20, random_state=0))


def test_a_pipeline_gets_the_original_columns_whatever_their_order() -> None:
    shuffled = FRAME[["hours", "sex", "age", "job"]]
    fitted = pipeline().fit(shuffled, names(CODES))
    model = wrap(fitted, DOMAIN)
    assert model.classes == ("low", "high")
    assert np.allclose(model.scores(CODES)[:, 1], fitted.predict_proba(shuffled)[:, list(fitted.classes_).index("high")])
    assert np.mean(labels_of(model.scores(CODES)) == truth(CODES)) > 0.95


def test_an_estimator_fitted_on_a_matrix_gets_codes() -> None:
    model = wrap(DecisionTreeClassifier(random_state=0).fit(CODES, names(CODES)), DOMAIN)
    assert (labels_of(model.scores(CODES)) == truth(CODES)).all()


@pytest.mark.parametrize("values", [("low", "high"), ("high", "low")])
def test_label_order_is_resolved_by_name(values: tuple[str, str]) -> None:
    domain = replace(DOMAIN, label=Label("income", values, ("high",)))
    model = wrap(DecisionTreeClassifier(random_state=0).fit(CODES, names(CODES)), domain)
    said = np.array(values)[labels_of(model.scores(CODES))]
    assert (said == names(CODES)).all()


def test_numbered_classes_are_read_by_position() -> None:
    model = wrap(DecisionTreeClassifier(random_state=0).fit(CODES, truth(CODES)), DOMAIN)
    assert model.classes == ("low", "high")
    assert (labels_of(model.scores(CODES)) == truth(CODES)).all()


@pytest.mark.parametrize("values", [(False, True), (0, 1), (1, 2), ("no", "ja, sehr"), (-1.0, 2.0)])
def test_labels_of_any_type(values: tuple[object, object]) -> None:
    domain = replace(DOMAIN, label=Label("income", values, (values[1],)))
    labels = np.array(values)[truth(CODES)]
    model = wrap(DecisionTreeClassifier(random_state=0).fit(CODES, labels), domain)
    assert model.classes == values
    assert (labels_of(model.scores(CODES)) == truth(CODES)).all()


def test_three_classes_one_of_them_never_trained() -> None:
    domain = replace(DOMAIN, label=Label("grade", ("a", "b", "c", "d"), ("a",)))
    labels = np.array(["a", "b", "d"])[np.digitize(CODES[:, 0], [40, 60])]
    model = wrap(DecisionTreeClassifier(random_state=0).fit(CODES, labels), domain)
    scores = Meter(model).scores(CODES)
    assert scores.shape == (len(CODES), 4)
    assert (scores[:, 2] == 0).all()
    assert (np.array(["a", "b", "c", "d"])[labels_of(scores)] == labels).all()


@pytest.mark.parametrize("estimator", [LinearSVC(random_state=0), RidgeClassifier()], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("count", [2, 3])
def test_decision_functions_become_scores_that_agree_with_predict(estimator: object, count: int) -> None:
    values = ("b", "a", "c")[:count]
    domain = replace(DOMAIN, label=Label("grade", values, ("a",)))
    labels = np.array(values)[np.digitize(CODES[:, 0], [50] if count == 2 else [40, 60])]
    scaled = CODES / np.array([50, 1, 1, 40])
    fitted = estimator.fit(scaled, labels)
    model = wrap(fitted, domain)
    assert not model.is_hard
    scores = model.scores(scaled)
    assert np.allclose(scores.sum(axis=1), 1)
    assert (np.array(values)[labels_of(scores)] == fitted.predict(scaled)).all()


def test_an_estimator_that_only_predicts_is_hard() -> None:
    class OnlyPredicts:
        classes_ = np.array(["high", "low"])

        def predict(self, table: np.ndarray) -> np.ndarray:
            return names(table)

    model = wrap(OnlyPredicts(), DOMAIN)
    assert model.is_hard
    assert (labels_of(model.scores(CODES)) == truth(CODES)).all()
    assert set(np.unique(model.scores(CODES))) == {0.0, 1.0}


def test_refit_makes_a_new_model_seeded_by_the_generator() -> None:
    fitted = pipeline().fit(FRAME, names(CODES))
    model = wrap(fitted, DOMAIN)
    before = model.fingerprint()
    assert isinstance(model, Trainable)
    flipped = 1 - truth(CODES)
    first, second, third = (model.refit(CODES, flipped, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.mean(labels_of(first.scores(CODES)) == flipped) > 0.95
    assert first.fingerprint() == second.fingerprint() != third.fingerprint()
    assert model.fingerprint() == before
    assert model.estimator is fitted


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
@pytest.mark.parametrize("on", ["codes", "frame"])
def test_boosters_through_the_same_interface(library: str, on: str) -> None:
    estimator = _booster(library, pytest.importorskip(library))
    inputs = CODES if on == "codes" else pd.DataFrame(CODES, columns=list(DOMAIN.names))
    estimator.fit(inputs, truth(CODES))
    model = wrap(estimator, DOMAIN, takes="codes" if on == "codes" else "codes_frame")
    assert model.classes == ("low", "high")
    assert np.mean(labels_of(model.scores(CODES)) == truth(CODES)) > 0.9
    again = model.refit(CODES, 1 - truth(CODES), np.random.default_rng(0))
    assert np.mean(labels_of(again.scores(CODES)) == truth(CODES)) < 0.1


def _booster(library: str, module: object) -> object:
    if library == "xgboost":
        return module.XGBClassifier(n_estimators=30, n_jobs=1)
    if library == "lightgbm":
        return module.LGBMClassifier(n_estimators=30, verbose=-1, n_jobs=1, min_child_samples=5)
    return module.CatBoostClassifier(iterations=30, verbose=False, thread_count=1, allow_writing_files=False)


def test_a_library_s_made_up_column_names_do_not_matter() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    model = wrap(lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1).fit(CODES, truth(CODES)), DOMAIN)
    assert model.takes == "codes"


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: wrap(LogisticRegression(), DOMAIN), InvalidArgument, "not fitted"),
        (lambda: wrap(LogisticRegression, DOMAIN), InvalidArgument, "is a class"),
        (lambda: wrap(DecisionTreeClassifier().fit(CODES, np.array(["x", "y"])[truth(CODES)]), DOMAIN), WrongAnswer, "calls its classes"),
        (lambda: wrap(DecisionTreeClassifier().fit(CODES[:, :2], names(CODES)), DOMAIN), InvalidArgument, "fitted on 2 columns"),
        (
            lambda: wrap(DecisionTreeClassifier().fit(pd.get_dummies(FRAME), names(CODES)), DOMAIN),
            InvalidArgument,
            "'job_clerk', which the domain lacks",
        ),
        (
            lambda: wrap(MultiOutputClassifier(DecisionTreeClassifier()).fit(CODES, CODES[:, 1:3]), DOMAIN),
            UnclearAnswers,
            "2 labels at once",
        ),
        (lambda: wrap(NearestCentroid().fit(CODES, names(CODES)), DOMAIN, takes="cells"), InvalidArgument, "takes='cells'"),
        (lambda: wrap(3, DOMAIN), InvalidArgument, "builtins.int"),
        (lambda: wrap(lambda x: x, "adult"), InvalidArgument, "a TabularDomain"),
        (lambda: wrap(lambda x: x, DOMAIN, classes=["one"]), InvalidArgument, "at least two labels"),
        (lambda: wrap(lambda x: x, replace(DOMAIN, label=None)), InvalidArgument, "classes are unknown"),
    ],
)
def test_mistakes_are_named(make: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_a_category_that_training_never_saw_is_the_model_s_failure() -> None:
    few = FRAME[FRAME["job"] != "pilot"]
    fitted = pipeline().fit(few, names(DOMAIN.encode(few)))
    with pytest.raises(ModelFailed, match="pilot"):
        wrap(fitted, DOMAIN)
