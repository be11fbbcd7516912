"""Quick answers of boosted trees: scikit-learn's histogram boosting over codes of bins, LightGBM over rows in the order of its splits.

The answers are bitwise the library's own: the same leaves, added in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Scores

_WORTH_SORTING = 512
"""Rows from which on sorting pays."""
_COLUMNS_SORTED = 4
"""More columns do not make neighbours more alike on the way down, and cost time."""
_NEEDED = ("_predictors", "_bin_mapper", "_preprocess_X", "_baseline_prediction", "_loss", "n_trees_per_iteration_")


def quick_boosting(estimator: Any) -> Callable[[Any], Scores] | None:
    """What to ask instead of `predict_proba`; None unless this is one of the two libraries' own fitted classifiers.

    A subclass, and an estimator with a method put on it by hand, are asked themselves.
    """
    kind = type(estimator)
    if "predict_proba" in vars(estimator):
        return None
    if kind.__name__ == "LGBMClassifier" and kind.__module__.startswith("lightgbm.") and hasattr(estimator, "booster_"):
        return lambda inputs: _sorted_answers(estimator, inputs)
    is_histogram = kind.__name__ == "HistGradientBoostingClassifier" and kind.__module__.startswith("sklearn.ensemble.")
    if not is_histogram or not all(hasattr(estimator, name) for name in _NEEDED):
        return None
    return lambda inputs: _binned_answers(estimator, inputs)


def _binned_answers(boosting: Any, inputs: Any) -> Scores:
    """Every threshold is the edge of a bin, so that the number of a bin leads to the same leaf as the number in it."""
    from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

    encoded = _encoded(boosting, inputs)
    bins = boosting._bin_mapper.transform(boosting._preprocess_X(inputs, reset=False) if encoded is None else encoded)
    roots = [each.nodes["feature_idx"][0] for rounds in boosting._predictors for each in rounds]
    order = _order(bins, np.bincount(np.asarray(roots, dtype=np.intp), minlength=bins.shape[1]))
    bins = bins if order is None else bins[order]
    sums = np.zeros((len(bins), boosting.n_trees_per_iteration_), dtype=boosting._baseline_prediction.dtype, order="F")
    sums += boosting._baseline_prediction
    missing, threads = boosting._bin_mapper.missing_values_bin_idx_, _openmp_effective_n_threads()
    for rounds in boosting._predictors:
        for output, predictor in enumerate(rounds):
            sums[:, output] += predictor.predict_binned(bins, missing, threads)
    return _restored(np.asarray(boosting._loss.predict_proba(sums)), order)


def _encoded(boosting: Any, inputs: Any) -> NDArray[np.float64] | None:
    """What the library's own encoder makes of numbered categories: categories first, each by its place among those that it was fitted on,
    unknown and missing ones as missing.  The encoder takes as long to start as a thousand rows take.  None for anything but plain numbers.
    """
    prepare = boosting._preprocessor
    is_plain = isinstance(inputs, np.ndarray) and inputs.dtype == np.float64 and inputs.ndim == 2
    if prepare is None or not is_plain or inputs.shape[1] != boosting.n_features_in_ or hasattr(boosting, "feature_names_in_"):
        return None
    fitted = prepare.named_transformers_["encoder"].categories_
    if not all(known.dtype == np.float64 for known in fitted) or np.isinf(inputs).any():
        return None
    places = np.flatnonzero(boosting.is_categorical_)
    encoded = np.empty(inputs.shape, order="F")
    for at, (place, known) in enumerate(zip(places, fitted, strict=True)):
        encoded[:, at] = _places_among(known[~np.isnan(known)], inputs[:, place])
    encoded[:, len(places) :] = inputs[:, ~boosting.is_categorical_]
    return encoded


def _places_among(known: NDArray[np.float64], codes: NDArray[np.float64]) -> NDArray[np.float64]:
    if not len(known):
        return np.full(len(codes), np.nan)
    found = np.minimum(np.searchsorted(known, codes), len(known) - 1)
    return np.where(known[found] == codes, found, np.nan)


def _sorted_answers(boosting: Any, inputs: Any) -> Scores:
    """LightGBM takes one row after the other through all trees; neighbours that are alike take ways that the processor foresees."""
    if not isinstance(inputs, np.ndarray) or inputs.dtype.kind != "f":
        return np.asarray(boosting.predict_proba(inputs))
    order = _order(inputs, np.asarray(boosting.booster_.feature_importance()))
    return _restored(np.asarray(boosting.predict_proba(inputs if order is None else inputs[order])), order)


def _order(cells: NDArray[Any], weights: NDArray[Any]) -> Index | None:
    """Rows by the columns that are asked about most; None where sorting does not pay."""
    if len(cells) < _WORTH_SORTING or len(weights) != cells.shape[1]:
        return None
    return np.lexsort(cells.T[np.argsort(weights, kind="stable")[-_COLUMNS_SORTED:]])


def _restored(answers: Scores, order: Index | None) -> Scores:
    if order is None:
        return answers
    found = np.empty_like(answers)
    found[order] = answers
    return found
