"""A surrogate tree as a picture."""

from __future__ import annotations

from textwrap import wrap

from evenhand.measures.coverage.surrogate import Node, Surrogate
from evenhand.report.synthesis_charts import INK, document, text

_WIDE, _TALL, _LINE = 190.0, 118.0, 13.0
_MOST_LINES = 5
_COLOURS = ("#d9e8f5", "#f8e0cc", "#dcefdc", "#eadcf0", "#f5f0cc")


def tree_picture(surrogate: Surrogate) -> str:
    """Splits with their yes (left) and no (right) branches; a leaf shows its path number, its label and its share of rows."""
    parts: list[str] = []
    columns = [0.0]

    def place(node: Node, depth: int) -> float:
        y = 30 + depth * _TALL
        if node.split is None or node.passed is None or node.failed is None:
            x = 105 + columns[0] * _WIDE
            columns[0] += 1
            words = [f"path {node.path}", *_lines(str(surrogate.classes[node.label]), 2), f"{node.share:.1%} of rows"]
            parts.append(_box((x, y), words, _COLOURS[node.label % len(_COLOURS)]))
            return x
        left, right = place(node.passed, depth + 1), place(node.failed, depth + 1)
        x = (left + right) / 2
        words = _lines(node.split.text(surrogate.domain), _MOST_LINES)
        for end, answer in ((left, "yes"), (right, "no")):
            parts.insert(0, _branch((x, y + _LINE * len(words)), (end, y + _TALL - 12), answer))
        parts.append(_box((x, y), words, "#f5f7fa"))
        return x

    place(surrogate.root, 0)
    title = f"surrogate tree with {len(surrogate.paths)} paths"
    return document(columns[0] * _WIDE + 20, 60 + _depth(surrogate.root) * _TALL, title, parts)


def _depth(node: Node) -> int:
    return 1 + max(_depth(node.passed), _depth(node.failed)) if node.passed is not None and node.failed is not None else 1


def _lines(words: str, most: int) -> list[str]:
    found = wrap(words, 30) or [""]
    return found if len(found) <= most else [*found[: most - 1], found[most - 1][:28] + "…"]


def _box(at: tuple[float, float], words: list[str], colour: str) -> str:
    x, y = at
    tall = _LINE * len(words) + 10
    box = f'<rect x="{x - 88:.0f}" y="{y - 12:.0f}" width="176" height="{tall:.0f}" rx="6" fill="{colour}" stroke="{INK}"/>'
    return box + "".join(text((x, y + 4 + _LINE * i), line, size=10) for i, line in enumerate(words))


def _branch(start: tuple[float, float], end: tuple[float, float], answer: str) -> str:
    line = f'<path d="M{start[0]:.0f},{start[1]:.0f} L{end[0]:.0f},{end[1]:.0f}" stroke="{INK}" fill="none"/>'
    side = -12 if answer == "yes" else 12
    return line + text(((start[0] + end[0]) / 2 + side, (start[1] + end[1]) / 2 - 3), answer, colour="#52606d", size=10)
