"""Several results of one thing, the oldest first: the rate of each with its interval, and every step with its bounds and verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.report import words
from evenhand.report.charts.courses import CoursePoint, RateCourse, course
from evenhand.report.charts.plots import Frame
from evenhand.report.frame import DataTable, Section, TableCell, TableRow, filled
from evenhand.report.record import Record

MOST_LINES = 60
"""Results in the table, the newest first; all of them are drawn."""
VERDICTS = {"better": ("✓ better", "good"), "worse": ("✕ worse", "bad"), "not shown": ("not shown", "")}
HEADS = ("Result", "Rate", "Since the one before", "Since the first", "Pairs", "Model")


def section(record: Record) -> Section | None:
    """The section; None where nothing was followed over time."""
    told = record.body.series or {}
    steps = [each for each in told.get("steps") or [] if _is_measured(each)]
    if len(steps) < 2:
        return None
    heading = words.population(str(told.get("population") or ""))[0]
    first, last = (words.percent(steps[at].get("estimate")) for at in (0, -1))
    caption = f"{heading}: {first} at first, {last} at last, over {len(steps)} results."
    points = [CoursePoint(each["estimate"], each["low"], each["high"]) for each in steps]
    shown = list(enumerate(steps, 1))[::-1][:MOST_LINES]
    html = filled(
        "sections/over_time.html.j2",
        caption=caption,
        confidence=words.level(told.get("confidence")),
        picture=course(RateCourse(heading, caption, points, frame=Frame(880, 320, 62, 24, 14, 48))),
        table=DataTable("Every result, the newest first", HEADS, [_row(at, each) for at, each in shown]),
        left_out=max(0, len(steps) - MOST_LINES),
    )
    return Section("over-time", "Over time", "Over time", html)


def _is_measured(each: Any) -> bool:
    return isinstance(each, Mapping) and all(isinstance(each.get(name), (int, float)) for name in ("estimate", "low", "high"))


def _row(at: int, each: Mapping[str, Any]) -> TableRow:
    rate = f"{words.percent(each['low'])} to {words.percent(each['high'])}, n = {words.number(each.get('n'))}"
    pairs = f"{words.number(each.get('new_pairs'))} new, {words.number(each.get('gone_pairs'))} gone" if at > 1 else "–"
    cells = [
        TableCell(words.percent(each["estimate"]), rate),
        _change(each.get("since_before")),
        _change(each.get("since_first")),
        TableCell(pairs),
        TableCell(words.text(each.get("model"), 40) if each.get("model") else "–"),
    ]
    return TableRow(f"{at}. {words.text(each.get('name'), 80)}", cells, words.text(each.get("date"), 20) if each.get("date") else "")


def _change(change: Any) -> TableCell:
    if not isinstance(change, Mapping):
        return TableCell("–")
    verdict, kind = VERDICTS.get(str(change.get("verdict")), (words.text(change.get("verdict"), 20), ""))
    moved, low, high = (words.signed(float(change.get(name) or 0.0)) for name in ("difference", "low", "high"))
    return TableCell(verdict, f"{moved} ({low} to {high})", kind)
