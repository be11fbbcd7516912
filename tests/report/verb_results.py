"""Small real results of every verb, made once for the tests of the reports."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.campaign.arena_ground import Arena
from evenhand.campaign.repair_trial import Effort
from evenhand.campaign.sources import Given
from evenhand.datasets.dataset import Dataset
from evenhand.verbs.compare import compare
from evenhand.verbs.doctor import doctor
from evenhand.verbs.repair import RepairOptions
from evenhand.verbs.replay import replay
from evenhand.verbs.scan import Options

DOMAIN = eh.TabularDomain(
    (
        eh.Column("group", "category", ("<b>a</b>", "b")),
        eh.Column("district", "category", ("north", "south")),
        eh.Column("income", "integer", low=0, high=99),
    ),
    ("group",),
    eh.Label("truth", ("no", "yes"), ("yes",)),
)


@cache
def people() -> Dataset:
    rng = np.random.default_rng(0)
    group, income = rng.choice(["<b>a</b>", "b"], 300), rng.integers(0, 100, 300)
    frame = pd.DataFrame({"group": group, "district": rng.choice(["north", "south"], 300), "income": income})
    frame["truth"] = np.where(income + rng.normal(0, 10, 300) > 50, "yes", "no")
    return Dataset("people", frame, DOMAIN)


@cache
def model(push: int = 20) -> Any:
    frame = people().frame[["group", "district", "income"]]
    encoder = make_column_transformer((OneHotEncoder(), ["group", "district"]), remainder="passthrough")
    label = np.where(frame.income + push * (frame.group == "b") > 50, "yes", "no")
    return eh.wrap(make_pipeline(encoder, DecisionTreeClassifier(max_depth=4, random_state=0)).fit(frame, label), DOMAIN)


@cache
def scanned(push: int = 20) -> Any:
    options = Options(rate_rows=300, most_witnesses=4)
    return eh.scan(model(push), people(), methods=["themis"], budget=eh.Budget(candidates=500), options=options)


@cache
def result(verb: str) -> Any:
    return MAKERS[verb]()


QUICK = eh.MeasureOptions(rate_rows=300, natural_candidates=0, null_draws=1, compare_rows=100, draws=99)
MAKERS = {
    "scan": scanned,
    "measure": lambda: eh.measure(model(), people(), options=QUICK),
    "certify": lambda: eh.certify(model(), people()),
    "repair": lambda: eh.repair(model(), people(), repairs=["reweigh"], options=RepairOptions(seeds=2, effort=Effort(300))),
    "bench": lambda: eh.bench(
        ["themis", "aequitas"], [Given(Arena(people(), ("group",), model(), "tree"))], budget=eh.Budget(candidates=300)
    ),
    "synth": lambda: eh.synth(people(), 200),
    "doctor": lambda: doctor(model(), people()),
    "compare": lambda: compare(scanned(), scanned(0)),
    "replay": lambda: replay(scanned().witnesses[0], model(), people()),
}
