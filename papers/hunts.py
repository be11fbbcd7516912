"""Searches that several of the papers' tables rest on: one method against one model with one seed, kept as a cell."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from cells import Cells
from success import findings_by_phase

from evenhand.arrays import Rows
from evenhand.contract import Model, Population
from evenhand.datasets.dataset import Dataset
from evenhand.engine.run import Plan, Subject, run
from evenhand.methods import METHODS
from evenhand.methods.parts.latent_at_hand import quiet_first
from evenhand.models import zoo
from evenhand.models.budget import Budget
from evenhand.models.estimator import from_estimator
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.ctgan import Ctgan

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))  # the papers' tables of data stand there

from parts.common import papers_data
from parts.limi_data import SHIPPED, table, trained
from parts.whitebox_tables import subject_of

KEPT_ROWS = 1_000
"""Findings of a search that are kept with it, for figures about them."""
FIRST_PROTECTED = {"adult": "sex", "credit": "sex", "bank": "age", "meps": "SEX"}


@dataclass(frozen=True)
class Hunt:
    """Whose model (`limi` for nets, forests and SVMs trained here, `adf` for the published nets), on which table, protected what, by which
    method with which parameters, for how many candidates or CPU-seconds (0: no limit), with which seed."""

    author: str
    data: str
    protected: tuple[str, ...]
    method: str
    seed: int
    family: str = "mlp"
    space: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    candidates: int = 0
    cpu_seconds: float = 0.0
    epochs: int = 300


@dataclass(frozen=True)
class Caught:
    """What a search found."""

    findings: int
    candidates: int
    duplicates: int
    cpu_seconds: float
    phases: Mapping[str, int]
    rows: Sequence[Sequence[float]]
    facts: Mapping[str, Any]

    @property
    def rate(self) -> float:
        """Findings per CPU-second."""
        return self.findings / max(self.cpu_seconds, 1e-9)

    @property
    def success(self) -> float:
        """Findings among distinct candidates."""
        return self.findings / max(self.candidates - self.duplicates, 1)

    @property
    def kept(self) -> Rows:
        """A random sample of the findings."""
        return np.asarray(self.rows, dtype=np.float64)


def net_folder() -> Path:
    """The folder of the published nets; without it there is nothing to redo."""
    folder = papers_data()
    if folder is None:
        sys.exit("the papers' data and nets are needed: set EVENHAND_DATA to the folder that holds models/")
    return folder


@cache
def prepared(author: str, data: str, protected: tuple[str, ...], family: str, space: str, epochs: int) -> Subject:
    """The model, the rows, and the latent space, fitted before any clock starts, as the papers do."""
    if author != "limi":
        return subject_of(net_folder(), data, protected[0])
    given = table(data, *protected)
    first = table(data, FIRST_PROTECTED[data])
    model = published_forest(first) if family == "forest" else zoo.load_or_train(family, first.rows, first.labels, first.domain, seed=0)
    return Subject(given.domain, model, given.rows, given.labels, population(data, protected, space, epochs))


def published_forest(given: Dataset) -> Model:
    """scikit-learn's forest of 100 trees with its defaults, as LIMI's paper says; the package's own has leaves of at least four rows."""
    from sklearn.ensemble import RandomForestClassifier

    assert given.domain.label is not None
    fitted = RandomForestClassifier(n_estimators=100, random_state=0).fit(given.rows, given.labels)
    return from_estimator(fitted, given.domain, list(given.domain.label.values), takes="codes")


@cache
def population(data: str, protected: tuple[str, ...], space: str, epochs: int) -> Population:
    """Chained trees, or a CTGAN: the one beside the benchmarks for Adult, else one trained once and kept."""
    given = table(data, *protected)
    if space != "ctgan":
        return ChainedTrees.fit(given.rows, given.domain, np.random.default_rng(0), first=quiet_first(given.rows, given.domain))
    if data == "adult" and epochs == 300 and SHIPPED.exists():
        return Ctgan.load(SHIPPED, given.domain)
    return trained(given, epochs, 0)


def subject_for(hunt: Hunt) -> Subject:
    """What the search is run against."""
    return prepared(hunt.author, hunt.data, hunt.protected, hunt.family, hunt.space, hunt.epochs)


def caught(hunt: Hunt, cells: Cells) -> Caught:
    """The search done, now or before."""
    return Caught(**cells.take("hunt", asdict(hunt), lambda: _search(hunt), data_of(hunt)))


def data_of(hunt: Hunt) -> list[Path]:
    """Files that a search rests on and that are not of this repository."""
    folder = papers_data()
    names = {"adult": "census", "census": "census"}.get(hunt.data, hunt.data)
    nets = sorted((folder / "models").glob(f"*_{names}.npz")) if folder and hunt.author != "limi" else []
    return [SHIPPED, *nets] if hunt.space else nets


def _search(hunt: Hunt) -> dict[str, Any]:
    subject = subject_for(hunt)
    space = {"space": hunt.space} if hunt.space and hunt.method == "limi" else {}
    limits: dict[str, Any] = {name: value for name in ("candidates", "cpu_seconds") if (value := getattr(hunt, name))}
    method = METHODS.make(hunt.method, {**hunt.parameters, **space})
    done = run(method, subject, Plan(hunt.seed, Budget(**(limits or {"candidates": 10**9}))))
    some = done.findings.rows[np.random.default_rng([hunt.seed, 9]).permutation(len(done.findings))[:KEPT_ROWS]]
    return {
        "findings": done.ledger.findings,
        "candidates": done.ledger.candidates,
        "duplicates": done.ledger.duplicates,
        "cpu_seconds": done.cpu_seconds,
        "phases": dict(findings_by_phase(done.findings.phase)),
        "rows": some.tolist(),
        "facts": {name: done.facts[name] for name in ("boundary", "global_seeds", "fallback") if name in done.facts},
    }


def over_seeds(make: Callable[[int], Hunt], seeds: Sequence[int], cells: Cells) -> list[Caught]:
    """The same search with every seed."""
    return [caught(make(seed), cells) for seed in seeds]
