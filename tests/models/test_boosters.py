"""Boosters of XGBoost, LightGBM and CatBoost, as objects and as files, from a table whose categories are plain texts.

The categories are listed in another order than the alphabet's and the columns in another order than the table's; every answer must
be the library's own.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import InvalidArgument, MissingAbility, ModelFailed
from evenhand.models.readings import reading_of

catboost, lightgbm, xgboost = (pytest.importorskip(library) for library in ("catboost", "lightgbm", "xgboost"))

JOBS, SEXES = ["pilot", "nurse", "clerk"], ["m", "f"]


def _people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 500
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "job title": rng.choice(JOBS, n),
            "pay": rng.normal(50, 10, n).round(1),
            "sex": rng.choice(SEXES, n),
            "zone": rng.integers(1, 4, n),
        }
    )
    worth = frame["pay"] + 5 * (frame["sex"] == "m") + 8 * (frame["job title"] == "pilot") + 3 * frame["zone"] + rng.normal(0, 5, n)
    return frame.assign(ok=np.where(worth > 60, "yes", "no"), worth=worth.round(2))


PEOPLE = _people()
Y = (PEOPLE["ok"] == "yes").to_numpy().astype(int)
TRAINED = PEOPLE[["sex", "pay", "job title", "age", "zone"]].assign(
    **{"job title": pd.Categorical(PEOPLE["job title"], JOBS), "sex": pd.Categorical(PEOPLE["sex"], SEXES)}
)
PLAIN = TRAINED.assign(**{"job title": PEOPLE["job title"], "sex": PEOPLE["sex"]})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("table") / "people.csv"
    PEOPLE.drop(columns="worth").to_csv(file, index=False)
    return eh.open(file, label="ok", favourable="yes", protected=["sex"])


def _xgboost(objective: str = "binary:logistic", **more: Any) -> Any:
    told = {"objective": objective, "max_depth": 3, "nthread": 1, **more}
    return xgboost.train(told, xgboost.DMatrix(TRAINED, Y, enable_categorical=True, nthread=1), 6)


def _lightgbm(objective: str = "binary", target: Any = Y, **more: Any) -> Any:
    told = {"objective": objective, "max_depth": 3, "verbose": -1, "num_threads": 1, **more}
    return lightgbm.train(told, lightgbm.Dataset(TRAINED, target, free_raw_data=False), 6)


def _catboost(**more: Any) -> Any:
    told = {"iterations": 6, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1, "max_ctr_complexity": 1, **more}
    return catboost.CatBoostClassifier(cat_features=["sex", "job title"], **told).fit(PLAIN, PEOPLE["ok"])


def _made(kind: str, folder: Path) -> tuple[Any, Any]:
    """A model to wrap, and the probabilities of `yes` that its library gives."""
    name, _, form = kind.partition(" ")
    model = {"xgboost": _xgboost, "lightgbm": _lightgbm, "catboost": _catboost}[name]()
    if name == "xgboost":
        direct = model.predict(xgboost.DMatrix(TRAINED, enable_categorical=True))
    else:
        direct = model.predict(TRAINED) if name == "lightgbm" else model.predict_proba(PLAIN)[:, 1]
    if form == "object":
        return model, direct
    if form == "base":
        model.save_model(str(folder / "base.cbm"))
        return catboost.CatBoost().load_model(str(folder / "base.cbm")), direct
    model.save_model(str(folder / f"model{form}"))
    return folder / f"model{form}", direct


FIRST = ("xgboost .json", "lightgbm .txt", "catboost .cbm")
FURTHER = ("xgboost object", "xgboost .ubj", "lightgbm object", "catboost object", "catboost base")
KINDS = (*FIRST, *(pytest.param(kind, marks=pytest.mark.slow) for kind in FURTHER))


@pytest.mark.parametrize("kind", KINDS)
def test_a_booster_says_what_its_library_says_and_certify_reads_it(kind: str, data: Any, tmp_path: Path) -> None:
    given, direct = _made(kind, tmp_path)
    model = eh.wrap(given, data)
    assert np.allclose(model.scores(data.rows)[:, model.classes.index("yes")], direct, atol=1e-6)
    assert "probability" in reading_of(model)
    certificate = eh.certify(model, data).certificate
    assert certificate.is_exact
    assert certificate.agrees


def test_scikit_learns_wrappers_of_the_libraries_take_a_csv_too(data: Any) -> None:
    for estimator in (
        lightgbm.LGBMClassifier(n_estimators=4, verbose=-1, n_jobs=1),
        xgboost.XGBClassifier(n_estimators=4, enable_categorical=True, n_jobs=1),
    ):
        fitted = estimator.fit(TRAINED, Y)
        assert np.allclose(eh.wrap(fitted, data).scores(data.rows)[:, 1], fitted.predict_proba(TRAINED)[:, 1], atol=1e-6)


def test_what_a_booster_says_is_read_from_its_objective(data: Any) -> None:
    margin = eh.wrap(_xgboost("binary:logitraw"), data)
    own = _xgboost("binary:logitraw").predict(xgboost.DMatrix(TRAINED, enable_categorical=True))
    assert np.allclose(margin.scores(data.rows)[:, 1], 1 / (1 + np.exp(-own)), atol=1e-6)
    assert "logit" in reading_of(margin)
    label = eh.wrap(_xgboost("multi:softmax", num_class=2), data)
    assert label.is_hard
    assert eh.certify(margin, data).certificate.is_exact


def test_a_ranking_needs_its_cut_and_the_best_are_taken(data: Any) -> None:
    ranker = _xgboost("rank:pairwise")
    with pytest.raises(InvalidArgument, match="best 10%"):
        eh.wrap(ranker, data)
    model = eh.wrap(ranker, data, threshold="best 20%")
    chosen = model.scores(data.rows).argmax(axis=1) == 1
    own = ranker.predict(xgboost.DMatrix(TRAINED, enable_categorical=True))
    assert 0.1 < chosen.mean() < 0.35
    assert own[chosen].min() >= own[~chosen].max()


def test_amounts_of_boosters_are_read_in_the_columns_order_of_the_training() -> None:
    frame = PEOPLE.drop(columns="ok")
    domain = eh.infer(frame, label="worth", protected=["sex"])
    assert domain.label is not None
    booster = _lightgbm("regression", PEOPLE["worth"])
    model = eh.wrap(booster, eh.open(frame, label="worth", protected=["sex"]))
    rows = domain.encode(frame)
    assert np.allclose(model.scores(rows)[:, 0], booster.predict(TRAINED))


def test_a_category_that_xgboost_never_saw_is_named(data: Any) -> None:
    frame = PEOPLE.drop(columns="worth")
    frame.loc[0, "job title"] = "wizard"
    strange = eh.open(frame, label="ok", favourable="yes", protected=["sex"])
    with pytest.raises(InvalidArgument, match=r"'job title' may be 'wizard'.*remove the value"):
        eh.wrap(_xgboost(), strange)
    eh.wrap(_lightgbm(), strange).scores(strange.rows)  # LightGBM takes what it does not know for missing


def test_categories_that_the_model_only_numbers_are_asked_for(data: Any) -> None:
    coded = TRAINED.assign(**{name: TRAINED[name].cat.codes for name in ("sex", "job title")})
    booster = lightgbm.train(
        {"objective": "binary", "verbose": -1, "num_threads": 1}, lightgbm.Dataset(coded, Y, categorical_feature=["sex", "job title"]), 3
    )
    with pytest.raises(InvalidArgument, match="keeps only numbers"):
        eh.wrap(booster, data)


def test_statistics_of_several_columns_are_refused_with_the_cure(data: Any) -> None:
    model = eh.wrap(_catboost(max_ctr_complexity=4, one_hot_max_size=1, iterations=30), data)
    with pytest.raises(MissingAbility, match="max_ctr_complexity=1"):
        eh.certify(model, data)


def test_a_file_that_is_no_booster_and_one_that_is_cut_short(data: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(InvalidArgument, match="does not begin as a model"):
        eh.wrap(tmp_path / "notes.txt", data)
    _lightgbm().save_model(str(tmp_path / "model.txt"))
    (tmp_path / "model.txt").write_text((tmp_path / "model.txt").read_text()[:900])
    with pytest.raises(ModelFailed):
        eh.wrap(tmp_path / "model.txt", data)


@pytest.mark.parametrize("threshold", [0.3, pytest.param(0.7, marks=pytest.mark.slow)])
def test_a_threshold_of_an_estimators_probabilities_counts_and_is_certified(threshold: float, data: Any) -> None:
    model = eh.wrap(_lightgbm(learning_rate=0.5), data, threshold=threshold)
    granted = model.scores(data.rows).argmax(axis=1) == model.classes.index("yes")
    assert (granted == (_lightgbm(learning_rate=0.5).predict(TRAINED) >= threshold)).all()
    certificate = eh.certify(model, data).certificate
    assert certificate.is_exact
    assert certificate.agrees


DAMAGED = """
import sys, warnings
import numpy as np, pandas as pd
import evenhand as eh
from evenhand.errors import EvenhandError
warnings.simplefilter("ignore")
data = eh.open(sys.argv[1], label="ok", favourable="yes", protected=["sex"])
whole, rng, caught = open(sys.argv[2], "rb").read(), np.random.default_rng(7), 0
for number in range(60):
    changed = bytearray(whole)
    for _ in range(rng.integers(1, 6)):
        changed[rng.integers(len(changed))] = rng.integers(256)
    open(sys.argv[3], "wb").write(changed)
    try:
        eh.wrap(sys.argv[3], data).scores(data.rows)
    except EvenhandError:
        caught += 1
print("alive, caught", caught)
"""


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".cbm", ".txt", ".ubj"])
def test_damaged_boosters_are_refused_or_answer_and_never_end_the_process(ending: str, tmp_path: Path) -> None:
    """Categories of CatBoost once led to memory that was not there, where only some values met it."""
    import subprocess
    import sys

    PEOPLE.drop(columns="worth").to_csv(tmp_path / "people.csv", index=False)
    model = {".cbm": lambda: _catboost(one_hot_max_size=1), ".txt": _lightgbm, ".ubj": _xgboost}[ending]()
    model.save_model(str(tmp_path / f"whole{ending}"))
    words = [
        sys.executable,
        "-c",
        DAMAGED,
        str(tmp_path / "people.csv"),
        str(tmp_path / f"whole{ending}"),
        str(tmp_path / f"damaged{ending}"),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-500:]
    assert "alive" in done.stdout


@pytest.mark.parametrize("line", ["[max_b5]", "[]", "[min_\u00e9data_in_leaf: 20]", "[" + "a" * 70_000 + ": 1]"])
def test_lightgbm_never_sees_the_parameters_of_the_training(line: str, tmp_path: Path) -> None:
    """A line without a colon made it read foreign memory, in one of two processes out of three."""
    lightgbm = pytest.importorskip("lightgbm")
    from evenhand.models.native_boosters import lightgbm_text

    rows = np.random.default_rng(0).normal(size=(60, 3))
    booster = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1).fit(rows, rows[:, 0] > 0).booster_
    booster.save_model(str(tmp_path / "model.txt"))
    text = (tmp_path / "model.txt").read_text().replace("[max_depth: -1]", line, 1)
    assert line in text
    (tmp_path / "model.txt").write_text(text, encoding="utf-8")
    cleaned = lightgbm_text(tmp_path / "model.txt")
    assert line not in cleaned
    assert np.array_equal(lightgbm.Booster(model_str=cleaned).predict(rows), booster.predict(rows))


def _for_ever(path: Path) -> None:
    while True:
        pass


def test_a_file_that_is_read_for_ever_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from evenhand.models import ward

    monkeypatch.setattr(ward, "PREPARED", {"onnx": ()})
    monkeypatch.setattr(ward, "seconds_for", lambda path: 1.0)
    monkeypatch.setattr(ward, "EXAMINERS", {"onnx": _for_ever})
    (tmp_path / "a.onnx").write_bytes(b"x")
    assert ward._opened_by_a_child("onnx", tmp_path / "a.onnx") == "it did not open within 1 seconds"


def test_a_file_whose_reader_only_waits_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from evenhand.models import ward

    monkeypatch.setattr(ward, "PREPARED", {"onnx": ()})
    monkeypatch.setattr(ward, "PATIENCE", 0.1)
    monkeypatch.setattr(ward, "seconds_for", lambda path: 2.0)
    monkeypatch.setattr(ward, "EXAMINERS", {"onnx": lambda path: time.sleep(60)})
    (tmp_path / "a.onnx").write_bytes(b"x")
    assert ward._opened_by_a_child("onnx", tmp_path / "a.onnx") == "it did not open within 2 seconds"
