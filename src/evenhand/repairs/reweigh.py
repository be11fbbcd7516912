"""Reweighing: training rows count as much as would make label and protected group independent.

Paper: Kamiran, Calders, "Data preprocessing techniques for classification without discrimination", KAIS 2012.

Amounts are cut into fifths of the training rows first.  Weights become a resampling of as many rows, because not every model takes
weights.  Fairlearn's own way to reweigh, which learns the weights in rounds, is `reduce_disparity`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.arrays import Labels, Reals
from evenhand.contract import Trainable
from evenhand.repairs.adjust_thresholds import distinct_groups
from evenhand.repairs.parts.case import Case, Mended, Role
from evenhand.repairs.parts.retraining import trainable

FIFTHS = 5


@dataclass(frozen=True)
class Reweigh:
    """A new model of the same kind, fitted to resampled rows."""

    needs: ClassVar[type] = Trainable
    role: ClassVar[Role] = "repair"

    def mend(self, case: Case, rng: np.random.Generator) -> Mended:
        """Draw rows by their weights and fit again."""
        weights = independence_weights(case)
        chosen = rng.choice(len(case.rows), len(case.rows), p=weights / weights.sum())
        model = trainable(case.model).refit(case.rows[chosen], case.labels[chosen], rng)
        return Mended(model, {"smallest_weight": float(weights.min()), "largest_weight": float(weights.max())})


def independence_weights(case: Case) -> Reals:
    """Expected over observed share of every row's group and label."""
    groups, group = distinct_groups(case)
    labels, count = (_fifths(case.labels), FIFTHS) if case.is_amount else (case.labels, len(case.model.classes))
    table = np.zeros((len(groups), count))
    np.add.at(table, (group, labels), 1.0)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / table.sum()
    weights: Reals = (expected / np.maximum(table, 1.0))[group, labels]
    return weights


def _fifths(amounts: Reals) -> Labels:
    """In which fifth of all amounts each one lies."""
    edges = np.quantile(amounts, np.arange(1, FIFTHS) / FIFTHS)
    return np.searchsorted(edges, amounts, side="left").astype(np.intp)
