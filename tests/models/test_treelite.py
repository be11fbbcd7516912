"""Treelite's models answer as the estimators that they were made of; a file that points to where it may not is refused."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import EvenhandError, ModelFailed

treelite = pytest.importorskip("treelite")

RNG = np.random.default_rng(2)
COUNT = 600
PEOPLE = pd.DataFrame({"age": RNG.integers(18, 70, COUNT), "income": RNG.normal(50, 9, COUNT).round(1), "sex": RNG.integers(0, 2, COUNT)})
SCORE = PEOPLE["income"] + 8 * PEOPLE["sex"] + PEOPLE["age"] / 9
LABELLED = PEOPLE.assign(granted=np.where(SCORE.median() < SCORE, "yes", "no"))
DATA = eh.open(LABELLED, label="granted", favourable="yes", protected=["sex"])
PAY = eh.open(PEOPLE.assign(pay=100.0 * SCORE), label="pay", protected=["sex"])


def forest(kind: str, labels: Any) -> Any:
    import sklearn.ensemble

    return getattr(sklearn.ensemble, kind)(6, max_depth=5, random_state=0).fit(PEOPLE.to_numpy(dtype=float), labels)


@pytest.mark.parametrize("as_file", [True, False])
def test_a_classifier_says_the_same_and_its_numbered_classes_are_matched_by_agreement(as_file: bool, tmp_path: Path) -> None:
    own = forest("RandomForestClassifier", (LABELLED["granted"] == "yes").astype(int))
    model = treelite.sklearn.import_model(own)
    model.serialize(str(tmp_path / "forest.tl"))
    wrapped = eh.wrap(tmp_path / "forest.tl" if as_file else model, DATA, takes="matrix")
    yes = wrapped.scores(DATA.rows)[:, list(wrapped.classes).index("yes")]
    assert np.allclose(yes, own.predict_proba(PEOPLE.to_numpy(dtype=float))[:, 1], atol=1e-6)
    assert eh.scan(wrapped, DATA, budget=eh.Budget(candidates=500)).outcome == "violation"


def test_a_booster_and_a_regression_say_the_same(tmp_path: Path) -> None:
    import lightgbm

    cells = PEOPLE.to_numpy(dtype=float)
    booster = lightgbm.train({"objective": "binary", "verbose": -1}, lightgbm.Dataset(cells, (LABELLED["granted"] == "yes").astype(int)), 5)
    booster.save_model(str(tmp_path / "b.txt"))
    wrapped = eh.wrap(treelite.frontend.load_lightgbm_model(str(tmp_path / "b.txt")), DATA, takes="matrix")
    assert np.allclose(wrapped.scores(DATA.rows)[:, list(wrapped.classes).index("yes")], booster.predict(cells), atol=1e-6)
    own = forest("RandomForestRegressor", 100.0 * SCORE)
    treelite.sklearn.import_model(own).serialize(str(tmp_path / "pay.tl"))
    assert np.allclose(eh.wrap(tmp_path / "pay.tl", PAY, takes="matrix").scores(PAY.rows)[:, 0], own.predict(cells), rtol=1e-5)


@pytest.mark.slow
def test_files_that_are_cut_or_changed_end_in_one_line_and_never_in_a_crash(tmp_path: Path) -> None:
    own = forest("RandomForestClassifier", (LABELLED["granted"] == "yes").astype(int))
    whole = bytes(treelite.sklearn.import_model(own).serialize_bytes())
    refused = 0
    for number in range(12):
        changed = bytearray(whole if number % 3 else whole[: len(whole) // 2])
        for _ in range(4):
            struct.pack_into("<i", changed, int(RNG.integers(0, len(changed) - 4)), int(RNG.integers(-(2**31), 2**31)))
        file = tmp_path / f"{number}.tl"
        file.write_bytes(changed)
        with suppress(EvenhandError):  # what is not refused is read; whatever else is raised is a crash
            try:
                eh.wrap(file, DATA, takes="matrix")
            except ModelFailed:
                refused += 1
    assert refused >= 4
