"""AITEST's tables and figures that hold no result: the language of constraints, a dependency graph, the overview."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
from redone import Effort, Grid, Redone
from setups import FIXED, overview

from evenhand import datasets
from evenhand.arrays import Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.families import NONE
from evenhand.synthesis.graph import Edge, break_cycles, find_cycle, graph_of
from evenhand.synthesis.inference import infer

figure_1 = overview("aitest-figure-1")

GRAMMAR = [
    ["column, categorical", "frequency distribution"],
    ["column, numerical", "min, max; normal, uniform, beta, exponential or gamma"],
    ["association cat_cat", "for every value a categorical constraint"],
    ["association cat_num", "for every value a numerical constraint"],
]


def table_1(effort: Effort) -> Redone:  # noqa: ARG001 - as every maker is called
    """How many constraints of each kind are inferred from two tables."""

    rows = []
    for name in ("credit", "adult"):
        given = datasets.load(name)
        graph = graph_of(infer(given.rows, given.domain))
        fitted = sum(graph.numbers[place].family[0] != NONE for place in graph.numbers)
        pairs = Counter("cat_num" if edge.is_numeric else "cat_cat" for edge in graph.edges)
        rows.append([name, str(len(graph.shares)), str(len(graph.numbers)), str(fitted), str(pairs["cat_cat"]), str(pairs["cat_num"])])
    head = ["data", "frequency distributions", "ranges", "of these with a distribution", "cat_cat", "cat_num"]
    return Redone(
        (Grid("Constraints inferred", head, rows),),
        (Grid("Constraint language", ["constraint", "holds"], GRAMMAR),),
        agrees=("Every kind of the language is inferred.",) if all(row[at] != "0" for row in rows for at in (1, 2, 4, 5)) else (),
        seeds="none",
        interval=FIXED,
    )


def _toy() -> tuple[Rows, TabularDomain]:
    """Six columns that follow from one another, as in the paper's example."""
    import pandas as pd

    from evenhand.verbs.open import open as opened

    rng = np.random.default_rng(0)
    n = 4_000
    gender, senior = rng.integers(0, 2, n), rng.integers(0, 3, n)
    bright = rng.integers(0, 3, n)
    school = np.clip(bright + (rng.random(n) < 0.3) - (rng.random(n) < 0.3 - 0.1 * gender) + (senior == 2), 0, 3)
    married = (rng.random(n) < 0.2 + 0.25 * senior).astype(int)
    salary = np.round(rng.normal(20 + 6 * school + 4 * gender, 3.0), 1)
    frame = pd.DataFrame({
        "gender": np.array(["f", "m"])[gender], "age_group": np.array(["young", "middle", "senior"])[senior],
        "intelligence": np.array(["low", "mid", "high"])[bright], "education": np.array(["none", "school", "college", "masters"])[school],
        "marital": np.array(["single", "married"])[married], "salary": salary, "paid": np.where(salary > 30, "well", "badly"),
    })  # fmt: skip
    data = opened(frame, label="paid", favourable="well", protected=["gender"])
    return data.rows, data.domain


NO_CYCLE = (
    "Between two categories the edge leads to the one with less entropy, whose uncertainty coefficient is the larger one: the data alone "
    "give no cycle. The user's association makes one here, and the data's edge against it goes."
)


def figure_2(effort: Effort) -> Redone:  # noqa: ARG001 - as every maker is called
    """The dependency graph of a toy table, before and after its cycles are broken."""

    rows, domain = _toy()
    found = graph_of(infer(rows, domain))
    is_cyclic_before = find_cycle(found.edges) is not None
    wished = Edge(domain.names.index("gender"), domain.names.index("education"), 0.0, by_user="education depends on gender")
    whole = replace(found, edges=(*found.edges, wished))
    kept = {(edge.source, edge.target) for edge in break_cycles(whole).edges}
    lines = [
        [
            domain.names[edge.source],
            domain.names[edge.target],
            "user" if edge.by_user else f"{edge.error:.3f}",
            "yes" if (edge.source, edge.target) in kept else "no",
        ]
        for edge in sorted(whole.edges, key=lambda edge: (edge.source, edge.target))
    ]
    is_acyclic = find_cycle(break_cycles(whole).edges) is None
    return Redone(
        (Grid("Edges of G1, and which are in G2", ["from", "to", "error", "in G2"], lines),),
        (
            Grid(
                "In words",
                ["figure"],
                [["G1: associations of gender, education, marital, age-grp, intelligence and salary. G2: the same without cycles."]],
            ),
        ),
        agrees=(f"{len(whole.edges)} edges become {len(kept)}, and no cycle is left.",) if is_acyclic else (),
        differs=(
            "The paper does not give its toy data; these 4,000 rows are drawn so that its associations hold.",
            *(() if is_cyclic_before else (NO_CYCLE,)),
        ),
        seeds="0",
        interval="One table.",
    )
