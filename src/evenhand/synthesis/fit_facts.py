"""How well made-up rows fit real ones, as plain values for a result: shares by column, pairs of columns, the constraint graph.

Draws nothing; reports do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.arrays import Reals, Rows
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.families import FAMILIES, NONE
from evenhand.synthesis.generation import GenerationPlan
from evenhand.synthesis.graph import Edge, Graph
from evenhand.synthesis.realism_judge import column_counts

MOST_BARS = 40
"""Values of a column that are kept; of more the most frequent ones."""


def columns_told(real: Rows, synthetic: Rows, domain: TabularDomain) -> list[dict[str, Any]]:
    """For each column the shares of real and of synthetic rows, and what stands at both ends."""
    told = []
    for at, column in enumerate(domain.columns):
        first, second, edges = column_counts(real[:, at], synthetic[:, at], domain, at)
        has_missing = bool(first[-1] + second[-1] > 0)
        shares = first / first.sum(), second / second.sum()
        if not has_missing:
            shares = shares[0][:-1], shares[1][:-1]
        told.append({"name": column.name, **_kept(*shares), **_ends(column, edges, " | missing" if has_missing else "")})
    return told


def _kept(real: Reals, synthetic: Reals) -> dict[str, list[float]]:
    order = np.argsort(-real, kind="stable")[:MOST_BARS] if len(real) > MOST_BARS else np.arange(len(real))
    return {"real": real[order].tolist(), "synthetic": synthetic[order].tolist()}


def _ends(column: Column, edges: Reals, missing: str) -> dict[str, str]:
    if len(edges):
        return {"first": f"{edges[0]:.6g}", "last": f"{edges[-1]:.6g}{missing}"}
    if len(column.values) > MOST_BARS:
        return {"first": f"the {MOST_BARS} most frequent of {len(column.values)} values", "last": missing}
    last = "" if len(column.values) == 1 else str(column.values[-1])
    return {"first": str(column.values[0]), "last": f"{last}{missing}"}


def pairs_told(scores: Rows, names: Sequence[str]) -> dict[str, Any]:
    """How alike the relation of every two columns is, 1 being equal; None where it cannot be said."""
    return {"names": list(names), "scores": [[None if np.isnan(each) else float(each) for each in line] for line in scores]}


def graph_told(graph: Graph, plan: GenerationPlan, domain: TabularDomain) -> dict[str, Any]:
    """Nodes with what they are drawn from, and edges with how sure they are."""
    nodes = [{"name": name, "words": _node_words(graph, plan, at), "category": at in graph.shares} for at, name in enumerate(domain.names)]
    edges = [_edge(edge, plan.chosen.get(edge.target) == edge.source) for edge in graph.edges]
    return {"nodes": nodes, "edges": edges, "order": [step.place for step in plan.steps]}


def _node_words(graph: Graph, plan: GenerationPlan, place: int) -> str:
    if place in graph.dropped:
        return "no constraint"
    kind = "category" if place in graph.shares else "range only"
    if place in graph.numbers and graph.numbers[place].family[0] != NONE:
        kind = FAMILIES[graph.numbers[place].family[0]]
    return f"{kind}, error {plan.errors.get(place, 0.0):.2f}"


def _edge(edge: Edge, is_chosen: bool) -> dict[str, Any]:
    return {
        "source": edge.source,
        "target": edge.target,
        "strength": 1.0 - min(float(getattr(edge, "error", 1.0)), 1.0),
        "used": is_chosen or not getattr(edge, "is_numeric", False),
        "yours": bool(edge.by_user),
    }
