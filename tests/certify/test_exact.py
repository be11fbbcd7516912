"""certify on domains small enough to ask about every input: the exact share must be the counted one, whatever the model and domain."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.domain.twins import Comparison, Implied
from evenhand.engine.gate import Gate
from evenhand.measures.proofs import ProofLimits, certify
from evenhand.measures.proofs.tree_sums import Question
from evenhand.measures.rates import judge_all
from evenhand.oracles.amounts import AmountGap
from evenhand.oracles.flip import LabelFlip

COLUMNS = (
    Column("sex", "category", ("f", "m")),
    Column("job", "category", ("a", "b", "c", "d"), missing=0.2),
    Column("hours; odd name", "integer", low=0, high=12),
    Column("rank", "ordinal", ("low", "mid", "high")),
    Column("score", "integer", low=-3, high=5, missing=0.1),
)


def domain_of(classes: int = 2, **changes: Any) -> TabularDomain:
    label = Label("y", tuple(f"class {place}" for place in range(classes)), ("class 0",))
    return TabularDomain(COLUMNS, **{"protected": ("sex",), "label": label, **changes})


def training(domain: TabularDomain, seed: int = 3, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = domain.sample(n, rng)
    filled = np.nan_to_num(rows, nan=2.0)
    hidden = filled[:, 2] / 4 + filled[:, 1] * filled[:, 0] - filled[:, 3] + filled[:, 4] * (filled[:, 0] - 0.4) + rng.normal(0, 0.5, n)
    classes = len(domain.label.values)
    return rows, np.digitize(hidden, np.quantile(hidden, np.linspace(0, 1, classes + 1)[1:-1]))


def counted_share(model: Any, domain: TabularDomain) -> float:
    """The share by asking about every input, each with its weight in the domain."""
    levels, shares = [], []
    for column in domain.columns:
        codes = np.arange(column.lowest, column.highest + 1)
        each = np.full(len(codes), (1 - column.missing) / len(codes))
        levels.append(np.append(codes, np.nan) if column.missing else codes)
        shares.append(np.append(each, column.missing) if column.missing else each)
    rows = np.stack([part.ravel() for part in np.meshgrid(*levels, indexing="ij")], axis=1)
    weights = np.prod([part.ravel() for part in np.meshgrid(*shares, indexing="ij")], axis=0)
    kept = domain.keeps_constraints(rows)
    unfair = judge_all(rows[kept], domain, model, LabelFlip()).unfair
    return float(weights[kept][unfair].sum() / weights[kept].sum())


def estimators(multi: bool = False) -> dict[str, Any]:
    from catboost import CatBoostClassifier
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import (
        ExtraTreesClassifier,
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier
    from xgboost import XGBClassifier

    return {
        "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
        "forest": RandomForestClassifier(7, max_depth=6, random_state=0),
        "extra trees": ExtraTreesClassifier(6, max_depth=6, random_state=0),
        "boosting": make_pipeline(SimpleImputer(), GradientBoostingClassifier(n_estimators=8, max_depth=3, random_state=0)),
        "hist": HistGradientBoostingClassifier(max_iter=8, max_depth=3, min_samples_leaf=5, random_state=0),
        "hist categories": HistGradientBoostingClassifier(max_iter=8, max_depth=3, min_samples_leaf=5, categorical_features=[1]),
        "xgboost": XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1),
        "lightgbm": LGBMClassifier(n_estimators=8, max_depth=3, min_child_samples=5, verbose=-1, n_jobs=1),
        "lightgbm zero": LGBMClassifier(n_estimators=8, max_depth=3, min_child_samples=5, zero_as_missing=True, verbose=-1, n_jobs=1),
        "catboost": CatBoostClassifier(iterations=8, depth=4, verbose=0, allow_writing_files=False, thread_count=1),
    }


def wrapped(estimator: Any, domain: TabularDomain, takes: str = "codes") -> Any:
    rows, labels = training(domain)
    inputs = rows if takes == "codes" else domain.decode(rows)
    return eh.wrap(estimator.fit(inputs, labels), domain, takes=takes, classes=list(domain.label.values))


def assert_exact(model: Any, domain: TabularDomain) -> float:
    certificate = certify(model, domain, sample_rows=256)
    truth = counted_share(model, domain)
    assert certificate.is_exact
    assert certificate.lower == certificate.upper == pytest.approx(truth, abs=1e-12)
    return truth


@pytest.mark.parametrize("name", estimators())
def test_the_share_of_every_kind_of_ensemble_is_the_counted_one(name: str) -> None:
    domain = domain_of()
    assert_exact(wrapped(estimators()[name], domain), domain)


@pytest.mark.parametrize("name", ["forest", "xgboost", "lightgbm", "catboost"])
def test_three_classes_and_two_protected_columns(name: str) -> None:
    domain = domain_of(3, protected=("sex", "rank"))
    assert assert_exact(wrapped(estimators()[name], domain), domain) > 0


def several_labels() -> dict[str, Any]:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.multioutput import MultiOutputClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier

    return {
        "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
        "forest": make_pipeline(SimpleImputer(), RandomForestClassifier(5, max_depth=5, random_state=0)),
        "one for each": MultiOutputClassifier(make_pipeline(SimpleImputer(), DecisionTreeClassifier(max_depth=5, random_state=0))),
    }


@pytest.mark.parametrize("name", several_labels())
@pytest.mark.parametrize("classes", [2, 3])
def test_one_of_several_labels_is_proved(name: str, classes: int) -> None:
    domain = domain_of(classes)
    rows, labels = training(domain)
    others = (np.nan_to_num(rows[:, 2]) % 4).astype(int)  # another label, with another number of classes
    fitted = several_labels()[name].fit(rows, np.stack([others, labels], axis=1))
    model = eh.wrap(fitted, domain, takes="codes", classes=list(domain.label.values), output=1)
    assert assert_exact(model, domain) > 0.01


def test_constraints_and_implied_changes_are_kept() -> None:
    rules = compile_constraints(['job == "a" => sex == "m"', 'rank == "low" => score <= 2', 'job == "b" => sex == "f"'], COLUMNS)
    implied = (Implied("sex", "m", "f", {"job": {"a": "b"}}),)
    domain = domain_of(constraints=tuple(rules), implied=implied)
    assert assert_exact(wrapped(estimators()["xgboost"], domain), domain) > 0


def test_ties_of_a_vote_are_put_to_the_model() -> None:
    from sklearn.ensemble import RandomForestClassifier

    domain = domain_of()
    model = wrapped(RandomForestClassifier(10, max_depth=None, random_state=1), domain)
    certificate = certify(model, domain, sample_rows=256)
    assert certificate.facts["asked_of_the_model"] > 0
    assert certificate.lower == pytest.approx(counted_share(model, domain), abs=1e-12)


@pytest.mark.parametrize("encoder", ["one-hot", "ordinal"])
def test_encoders_and_scalers_are_seen_through(encoder: str) -> None:
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    made = OneHotEncoder(handle_unknown="ignore") if encoder == "one-hot" else OrdinalEncoder(encoded_missing_value=-5)
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    front = make_column_transformer((made, ["sex", "job", "rank"]), (numbers, ["hours; odd name", "score"]))
    domain = domain_of()
    model = wrapped(make_pipeline(front, GradientBoostingClassifier(n_estimators=8, random_state=0)), domain, takes="frame")
    assert assert_exact(model, domain) > 0


def test_categories_of_a_frame_in_lightgbm_and_xgboost() -> None:
    from dataclasses import replace

    from lightgbm import LGBMClassifier
    from xgboost import XGBClassifier

    columns = tuple(replace(c, dtype="category[object]" if c.is_listed else "float64") for c in COLUMNS)
    domain = TabularDomain(columns, ("sex",), domain_of().label)
    for estimator in (
        LGBMClassifier(n_estimators=8, min_child_samples=5, verbose=-1, n_jobs=1, cat_smooth=1, min_data_per_group=5),
        XGBClassifier(n_estimators=8, max_depth=3, enable_categorical=True, tree_method="hist", n_jobs=1),
    ):
        assert_exact(wrapped(estimator, domain, takes="frame"), domain)


@pytest.mark.parametrize("one_hot", [1, 9])
def test_categories_of_catboost_as_statistics_and_one_by_one(one_hot: int) -> None:
    from catboost import CatBoostClassifier

    told = {"iterations": 8, "depth": 4, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    estimator = CatBoostClassifier(cat_features=["sex", "job", "rank"], max_ctr_complexity=1, one_hot_max_size=one_hot, **told)
    domain, (rows, labels) = domain_of(), training(domain_of())
    frame = domain.decode(rows)
    frame["job"] = frame["job"].fillna("nan")
    model = eh.wrap(estimator.fit(frame, labels), domain, takes="frame", classes=list(domain.label.values))
    assert assert_exact(model, domain) > 0


def test_real_numbers_are_cut_where_the_model_cuts_them() -> None:
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    columns = (Column("x", "real", low=-1.0, high=3.0), Column("s", "boolean", (False, True)), Column("big", "integer", low=0, high=10**7))
    domain = TabularDomain(columns, ("s",), Label("y", (0, 1), (1,)))
    rows = domain.sample(4000, rng)
    labels = ((rows[:, 0] > np.float32(0.3)) & (rows[:, 1] == 1) & (rows[:, 2] < 2_500_000)).astype(int)
    model = eh.wrap(DecisionTreeClassifier(random_state=0).fit(rows, labels), domain, takes="codes")
    certificate = certify(model, domain)
    tree = model.estimator.tree_
    cut = {int(f): float(t) for f, t in zip(tree.feature, tree.threshold, strict=True) if f >= 0}
    expected = (3.0 - cut[0]) / 4.0 * (np.floor(np.float32(cut[2])) + 1) / (10**7 + 1)
    assert certificate.is_exact
    assert certificate.lower == pytest.approx(expected, rel=1e-6)


def test_a_continuous_protected_attribute_is_compared_by_its_bins() -> None:
    from sklearn.ensemble import GradientBoostingClassifier

    columns = (Column("age", "real", low=18.0, high=90.0), *COLUMNS[2:4])
    domain = TabularDomain(columns, ("age",), Label("y", (0, 1), (1,)), comparisons={"age": Comparison(edges=(18.0, 30.0, 50.0, 90.0))})
    rng = np.random.default_rng(1)
    rows = domain.sample(500, rng)
    labels = (rows[:, 0] / 20 + rows[:, 1] / 3 + rows[:, 2] > 5).astype(int)
    model = eh.wrap(GradientBoostingClassifier(n_estimators=6, random_state=0).fit(rows, labels), domain, takes="codes")
    grid = np.stack([g.ravel() for g in np.meshgrid([40.0], np.arange(13.0), np.arange(3.0), indexing="ij")], axis=1)
    truth = judge_all(grid, domain, model, LabelFlip()).unfair.mean()
    assert certify(model, domain).lower == pytest.approx(truth, abs=1e-12)


def test_a_model_that_never_asks_for_the_protected_column_is_proved_fair() -> None:
    from sklearn.tree import DecisionTreeClassifier

    domain = domain_of()
    rows, _ = training(domain)
    model = eh.wrap(DecisionTreeClassifier(max_depth=3).fit(rows, (rows[:, 2] > 5).astype(int)), domain, classes=["class 0", "class 1"])
    certificate = certify(model, domain)
    assert (certificate.lower, certificate.upper, certificate.is_exact) == (0.0, 0.0, True)
    assert Gate.rule(certificate.claim()).outcome == "pass"


def test_bounds_hold_at_every_moment_and_only_tighten() -> None:
    domain = domain_of()
    model = wrapped(estimators()["forest"], domain)
    truth = counted_share(model, domain)
    steps = certify(model, domain).steps
    for limit in (1, 20, 200):
        cut = certify(model, domain, limits=ProofLimits(boxes=limit))
        assert cut.lower - 1e-12 <= truth <= cut.upper + 1e-12
    assert all(a.lower <= b.lower and b.upper <= a.upper + 1e-12 for a, b in pairwise(steps))


def test_an_interruption_leaves_the_bounds_so_far() -> None:
    def interrupt(headway: Any) -> None:
        if headway.done > 3:
            raise KeyboardInterrupt

    domain = domain_of()
    model = wrapped(estimators()["forest"], domain)
    certificate = certify(model, domain, limits=ProofLimits(seconds=None), watch=interrupt)  # without a clock, boxes are counted
    assert certificate.ended == "interrupted"
    assert certificate.lower <= counted_share(model, domain) <= certificate.upper


def test_examples_are_rows_that_the_model_itself_treats_differently() -> None:
    domain = domain_of()
    model = wrapped(estimators()["xgboost"], domain)
    certificate = certify(model, domain)
    assert len(certificate.examples) > 0
    assert judge_all(certificate.examples, domain, model, LabelFlip()).unfair.all()
    assert Gate.rule(certificate.claim()).outcome == "violation"


def test_single_floats_are_compared_with_thresholds_in_double() -> None:
    asked = Question(0, "at_most", 0.1)
    assert list(asked.holds(np.array([0.1, np.nextafter(np.float32(0.1), np.float32(0))], dtype=np.float32))) == [False, True]


@pytest.mark.parametrize("scaler", ["StandardScaler", "MinMaxScaler", "RobustScaler"])
@pytest.mark.parametrize("learner", ["RandomForest", "GradientBoosting"])
def test_trees_behind_a_scaler_are_cut_where_the_model_cuts_them(scaler: str, learner: str) -> None:
    """A threshold midway between two amounts is an amount of its own: which side it falls on, the last bit of its scaled value decides."""
    from sklearn import ensemble, preprocessing
    from sklearn.pipeline import make_pipeline

    columns = (Column("sex", "category", ("f", "m")), Column("income", "integer", low=0, high=3_000))
    domain = TabularDomain(columns, ("sex",), Label("pay", unit="EUR", tolerance=40.0))
    rows = domain.sample(300, np.random.default_rng(0))
    pay = rows[:, 1] * 0.4 + 600 * rows[:, 0] * np.sin(rows[:, 1] / 300)
    forest = getattr(ensemble, f"{learner}Regressor")(n_estimators=5, random_state=0)
    model = eh.wrap(make_pipeline(getattr(preprocessing, scaler)(), forest).fit(rows, pay), domain, takes="codes")
    every = np.stack([part.ravel() for part in np.meshgrid([0.0], np.arange(3_001.0), indexing="ij")], axis=1)
    truth = judge_all(every, domain, model, AmountGap().learned(None, domain, model)).unfair.mean()
    found = certify(model, domain, oracle=AmountGap(), sample_rows=100)
    assert found.is_exact
    assert found.lower == pytest.approx(truth, abs=1e-12)
    assert 0 < truth < 1
