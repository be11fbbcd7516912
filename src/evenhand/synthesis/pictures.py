"""Pictures without any library: the constraint graph, and real against synthetic rows per column and per pair.

Every function returns one self-contained SVG text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

import numpy as np

from evenhand.arrays import Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.generation import Plan
from evenhand.synthesis.graph import Graph
from evenhand.synthesis.realism import column_counts

INK, FAINT, REAL, SYNTHETIC, WISH = "#1f2933", "#c9d1d9", "#3b6ea5", "#d9822b", "#b03060"
_BOX = (150, 40)
_GAP = (70, 24)


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


def graph_picture(graph: Graph, plan: Plan, domain: TabularDomain) -> str:
    """Columns in layers from the first drawn to the last; the edge that is used is dark, a user's is red, others are faint."""
    depth = _depths(graph, len(domain.columns))
    places = _layout(depth)
    edges = sorted(graph.edges, key=lambda edge: (plan.chosen.get(edge.target) == edge.source, bool(edge.by_user)))
    parts = [_arrow(places[e.source], places[e.target], _edge_style(e.by_user, plan.chosen.get(e.target) == e.source, e)) for e in edges]
    parts += [_node(places[at], domain.names[at], _node_words(graph, plan, at)) for at in places]
    width = max(x for x, _ in places.values()) + _BOX[0] + 20
    height = max(y for _, y in places.values()) + _BOX[1] + 20
    return document(width, height, f"constraint graph of {len(places)} columns and {len(graph.edges)} associations", parts)


def _depths(graph: Graph, columns: int) -> dict[int, int]:
    depth = dict.fromkeys(range(columns), 0)
    for _ in range(columns):
        for edge in graph.edges:
            depth[edge.target] = min(max(depth[edge.target], depth[edge.source] + 1), columns)
    return depth


def _layout(depth: Mapping[int, int]) -> dict[int, tuple[float, float]]:
    layers: dict[int, list[int]] = {}
    for place, level in depth.items():
        layers.setdefault(level, []).append(place)
    tallest = max(len(members) for members in layers.values())
    found = {}
    for x, level in enumerate(sorted(layers)):
        # A chain of single columns goes up and down a little, so that longer edges do not hide behind its boxes.
        offset = (tallest - len(layers[level])) * (_BOX[1] + _GAP[1]) / 2 + (x % 3) * (_BOX[1] + _GAP[1])
        for y, place in enumerate(layers[level]):
            found[place] = (20.0 + x * (_BOX[0] + _GAP[0]), 20.0 + offset + y * (_BOX[1] + _GAP[1]))
    return found


def _node_words(graph: Graph, plan: Plan, place: int) -> str:
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
    x1, y1, x2, y2 = start[0] + _BOX[0], start[1] + _BOX[1] / 2, end[0], end[1] + _BOX[1] / 2
    bend = max(30.0, (x2 - x1) / 2)
    colour, width = style
    return (
        f'<path d="M{x1:.0f},{y1:.0f} C{x1 + bend:.0f},{y1:.0f} {x2 - bend:.0f},{y2:.0f} {x2:.0f},{y2:.0f}" fill="none" '
        f'stroke="{colour}" stroke-width="{width:.2f}"/><circle cx="{x2:.0f}" cy="{y2:.0f}" r="3" fill="{colour}"/>'
    )


def _node(at: tuple[float, float], name: str, words: str) -> str:
    x, y = at
    box = f'<rect x="{x:.0f}" y="{y:.0f}" width="{_BOX[0]}" height="{_BOX[1]}" rx="6" fill="#f5f7fa" stroke="{INK}"/>'
    return box + text((x + _BOX[0] / 2, y + 17), name[:22]) + text((x + _BOX[0] / 2, y + 32), words, colour="#52606d", size=10)


def columns_picture(real: Rows, synthetic: Rows, domain: TabularDomain) -> str:
    """One panel per column: shares of real rows (bars) and of synthetic rows (line)."""
    across, width, height = 3, 280, 150
    panels = []
    for at, column in enumerate(domain.columns):
        x, y = (at % across) * width, 40 + (at // across) * height
        first, second, _ = column_counts(real[:, at], synthetic[:, at], domain, at)
        panels.append(_panel((x, y), column.name, first / first.sum(), second / second.sum()))
    legend = text((20, 24), "real rows: bars", "start", REAL) + text((140, 24), "synthetic rows: line", "start", SYNTHETIC)
    rows = (len(domain.columns) + across - 1) // across
    return document(across * width, 50 + rows * height, "real and synthetic rows, column by column", [legend, *panels])


def _panel(corner: tuple[float, float], name: str, real: Reals, synthetic: Reals) -> str:
    x, y, wide, tall = corner[0] + 15, corner[1] + 20, 250.0, 100.0
    if real[-1] == synthetic[-1] == 0:  # the place of missing cells
        real, synthetic = real[:-1], synthetic[:-1]
    if len(real) > 40:
        order = np.argsort(-real)[:40]
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


def pairs_picture(scores: Rows, names: Sequence[str]) -> str:
    """How alike the relation of every two columns is, 1 being equal: darker is worse."""
    side, left, top = 26, 130, 130
    parts = []
    for i, name in enumerate(names):
        parts.append(text((left - 6, top + i * side + 17), name[:18], "end", size=11))
        x, y = left + i * side + 16, top - 6
        parts.append(f'<text transform="translate({x},{y}) rotate(-60)" font-size="11" fill="{INK}">{escape(name[:18])}</text>')
    for a in range(len(names)):
        for b in range(len(names)):
            parts.append(_square((left + b * side, top + a * side), side, float(scores[a, b])))
    size = len(names) * side
    return document(left + size + 40, top + size + 20, "similarity of pairs of columns in real and synthetic rows", parts)


def _square(corner: tuple[float, float], side: float, score: float) -> str:
    x, y = corner
    if np.isnan(score):
        return f'<rect x="{x}" y="{y}" width="{side - 1}" height="{side - 1}" fill="#eeeeee"/>'
    shade = int(255 - 200 * min(1.0, (1 - score) / 0.3))
    ink = "white" if shade < 140 else INK
    words = text((x + side / 2, y + side / 2 + 3), f"{100 * score:.0f}", colour=ink, size=8)
    return f'<rect x="{x}" y="{y}" width="{side - 1}" height="{side - 1}" fill="rgb({shade},{shade},255)"/>{words}'
