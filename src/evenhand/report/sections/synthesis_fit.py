"""How well made-up rows fit the real ones: column by column, pair by pair, and the graph that draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from evenhand.report import words
from evenhand.report.charts.fit_charts import GraphEdge, GraphNode, graph, share_panel, share_panels
from evenhand.report.charts.heat_maps import HeatMap, heat_map
from evenhand.report.frame import Section, filled
from evenhand.report.record import Record

WORST = 0.3
"""A pair of columns that differs by this much, or more, is drawn strongest."""


def section(record: Record) -> Section | None:
    """The section; None where nothing was made up."""
    told = record.body.synthesis
    if not told:
        return None
    pairs, associations = told.get("pairs"), told.get("graph")
    html = filled(
        "sections/synthesis.html.j2",
        sentence=words.text(told["sentence"], 600) if told.get("sentence") else "",
        quality=_quality(told.get("quality")),
        panels=[(words.text(each.get("name"), 60), share_panel(each)) for each in told.get("columns") or []],
        pairs=pairs_picture(pairs) if pairs and pairs.get("names") else None,
        graph=graph_picture(associations) if associations and associations.get("nodes") else None,
    )
    return Section("synthesis", "Real and synthetic rows", "Synthetic rows", html)


def _quality(told: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The figures of the fit as lines of two cells, and its warnings."""
    if not told:
        return None
    lines = [
        ("AUC of telling rows apart", f"{told['auc']:.3f} ({told['auc_low']:.3f} to {told['auc_high']:.3f})"),
        ("Copies of rows, held-out rows' own", f"{told['copies']:.2%}, {told['copies_holdout']:.2%}"),
        ("Median distance to the nearest row, held-out rows' own", f"{told['distance']:.3f}, {told['distance_holdout']:.3f}"),
    ]
    if told.get("accuracy_real") is not None:
        lines.append(("Accuracy learnt from real, from synthetic rows", f"{told['accuracy_real']:.1%}, {told['accuracy_synthetic']:.1%}"))
    lines += [(f"Column {words.text(name, 60)}", _alike(*scores)) for name, *scores in told.get("columns") or []]
    lines += [(f"Pair {words.text(a, 60)}, {words.text(b, 60)}", _alike(*scores)) for a, b, *scores in told.get("pairs") or []]
    lines += [(f"Gap by {words.text(gap['column'], 60)}, real and synthetic", _gap(gap)) for gap in told.get("gaps") or []]
    lines += [(f"Relation {words.text(text, 200)}", f"kept in {share:.2%}") for text, share in told.get("relations") or []]
    return {"lines": lines, "warnings": [words.text(each, 300) for each in told.get("warnings") or []]}


def _alike(score: float, of_halves: float | None = None) -> str:
    """1 is equal; results of earlier versions do not say what two halves of the real rows have."""
    return f"{score:.3f} alike" + ("" if of_halves is None else f" (two halves of the real rows: {of_halves:.3f})")


def _gap(gap: Mapping[str, Any]) -> str:
    """Both with their intervals; results of earlier versions have none for the synthetic rows."""
    spread = f" ({gap['synthetic_low']:.1%} to {gap['synthetic_high']:.1%})" if "synthetic_low" in gap else ""
    return f"{gap['real']:.1%} ({gap['low']:.1%} to {gap['high']:.1%}), {gap['synthetic']:.1%}{spread}"


def columns_picture(columns: Sequence[Mapping[str, Any]]) -> Markup:
    """All columns in one picture, for a file of its own."""
    return share_panels(columns)


def pairs_picture(pairs: Mapping[str, Any]) -> Markup:
    """How alike the relation of every two columns is, 1 being equal: darker is worse."""
    names = [words.text(name, 60) for name in pairs["names"]]
    scores: Sequence[Sequence[float | None]] = pairs["scores"]
    values = [[None if score is None else max(0.0, 1.0 - score) for score in line] for line in scores]
    shown = [["" if score is None else f"{100 * score:.0f}" for score in line] for line in scores]
    return heat_map(HeatMap("Similarity of pairs of columns in real and synthetic rows.", names, names, values, WORST, shown))


def graph_picture(told: Mapping[str, Any]) -> Markup:
    """The constraint graph."""
    nodes = [
        GraphNode(words.text(n["name"], 60), words.text(n.get("words") or "", 60) if n.get("words") else "", bool(n.get("category")))
        for n in told["nodes"]
    ]
    edges = [
        GraphEdge(int(e["source"]), int(e["target"]), float(e.get("strength") or 0.0), bool(e.get("used", True)), bool(e.get("yours")))
        for e in told.get("edges") or []
    ]
    return graph(nodes, edges, [int(place) for place in told.get("order") or []])
