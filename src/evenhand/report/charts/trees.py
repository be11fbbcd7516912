"""A tree of questions as an outline: every question with its answers under it, so that it fits any width and can be read aloud."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from evenhand.report.charts.canvas import escape

BAR_WIDE, BAR_TALL = 96.0, 8.0


@dataclass(frozen=True)
class TreeNode:
    """A node with a few lines of words; `aside` stands behind the first, `share` is a bar beside it."""

    lines: Sequence[str]
    aside: str = ""
    share: float | None = None
    whole: str = ""  # more words, for those who point at the node
    yes: TreeNode | None = None
    no: TreeNode | None = None


def tree(root: TreeNode, told: str) -> Markup:
    """The outline."""
    return Markup(f'<ul class="outline" aria-label="{escape(told)}">{_item(root, "")}</ul>')  # noqa: S704 - every node escapes its words


def _item(node: TreeNode, answer: str) -> str:
    answers = [(node.yes, "yes"), (node.no, "no")] if node.yes is not None and node.no is not None else []
    inner = "".join(_item(child, word) for child, word in answers if child is not None)
    return f"<li>{_words(node, answer)}{f'<ul>{inner}</ul>' if inner else ''}</li>"


def _words(node: TreeNode, answer: str) -> str:
    first, *rest = [*node.lines, ""][: max(1, len(node.lines))]
    parts = [f'<span class="answer">{answer}</span>' if answer else "", _bar(node.share), f"<b>{escape(first)}</b>"]
    parts += [f"<small>{escape(node.aside)}</small>" if node.aside else "", *(f"<span>{escape(line)}</span>" for line in rest)]
    whole = f' title="{escape(node.whole)}"' if node.whole else ""
    return f'<div class="node"{whole}>{" ".join(part for part in parts if part)}</div>'


def _bar(share: float | None) -> str:
    if share is None:
        return ""
    width = max(0.0, min(1.0, share)) * BAR_WIDE
    return (
        f'<svg class="node-bar" width="{BAR_WIDE:g}" height="{BAR_TALL:g}" aria-hidden="true">'
        f'<rect class="candidates" width="{BAR_WIDE:g}" height="{BAR_TALL:g}"/>'
        f'<rect class="heat-bar" width="{width:.1f}" height="{BAR_TALL:g}"/></svg>'
    )
