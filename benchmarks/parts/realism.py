"""Chained trees beside other synthesisers, on tables with relations and on the papers' tables: realism, gaps, relations, copies."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand import datasets
from evenhand.arrays import Labels, Rows
from evenhand.domain.columns import Column
from evenhand.domain.infer import infer
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.measures.coverage.paths import cover, drawer
from evenhand.measures.coverage.surrogate import Imitated, SurrogateSettings, grow
from evenhand.measures.synthesis_quality import NOTABLE_GAP, likeness
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.constraint_graph import ConstraintGraph
from evenhand.synthesis.steered_trees import SteeredTrees
from evenhand.synthesis.wishes import Wishes
from parts import common
from parts.aitest_data import Make, Notes, Table
from parts.development_tables import DEVELOPMENT
from parts.sequential_cart import SequentialCart

OURS, CART = "chained trees", "sequential CART"
SPLITS = 5
LARGE = 5_000
GENERATED = ("generated 1", "generated 2", "generated 3")
REPORTED = {
    "adult": ("sex", "race", "age"),
    "bank": ("age",),
    "bank_additional": ("age",),
    "compas": ("race", "sex"),
    "meps": ("SEX", "RACE"),
    "magic": (),
}


def related_table(n: int, seed: int) -> tuple[Rows, Labels, TabularDomain]:
    """People with a sum, a body-mass index, cities in countries, dates in order, flags, and a label that depends on their sex."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n)
    basic, bonus = np.round(np.exp(rng.normal(7 - 0.1 * sex, 0.6, n)), 2), np.round(np.exp(rng.normal(5, 1, n)) * (rng.random(n) < 0.4), 2)
    height = np.round(rng.normal(1.72 - 0.1 * sex, 0.08, n), 2)
    weight = np.round(22 * height**2 * np.exp(rng.normal(0.1, 0.15, n)), 1)
    city, start = np.minimum(rng.zipf(1.3, n), 1_500) - 1, rng.integers(14_000, 19_000, n)
    group, contract = rng.integers(0, 4, n), rng.integers(0, 3, n)
    numbers = {
        "basic": basic,
        "bonus": bonus,
        "total": np.round(basic + bonus, 2),
        "tax": np.round(0.31 * basic + 12, 2),
        "height": height,
        "weight": weight,
        "bmi": np.round(weight / height**2, 1),
    }
    dates = {"start": start, "end": start + 1 + rng.geometric(0.02, n)}
    claims = np.where(contract == 0, 0, rng.integers(1, 500, n))
    columns = [
        Column("sex", "category", ("m", "f")),
        *(Column(name, "real", low=float(cells.min()), high=float(cells.max())) for name, cells in numbers.items()),
        Column("city", "category", tuple(f"c{value}" for value in range(1_500))),
        Column("country", "category", tuple(f"k{value}" for value in range(37))),
        *(Column(name, "date", low=int(cells.min()), high=int(cells.max())) for name, cells in dates.items()),
        *(Column(f"is_{value}", "boolean", (0, 1)) for value in range(4)),
        Column("contract", "category", ("none", "old", "new")),
        Column("claims", "integer", low=0, high=499),
    ]
    flags = [group == value for value in range(4)]
    rows = np.column_stack([sex, *numbers.values(), city, (city * 7_919) % 37, *dates.values(), *flags, contract, claims]).astype(
        np.float64
    )
    labels = (rng.random(n) < 1 / (1 + np.exp(-(np.log(numbers["total"]) - 7.4 - 0.6 * sex)))).astype(np.intp)
    return rows, labels, TabularDomain(tuple(columns), ("sex",), Label("granted", ("no", "yes"), ("yes",)))


def tables(names: Sequence[str]) -> Iterator[Table]:
    """Tables by name, with the columns whose gaps are looked at."""
    for name in names:
        if name.startswith("generated"):
            yield Table(name, *related_table(10_000, 99 + int(name.removeprefix("generated "))))
            continue
        kind, _, number = name.rpartition(" ")
        if kind in DEVELOPMENT:
            yield Table(name, *DEVELOPMENT[kind](int(number)))
            continue
        data = datasets.load(name)
        known = tuple(column for column in REPORTED[name] if column in data.domain.names)
        yield Table(name, data.rows, data.labels, TabularDomain(data.domain.columns, known, data.domain.label))


def cell(table: Table, fit: Make, split: int, seed: int) -> dict[str, Any]:
    """One synthesiser on one half of one table, in plain numbers."""
    started = time.process_time()
    found = likeness(fit, table.rows, table.labels, table.domain, np.random.default_rng([seed, split]))
    notable = [gap for gap in found.gaps if gap.real > NOTABLE_GAP]
    return {
        "rows": len(table.rows),
        "auc": found.auc,
        "gap": min((gap.kept for gap in notable), default=None),
        "outside": sum(not gap.low <= gap.synthetic <= gap.high for gap in found.gaps),
        "gaps": [[gap.column, *(round(part, 5) for part in (gap.real, gap.low, gap.high, gap.synthetic))] for gap in found.gaps],
        "relations": len(found.relations),
        "kept": min((share for _, share in found.relations), default=1.0),
        "copies": found.copies,
        "due": found.copies_holdout,
        "cpu": time.process_time() - started,
    }


def realism(seed: int, quick: bool, notes: Notes | None = None) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """The figures, worst over tables and splits, and a line for each table."""
    notes = notes or Notes()
    names = ("generated 1", "compas") if quick else (*REPORTED, *GENERATED)
    fits: dict[str, Make] = {OURS: ChainedTrees.fit, CART: SequentialCart}
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for table in tables(names):
        for split in range(1 if quick else SPLITS):
            for name, fit in fits.items():
                made = notes.cell((table.name, name, split, seed), lambda fit=fit, table=table, split=split: cell(table, fit, split, seed))
                found.setdefault(table.name, {}).setdefault(name, []).append(made)
    return figures_of(found), [line for name, made in found.items() for line in lines_of(name, made)]


def figures_of(found: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]) -> dict[str, float]:
    """Of chained trees, the worst table: means over its splits for what chance moves, the worst split for relations and copies."""
    large = {name: made for name, made in found.items() if made[OURS][0]["rows"] >= LARGE}
    ours = [one for made in found.values() for one in made[OURS]]
    gaps = [mean for made in large.values() if (mean := _mean(made[OURS], "gap")) is not None]
    over = [_mean(made[OURS], "auc", 0.5) - _mean(made[CART], "auc", 0.5) for made in large.values()]
    return {
        "c2st_over_cart_max": round(max(over), 4),
        "gap_kept_min": round(min(gaps, default=1.0), 3),
        "relations_kept_min": min(one["kept"] for one in ours),
        "copies_over_holdout_max": round(max(one["copies"] - one["due"] for one in ours), 4),
    }


def _mean(made: Sequence[Mapping[str, Any]], what: str, default: float | None = None) -> Any:
    known = [one[what] for one in made if one[what] is not None]
    return float(np.mean(known)) if known else default


def lines_of(table: str, made: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """One line for each synthesiser: means over the splits, and how far the AUC went up and down."""
    lines = []
    for name, splits in made.items():
        aucs = [one["auc"] for one in splits]
        gap = _mean(splits, "gap")
        lines.append(
            {
                "table": table,
                "synthesiser": name,
                "splits": len(splits),
                "AUC": f"{np.mean(aucs):.3f} ({min(aucs):.3f} to {max(aucs):.3f})",
                "smallest gap kept": "" if gap is None else f"{gap:.2f}",
                "gaps outside their interval": sum(one["outside"] for one in splits),
                "relations": splits[0]["relations"],
                "kept in": f"{min(one['kept'] for one in splits):.2%}",
                "copies": f"{np.mean([one['copies'] for one in splits]):.2%}",
                "due": f"{np.mean([one['due'] for one in splits]):.2%}",
                "CPU s": f"{np.mean([one['cpu'] for one in splits]):.0f}",
            }
        )
    return lines


def wide_table(n: int, columns: int, seed: int) -> tuple[Rows, TabularDomain]:
    """Categories and numbers that six hidden numbers relate."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n, 6))
    cells, kinds = [], []
    for at in range(columns):
        number = hidden @ rng.normal(size=6) + rng.standard_normal(n)
        if at % 2:
            size = 3 + at % 9
            cells.append(np.searchsorted(np.quantile(number, np.linspace(0, 1, size + 1)[1:-1]), number))
            kinds.append(Column(f"c{at}", "category", tuple(f"v{value}" for value in range(size))))
        else:
            cells.append(np.round(number, 2))
            kinds.append(Column(f"n{at}", "real", low=float(cells[-1].min()), high=float(cells[-1].max())))
    return np.column_stack(cells).astype(np.float64), TabularDomain(tuple(kinds), ("c1",))


def fit_speed(seed: int) -> dict[str, float]:
    """CPU-seconds of fits by columns; 3,000 rows of 500 columns beside them."""
    rng = np.random.default_rng(seed)
    ChainedTrees.fit(*wide_table(500, 5, seed), rng)  # imports are not the fit
    seconds = {}
    for n, columns in ((100_000, 20), (100_000, 70), (3_000, 500)):
        rows, domain = wide_table(n, columns, seed)
        seconds[columns] = common.cpu(lambda rows=rows, domain=domain: ChainedTrees.fit(rows, domain, rng))[0]
    return {
        "trees_fit_cpu_s_100k_x_70": round(seconds[70], 2),
        "trees_fit_70_over_20": round(seconds[70] / seconds[20], 2),
        "trees_fit_cpu_s_3k_x_500": round(seconds[500], 1),
    }


def domain_inference_seconds(seed: int) -> float:
    """CPU-seconds from a CSV file of a million rows of 20 columns to its domain."""
    rows, domain = wide_table(1_000_000, 20, seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.csv"
        domain.decode(rows).to_csv(path, index=False)
        infer(domain.decode(rows[:500]))
        return common.cpu(lambda: infer(path))[0]


def steered_paths_covered(seed: int) -> float:
    """The smallest share of a surrogate's paths that a steered suite really takes, of those it claims to cover."""
    rows, _, domain = related_table(4_000, seed)
    worst = 1.0
    for text in ("1:1 sex", "contract none only", "basic up 20 %"):
        rng = np.random.default_rng(seed)
        steered = SteeredTrees.of(rows, domain, Wishes.preset(text, domain), rng)

        def answers(asked: Rows) -> Labels:
            told = (asked[:, 1] > 1_200) & (asked[:, 15] < 250) | (asked[:, 0] == 1) & (asked[:, 7] > 25)
            return told.astype(np.intp)

        surrogate = grow(Imitated(answers, domain, (0, 1)), drawer(steered), rows, rng, SurrogateSettings(rows=200, leaves=32))
        suite = cover(surrogate, drawer(steered), 320, rng)
        claimed = suite.coverage.possible > 0
        taken = np.isin(np.arange(len(surrogate.paths)), surrogate.path_of(suite.rows))
        worst = min(worst, float(taken[claimed].mean()), len(suite.rows) / 320)
    return worst


def untouched_groups_moved(seed: int, n: int) -> float:
    """How far a group's shares move, at most, when a wish speaks of another group only."""
    data = datasets.adult()
    rng = np.random.default_rng(seed)
    graph = ConstraintGraph.fit(data.rows, data.domain, rng)
    moved = []
    sex = data.domain.place("sex")
    for target, value in (("workclass", "Private"), ("race", "White"), ("marital_status", "Divorced")):
        wish = {"association": ["sex", target], "value": "Female", "frequencies": {value: 1}}
        place = data.domain.place(target)
        size = len(data.domain.columns[place].values) + 1
        man = data.domain.columns[sex].code("Male")
        shares = []
        for population in (graph, graph.steered({"modify": [wish]}, rng)):
            made = population.sample(n, rng)
            men = made[made[:, sex] == man, place]
            shares.append(np.bincount(np.where(np.isnan(men), size - 1, men).astype(np.intp), minlength=size) / len(men))
        moved.append(float(np.abs(shares[0] - shares[1]).max()))
    return round(max(moved), 4)
