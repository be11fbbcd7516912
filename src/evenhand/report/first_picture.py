"""The first picture of a page where classes of objects decide: every class beside objects of other classes that are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from evenhand.report import words
from evenhand.report.charts.rows import BarRow, Mark, bars, length
from evenhand.report.record import Record

MOST_FIRST = 6
"""Classes in the first picture; the section has all of them."""

ORDER = {"treated worse": 0, "never recognised": 0, "not shown": 1, "too few": 2}
MARKS = {
    "treated worse": "✕ treated worse",
    "not shown": "no difference shown",
    "too few": "? too few",
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
    return sorted(lines, key=lambda each: (ORDER.get(str(each.get("outcome")), 3), -float(each.get("ratio") or 0.0)))


def class_picture(record: Record) -> FirstPicture | None:
    """The classes that decide; None where none was judged."""
    answers = answers_of(record)
    if not answers:
        return None
    caption = (
        "Dark: how often objects of the class are lost or missed. Light: how often objects of other classes are that are alike in size, "
        "place and occlusion. What decides is whether the class is lost more often than those, beyond chance."
    )
    return FirstPicture(picture(answers[:MOST_FIRST]), caption)


def picture(answers: Sequence[Mapping[str, Any]]) -> Markup:
    """Every class as a bar over the bar of the others."""
    return bars([_bar(each) for each in answers], "Shares of objects lost, by class and among alike others.", beside=True)


def _bar(each: Mapping[str, Any]) -> BarRow:
    rate, others, ratio = float(each["rate"]), each.get("others"), each.get("ratio")
    against = f", alike others {words.percent(others)}" if isinstance(others, (int, float)) else ""
    factor = f", factor {ratio:.1f}" if isinstance(ratio, (int, float)) else ""
    marks = [
        Mark("candidates", 20, 100.0, 14),
        Mark("findings" if each.get("outcome") == "treated worse" else "twins", 20, length(rate, 1.0), 7),
    ]
    marks += [Mark("repeated", 27, length(float(others), 1.0), 7)] if isinstance(others, (int, float)) and others else []
    name = f"{words.text(each.get('label'), 40)}: {each.get('question') or ''}"
    said = MARKS.get(str(each.get("outcome"))) or words.text(each.get("outcome"), 30)
    return BarRow(name, f"{words.percent(rate)}{against}{factor} · {said}", tuple(mark for mark in marks if mark.width))
