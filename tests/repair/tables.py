"""A small table with a planted unfairness, strings, missing cells, and models on it."""

from __future__ import annotations

import numpy as np
import pandas as pd

import evenhand as eh
from evenhand.datasets.dataset import Dataset
from evenhand.engine.run import Subject
from evenhand.models.fitting_again import fit_dense

SEXES = ["männlich", "weiblich", "x"]


def table(rows: int = 500, seed: int = 0, classes: int = 2, protected: tuple[str, ...] = ("sex of person",)) -> Dataset:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "sex of person": rng.choice(SEXES, rows, p=[0.5, 0.4, 0.1]),
            "race": rng.choice(["a", "b"], rows),
            "income": rng.normal(50, 20, rows).round(0),
            "job": rng.choice(["clerk", "cook", "nurse"], rows),
        }
    )
    points = frame["income"] + 15 * (frame["sex of person"] == "männlich") + 8 * (frame["race"] == "a") + rng.normal(0, 6, rows)
    frame.loc[rng.random(rows) < 0.05, "income"] = np.nan
    edges = [58] if classes == 2 else [45, 70]
    frame["decision"] = np.array(["deny", "grant", "grant more"])[np.searchsorted(edges, points)]
    domain = eh.infer(frame, label="decision", favourable="grant", protected=list(protected))
    return eh.datasets.from_frame(frame, domain, "people")


def tree_subject(data: Dataset) -> Subject:
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=6, random_state=0).fit(data.rows, data.labels)
    model = eh.wrap(tree, data.domain, takes="codes", classes=list(data.domain.label.values))
    return Subject(data.domain, model, data.rows, data.labels)


def net_subject(data: Dataset, seed: int = 0) -> Subject:
    model = fit_dense(data.rows, data.labels, data.domain.label.values, np.random.default_rng(seed), hidden=(12, 6))
    return Subject(data.domain, model, data.rows, data.labels)
