"""A tree of questions: yes goes left, no goes right; every box may carry a bar for a share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from evenhand.report.charts.canvas import escape, fixed, label

WIDE, BOX, LINE, GAP = 232.0, 218.0, 18.0, 34.0


@dataclass(frozen=True)
class TreeNode:
    """A box with a few lines of words; `aside` stands at the right of the first, `share` is a bar at the foot."""

    lines: Sequence[str]
    aside: str = ""
    share: float | None = None
    whole: str = ""  # the unshortened words, for those who point at the box
    yes: TreeNode | None = None
    no: TreeNode | None = None


def tree(root: TreeNode, told: str) -> Markup:
    """The picture; it keeps its size."""
    drawn = _Tree(GAP + _tallest(root))
    drawn.place(root, 0)
    return fixed([*drawn.branches, *drawn.boxes], (drawn.leaves * WIDE + 20, (drawn.depth + 1) * drawn.step - GAP + 24), told, "chart tree")


def _height(node: TreeNode) -> float:
    return LINE * len(node.lines) + (26 if node.share is not None else 14)


def _tallest(node: TreeNode) -> float:
    return max([_height(node), *(_tallest(child) for child in (node.yes, node.no) if child is not None)])


class _Tree:
    """A tree while it is laid out: leaves side by side, every question in the middle above its answers."""

    def __init__(self, step: float) -> None:
        self.step = step
        self.leaves, self.depth = 0, 0
        self.boxes: list[str] = []
        self.branches: list[str] = []

    def place(self, node: TreeNode, level: int) -> float:
        self.depth = max(self.depth, level)
        y = 10 + level * self.step
        if node.yes is None or node.no is None:
            x = 10 + BOX / 2 + self.leaves * WIDE
            self.leaves += 1
        else:
            ends = self.place(node.yes, level + 1), self.place(node.no, level + 1)
            x = sum(ends) / 2
            self.branches += [
                _branch((x, y + _height(node)), (end, y + self.step), word) for end, word in zip(ends, ("yes", "no"), strict=True)
            ]
        self.boxes.append(_box(node, x - BOX / 2, y))
        return x


def _branch(start: tuple[float, float], end: tuple[float, float], word: str) -> str:
    (x1, y1), (x2, y2) = start, end
    return f'<path d="M{x1:.0f},{y1:.0f} L{x2:.0f},{y2:.0f}"/>' + label((x1 + x2) / 2, (y1 + y2) / 2 - 3, word, "soft", "middle")


def _box(node: TreeNode, left: float, y: float) -> str:
    whole = f"<title>{escape(node.whole)}</title>" if node.whole else ""
    height = _height(node)
    words = [label(left + 8, y + 20 + LINE * at, line, "" if at == 0 else "soft") for at, line in enumerate(node.lines)]
    words += [label(left + BOX - 8, y + 20, node.aside, "soft", "end")] if node.aside else []
    bar = ""
    if node.share is not None:
        width = max(0.0, min(1.0, node.share)) * (BOX - 16)
        bar = f'<rect class="heat-bar" x="{left + 8:.0f}" y="{y + height - 12:.0f}" width="{width:.1f}" height="6"/>'
    return (
        f'<g>{whole}<rect class="box" x="{left:.0f}" y="{y:.0f}" width="{BOX:.0f}" height="{height:.0f}" rx="6"/>{bar}{"".join(words)}</g>'
    )
