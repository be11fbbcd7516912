"""What the policy demands, condition by condition: the interval, what is tolerated, and what a baseline or a waiver makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.report import words
from evenhand.report.figures import OUTCOMES
from evenhand.report.frame import DataTable, Section, TableCell, TableRow, filled
from evenhand.report.record import Record

AT_ONCE = 30
"""Conditions that are shown; of more, those that decide come first."""

ORDER = {"violation": 0, "inconclusive": 1, "pass": 2}


def section(record: Record) -> Section | None:
    """The section; None where no policy was held against the result."""
    told = ordered(record)
    if not told:
        return None
    heads = ("Condition", "Outcome", "Measured", "Tolerated", "Why")
    table = DataTable("Every condition of the policy", heads, [_row(each) for each in told[:AT_ONCE]])
    html = filled(
        "sections/policy.html.j2",
        table=table,
        left_out=max(0, len(told) - AT_ONCE),
        waivers=_waivers(record),
        baseline=_baseline(record),
    )
    return Section("policy", "What the policy demands", "Policy", html)


def ordered(record: Record) -> list[dict[str, Any]]:
    """The conditions, those that decide first and what is forgiven last."""
    return sorted(record.body.conditions, key=_rank)


def _rank(each: Mapping[str, Any]) -> int:
    return 3 if each.get("standing") in ("known", "waived") else ORDER.get(str(each.get("outcome")), 4)


def _row(each: Mapping[str, Any]) -> TableRow:
    standing = words.text(each["standing"], 40) if each.get("standing") else ""
    shown, kind = OUTCOMES.get(str(each.get("outcome")), ("?", "unsure"))
    forgiven = standing in ("known", "waived")
    cells = [
        TableCell(f"✓ {standing}" if forgiven else shown, standing if not forgiven else "", "unsure" if forgiven else kind),
        TableCell(measured(each)),
        TableCell(value(each.get("tolerated"), each)),
        TableCell(words.text(each.get("message"), 600), kind="words"),
    ]
    return TableRow(words.text(each.get("name"), 100), cells)


def measured(each: Mapping[str, Any]) -> str:
    """The estimate with its bounds."""
    if each.get("low") is None or each.get("high") is None:
        return "–"
    bounds = f"{value(each['low'], each)} to {value(each['high'], each)}"
    return f"{value(each['estimate'], each)} ({bounds})" if each.get("estimate") is not None else bounds


def value(number: Any, each: Mapping[str, Any]) -> str:
    """A number in the condition's unit."""
    if not isinstance(number, (int, float)):
        return "–"
    return words.signed(number) if each.get("unit", "share") == "share" else words.number(number)


def _waivers(record: Record) -> list[str]:
    policy = record.header.details.get("policy")
    told = policy.get("waivers") if isinstance(policy, Mapping) else None
    return [
        "{}: {} answers for it until {}. {}".format(*(words.text(each.get(name), 300) for name in ("of", "owner", "expires", "reason")))
        for each in told or []
        if isinstance(each, Mapping)
    ]


def _baseline(record: Record) -> str:
    told = record.header.details.get("baseline")
    if not isinstance(told, Mapping):
        return ""
    made = f"Held against a baseline of {words.text(told.get('date'), 20)}."
    if not isinstance(told.get("low"), (int, float)) or not isinstance(told.get("high"), (int, float)):
        return made
    before, after = (words.percent(told.get(name)) for name in ("before", "after"))
    bounds = f"{100 * told['low']:+.2f} to {100 * told['high']:+.2f} points"
    return f"{made} The rate was {before} and is {after} ({bounds}): {words.text(told.get('verdict'), 20)}."
