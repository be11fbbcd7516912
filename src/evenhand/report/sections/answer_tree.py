"""The model as a tree of questions that imitates it: what each path answers, how many on it are treated differently, where findings lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.report import words
from evenhand.report.charts.trees import TreeNode, tree
from evenhand.report.frame import Section, filled
from evenhand.report.record import Record


def section(record: Record) -> Section | None:
    """The section; None where no tree was grown."""
    told = record.body.paths
    if not told or not isinstance(told.get("tree"), Mapping):
        return None
    html = filled(
        "sections/answer_tree.html.j2",
        tree=tree(_node(told["tree"]), "A tree of questions that imitates the model."),
        fidelity=told.get("fidelity") or {},
        paths=told.get("paths"),
        covered=told.get("covered"),
        coverage=told.get("coverage"),
        findings=told.get("findings"),
    )
    return Section("paths", "How the model decides, as a tree", "Decision tree", html)


def _node(node: Mapping[str, Any]) -> TreeNode:
    yes, no = node.get("yes"), node.get("no")
    if isinstance(yes, Mapping) and isinstance(no, Mapping):
        return TreeNode([f"{words.text(node.get('question'), 160)}?"], yes=_node(yes), no=_node(no))
    rows, unfair, findings = (int(node.get(name) or 0) for name in ("rows", "unfair", "findings"))
    found = f"{words.plural(findings, 'finding', 'findings')}" if findings else "no finding"
    share = f"{words.percent(unfair / rows)} treated differently" if rows else "no real row"
    return TreeNode(
        [f"→ {words.text(node.get('label'), 60)}", f"{share} · {found}"], f"{unfair:,} of {rows:,}", unfair / rows if rows else 0.0
    )
