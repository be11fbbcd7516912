"""Quick answers of scikit-learn's plain forests: the same sum over the same trees, without the cost of starting its pool of workers.

Rows are sorted first, by the columns that the trees ask about first: neighbours then take the same way down a tree, which the
processor foresees.  The answers are bitwise those of `predict_proba` with one worker, in the library's own order of classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from evenhand.arrays import Scores

_PLAIN = ("RandomForestClassifier", "ExtraTreesClassifier")
_WORTH_SORTING = 512
"""Rows from which on sorting pays."""
_NEEDED = ("estimators_", "n_classes_", "_validate_X_predict")


def quick_forest(estimator: Any) -> Callable[[Any], Scores] | None:
    """What to ask instead of `predict_proba`; None unless this is one of scikit-learn's own forests with a single label.

    A subclass, a forest with a method put on it by hand and one with several labels are asked themselves.
    """
    kind = type(estimator)
    is_plain = kind.__name__ in _PLAIN and kind.__module__.startswith("sklearn.ensemble.") and "predict_proba" not in vars(estimator)
    if not is_plain or getattr(estimator, "n_outputs_", 0) != 1 or not all(hasattr(estimator, name) for name in _NEEDED):
        return None
    return lambda inputs: _mean_of_trees(estimator, inputs)


def _mean_of_trees(forest: Any, inputs: Any) -> Scores:
    prepared = forest._validate_X_predict(inputs)  # the library's own checks: names, width, missing cells
    if not isinstance(prepared, np.ndarray) or len(prepared) < _WORTH_SORTING:
        return _sum_of_trees(forest, prepared) / len(forest.estimators_)
    roots = np.bincount([max(int(tree.tree_.feature[0]), 0) for tree in forest.estimators_], minlength=prepared.shape[1])
    order = np.lexsort(prepared.T[np.argsort(roots, kind="stable")])
    means = np.empty((len(prepared), int(forest.n_classes_)))
    means[order] = _sum_of_trees(forest, prepared[order])
    means /= len(forest.estimators_)
    return means


def _sum_of_trees(forest: Any, prepared: Any) -> Scores:
    total = np.zeros((prepared.shape[0], int(forest.n_classes_)))
    for tree in forest.estimators_:
        total += tree.tree_.predict(prepared)
    return total
