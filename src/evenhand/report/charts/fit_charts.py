"""How well made-up rows fit real ones: shares column by column, and the graph of associations that draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from evenhand.report.charts.canvas import escape, fixed, label, scaled, short

PANEL = (280.0, 150.0)
BOX = (160.0, 38.0)
STEP, BETWEEN, ARCS = 50.0, 480.0, 200.0
"""Of the graph: from one box to the next below, from one stack to the other, and room for arcs on the left."""


def share_panel(panel: Mapping[str, Any]) -> Markup:
    """Shares of real rows as bars and of made-up rows as a line; `first` and `last` name the ends."""
    told = f"{panel['name']}: shares of real rows as bars, of synthetic rows as a line"
    return scaled(_panel(panel), PANEL, told)


def share_panels(panels: Sequence[Mapping[str, Any]], across: int = 3) -> Markup:
    """Every column in one picture, three side by side, each under its name."""
    wide, tall = PANEL[0], PANEL[1] + 24
    parts = [
        f'<svg x="{wide * (at % across):g}" y="{30 + tall * (at // across):g}" width="{wide:g}" height="{tall:g}">'
        f'{label(12, 14, short(str(panel["name"]), 40))}<svg y="18">{"".join(_panel(panel))}</svg></svg>'
        for at, panel in enumerate(panels)
    ]
    legend = label(12, 20, "real rows: bars; synthetic rows: line", "soft")
    rows = -(-len(panels) // across)
    return fixed([legend, *parts], (wide * across, 40 + tall * rows), "real and synthetic rows, column by column")


def _panel(panel: Mapping[str, Any]) -> list[str]:
    real, made = panel["real"], panel["synthetic"]
    x, y, wide, tall = 12.0, 10.0, PANEL[0] - 24, PANEL[1] - 40
    top = max([*real, *made, 1e-9])
    step = wide / max(1, len(real))
    bars = [
        f'<rect class="real-bar" x="{x + at * step:.1f}" y="{y + tall * (1 - share / top):.1f}" width="{step * 0.9:.1f}" '
        f'height="{tall * share / top:.1f}"/>'
        for at, share in enumerate(real)
    ]
    points = " ".join(f"{x + (at + 0.45) * step:.1f},{y + tall * (1 - share / top):.1f}" for at, share in enumerate(made))
    ends = [label(x, PANEL[1] - 12, short(str(panel.get("first") or ""), 24), "tick")]
    ends.append(label(PANEL[0] - 12, PANEL[1] - 12, short(str(panel.get("last") or ""), 24), "tick", "end"))
    return [*bars, f'<polyline class="synthetic-line" points="{points}"/>', *ends]


@dataclass(frozen=True)
class GraphNode:
    """A column: categories stand on the left, numbers on the right."""

    name: str
    words: str
    is_category: bool


@dataclass(frozen=True)
class GraphEdge:
    """An association between two columns, by their places among the nodes; strength is 0 to 1."""

    source: int
    target: int
    strength: float
    is_used: bool = True
    is_yours: bool = False


def graph(nodes: Sequence[GraphNode], edges: Sequence[GraphEdge], order: Sequence[int]) -> Markup:
    """Categories from the first drawn to the last, numbers beside them, and the associations between them."""
    places = _layout(nodes, order)
    ranked = sorted(edges, key=lambda edge: (edge.is_used, edge.is_yours))
    parts = [_arrow(places[edge.source], places[edge.target], edge) for edge in ranked]
    parts += [_node(places[at], node) for at, node in enumerate(nodes)]
    legend = (("used: the thicker, the surer", "used"), ("only its range counts", "unused"), ("yours", "yours"))
    parts += [label(ARCS + 200 * at, 24, words, f"edge-word {kind}") for at, (words, kind) in enumerate(legend)]
    size = max(x for x, _ in places.values()) + BOX[0] + 20, max(y for _, y in places.values()) + BOX[1] + 20
    return fixed(parts, size, f"constraint graph of {len(nodes)} columns and {len(edges)} associations", "chart graph")


def _layout(nodes: Sequence[GraphNode], order: Sequence[int]) -> dict[int, tuple[float, float]]:
    """Both stacks are equally high; categories stand in the order in which they are drawn."""
    drawn = [at for at in order if nodes[at].is_category]
    drawn += [at for at, node in enumerate(nodes) if node.is_category and at not in drawn]
    stacks = [drawn, [at for at, node in enumerate(nodes) if not node.is_category]]
    tallest = max(map(len, stacks))
    found = {}
    for side, members in enumerate(stacks):
        step = STEP * tallest / max(len(members), 1)
        for rank, place in enumerate(members):
            found[place] = (ARCS + side * BETWEEN * bool(stacks[0]), 44.0 + (rank + 0.5) * step - STEP / 2)
    return found


def _arrow(start: tuple[float, float], end: tuple[float, float], edge: GraphEdge) -> str:
    """To the right between the two stacks; around the left side within the stack of categories."""
    y1, y2 = start[1] + BOX[1] / 2, end[1] + BOX[1] / 2
    is_same_stack = start[0] == end[0]
    x1, x2 = (start[0], start[0]) if is_same_stack else (start[0] + BOX[0], end[0])
    bend = -min(ARCS - 20.0, 26 + abs(y2 - y1) / 3) if is_same_stack else (x2 - x1) / 2
    second = x2 + bend if is_same_stack else x2 - bend
    kind = "yours" if edge.is_yours else "used" if edge.is_used else "unused"
    width = 2.0 if edge.is_yours else 0.6 + 2.4 * edge.strength if edge.is_used else 0.6
    curve = f"M{x1:.0f},{y1:.0f} C{x1 + bend:.0f},{y1:.0f} {second:.0f},{y2:.0f} {x2:.0f},{y2:.0f}"
    return (
        f'<path class="edge {kind}" d="{curve}" stroke-width="{width:.2f}"/><circle class="edge {kind}" cx="{x2:.0f}" cy="{y2:.0f}" r="3"/>'
    )


def _node(at: tuple[float, float], node: GraphNode) -> str:
    x, y = at
    box = f'<rect class="box" x="{x:.0f}" y="{y:.0f}" width="{BOX[0]:g}" height="{BOX[1]:g}" rx="6"/>'
    words = label(x + BOX[0] / 2, y + 16, short(node.name, 24), "", "middle") + label(x + BOX[0] / 2, y + 30, node.words, "soft", "middle")
    return f"<g><title>{escape(node.name)}: {escape(node.words)}</title>{box}{words}</g>"
