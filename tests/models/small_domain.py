"""A small domain and rows that the model tests share."""

from __future__ import annotations

import numpy as np
import pandas as pd

from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain

DOMAIN = TabularDomain(
    columns=(
        Column("age", "integer", low=17, high=90, dtype="int64"),
        Column("job", "category", ("clerk", "nurse", "pilot"), dtype="object"),
        Column("sex", "category", ("female", "male"), dtype="object"),
        Column("hours", "real", low=0.0, high=80.0, dtype="float64"),
    ),
    protected=("sex",),
    label=Label("income", ("low", "high"), ("high",)),
)


def rows(n: int = 200, seed: int = 0) -> np.ndarray:
    return DOMAIN.sample(n, np.random.default_rng(seed))


def truth(codes: np.ndarray) -> np.ndarray:
    """Labels that depend on every column."""
    return (codes[:, 0] / 20 + codes[:, 1] + 1.5 * codes[:, 2] + codes[:, 3] / 20 > 6.2).astype(np.intp)


def frame(n: int = 200, seed: int = 0) -> pd.DataFrame:
    return DOMAIN.decode(rows(n, seed))


def names(codes: np.ndarray) -> np.ndarray:
    return np.array(["low", "high"], dtype=object)[truth(codes)]
