"""Statements about classes of objects, leanings and editors, judged before they came here: a sentence, an interval, a verdict for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from evenhand.report import words
from evenhand.report.charts.canvas import Axis
from evenhand.report.charts.rows import IntervalChart, IntervalRow, intervals
from evenhand.report.frame import DataTable, Section, TableCell, TableRow, filled
from evenhand.report.record import Record, StatementRecord

MOST_DRAWN = 24
VERDICTS = {"pass": ("✓ pass", "good"), "violation": ("✕ violation", "bad"), "inconclusive": ("? inconclusive", "unsure")}
EXTRAS = ("control", "p_value", "p_adjusted", "baseline", "guessing", "operator", "oracle")
"""Further fields of a statement that a table shows when any of its statements has them."""


@dataclass(frozen=True)
class Topic:
    """One list of statements: where it stands, what it is called, and what it says."""

    id: str
    title: str
    lead: str


CLASSES = Topic(
    "classes",
    "Classes of objects",
    "How often objects of each class are lost or invented after a change that does not touch them, beside null changes of the same kind. "
    "A class is judged once, over all its trials, with an interval that allows for losses that come together in one picture.",
)
LEANING = Topic(
    "leaning",
    "Which way the answers lean",
    "How the share of each outcome moves as the protected value changes: flips one way minus flips the other way. A model that flips "
    "as often one way as the other treats single rows unevenly, but leans towards nobody.",
)
JURY = Topic(
    "jury",
    "What the twins really changed",
    "Independent classifiers looked at the pictures before and after the edit. The protected attribute should have changed, everything "
    "else should have stayed. Where they hardly beat guessing the commonest value, they say little.",
)


def classes(record: Record) -> Section | None:
    """Classes of scenes."""
    return _section(CLASSES, record.body.classes)


def leaning(record: Record) -> Section | None:
    """Leanings between protected values."""
    return _section(LEANING, record.body.leaning)


def jury(record: Record) -> Section | None:
    """What independent classifiers say of an editor's twins."""
    return _section(JURY, record.body.jury)


def _section(topic: Topic, statements: Sequence[StatementRecord]) -> Section | None:
    if not statements:
        return None
    html = filled("sections/statements.html.j2", lead=topic.lead, table=_table(topic, statements), picture=picture(topic, statements))
    return Section(topic.id, topic.title, topic.title.split(" of ")[0], html)


def _table(topic: Topic, statements: Sequence[StatementRecord]) -> DataTable:
    extra = [name for name in EXTRAS if any((each.model_extra or {}).get(name) is not None for each in statements)]
    heads = ["What", "Share", "Interval", "n", *(words.title(name) for name in extra), "Verdict", "In words"]
    return DataTable(topic.title, heads, [_row(each, extra) for each in statements])


def _row(each: StatementRecord, extra: Sequence[str]) -> TableRow:
    shown, kind = VERDICTS.get(each.outcome, (words.text(each.outcome, 40) if each.outcome else "–", ""))
    bounds = f"{_share(each.low)} to {_share(each.high)}" if each.low is not None and each.high is not None else "–"
    told = [TableCell(_extra(name, (each.model_extra or {}).get(name))) for name in extra]
    cells = [TableCell(_share(each.estimate)), TableCell(bounds), TableCell("–" if each.n is None else f"{each.n:,}"), *told]
    said = words.text(each.sentence, 400) if each.sentence else ""
    return TableRow(words.text(each.label, 80), [*cells, TableCell(shown, kind=kind), TableCell(said, kind="words")])


def _share(value: float | None) -> str:
    return "–" if value is None else words.signed(value)


def _extra(name: str, value: Any) -> str:
    if isinstance(value, float) and not name.startswith("p_"):
        return words.signed(value)
    return "–" if value is None else f"{value:.3g}" if isinstance(value, float) else words.text(value, 80)


def picture(topic: Topic, statements: Sequence[StatementRecord]) -> Markup | None:
    """All intervals on one axis; None where there are fewer than two."""
    known = [each for each in statements if None not in (each.estimate, each.low, each.high)][:MOST_DRAWN]
    if len(known) < 2:
        return None
    rows = [
        IntervalRow(
            words.text(each.label, 48),
            f"{_share(each.estimate)} ({_share(each.low)} to {_share(each.high)})",
            each.low or 0.0,
            each.estimate or 0.0,
            each.high or 0.0,
            each.outcome != "inconclusive",
        )
        for each in known
    ]
    ends = [value for row in rows for value in (row.low, row.high)]
    return intervals(IntervalChart(f"{topic.title}.", rows, Axis.over(ends, unit="share", floor=0.0)))
