"""LIMI's two further measures of naturalness: detection by a classifier, and the distance to the nearest real row."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.arrays import Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.measures.naturalness import coordinates, neighbour_distances

KINDS = ("LR", "SVC")
FOLDS = 3


def share_told_apart(real: Rows, found: Rows, domain: TabularDomain, kind: str, rng: np.random.Generator) -> float:
    """AUC, on rows that it has not seen, of a classifier that tells findings from as many real rows; .5 is not at all."""
    from sklearn.model_selection import cross_val_score

    some = real[rng.permutation(len(real))[: len(found)]]
    rows = coordinates(np.vstack([some, found]), real, domain)
    sides = np.repeat([0, 1], [len(some), len(found)])
    order = rng.permutation(len(sides))
    return float(cross_val_score(_classifier(kind), rows[order], sides[order], cv=FOLDS, scoring="roc_auc").mean())


def _classifier(kind: str) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC

    if kind not in KINDS:
        raise InvalidArgument(f"kind={kind!r} must be one of {', '.join(KINDS)}")
    return LogisticRegression(max_iter=500) if kind == "LR" else SVC(random_state=0)


def nearest_distance(found: Rows, real: Rows, domain: TabularDomain) -> float:
    """The mean distance to the nearest real row; numbers over their deviation, two different categories one apart."""
    return float(neighbour_distances(found, real, domain, k=1).mean())
