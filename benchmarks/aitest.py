"""AITEST and the chained trees: speed, exactness, realism, coverage and obedience.

Prints Markdown tables; `--json FILE` writes the figures as one flat object.  `--quick` keeps to the smaller data sets and one seed.
Cells of the tables are noted in the cache folder, so that an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import resource
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evenhand import datasets
from evenhand.arrays import Rows
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.measures.naturalness import atn, two_sample_auc
from evenhand.measures.rates import Sample, discrimination_rate
from evenhand.models import zoo
from evenhand.oracles.flip import LabelFlip
from evenhand.synthesis.bins import bin_column
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.constraint_graph import ConstraintGraph
from evenhand.synthesis.families import NONE, cdf
from evenhand.synthesis.fitting import ACCEPTED, candidates
from evenhand.synthesis.generation import make_plan
from evenhand.synthesis.graph import graph_of
from evenhand.synthesis.inference import DataConstraints, infer
from evenhand.synthesis.wishes import Wish
from parts import aitest_tables as paper
from parts import common  # first: it settles the number of threads before NumPy is loaded
from parts import realism as beside
from parts.aitest_data import Notes


def generated_table(n: int, seed: int, fitting: int = 25, categories: int = 35, numbers: int = 35) -> tuple[Rows, TabularDomain]:
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


def scale(n: int, seed: int, fitting: int = 25) -> tuple[float, float, DataConstraints, Rows]:
    """CPU-seconds of inference (the better of two tries) and of synthesis."""
    infer(*generated_table(500, seed))  # imports are not inference
    rows, domain = generated_table(n, seed, fitting)
    inference, found = common.cpu(lambda: infer(rows, domain), 2)
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
        counts = np.bincount(column.places()[mine], minlength=column.bins + 1)[None, :-1].astype(float)
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


def free_of_rules(domain: TabularDomain) -> TabularDomain:
    """The same columns without declared rules: what the trees do alone."""
    return TabularDomain(domain.columns, domain.protected, domain.label)


def chained_trees(seed: int) -> dict[str, float]:
    """Chained trees on Adult: pace, likeness to held-out rows, and the way back."""
    data = datasets.adult()
    domain = free_of_rules(data.domain)
    rng = np.random.default_rng(seed)
    ChainedTrees.fit(data.rows[:500], domain, rng)  # imports are not the fit
    seconds, trees = common.cpu(lambda: ChainedTrees.fit(data.rows, domain, rng), 2)
    pace, _ = common.cpu(lambda: trees.sample(200_000, rng), 2)
    back = trees.decode(trees.encode(data.rows, rng))
    likeness = tree_likeness(seed, HELD_OUT)
    return {
        "trees_fit_cpu_s": round(seconds, 3),
        "trees_rows_per_cpu_s": round(200_000 / pace),
        "trees_atn": likeness["ATN"],
        "trees_c2st": likeness["AUC"],
        "inversion_exact_share": float(((back == data.rows) | (np.isnan(back) & np.isnan(data.rows))).all(axis=1).mean()),
    }


HELD_OUT = 16_000


def tree_likeness(seed: int, held_out: int) -> dict[str, float]:
    """Trees fitted to the rows that are not held out, beside those that are; and real rows in the trees' place."""
    data = datasets.adult()
    domain = free_of_rules(data.domain)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(data.rows))
    kept, train = data.rows[order[:held_out]], data.rows[order[held_out:]]
    trees = ChainedTrees.fit(train, domain, rng)
    drawn = trees.sample(len(data.rows), rng)  # many, so that chance in the drawn rows does not count against them
    return {
        "held out": held_out,
        "seed": seed,
        "ATN": round(atn(kept, drawn, domain), 4),
        "ATN, equally many drawn": round(atn(kept, drawn[:held_out], domain), 4),
        "ATN of the training rows": round(atn(kept, train, domain), 4),
        "AUC": round(two_sample_auc(kept, drawn[:held_out], rng), 4),
        "lowest log-likelihood": round(float(trees.log_density(kept).min()), 1),
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
    {"modify": [{"column": "age", "range": [30, None]}]},
    {"presets": ["age at most 40"]},
    {"presets": ["hours_per_week up 5"]},
    {"modify": [{"column": "age", "shift": -3}, {"column": "hours_per_week", "factor": 0.9}]},
    {"modify": [{"column": "hours_per_week", "factor": 1.5, "range": [1, 80]}]},
    {"presets": ["workclass 25 % missing"]},
    {"presets": ["age 10 % missing", "1:1 sex"]},
    {"presets": ["occupation 0 % missing"]},
    {"modify": [{"column": "fnlwgt", "isUnique": True}]},
    {"presets": ["fnlwgt unique", "3:1 sex Female:Male"]},
    {"modify": [{"column": "sex", "frequencies": {"Female": 0.5}}]},
    {"modify": [{"column": "race", "frequencies": {"Black": 0.5}}]},
    {"modify": [{"association": ["sex", "workclass"], "value": "Female", "frequencies": {"Private": 1, "State-gov": 1}}]},
    {"modify": [{"association": ["sex", "workclass"], "value": "Female", "frequencies": {"Private": 0.5}}]},
    {"modify": [{"association": ["race", "marital_status"], "value": "Black", "frequencies": {"Divorced": 1, "Never-married": 3}}]},
    {"modify": [{"association": ["sex", "age"], "value": "Male", "distribution": {"name": "normal", "loc": 45, "scale": 4}}]},
    {"modify": [{"association": ["sex", "hours_per_week"], "value": "Male", "factor": 1.1}]},
    {"modify": [{"association": ["sex", "hours_per_week"], "value": "Female", "shift": 4}]},
    {"delete": [{"range": "hours_per_week"}]},
    {"delete": [{"association": ["sex", "marital_status"]}], "presets": ["1:1 sex"]},
    {"rules": ["education determines education_num"]},
    {"rules": ["education determines education_num"], "presets": ["2:1 sex Male:Female"]},
    {"rules": ["not (workclass == 'Private' and race == 'Other')"]},
    {"rules": ["age - education_num >= 10"]},
    {"rules": ["capital_gain <= 10 * age"]},
    {"rules": ["hours_per_week in [20, 30, 40]"], "modify": [{"column": "age", "range": [20, 60]}]},
    {"rules": ["race != 'White' => age < 50"], "presets": ["1:1 sex"]},
    {"rules": ["native_country is not missing", "workclass is not missing"]},
    {"presets": ["race Black only", "hours_per_week up 10 %", "age at least 25"], "rules": ["capital_loss == 0"]},
    {
        "presets": ["1:1 sex", "fnlwgt unique", "workclass 5 % missing"],
        "modify": [{"association": ["sex", "marital_status"], "value": "Female", "frequencies": {"Divorced": 1, "Widowed": 1}}],
        "rules": ["age >= 21"],
    },
    {
        "rules": ["age + education_num == hours_per_week", "relationship == 'Husband' or relationship == 'Wife'"],
        "presets": ["1:1 sex", "race Asian-Pac-Islander only"],
        "modify": [{"column": "age", "range": [30, 35]}],
    },
]


TREES_EVERY = 6
"""Every so many sets are kept by chained trees as well; trees cannot delete a single association or a range."""


def obedience(seed: int, n: int) -> tuple[float, list[dict[str, Any]]]:
    """The share of rows that keep each set of wishes, ratios exact to the row; a set whose ratios are not counts as 0."""
    data = datasets.adult()
    rng = np.random.default_rng(seed)
    graph = ConstraintGraph.fit(data.rows, data.domain, rng)
    lines = []
    for number, wishes in enumerate(WISHES, 1):

        def attempt(wishes: dict[str, Any] = wishes, number: int = number) -> float:
            steered = graph.steered(wishes, rng)
            shares = [kept_share(steered, steered.sample(n, rng), n)]
            if number % TREES_EVERY == 0 and "delete" not in wishes:
                trees = ChainedTrees.fit_steered(data.rows[:4_000], data.domain, steered.wishes, rng)
                shares.append(kept_share(replace(steered, domain=trees.domain), trees.sample(n, rng), n))
            return min(shares)

        seconds, share = common.cpu(attempt)
        told = {"set": number, "wishes": str(wishes), "obeyed": f"{share:.2%}", "CPU s": f"{seconds:.2f}"}
        lines.append({**told, "share": share})
    return min(line["share"] for line in lines), lines


def kept_share(steered: ConstraintGraph, rows: Rows, n: int) -> float:
    """The share of rows that keep the wishes; 0 where there are fewer, or where a ratio is off by more than a row."""
    if len(rows) != n or not all(ratios_hold(wish, steered.domain, rows) for wish in steered.wishes.wishes):
        return 0.0
    return float(steered.obeyed(rows).mean())


def ratios_hold(wish: Wish, domain: TabularDomain, rows: Rows) -> bool:
    """Whether wished shares of values, of missing cells and of unique ones come out to the row."""
    cells, column = rows[:, domain.place(wish.column)], domain.columns[domain.place(wish.column)]
    if wish.source and wish.frequencies is not None:
        cells = cells[rows[:, domain.place(wish.source)] == domain.columns[domain.place(wish.source)].code(wish.value)]
    fine = True
    if wish.frequencies is not None and not wish.is_partial(column):
        whole = max(sum(wish.frequencies.values()), 1e-300)
        counts = {value: float((cells == column.code(value)).sum()) for value in wish.frequencies}
        fine &= all(abs(counts[value] - share / whole * len(cells)) <= 1 for value, share in wish.frequencies.items())
    if wish.missing is not None:
        fine &= int(np.isnan(cells).sum()) == round(wish.missing * len(cells))
    return fine and (not wish.is_unique or len(np.unique(cells[~np.isnan(cells)])) == int((~np.isnan(cells)).sum()))


def linearity(seed: int, picture: Path) -> list[dict[str, Any]]:
    """Both stages at growing numbers of rows, as a table and as a picture."""
    sizes = (125_000, 250_000, 500_000, 1_000_000)
    seconds = np.array([scale(n, seed)[:2] for n in sizes])  # (sizes, stages)
    draw_lines(sizes, seconds, picture)
    lines = []
    for n, (inference, synthesis) in zip(sizes, seconds, strict=True):
        told = {"inference CPU s": f"{inference:.1f}", "inference us per row": f"{inference / n * 1e6:.1f}"}
        lines.append(
            {"rows": f"{n:,}", **told, "synthesis CPU s": f"{synthesis:.1f}", "synthesis us per row": f"{synthesis / n * 1e6:.1f}"}
        )
    return lines


def draw_lines(sizes: Sequence[int], seconds: Rows, path: Path) -> None:
    """Measured points, and the straight line that is nearest to them, as SVG."""
    width, height, margin = 520, 300, 46
    across = [margin + (width - 2 * margin) * n / sizes[-1] for n in sizes]
    top = float(np.ceil(seconds.max() / 5) * 5)
    parts = [f'<rect width="{width}" height="{height}" fill="white"/>']
    for tick in np.linspace(0, top, 4):
        y = height - margin - (height - 2 * margin) * tick / top
        parts += [
            f'<path d="M{margin} {y:.1f}H{width - margin}" stroke="#ddd"/>',
            f'<text x="{margin - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:.0f}</text>',
        ]
    parts += [
        f'<text x="{x:.1f}" y="{height - margin + 18}" text-anchor="middle">{n // 1000:,}k</text>'
        for n, x in zip(sizes, across, strict=True)
    ]
    for stage, (name, colour) in enumerate((("inference", "#1f5fa8"), ("synthesis", "#c2571a"))):
        ys = [height - margin - (height - 2 * margin) * value / top for value in seconds[:, stage]]
        slope, start = np.polyfit(across, ys, 1)
        ends = (start + slope * margin, start + slope * across[-1])
        parts.append(f'<path d="M{margin} {ends[0]:.1f}L{across[-1]:.1f} {ends[1]:.1f}" stroke="{colour}" stroke-dasharray="4 4"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in zip(across, ys, strict=True)]
        parts.append(f'<text x="{across[-1] - 8:.1f}" y="{ys[-1] - 10:.1f}" text-anchor="end" fill="{colour}">{name}</text>')
    parts.append(f'<text x="{margin}" y="{margin - 22}">CPU-seconds by rows of 70 columns; dashed: the nearest straight line</text>')
    path.parent.mkdir(parents=True, exist_ok=True)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" role="img">'
    path.write_text(head + "<title>CPU-seconds by number of rows</title>" + "".join(parts) + "</svg>\n", encoding="utf-8")


def million_rows(seed: int) -> float:
    """CPU-seconds to fit chained trees to a million rows of Adult's columns."""
    data = datasets.adult()
    rng = np.random.default_rng(seed)
    rows = data.rows[rng.integers(0, len(data.rows), 1_000_000)]
    return common.cpu(lambda: ChainedTrees.fit(rows, data.domain, rng))[0]


FIGURES = (
    "inference_cpu_s_per_million_x_70",
    "synthesis_cpu_s_per_million_x_70",
    "ks_decisions_equal",
    "range_anomalies_max_per_1000",
    "path_coverage_min",
    "constraints_obeyed_min",
    "trees_fit_cpu_s",
    "trees_rows_per_cpu_s",
    "trees_atn",
    "trees_c2st",
    "inversion_exact_share",
    "c2st_over_cart_max",
    "gap_kept_min",
    "relations_kept_min",
    "copies_over_holdout_max",
    "trees_fit_cpu_s_100k_x_70",
    "trees_fit_70_over_20",
    "domain_inference_cpu_s_million_x_20",
    "steered_paths_covered_min",
    "untouched_groups_moved_max",
)
SMALL = ["iris", "ecoli", "car", "credit"]
MANY = ["adult", "credit", "iris", "wdbc", "ecoli", "car", "penbased", "magic"]


def main() -> None:
    """All figures."""
    chosen = common.options(__doc__ or "")
    quick, seed = chosen.quick, chosen.seed
    plan = paper.Plan(1, 0, 0) if quick else paper.Plan(notes=Notes.of_this_code())
    figures: dict[str, Any] = speed(seed, quick)
    realistic = paper.table_2(SMALL if quick else [*MANY, "bank", "compas"], plan)
    figures["range_anomalies_max_per_1000"] = max(line["worst range"] for line in realistic if line["synthesiser"] == "AITEST")
    covered = paper.table_7(["credit"] if quick else ["credit", "adult", "compas", "car"], plan, 32 if quick else 100)
    figures["path_coverage_min"] = min(line["lowest coverage"] for line in covered)
    figures["constraints_obeyed_min"], wishes = obedience(seed, 300 if quick else 1_000)
    figures |= chained_trees(seed) | beside.fit_speed(seed)
    figures["domain_inference_cpu_s_million_x_20"] = round(beside.domain_inference_seconds(seed), 2)
    figures["steered_paths_covered_min"] = beside.steered_paths_covered(seed)
    figures["untouched_groups_moved_max"] = beside.untouched_groups_moved(seed, 20_000)
    likeness, compared = beside.realism(seed, quick, None if quick else plan.notes)
    figures |= likeness
    paper.show("Chained trees beside sequential CART", compared)
    paper.show("Table 2: realism of 1,000 rows", realistic)
    if not quick:
        figures["trees_million_rows_fit_cpu_s"] = round(million_rows(seed), 1)
        paper.show("Table 3: accuracy of models trained on real and on synthetic rows", paper.table_3(MANY, plan))
        paper.show("Table 4: properties, data constraints only", paper.table_4(["adult", "credit", "compas"], plan))
        paper.show("Table 5: properties with wished ratios", paper.table_5(["adult", "credit"], plan))
        paper.show("Table 6: fidelity of the surrogate", paper.table_6([*MANY, "bank"], plan))
        paper.show("Rows and seconds", linearity(seed, (chosen.json or Path("bench-results/aitest.json")).with_suffix(".linear.svg")))
    paper.show("Table 7: paths taken", covered)
    paper.show("Discriminatory instances by population", rates(seed, 4_000 if quick else 20_000))
    paper.show("Wishes", [{key: value for key, value in line.items() if key != "share"} for line in wishes])
    paper.show("Beside the figures", [{"what": name, "measured": value} for name, value in figures.items() if name not in FIGURES])
    common.write_figures({name: figures[name] for name in FIGURES}, chosen.json)


def speed(seed: int, quick: bool) -> dict[str, Any]:
    """Inference and synthesis of a million rows, in the costlier of two tables, and whether the decisions are exact."""
    inference, synthesis, found, rows = scale(1_000_000, seed)
    rng = np.random.default_rng(seed)
    small, domain = generated_table(20_000, seed + 1)
    equal = [
        decisions_equal(found, rows, 20 if quick else 200, rng),
        decisions_equal(infer(small, domain), small, 100 if quick else 1_000, rng),
    ]
    figures = {
        "inference_cpu_s_per_million_x_70": round(inference, 2),
        "synthesis_cpu_s_per_million_x_70": round(synthesis, 2),
        "ks_decisions_equal": min(equal),
        "memory_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    }
    del rows, found
    if not quick:
        figures["inference_cpu_s_where_5_of_35_numbers_fit"] = round(scale(1_000_000, seed, fitting=5)[0], 2)
    return figures


if __name__ == "__main__":
    main()
