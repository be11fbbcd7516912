"""How often it happens: every rate with its population, all on one axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from evenhand.report import facts, words
from evenhand.report.charts.canvas import Axis, nice
from evenhand.report.charts.plots import Frame, Line, Plot, plot
from evenhand.report.charts.rows import IntervalChart, IntervalRow, intervals
from evenhand.report.frame import Section, filled
from evenhand.report.lead import nouns
from evenhand.report.record import RateRecord, Record

WITHOUT_TWINS = ": no twins"
"""What the header says of pictures that are compared by groups only."""


def section(record: Record) -> Section | None:
    """The section; a verb that measures no rates has none, nor has a measurement of pictures without twins."""
    body = record.body
    if WITHOUT_TWINS in str(getattr(record.header.medium, "twins", "")) and not body.rates:
        return None
    if not (body.rates or body.anytime or body.weighted or record.verb in ("scan", "measure")):
        return None
    html = filled(
        "sections/how_often.html.j2",
        oracle=_counted(record),
        rates=[_told(rate, nouns(record)[1]) for rate in body.rates],
        anytime=_anytime(body.anytime),
        closing=closing_in(body.anytime),
        weighted=body.weighted,
        picture=picture(record),
        tolerated=_tolerated(record),
    )
    return Section("often", "How often it happens", "How often", html)


def _counted(record: Record) -> str:
    """What counts as unfair; twins of a learned editor differ in more than that."""
    if not record.header.oracle:
        return ""
    if record.header.medium.learned_twins:
        one, _ = nouns(record)
        return (
            f"A {one} counts here when its twin gets another outcome. A learned editor made the twins, and may have changed more than what "
            "is protected."
        )
    return words.oracle(record.header.oracle, nouns(record))


def _told(rate: RateRecord, many: str) -> dict[str, Any]:
    heading, explanation = words.population(rate.population, many)
    meaning = f"{words.text(rate.meaning, 300).rstrip('.')}. " if rate.meaning else ""
    called = f" In the papers: {words.text(rate.name, 40)}." if rate.name else ""
    return {"rate": rate, "heading": heading, "explanation": f"{meaning[:1].upper()}{meaning[1:]}{explanation}{called}"}


FEWEST_ANYTIME = 50
"""Bounds that rest on fewer are too wide to tell anything."""


def _anytime(told: Mapping[str, Any] | None) -> str:
    if not told or int(told.get("n") or 0) < FEWEST_ANYTIME:
        return ""
    return words.text(told.get("sentence"), 300) if told.get("sentence") else ""


def closing_in(told: Mapping[str, Any] | None) -> Markup | None:
    """The anytime bounds as they closed in, over the people that were judged; None where they were looked at once."""
    history = (told or {}).get("history") or {}
    n, low, middle, high = (history.get(name) or [] for name in ("n", "low", "estimate", "high"))
    if len(n) < 3 or not len(n) == len(low) == len(middle) == len(high):
        return None
    band = [*zip(n, high, strict=True), *reversed(list(zip(n, low, strict=True)))]
    line = Line("rate", list(zip(n, middle, strict=True)), "tone-line-1", band)
    said = f"After {n[-1]:,.0f} people the rate lies between {words.percent(low[-1])} and {words.percent(high[-1])}."
    return plot(
        Plot(said, Axis.decades(n, "people judged"), Axis(0.0, nice(max(high)), "rate", "share"), [line], frame=Frame(960, 250, left=58))
    )


def _tolerated(record: Record) -> float:
    value = record.gate.get("max_rate")
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0


def picture(record: Record) -> Markup | None:
    """All measured rates on one axis, those of the methods beside those of the verb; None when there are none."""
    named = [(words.population(rate.population)[0], rate) for rate in record.body.rates if rate.is_measured]
    for run in record.body.runs:
        named += [
            (f"{words.population(str(fact['population']))[0]}, by {words.text(run.method, 20)}", RateRecord.model_validate(fact))
            for fact in run.facts.values()
            if facts.is_rate(fact)
        ]
    if not named:
        return None
    tolerated = _tolerated(record)
    top = nice(max([rate.high or 0.0 for _, rate in named] + [tolerated]))
    rows = [_row(name, rate) for name, rate in named]
    return intervals(IntervalChart("Rates with their intervals.", rows, Axis(0.0, top, unit="share"), tolerated or None))


def _row(name: str, rate: RateRecord) -> IntervalRow:
    low, estimate, high = rate.low or 0.0, rate.estimate or 0.0, rate.high or 0.0
    caption = f"{words.percent(estimate)} ({words.percent(low)} to {words.percent(high)}, {words.level(rate.confidence)})"
    return IntervalRow(words.shorten(name, 48), caption, low, estimate, high)
