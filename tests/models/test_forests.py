"""Plain forests answer quicker through the adapter, and bit for bit the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from small_domain import DOMAIN, frame, names, rows, truth

from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label
from evenhand.errors import ModelFailed
from evenhand.models import forests
from evenhand.models.forests import quick_forest
from evenhand.models.wrap import wrap

CODES = rows()
FORESTS = (RandomForestClassifier(30, random_state=0), ExtraTreesClassifier(30, random_state=0, n_jobs=2))


@pytest.mark.parametrize("forest", FORESTS, ids=lambda forest: type(forest).__name__)
@pytest.mark.parametrize("kinds", [2, 3, 5])
def test_the_answers_are_bitwise_those_of_the_forest(forest: RandomForestClassifier, kinds: int) -> None:
    labels = np.random.default_rng(kinds).integers(kinds, size=len(CODES))
    fitted = forest.set_params(class_weight="balanced" if kinds == 3 else None).fit(CODES, labels)
    ask = quick_forest(fitted)
    assert ask is not None
    for n in (1, 500, 3000):  # few rows are asked about as they come, many are sorted first
        fresh = rows(n, seed=4)
        assert np.array_equal(ask(fresh), fitted.set_params(n_jobs=1).predict_proba(fresh))


def test_labels_in_another_order_are_read_by_name() -> None:
    domain = replace(DOMAIN, label=Label("income", ("low", "high"), ("high",)))
    fitted = RandomForestClassifier(20, random_state=0).fit(CODES, names(CODES))
    assert list(fitted.classes_) == ["high", "low"]
    assert np.array_equal(wrap(fitted, domain).scores(CODES), fitted.predict_proba(CODES)[:, ::-1])


def test_a_forest_fitted_on_a_frame_gets_its_columns_in_its_order() -> None:
    domain = replace(DOMAIN, columns=(DOMAIN.columns[0], Column("job", "integer", low=0, high=9, dtype="int64"), *DOMAIN.columns[2:]))
    domain = replace(domain, columns=(*domain.columns[:2], Column("sex", "integer", low=0, high=1, dtype="int64"), domain.columns[3]))
    table = domain.decode(CODES)[["hours", "sex", "age", "job"]]
    fitted = RandomForestClassifier(20, random_state=0).fit(table, names(CODES))
    scores, own = wrap(fitted, domain).scores(CODES)[:, ::-1], fitted.predict_proba(table)
    tied = own[:, 0] == own[:, 1]  # a tie is moved by the smallest step, to the class that the forest itself answers
    assert np.array_equal(scores[~tied], own[~tied])
    assert np.allclose(scores[tied], own[tied], rtol=0, atol=2e-16)
    assert np.array_equal(fitted.classes_[scores.argmax(1)], fitted.predict(table))


def test_missing_cells_are_answered_as_the_forest_answers_them() -> None:
    holes = rows(2000, seed=6).astype(np.float64)
    holes[::7, 3] = np.nan
    fitted = RandomForestClassifier(20, random_state=0).fit(holes, truth(np.nan_to_num(holes)))
    ask = quick_forest(fitted)
    assert ask is not None
    assert np.array_equal(ask(holes), fitted.predict_proba(holes))


def test_what_the_forest_refuses_is_refused() -> None:
    fitted = RandomForestClassifier(20, random_state=0).fit(CODES, names(CODES))
    endless = CODES.astype(np.float64)
    endless[0, 3] = np.inf
    with pytest.raises(ModelFailed, match="infinity"):
        wrap(fitted, DOMAIN).scores(endless)


def test_other_forests_are_asked_themselves() -> None:
    class Own(RandomForestClassifier):
        """Somebody's own forest, with answers of its own."""

        def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
            return 1 - super().predict_proba(X)

    own = Own(10, random_state=0).fit(CODES, truth(CODES))
    assert quick_forest(own) is None
    assert np.array_equal(wrap(own, DOMAIN).scores(CODES), own.predict_proba(CODES))
    twofold = RandomForestClassifier(10, random_state=0).fit(CODES, np.stack([truth(CODES)] * 2, axis=1))
    assert quick_forest(twofold) is None
    patched = RandomForestClassifier(10, random_state=0).fit(CODES, truth(CODES))
    patched.predict_proba = lambda X: np.full((len(X), 2), 0.5)
    assert quick_forest(patched) is None


def test_the_adapter_takes_the_quick_way(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    honest = forests._mean_of_trees
    monkeypatch.setattr(forests, "_mean_of_trees", lambda forest, inputs: calls.append(len(inputs)) or honest(forest, inputs))
    fitted = RandomForestClassifier(10, random_state=0).fit(frame()[["age", "hours"]].to_numpy(), truth(CODES))
    two = replace(DOMAIN, columns=(DOMAIN.columns[0], DOMAIN.columns[3]), protected=("age",))
    wrap(fitted, two).scores(CODES[:, [0, 3]])
    assert calls[-1] == len(CODES)
