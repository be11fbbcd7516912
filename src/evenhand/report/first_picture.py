"""The first picture of a page where classes of objects decide: how many times as often as comparable objects each class is lost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from evenhand.report import words
from evenhand.report.charts.canvas import Axis
from evenhand.report.charts.rows import BarRow, Mark, bars, length
from evenhand.report.charts.tolerances import ToleranceRow, tolerances
from evenhand.report.record import Record

MOST_FIRST = 6
"""Classes in the first picture; the section has all of them."""

ORDER = {"treated worse": 0, "never recognised": 0, "not shown": 1, "nothing to compare": 2, "too few": 3}
MARKS = {
    "treated worse": "✕ treated worse",
    "not shown": "no difference shown",
    "too few": "? too few",
    "nothing to compare": "? nothing to compare it with",
    "never recognised": "✕ never recognised",
}


@dataclass(frozen=True)
class FirstPicture:
    """The picture that a page begins with, and how it is read."""

    picture: Markup
    caption: str


def answers_of(record: Record) -> list[Mapping[str, Any]]:
    """What was found about each class and question, those treated worse first; empty where no classes were judged."""
    study = record.body.studies.get("classes")
    told = (study.figures.get("objects") or {}) if study else {}
    found = told.get("answers") if isinstance(told, Mapping) else None
    lines = [each for each in found or [] if isinstance(each, Mapping) and isinstance(each.get("rate"), (int, float))]
    return sorted(lines, key=lambda each: (ORDER.get(str(each.get("outcome")), 4), -float(each.get("ratio") or 0.0)))


def class_picture(record: Record) -> FirstPicture | None:
    """The classes that decide; None where none was judged."""
    answers = answers_of(record)
    if not answers:
        return None
    judged = [each for each in answers if all(_is_number(each.get(name)) for name in ("low", "high", "ratio"))]
    if judged:
        return FirstPicture(factors(judged[:MOST_FIRST]), READ_FACTORS)
    return FirstPicture(picture(answers[:MOST_FIRST]), READ_BARS)


READ_FACTORS = (
    "How many times as often a class is lost after a change elsewhere, or missed in the unchanged pictures, as objects of other classes "
    "that are alike in size, place and occlusion. The dot is the estimate, the line its interval, corrected for all classes and "
    "questions together; 1 is equal treatment. A whole interval beyond 1 shows that a class is treated worse."
)
READ_BARS = (
    "Dark: how often objects of the class are lost or missed. Light: how often comparable objects of other classes are (alike in size, "
    "place and occlusion). What decides is whether the class is lost more often than those, beyond chance."
)
LARGEST_FACTOR = 10.0
"""Where the axis of factors ends at the latest; intervals that reach further are cut there, and their figures say so."""


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def bounds(answer: Mapping[str, Any]) -> str:
    """The interval of a class's factor, where it has one."""
    low, high = answer.get("low"), answer.get("high")
    return f" ({low:.1f} to {high:.1f})" if _is_number(low) and _is_number(high) else ""


def factors(answers: Sequence[Mapping[str, Any]]) -> Markup:
    """Every class as the interval of its factor, against 1."""
    top = min(LARGEST_FACTOR, float(math.ceil(max(2.0, *(float(each["high"]) for each in answers)))))
    return tolerances([_factor(each, top) for each in answers], Axis(0.0, top))


def _factor(each: Mapping[str, Any], top: float) -> ToleranceRow:
    others = each.get("others")
    against = f" against {words.percent(others)}" if isinstance(others, (int, float)) else ""
    caption = f"{words.percent(float(each['rate']))}{against}: factor {float(each['ratio']):.1f}{bounds(each)}"
    said = MARKS.get(str(each.get("outcome"))) or words.text(each.get("outcome"), 30)
    low, high, middle = (min(float(each[name]), top) for name in ("low", "high", "ratio"))
    return ToleranceRow(_name(each), caption, low, high, middle, 1.0, said)


def _name(each: Mapping[str, Any]) -> str:
    return f"{words.text(each.get('label'), 40)}: {each.get('question') or ''}"


def picture(answers: Sequence[Mapping[str, Any]]) -> Markup:
    """Every class as a bar over the bar of the others."""
    return bars([_bar(each) for each in answers], "Shares of objects lost, by class and among comparable others.", beside=True)


def _bar(each: Mapping[str, Any]) -> BarRow:
    rate, others, ratio = float(each["rate"]), each.get("others"), each.get("ratio")
    against = f", comparable others {words.percent(others)}" if isinstance(others, (int, float)) else ""
    factor = f", factor {ratio:.1f}" if isinstance(ratio, (int, float)) else ""
    marks = [
        Mark("candidates", 20, 100.0, 14),
        Mark("findings" if each.get("outcome") == "treated worse" else "twins", 20, length(rate, 1.0), 7),
    ]
    marks += [Mark("repeated", 27, length(float(others), 1.0), 7)] if isinstance(others, (int, float)) and others else []
    said = MARKS.get(str(each.get("outcome"))) or words.text(each.get("outcome"), 30)
    return BarRow(_name(each), f"{words.percent(rate)}{against}{factor} · {said}", tuple(mark for mark in marks if mark.width))
