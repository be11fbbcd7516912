"""The section on where unfair treatment concentrates: rules in words, the tree of questions as a picture, influential columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from evenhand.report import words
from evenhand.report.charts.canvas import short
from evenhand.report.charts.rows import BarRow, Mark, bars, length
from evenhand.report.charts.trees import TreeNode, tree
from evenhand.report.frame import Section, filled
from evenhand.report.record import Record

MOST_QUESTION = 160


@dataclass(frozen=True)
class RuleLine:
    """One rule, ready to show."""

    text: str
    share: str
    interval: str
    n: int
    support: str
    others: str
    p_value: str


@dataclass(frozen=True)
class Concentration:
    """What the section shows."""

    lead: str
    note: str
    rules: list[RuleLine]
    tree: Markup | None
    influences: tuple[BarRow, ...]
    worst: dict[str, str] | None
    severity: tuple[str, ...] = ()


def section(record: Record) -> Section | None:
    """The section of a result; None where it has none, or nothing was unfair."""
    told = concentration(record)
    if told is None:
        return None
    picture = bars(told.influences, "The most influential columns.", beside=True) if told.influences else None
    html = filled("sections/concentration.html.j2", where=told, influences=picture)
    return Section("where", "Where it concentrates", "Where", html)


def concentration(record: Record) -> Concentration | None:
    """What is known of it, in words that can be shown."""
    told = record.body.where
    if not told or not (told.get("unfair") or told.get("worst")):
        return None
    heading = words.population(str(told.get("population") or ""))[0]
    lead = (
        f"Population: {heading[:1].lower() + heading[1:]}; {words.number(told.get('judged'))} judged, {words.number(told.get('unfair'))} "
        "treated differently. Rules were mined on one half of these rows; every figure comes from the other half, which had no part "
        "in choosing them. The intervals hold for all rules together, and p-values are corrected by Holm’s method."
    )
    note = words.text(told.get("note"), 400) if told.get("note") else ""
    root = told.get("tree")
    label = "A tree of questions about who is treated differently; the rules say the same in words."
    shown = tree(_node(root), label) if root and root.get("question") else None
    rules = [_line(rule) for rule in told.get("rules") or []]
    severity = tuple(words.text(each, 500) for each in (record.body.severity or {}).get("sentences") or ())
    return Concentration(lead, note[:1].upper() + note[1:], rules, shown, _influences(told), _worst(told), severity)


def _line(rule: Mapping[str, Any]) -> RuleLine:
    p_value = rule.get("p_value")
    return RuleLine(
        words.text(rule.get("text"), 400),
        words.percent(rule.get("estimate")),
        f"interval {words.percent(rule.get('low'))} to {words.percent(rule.get('high'))}",
        int(rule.get("n") or 0),
        words.percent(rule.get("support")),
        words.percent(rule.get("others")),
        "not measured" if p_value is None else f"{p_value:.2g}" if p_value >= 1e-12 else "below 1e-12",
    )


def _influences(told: Mapping[str, Any]) -> tuple[BarRow, ...]:
    every = [each for each in told.get("influences") or [] if each.get("explained")]
    most = max((each["explained"] for each in every), default=0.0)
    return tuple(
        BarRow(
            short(words.text(each["column"], 400), 26),
            f"{words.percent(each['explained'])} explained",
            (Mark("twins", 20, length(each["explained"], most), 10),),
        )
        for each in every
    )


def _node(node: Mapping[str, Any]) -> TreeNode:
    n, unfair = int(node.get("n") or 0), int(node.get("unfair") or 0)
    question = words.text(node.get("question"), 400) if node.get("question") else ""
    yes, no = node.get("yes"), node.get("no")
    asked = [f"{short(question, MOST_QUESTION)}?"] if question else []
    return TreeNode(
        [words.percent(unfair / n) if n else "nobody", *asked],
        f"{unfair:,} of {n:,}",
        unfair / n if n else 0.0,
        question,
        _node(yes) if yes else None,
        _node(no) if no else None,
    )


def _worst(told: Mapping[str, Any]) -> dict[str, str] | None:
    worst = told.get("worst") or {}
    if not worst.get("person"):
        return None
    person, twin = worst["person"], worst.get("twin") or {}
    differs = [name for name in person if person[name] != twin.get(name)]
    return {
        "gap": words.number(worst.get("gap") or 0.0),
        "changes": ", ".join(f"{words.text(name, 60)} {words.text(person[name])} → {words.text(twin.get(name))}" for name in differs),
        "outcome": f"{words.text(worst.get('outcome'))} → {words.text(worst.get('twin_outcome'))}",
        "person": ", ".join(f"{words.text(name, 60)} {words.rounded(cell)}" for name, cell in person.items() if name not in differs),
    }
