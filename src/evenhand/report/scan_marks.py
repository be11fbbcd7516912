"""Where the marks of the report's pictures stand.  The template draws them; lengths are percent of the width, so text keeps its size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.report import facts, witness_cards, words
from evenhand.report.record import RateRecord, Record, RunRecord

ROW = 62
"""Height of one row in pixels: its label, the figures in words, and the marks below them."""

LOW_ROW = 40
"""Height of a row whose figures stand beside the label."""

EDGE = 1.0
"""Room at both ends of the axis, in percent."""

MOST_COLUMNS = 12
MOST_LABEL = 26


@dataclass(frozen=True)
class Tick:
    """A mark on the axis."""

    x: float
    label: str
    anchor: str


@dataclass(frozen=True)
class RateStrip:
    """One interval."""

    y: int
    label: str
    caption: str
    low: float
    estimate: float
    high: float


@dataclass(frozen=True)
class Mark:
    """One length from the left."""

    kind: str
    y: int
    width: float
    height: int


@dataclass(frozen=True)
class Bar:
    """One row of a bar picture, its marks drawn one over the other."""

    y: int
    label: str
    caption: str
    marks: tuple[Mark, ...]
    is_failed: bool = False


@dataclass(frozen=True)
class Picture:
    """Rows, an axis, the height, and what somebody who cannot see it is told."""

    height: int
    description: str
    strips: tuple[RateStrip, ...] = ()
    bars: tuple[Bar, ...] = ()
    ticks: tuple[Tick, ...] = ()
    limit: float | None = None
    left_out: int = 0


def rates(record: Record) -> Picture | None:
    """All measured rates on one axis, those of the methods beside those of the scan; None when there are none."""
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
    top = _nice(max([rate.high or 0.0 for _, rate in named] + [tolerated]))
    strips = tuple(_strip(place, label, rate, top) for place, (label, rate) in enumerate(named))
    told = "; ".join(f"{strip.label}: {strip.caption}" for strip in strips)
    limit = _x(tolerated, top) if tolerated else None
    return Picture(ROW * len(strips) + 30, f"Rates with their intervals. {told}", strips, ticks=_ticks(top), limit=limit)


def _tolerated(record: Record) -> float:
    value = record.gate.get("max_rate")
    return float(value) if isinstance(value, (int, float)) else 0.0


def _strip(place: int, label: str, rate: RateRecord, top: float) -> RateStrip:
    low, estimate, high = rate.low or 0.0, rate.estimate or 0.0, rate.high or 0.0
    caption = f"{words.percent(estimate)} ({words.percent(low)} to {words.percent(high)}, {words.level(rate.confidence)})"
    return RateStrip(ROW * place, words.shorten(label, 48), caption, *(_x(value, top) for value in (low, estimate, high)))


def _x(value: float, top: float) -> float:
    return round(EDGE + (100 - 2 * EDGE) * min(max(value / top, 0.0), 1.0), 3)


def _nice(value: float) -> float:
    """The next of 1, 2, 5 times a power of ten, at most 1."""
    if value <= 0:
        return 0.01
    power = 10.0 ** math.floor(math.log10(value))
    return min(1.0, next(power * step for step in (1, 2, 5, 10) if power * step >= value * (1 - 1e-9)))


def _ticks(top: float) -> tuple[Tick, ...]:
    shares = [top * step / 4 for step in range(5)]
    anchors = ("start", "middle", "middle", "middle", "end")
    return tuple(Tick(_x(share, top), f"{100 * share:.6g}%", anchor) for share, anchor in zip(shares, anchors, strict=True))


def methods(record: Record) -> Picture | None:
    """Every method's candidates, and which of them were repeated and which were findings; failed ones are marked as failed."""
    if not record.body.runs and not record.body.failures:
        return None
    most = max((run.candidates for run in record.body.runs), default=0) or 1
    bars = [_method_bar(ROW * place, run, most) for place, run in enumerate(record.body.runs)]
    bars += [Bar(ROW * place, _label(name), "failed: not counted", (), True) for place, name in enumerate(record.body.failures, len(bars))]
    return Picture(ROW * len(bars), _told("Findings per method.", bars), bars=tuple(bars))


def _method_bar(y: int, run: RunRecord, most: int) -> Bar:
    share = f" ({words.percent(run.findings / run.candidates)})" if run.candidates else ""
    caption = f"{words.plural(run.findings, 'finding', 'findings')} of {words.plural(run.candidates, 'candidate', 'candidates')}{share}"
    lengths = {"candidates": run.candidates, "repeated": run.findings + run.duplicates if run.duplicates else 0, "findings": run.findings}
    return Bar(y, _label(run.method), caption, tuple(Mark(kind, 40, _length(count, most), 14) for kind, count in lengths.items() if count))


def differences(record: Record) -> Picture | None:
    """In how many pairs each column differs between the twins, and from the real row; None without pairs."""
    every = witness_cards.differences(record)
    if not every:
        return None
    total = len(record.witnesses)
    bars = [_difference_bar(LOW_ROW * place, name, counts, total) for place, (name, *counts) in enumerate(every[:MOST_COLUMNS])]
    description = _told(f"Cells that differ, of {words.plural(total, 'pair', 'pairs')}.", bars)
    return Picture(LOW_ROW * len(bars), description, bars=tuple(bars), left_out=max(0, len(every) - MOST_COLUMNS))


def _difference_bar(y: int, name: str, counts: Sequence[int], total: int) -> Bar:
    twins, real = counts
    marks = [Mark("candidates", 20, 100.0, 14), Mark("twins", 20, _length(twins, total), 7), Mark("real", 27, _length(real, total), 7)]
    return Bar(y, _label(name), f"twins {twins:,} · real row {real:,}", tuple(mark for mark in marks if mark.width))


def _length(count: int, most: int) -> float:
    """Percent of the width; something that is there is never too thin to be seen."""
    return round(max(100 * min(count / most, 1.0), 0.6), 3) if count else 0.0


def _label(name: str) -> str:
    written = words.text(name, 400)
    return written if len(written) <= MOST_LABEL else f"{written[: MOST_LABEL - 1]}…"


def _told(opening: str, bars: Sequence[Bar]) -> str:
    return " ".join([opening, "; ".join(f"{bar.label}: {bar.caption}" for bar in bars)])
