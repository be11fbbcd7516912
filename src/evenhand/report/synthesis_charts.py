"""Pictures without any library: the constraint graph, and real against synthetic rows per column and per pair.

Every function returns one self-contained SVG text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from evenhand.arrays import Reals, Rows
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.generation import GenerationPlan
from evenhand.synthesis.graph import Graph
from evenhand.synthesis.realism_judge import column_counts

INK, FADED, FAINT, REAL, SYNTHETIC, WISH = "#1f2933", "#52606d", "#c9d1d9", "#3b6ea5", "#d9822b", "#b03060"
MOST_BARS = 40
_BOX = (160, 38)
_STEP, _BETWEEN, _ARCS = 50.0, 480.0, 200.0
"""Of the graph: from one box to the next below, from one stack to the other, and room for arcs on the left."""


def document(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """An SVG with a title that screen readers speak."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'role="img" font-family="sans-serif" font-size="12"><title>{escape(title)}</title>'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n'
    )


def text(at: tuple[float, float], words: object, anchor: str = "middle", colour: str = INK, size: float = 12) -> str:
    """A line of text at a point of its base line."""
    x, y = at
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size:g}">{escape(str(words))}</text>'


def graph_picture(graph: Graph, plan: GenerationPlan, domain: TabularDomain) -> str:
    """Categories on the left from the first drawn to the last, numbers on the right, and the associations between them."""
    places = _layout(graph, plan, len(domain.columns))
    edges = sorted(graph.edges, key=lambda edge: (plan.chosen.get(edge.target) == edge.source, bool(edge.by_user)))
    parts = [_arrow(places[e.source], places[e.target], _edge_style(e.by_user, plan.chosen.get(e.target) == e.source, e)) for e in edges]
    parts += [_node(places[at], domain.names[at], _node_words(graph, plan, at)) for at in places]
    legend = [("used: " + "the thicker, the surer", INK), ("only its range counts", "#8a949e"), ("yours", WISH)]
    parts += [text((_ARCS + 200 * i, 24), words, "start", colour) for i, (words, colour) in enumerate(legend)]
    width = max(x for x, _ in places.values()) + _BOX[0] + 20
    height = max(y for _, y in places.values()) + _BOX[1] + 20
    return document(width, height, f"constraint graph of {len(places)} columns and {len(graph.edges)} associations", parts)


def _layout(graph: Graph, plan: GenerationPlan, columns: int) -> dict[int, tuple[float, float]]:
    """Categories in the order in which they are drawn, numbers in the order of the table; both stacks are equally high."""
    order = [step.place for step in plan.steps]
    stacks = [[at for at in order if at in graph.shares], [at for at in range(columns) if at not in graph.shares]]
    tallest = max(map(len, stacks))
    found = {}
    for side, members in enumerate(stacks):
        step = _STEP * tallest / max(len(members), 1)
        for rank, place in enumerate(members):
            found[place] = (_ARCS + side * _BETWEEN * bool(stacks[0]), 44.0 + (rank + 0.5) * step - _STEP / 2)
    return found


def _node_words(graph: Graph, plan: GenerationPlan, place: int) -> str:
    from evenhand.synthesis.families import FAMILIES, NONE

    if place in graph.dropped:
        return "no constraint"
    kind = "category" if place in graph.shares else "range only"
    if place in graph.numbers and graph.numbers[place].family[0] != NONE:
        kind = FAMILIES[graph.numbers[place].family[0]]
    return f"{kind}, error {plan.errors.get(place, 0.0):.2f}"


def _edge_style(by_user: str, is_chosen: bool, edge: object) -> tuple[str, float]:
    strength = 1.0 - min(getattr(edge, "error", 1.0), 1.0)
    if by_user:
        return WISH, 2.0
    if is_chosen or not getattr(edge, "is_numeric", False):
        return INK, 0.6 + 2.4 * strength
    return FAINT, 0.6


def _arrow(start: tuple[float, float], end: tuple[float, float], style: tuple[str, float]) -> str:
    """To the right between the two stacks; around the left side within the stack of categories."""
    y1, y2 = start[1] + _BOX[1] / 2, end[1] + _BOX[1] / 2
    colour, width = style
    if start[0] == end[0]:
        x1 = x2 = start[0]
        bend = -min(_ARCS - 20.0, 26 + abs(y2 - y1) / 3)
    else:
        x1, x2 = start[0] + _BOX[0], end[0]
        bend = (x2 - x1) / 2
    second = x2 + bend if start[0] == end[0] else x2 - bend
    return (
        f'<path d="M{x1:.0f},{y1:.0f} C{x1 + bend:.0f},{y1:.0f} {second:.0f},{y2:.0f} {x2:.0f},{y2:.0f}" fill="none" '
        f'stroke="{colour}" stroke-width="{width:.2f}"/><circle cx="{x2:.0f}" cy="{y2:.0f}" r="3" fill="{colour}"/>'
    )


def _node(at: tuple[float, float], name: str, words: str) -> str:
    x, y = at
    box = f'<rect x="{x:.0f}" y="{y:.0f}" width="{_BOX[0]}" height="{_BOX[1]}" rx="6" fill="#f5f7fa" stroke="{INK}"/>'
    return box + text((x + _BOX[0] / 2, y + 16), _short(name, 24)) + text((x + _BOX[0] / 2, y + 30), words, colour=FADED, size=10)


def columns_picture(real: Rows, synthetic: Rows, domain: TabularDomain) -> str:
    """One panel per column: shares of real rows (bars) and of synthetic rows (line)."""
    across, width, height = 3, 280, 150
    panels = []
    for at, column in enumerate(domain.columns):
        x, y = (at % across) * width, 40 + (at // across) * height
        first, second, edges = column_counts(real[:, at], synthetic[:, at], domain, at)
        panels.append(_panel((x, y), column.name, first / first.sum(), second / second.sum()))
        panels.append(_ends((x, y), column, edges, " | missing" if first[-1] + second[-1] > 0 else ""))
    legend = text((20, 24), "real rows: bars", "start", REAL) + text((140, 24), "synthetic rows: line", "start", SYNTHETIC)
    rows = (len(domain.columns) + across - 1) // across
    return document(across * width, 50 + rows * height, "real and synthetic rows, column by column", [legend, *panels])


def _panel(corner: tuple[float, float], name: str, real: Reals, synthetic: Reals) -> str:
    x, y, wide, tall = corner[0] + 15, corner[1] + 20, 250.0, 100.0
    if real[-1] == synthetic[-1] == 0:  # the place of missing cells
        real, synthetic = real[:-1], synthetic[:-1]
    if len(real) > MOST_BARS:
        order = np.argsort(-real)[:MOST_BARS]
        real, synthetic = real[order], synthetic[order]
    top = max(float(real.max()), float(synthetic.max()), 1e-9)
    step = wide / len(real)
    bars = "".join(
        f'<rect x="{x + i * step:.1f}" y="{y + tall * (1 - share / top):.1f}" width="{step * 0.9:.1f}" height="{tall * share / top:.1f}" '
        f'fill="{REAL}" fill-opacity="0.6"/>'
        for i, share in enumerate(real)
    )
    points = " ".join(f"{x + (i + 0.45) * step:.1f},{y + tall * (1 - share / top):.1f}" for i, share in enumerate(synthetic))
    line = f'<polyline points="{points}" fill="none" stroke="{SYNTHETIC}" stroke-width="1.5"/>'
    return text((x, y - 6), name, "start") + bars + line


def _ends(corner: tuple[float, float], column: Column, edges: Reals, missing: str) -> str:
    """What stands at the left and the right end of a panel."""
    x, y = corner[0] + 15, corner[1] + 131
    first, last = (str(column.values[0]), str(column.values[-1])) if not len(edges) else (f"{edges[0]:.6g}", f"{edges[-1]:.6g}")
    if not len(edges) and len(column.values) > MOST_BARS:
        first, last = f"the {MOST_BARS} most frequent of {len(column.values)} values", ""
    size = 9
    words = text((x, y), _short(first, 24 if last else 60), "start", FADED, size)
    last = "" if last == first else _short(last, 24)
    return words + (text((x + 250, y), last + missing, "end", FADED, size) if last + missing else "")


def _short(words: str, most: int) -> str:
    return words if len(words) <= most else words[: most - 1] + "…"


def pairs_picture(scores: Rows, names: Sequence[str]) -> str:
    """How alike the relation of every two columns is, 1 being equal: darker is worse."""
    side, left, top = 26, 130, 150
    words = "How alike is the relation of two columns in real and in synthetic rows?  100 is equal, darker is worse."
    parts = [text((20, 24), words, "start")]
    for i, name in enumerate(names):
        parts.append(text((left - 6, top + i * side + 17), name[:18], "end", size=11))
        x, y = left + i * side + 16, top - 6
        parts.append(f'<text transform="translate({x},{y}) rotate(-60)" font-size="11" fill="{INK}">{escape(name[:18])}</text>')
    for a in range(len(names)):
        for b in range(len(names)):
            parts.append(_square((left + b * side, top + a * side), side, float(scores[a, b])))
    size = len(names) * side
    return document(max(left + size + 60, 640), top + size + 20, "similarity of pairs of columns in real and synthetic rows", parts)


def _square(corner: tuple[float, float], side: float, score: float) -> str:
    x, y = corner
    if np.isnan(score):
        return f'<rect x="{x}" y="{y}" width="{side - 1}" height="{side - 1}" fill="#eeeeee"/>'
    shade = int(255 - 200 * min(1.0, (1 - score) / 0.3))
    ink = "white" if shade < 140 else INK
    words = text((x + side / 2, y + side / 2 + 3), f"{100 * score:.0f}", colour=ink, size=8)
    return f'<rect x="{x}" y="{y}" width="{side - 1}" height="{side - 1}" fill="rgb({shade},{shade},255)"/>{words}'
