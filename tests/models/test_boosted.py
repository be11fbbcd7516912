"""Histogram boosting and LightGBM answer quicker through the adapter, and bit for bit the same."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from small_domain import DOMAIN, names, rows, truth

from evenhand.models import boosted, estimator
from evenhand.models.boosted import quick_boosting
from evenhand.models.wrap import wrap

CODES = rows()


def odd_rows(n: int, columns: int) -> np.ndarray:
    """Cells inside and outside of what was trained on, missing ones, and categories that nobody knows."""
    rng = np.random.default_rng(n)
    cells = rng.normal(20, 40, (n, columns)).round(rng.integers(0, 3))
    cells[rng.random(cells.shape) < 0.1] = np.nan
    cells[rng.random(cells.shape) < 0.05] = 7e9
    return cells


@pytest.mark.parametrize("kinds", [2, 3])
@pytest.mark.parametrize("categories", [None, [1]], ids=["numbers", "categories"])
def test_histogram_boosting_answers_bitwise_the_same(kinds: int, categories: list[int] | None) -> None:
    holes = CODES.astype(np.float64)
    holes[::5, 3] = np.nan
    labels = np.random.default_rng(kinds).integers(kinds, size=len(CODES))
    fitted = HistGradientBoostingClassifier(max_iter=12, categorical_features=categories, random_state=0).fit(holes, labels)
    ask = quick_boosting(fitted)
    assert ask is not None
    for asked in (rows(1, seed=4), rows(3000, seed=4), odd_rows(2000, 4)):
        assert np.array_equal(ask(asked), fitted.predict_proba(asked))


@pytest.mark.parametrize("kinds", [2, 3])
def test_lightgbm_answers_bitwise_the_same(kinds: int) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    labels = np.random.default_rng(kinds).integers(kinds, size=len(CODES))
    fitted = lightgbm.LGBMClassifier(n_estimators=12, n_jobs=1, verbose=-1).fit(CODES, labels)
    ask = quick_boosting(fitted)
    assert ask is not None
    for asked in (rows(1, seed=4).astype(float), rows(3000, seed=4).astype(float), odd_rows(2000, 4)):
        assert np.array_equal(ask(asked), fitted.predict_proba(asked))


def test_other_boosters_are_asked_themselves() -> None:
    class Own(HistGradientBoostingClassifier):
        """Somebody's own boosting."""

    assert quick_boosting(Own(max_iter=2).fit(CODES, truth(CODES))) is None
    patched = HistGradientBoostingClassifier(max_iter=2).fit(CODES, truth(CODES))
    patched.predict_proba = lambda X: np.full((len(X), 2), 0.5)
    assert quick_boosting(patched) is None
    assert quick_boosting(HistGradientBoostingClassifier()) is None


def test_the_adapter_takes_the_quick_way(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(CODES, names(CODES))
    calls: list[int] = []
    monkeypatch.setattr(estimator, "quick_boosting", lambda given: calls.append(1) or boosted.quick_boosting(given))
    scores = wrap(fitted, DOMAIN).scores(CODES)
    assert calls
    order = [list(fitted.classes_).index(name) for name in wrap(fitted, DOMAIN).classes]
    assert np.array_equal(scores, fitted.predict_proba(CODES)[:, order])
