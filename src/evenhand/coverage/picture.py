"""A surrogate tree as a picture."""

from __future__ import annotations

from evenhand.coverage.surrogate import Node, Surrogate
from evenhand.synthesis.pictures import INK, document, text

_WIDE, _TALL = 170.0, 90.0
_COLOURS = ("#d9e8f5", "#f8e0cc", "#dcefdc", "#eadcf0", "#f5f0cc")


def tree_picture(surrogate: Surrogate) -> str:
    """Splits with their yes (left) and no (right) branches; a leaf shows its path number, its label and its share of rows."""
    parts: list[str] = []
    columns = [0.0]

    def place(node: Node, depth: int) -> float:
        y = 30 + depth * _TALL
        if node.split is None or node.passed is None or node.failed is None:
            x = 90 + columns[0] * _WIDE
            columns[0] += 1
            words = (f"path {node.path}", str(surrogate.classes[node.label]), f"{node.share:.1%} of rows")
            parts.append(_leaf(x, y, words, _COLOURS[node.label % len(_COLOURS)]))
            return x
        left, right = place(node.passed, depth + 1), place(node.failed, depth + 1)
        x = (left + right) / 2
        for end in (left, right):
            parts.insert(0, f'<path d="M{x:.0f},{y + 22:.0f} L{end:.0f},{y + _TALL - 12:.0f}" stroke="{INK}" fill="none"/>')
        parts.append(_question(x, y, node.split.text(surrogate.domain)))
        return x

    place(surrogate.root, 0)
    title = f"surrogate tree with {len(surrogate.paths)} paths"
    return document(columns[0] * _WIDE + 20, 60 + _depth(surrogate.root) * _TALL, title, parts)


def _depth(node: Node) -> int:
    return 1 + max(_depth(node.passed), _depth(node.failed)) if node.passed is not None and node.failed is not None else 1


def _question(x: float, y: float, words: str) -> str:
    box = f'<rect x="{x - 80:.0f}" y="{y - 12:.0f}" width="160" height="34" rx="6" fill="#f5f7fa" stroke="{INK}"/>'
    return box + text((x, y + 9), words if len(words) < 30 else words[:28] + "…", size=10)


def _leaf(x: float, y: float, words: tuple[str, str, str], colour: str) -> str:
    box = f'<rect x="{x - 70:.0f}" y="{y - 12:.0f}" width="140" height="50" fill="{colour}" stroke="{INK}"/>'
    return box + "".join(text((x, y + 3 + 14 * i), line, size=10) for i, line in enumerate(words))
