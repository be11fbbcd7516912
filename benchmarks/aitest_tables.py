"""The tables of `aitest.py`: data, synthesisers and target models for the paper's Tables 2 to 7, redone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand import datasets
from evenhand.arrays import Labels, Rows, Scores
from evenhand.coverage.paths import cover, coverage_of, drawer
from evenhand.coverage.properties import group_fairness, individual_fairness, robustness
from evenhand.coverage.surrogate import SurrogateSettings, grow
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.models.abilities import labels_of
from evenhand.synthesis import realism
from evenhand.synthesis.copula import Copula
from evenhand.synthesis.population import ConstraintGraph
from evenhand.synthesis.trees import ChainedTrees


@dataclass(frozen=True)
class Table:
    """A data set as codes."""

    name: str
    rows: Rows
    labels: Labels
    domain: TabularDomain


def tables(names: list[str]) -> Iterator[Table]:
    """Data sets by name."""
    for name in names:
        if name in ("iris", "wine", "digits"):
            yield from_sklearn(name)
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


@dataclass(frozen=True)
class Independent:
    """Every column drawn by itself: what a synthesiser must beat."""

    rows: Rows

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Cells of the data, mixed."""
        return np.column_stack([rng.choice(self.rows[:, at], n) for at in range(self.rows.shape[1])])


def synthesisers(epochs: int = 0) -> dict[str, Callable[[Rows, TabularDomain, np.random.Generator], Any]]:
    """Ways to fit a population; the two nets only where epochs are given."""
    found: dict[str, Callable[[Rows, TabularDomain, np.random.Generator], Any]] = {
        "AITEST": ConstraintGraph.fit,
        "AITEST, quantiles": lambda rows, domain, rng: ConstraintGraph.fit(rows, domain, rng, unfitted="quantiles"),
        "chained trees": ChainedTrees.fit,
        "copula": Copula.fit,
        "independent": lambda rows, *_: Independent(rows),
    }
    if epochs:
        from evenhand.synthesis.ctgan import Ctgan, CtganSettings
        from evenhand.synthesis.tvae import Tvae, TvaeSettings

        found["CTGAN"] = lambda rows, domain, rng: Ctgan.fit(rows, domain, rng, CtganSettings(epochs=epochs))
        found["TVAE"] = lambda rows, domain, rng: Tvae.fit(rows, domain, rng, TvaeSettings(epochs=epochs))
    return found


def inside(table: Table) -> Rows:
    """Real rows that keep the domain's constraints: what inference is shown."""
    return table.rows[table.domain.contains(table.rows)]


def table_2(names: list[str], seeds: int, epochs: int) -> list[dict[str, Any]]:
    """Realism: range anomalies and density anomalies per 1,000, divergences."""
    lines = []
    for table in tables(names):
        real = inside(table)
        for name, make in synthesisers(epochs if len(real) <= 5_000 else 0).items():
            found = []
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                few = real if len(real) <= 8_000 else real[rng.choice(len(real), 8_000, replace=False)]
                found.append(realism.assess(few, make(few, table.domain, rng).sample(1_000, rng), table.domain))
            lines.append(
                {
                    "data": table.name,
                    "synthesiser": name,
                    "range": _span([f.range_anomalies for f in found]),
                    "density": _span([f.density_anomalies for f in found]),
                    "JS": f"{np.mean([f.divergence for f in found]):.3f}",
                    "association JS": f"{np.mean([f.association_divergence for f in found]):.3f}",
                    "worst": max(f.range_anomalies for f in found),
                }
            )
    return lines


def _span(values: list[int]) -> str:
    return str(values[0]) if min(values) == max(values) else f"{min(values)} to {max(values)}"


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
        return RandomForestClassifier(30, random_state=seed)
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


def split(table: Table, share: float, rng: np.random.Generator, most: int = 12_000) -> Halves:
    """A random split of the rows that keep the constraints."""
    kept = np.flatnonzero(table.domain.contains(table.rows))
    order = rng.permutation(kept)[:most]
    cut = int(share * len(order))
    pick = [(table.rows[part], table.labels[part]) for part in (order[:cut], order[cut:])]
    return Halves(pick[0], pick[1])


def table_3(names: list[str], seeds: int) -> list[dict[str, Any]]:
    """Accuracy of models trained on real and on synthetic rows."""
    lines = []
    for table in tables(names):
        for model in ("RF", "DT"):
            for share in (0.7, 0.8):
                found: dict[str, list[tuple[float, float]]] = {}
                for seed in range(seeds):
                    rng = np.random.default_rng(seed)
                    halves = split(table, share, rng)
                    for name in ("AITEST", "chained trees"):
                        rows = synthesisers()[name](halves.train[0], table.domain, rng).sample(len(halves.train[0]), rng)
                        pair = (Coded(estimator(model, seed), table), Coded(estimator(model, seed), table))
                        got = realism.train_on_synthetic(pair, halves.train, halves.test, rows)
                        found.setdefault(name, []).append((got.real, got.synthetic))
                real = np.mean([a for a, _ in found["AITEST"]])
                line = {"data": table.name, "model": model, "split": f"{share:.0%}", "real": f"{real:.1%}"}
                lines.append(line | {name: f"{np.mean([b for _, b in got]):.1%}" for name, got in found.items()})
    return lines


def table_4(names: list[str], seed: int) -> list[dict[str, Any]]:
    """Robustness score, success score and disparate impact: test split against AITEST, data constraints only."""
    lines = []
    for table in tables(names):
        for model in ("RF", "DT"):
            rng = np.random.default_rng(seed)
            halves = split(table, 0.8, rng, 6_000)
            target = Coded(estimator(model, seed), table).fit(*halves.train)
            graph = ConstraintGraph.fit(halves.train[0], table.domain, rng)
            n = min(len(halves.test[0]), 600)
            made = {"test": halves.test[0][:n], "AITEST": graph.sample(n, rng)}
            independent = graph.independent(*table.domain.protected).sample(max(n, 600), rng)
            for name, rows in made.items():
                groups = independent if name == "AITEST" else halves.test[0]
                lines.append({"data": table.name, "model": model, "rows": name, **_properties(target, rows, groups, table, rng)})
    return lines


def _properties(target: Coded, rows: Rows, groups: Rows, table: Table, rng: np.random.Generator) -> dict[str, str]:
    strong = robustness(target, rows, table.domain, rng)
    fair = individual_fairness(target, rows, table.domain)
    group = group_fairness(target, groups, table.domain, rng)
    impact = group.disparate_impact
    return {
        "RS": _percent(strong.score),
        "SS": _percent(fair.score),
        "DI": f"{impact.value:.2f} ({impact.low:.2f} to {impact.high:.2f})",
    }


def _percent(interval: Any) -> str:
    return f"{interval.estimate:.1%} ({interval.low:.1%} to {interval.high:.1%})"


def table_5(names: list[str], seed: int) -> list[dict[str, Any]]:
    """The same with the ratio of men and women overridden, decision tree, 80:20."""
    lines = []
    for table in tables(names):
        rng = np.random.default_rng(seed)
        halves = split(table, 0.8, rng, 6_000)
        target = Coded(estimator("DT", seed), table).fit(*halves.train)
        graph = ConstraintGraph.fit(halves.train[0], table.domain, rng)
        column = table.domain.columns[table.domain.protected_places[0]]
        first, second = column.values[:2]
        lines.append({"data": table.name, "ratio": "test split", **_properties(target, halves.test[0][:400], halves.test[0], table, rng)})
        for a, b in ((1, 1), (2, 1), (1, 2), (1, 3), (3, 1)):
            wishes = {"modify": [{"column": column.name, "frequencies": {first: a, second: b}}]}
            rows = graph.steered(wishes, rng).sample(400, rng)
            lines.append({"data": table.name, "ratio": f"{first}:{second} = {a}:{b}", **_properties(target, rows, rows, table, rng)})
    return lines


def table_6(names: list[str], seed: int) -> list[dict[str, Any]]:
    """Fidelity of the surrogate, with its interval."""
    lines = []
    for table in tables(names):
        for model in ("RF", "LR", "KNN"):
            rng = np.random.default_rng(seed)
            halves = split(table, 0.8, rng, 6_000)
            target = Coded(estimator(model, seed), table).fit(*halves.train)
            graph = ConstraintGraph.fit(halves.train[0], table.domain, rng)
            tree = grow(target.predict, drawer(graph), halves.train[0], (table.domain, target.classes), rng)
            says = target.predict(halves.test[0])
            fidelity = tree.fidelity(halves.test[0], says)
            lines.append(
                {
                    "data": table.name,
                    "model": model,
                    "model accuracy": f"{np.mean(says == halves.test[1]):.1%}",
                    "surrogate accuracy": f"{np.mean(tree.predict(halves.test[0]) == halves.test[1]):.1%}",
                    "fidelity": _percent(fidelity),
                    "paths": len(tree.paths),
                }
            )
    return lines


def table_7(names: list[str], seed: int, leaves: int) -> list[dict[str, Any]]:
    """Paths taken by the test split and by AITEST's tests: all of them, and the failing ones."""
    lines = []
    for table in tables(names):
        for model in ("RF", "DT"):
            rng = np.random.default_rng(seed)
            halves = split(table, 0.8, rng, 6_000)
            target = Coded(estimator(model, seed), table).fit(*halves.train)
            graph = ConstraintGraph.fit(halves.train[0], table.domain, rng)
            settings = SurrogateSettings(leaves=leaves)
            tree = grow(target.predict, drawer(graph), halves.train[0], (table.domain, target.classes), rng, settings)
            n = max(min(len(halves.test[0]), 600), 2 * len(tree.paths))
            suite = cover(tree, drawer(graph), n, rng)
            line: dict[str, Any] = {"data": table.name, "model": model, "paths": int(suite.coverage.possible.sum())}
            for name, rows in (("test", halves.test[0][:n]), ("AITEST", suite.rows)):
                line[f"all, {name}"] = int((coverage_of(tree, rows).counts > 0).sum())
                unfair = individual_fairness(target, rows, table.domain).failing if table.domain.protected else np.zeros(len(rows), bool)
                line[f"unfair, {name}"] = int((coverage_of(tree, rows[unfair]).counts > 0).sum())
                weak = robustness(target, rows, table.domain, rng).failing
                line[f"not robust, {name}"] = int((coverage_of(tree, rows[weak]).counts > 0).sum())
            line["coverage"] = suite.coverage.share
            lines.append(line)
    return lines


def show(title: str, lines: list[dict[str, Any]]) -> None:
    """A Markdown table."""
    if not lines:
        return
    keys = list(lines[0])
    print(f"\n### {title}\n\n| {' | '.join(keys)} |\n|{'---|' * len(keys)}")
    for line in lines:
        print(f"| {' | '.join(str(line.get(key, '')) for key in keys)} |")
    print(flush=True)
