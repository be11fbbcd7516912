"""AITEST and the chained trees: speed, exactness, realism, coverage and obedience.

Prints Markdown tables; `--json FILE` writes the figures as one flat object.  `--quick` keeps to the smaller data sets and one seed.
"""

from __future__ import annotations

import resource
from typing import Any

import numpy as np

import aitest_tables as paper
import common  # first: it settles the number of threads before NumPy is loaded
from evenhand import datasets
from evenhand.arrays import Rows
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.metrics.individual import Sample, discrimination_rate
from evenhand.metrics.naturalness import atn, two_sample_auc
from evenhand.models import zoo
from evenhand.oracles.individual import LabelFlip
from evenhand.synthesis.bins import bin_column
from evenhand.synthesis.families import NONE, cdf
from evenhand.synthesis.fitting import ACCEPTED, candidates
from evenhand.synthesis.generation import make_plan
from evenhand.synthesis.graph import graph_of
from evenhand.synthesis.inference import DataConstraints, infer
from evenhand.synthesis.population import ConstraintGraph
from evenhand.synthesis.trees import ChainedTrees


def generated_table(n: int, seed: int, fitting: int = 5, categories: int = 35, numbers: int = 35) -> tuple[Rows, TabularDomain]:
    """Related categories; the first `fitting` numbers follow one of the five families, the others are mixtures, skewed, or integers.

    Inference costs more the more columns fit, because only a fit that is not rejected early needs its exact distance.
    """
    rng = np.random.default_rng(seed)
    rows, columns = np.empty((n, categories + numbers)), []
    for at in range(categories):
        size = 2 + at % 6
        fresh = rng.integers(0, size, n)
        rows[:, at] = np.where(rng.random(n) < 0.5, rows[:, at - 1] % size, fresh) if at % 3 else fresh
        columns.append(Column(f"c{at}", "category", tuple(f"v{value}" for value in range(size))))
    for number in range(numbers):
        kind = number % 5 if number < fitting else 5 + number % 3
        group = rows[:, number % categories]
        draws = {
            0: lambda: rng.normal(50, 10, n),
            1: lambda: rng.random(n) * 100,
            2: lambda: rng.exponential(5, n),
            3: lambda: rng.gamma(3, 2, n),
            4: lambda: rng.beta(2, 5, n),
            5: lambda group=group: np.where(group == 0, rng.normal(0, 1, n), rng.normal(4, 2, n)),
            6: lambda: np.rint(np.exp(rng.normal(3, 1, n))),
            7: lambda group=group: np.exp(rng.normal(2 + group / 4, 0.8, n)) + np.where(rng.random(n) < 0.3, 20, 0),
        }
        values = draws[kind]()
        rows[:, categories + number] = values
        low, high = (int(values.min()), int(values.max())) if kind == 6 else (float(values.min()), float(values.max()))
        columns.append(Column(f"n{number}", "integer" if kind == 6 else "real", low=low, high=high))
    return rows, TabularDomain(tuple(columns))


def scale(n: int, seed: int, fitting: int = 5) -> tuple[float, float, DataConstraints, Rows]:
    """CPU-seconds of inference and of synthesis."""
    infer(*generated_table(500, seed))  # imports are not inference
    rows, domain = generated_table(n, seed, fitting)
    inference, found = common.cpu(lambda: infer(rows, domain))
    rng = np.random.default_rng(seed)
    synthesis, _ = common.cpu(lambda: make_plan(graph_of(found), domain.columns, "range", rng).rows(n, rng))
    return inference, synthesis, found, rows


def decisions_equal(found: DataConstraints, rows: Rows, most: int, rng: np.random.Generator) -> float:
    """The share of groups whose decision equals that of exact tests on all of their rows."""
    from scipy.stats import kstwo

    groups = [(pair, value) for pair, fits in found.conditionals.items() for value in range(len(fits.count)) if fits.count[value] >= 5]
    equal = []
    for place in rng.choice(len(groups), min(most, len(groups)), replace=False):
        (source, target), value = groups[place]
        fits = found.conditionals[source, target]
        column = bin_column(np.ascontiguousarray(rows[:, target]))
        mine = np.nan_to_num(rows[:, source], nan=found.sizes[source] - 1) == value
        values = np.sort(rows[mine, target])
        values = values[~np.isnan(values)]
        counts = np.bincount(column.places[mine], minlength=column.bins + 1)[None, :-1].astype(float)
        ends = (values[:1], values[-1:])
        best = (np.inf, NONE)
        for family, guess in candidates(column, counts, counts.sum(axis=1), ends):
            if np.isfinite(guess).all():
                expected, rank = cdf(family, guess[0], values), np.arange(len(values)) / len(values)
                best = min(best, (float(max((expected - rank).max(), (rank + 1 / len(values) - expected).max())), family))
        p = float(kstwo.sf(best[0], len(values)))
        exact = best[1] if p > ACCEPTED else NONE
        equal.append(exact == fits.family[value] and (exact == NONE or abs(p - fits.p_value[value]) < 1e-6))
    return float(np.mean(equal))


def chained_trees(seed: int) -> dict[str, float]:
    """Chained trees on Adult."""
    data = datasets.adult()
    domain = TabularDomain(data.domain.columns, data.domain.protected, data.domain.label)  # the trees alone, without declared rules
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(data.rows))
    held_out, train = data.rows[order[:16_000]], data.rows[order[16_000:]]
    ChainedTrees.fit(train[:500], domain, rng)
    seconds, trees = common.cpu(lambda: ChainedTrees.fit(data.rows, domain, rng), 2)
    pace, _ = common.cpu(lambda: trees.sample(200_000, rng), 2)
    fitted = ChainedTrees.fit(train, domain, rng)
    drawn = fitted.sample(len(held_out), rng)
    back = fitted.decode(fitted.encode(data.rows, rng))
    return {
        "trees_fit_cpu_s": round(seconds, 3),
        "trees_rows_per_cpu_s": round(200_000 / pace),
        "trees_atn": round(atn(held_out, drawn, domain), 4),
        "trees_atn_ceiling_of_real_rows": round(atn(held_out, train[: len(held_out)], domain), 4),
        "trees_atn_against_all_rows": round(atn(data.rows, fitted.sample(len(data.rows), rng), domain), 4),
        "trees_c2st": round(two_sample_auc(held_out, drawn, rng), 4),
        "inversion_exact_share": float(((back == data.rows) | (np.isnan(back) & np.isnan(data.rows))).all(axis=1).mean()),
        "trees_lowest_held_out_log_likelihood": round(float(fitted.log_density(held_out).min()), 1),
    }


def rates(seed: int, n: int) -> list[dict[str, Any]]:
    """The rate of discriminatory instances among held-out real rows, chained-tree samples and uniform rows."""
    lines = []
    for name, protected in (("adult", "sex"), ("adult", "age"), ("bank", "age"), ("credit", "sex")):
        data = datasets.load(name).protect(protected)
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(data.rows))
        half = len(order) // 2
        model = zoo.train("mlp", data.rows[order[half:]], data.labels[order[half:]], data.domain, rng)
        trees = ChainedTrees.fit(data.rows[order[half:]], data.domain, rng)
        held_out = data.rows[order[:half]]
        held_out = held_out[data.domain.contains(held_out)][:n]
        line: dict[str, Any] = {"data": name, "protected": protected}
        found = {}
        for population, rows in (("real", held_out), ("trees", trees.sample(n, rng)), ("uniform", data.domain.sample(n, rng))):
            found[population] = discrimination_rate(Sample(rows, population), data.domain, model, LabelFlip()).interval
            line[population] = f"{found[population].estimate:.2%} ({found[population].low:.2%} to {found[population].high:.2%})"
        line["trees within the interval of real"] = found["trees"].estimate in found["real"]
        line["intervals of trees and real overlap"] = found["trees"].low <= found["real"].high and found["real"].low <= found["trees"].high
        lines.append(line)
    return lines


WISHES: list[dict[str, Any]] = [
    {"presets": ["1:1 sex"]},
    {"presets": ["3:1 sex Female:Male"]},
    {"presets": ["race Black only"]},
    {"presets": ["hours_per_week up 20 %"]},
    {"presets": ["age down 10 %"]},
    {"modify": [{"column": "age", "range": [30, 40]}]},
    {"modify": [{"column": "age", "range": [17, 120]}]},
    {"modify": [{"column": "capital_gain", "range": [0, 10]}]},
    {"add": [{"column": "age", "distribution": {"name": "normal", "loc": 50, "scale": 3}}]},
    {"add": [{"column": "hours_per_week", "distribution": {"name": "uniform", "loc": 35, "scale": 5}, "range": [35, 40]}]},
    {"modify": [{"association": ["sex", "hours_per_week"], "value": "Female", "range": [20, 30]}]},
    {"add": [{"association": ["race", "sex"], "value": "White", "frequencies": {"Female": 1}}]},
    {"delete": [{"association": ["sex", "hours_per_week"]}]},
    {"delete": [{"column": "fnlwgt"}]},
    {"delete": [{"range": "age"}]},
    {"rules": ["age >= 25"]},
    {"rules": ["age >= 25 or marital_status == 'Never-married'"]},
    {"rules": ["hours_per_week <= 60", "capital_gain == 0 or capital_loss == 0"]},
    {"rules": ["education_num >= 13 => age >= 22"], "presets": ["1:1 sex"]},
    {"rules": ["workclass == 'Private'", "occupation == 'Sales'"]},
    {"rules": ["age * 2 + hours_per_week < 90"]},
    {"rules": ["hours_per_week > age"], "presets": ["2:1 sex Male:Female"]},
    {"rules": ["native_country == 'Japan'", "sex == 'Female'", "age > 60"]},
    {"rules": ["capital_gain > 50000", "age < 30"]},
    {"rules": ["fnlwgt > 1000000", "education == 'Preschool'"]},
    {"rules": ["age == 77", "hours_per_week == 77"]},
    {"rules": ["workclass == 'Never-worked'", "relationship == 'Wife'"]},
    {"rules": ["education == 'Doctorate'", "age < 24"], "presets": ["1:1 sex"]},
    {"rules": ["capital_gain == 3 * capital_loss", "capital_loss > 100"]},
    {
        "rules": ["age + education_num == hours_per_week", "relationship == 'Husband' or relationship == 'Wife'"],
        "presets": ["1:1 sex", "race Asian-Pac-Islander only"],
        "modify": [{"column": "age", "range": [30, 35]}],
    },
]


def obedience(seed: int, n: int) -> tuple[float, list[dict[str, Any]]]:
    """The share of rows that keep each set of wishes; a set that raises counts as 0."""
    data = datasets.adult()
    rng = np.random.default_rng(seed)
    graph = ConstraintGraph.fit(data.rows, data.domain, rng)
    lines = []
    for number, wishes in enumerate(WISHES, 1):

        def attempt(wishes: dict[str, Any] = wishes) -> float:
            steered = graph.steered(wishes, rng)
            rows = steered.sample(n, rng)
            return float(steered.obeyed(rows).mean()) if len(rows) == n else 0.0

        seconds, share = common.cpu(attempt)
        told = {"set": number, "wishes": str(wishes), "obeyed": f"{share:.2%}", "CPU s": f"{seconds:.2f}"}
        lines.append({**told, "share": share})
    return min(line["share"] for line in lines), lines


def linearity(seed: int) -> list[dict[str, Any]]:
    """Both stages at growing numbers of rows."""
    lines = []
    for n in (125_000, 250_000, 500_000, 1_000_000):
        inference, synthesis, _, _ = scale(n, seed)
        lines.append({"rows": f"{n:,}", "inference CPU s": f"{inference:.1f}", "synthesis CPU s": f"{synthesis:.1f}"})
    return lines


def million_rows(seed: int) -> float:
    """CPU-seconds to fit chained trees to a million rows of Adult's columns."""
    data = datasets.adult()
    rng = np.random.default_rng(seed)
    rows = data.rows[rng.integers(0, len(data.rows), 1_000_000)]
    return common.cpu(lambda: ChainedTrees.fit(rows, data.domain, rng))[0]


def main() -> None:
    """All figures."""
    chosen = common.options(__doc__ or "")
    quick, seed = chosen.quick, chosen.seed
    figures: dict[str, Any] = {}
    inference, synthesis, found, rows = scale(1_000_000, seed)
    figures["inference_cpu_s_per_million_x_70"] = round(inference, 2)
    figures["synthesis_cpu_s_per_million_x_70"] = round(synthesis, 2)
    rng = np.random.default_rng(seed)
    small, domain = generated_table(20_000, seed + 1)
    figures["ks_decisions_equal"] = min(
        decisions_equal(found, rows, 20 if quick else 200, rng), decisions_equal(infer(small, domain), small, 100 if quick else 1_000, rng)
    )
    figures["memory_gb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2)
    del rows, found
    realistic = paper.table_2(["iris", "ecoli", "car", "credit"] if quick else
                              ["iris", "ecoli", "wdbc", "digits", "magic", "adult", "car", "credit", "bank", "compas", "cleveland"],
                              1 if quick else 3, 0 if quick else 100)  # fmt: skip
    figures["range_anomalies_max_per_1000"] = max(line["worst"] for line in realistic if line["synthesiser"] == "AITEST")
    covered = paper.table_7(["credit"] if quick else ["credit", "adult", "compas", "cleveland"], seed, 32 if quick else 150)
    figures["path_coverage_min"] = min(line["coverage"] for line in covered)
    figures["constraints_obeyed_min"], wishes = obedience(seed, 300 if quick else 1_000)
    figures |= chained_trees(seed)
    paper.show("Table 2: realism of 1,000 rows", realistic)
    if not quick:
        figures["inference_cpu_s_where_25_of_35_numbers_fit"] = round(scale(1_000_000, seed, fitting=25)[0], 2)
        figures["trees_million_rows_fit_cpu_s"] = round(million_rows(seed), 1)
        many = ["iris", "ecoli", "wdbc", "magic", "car", "credit", "adult"]
        paper.show("Table 3: accuracy of models trained on real and on synthetic rows", paper.table_3(many, 3))
        paper.show("Table 4: properties, data constraints only", paper.table_4(["adult", "credit", "compas"], seed))
        paper.show("Table 5: properties with wished ratios", paper.table_5(["adult", "credit"], seed))
        paper.show("Table 6: fidelity of the surrogate", paper.table_6([*many, "bank"], seed))
        paper.show("Rows and seconds", linearity(seed))
    paper.show("Table 7: paths taken", covered)
    paper.show("Discriminatory instances by population", rates(seed, 4_000 if quick else 20_000))
    paper.show("Wishes", [{key: value for key, value in line.items() if key != "share"} for line in wishes])
    common.write_figures(figures, chosen.json)


if __name__ == "__main__":
    main()
