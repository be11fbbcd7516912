"""Rows of intervals or bars, each with its name and its figures in words; places are percent of the width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from evenhand.report.charts.canvas import Axis, escape, fluid, told_rows

ROW = 62
"""Height of a row in pixels: its name, the figures in words, and the marks below them."""

LOW_ROW = 40
"""Height of a row whose figures stand beside the name."""

EDGE = 1.0
"""Room at both ends of the axis, in percent."""


@dataclass(frozen=True)
class IntervalRow:
    """One estimate with its bounds; one that rests on too few is drawn in grey."""

    name: str
    caption: str
    low: float
    estimate: float
    high: float
    is_enough: bool = True


@dataclass(frozen=True)
class Mark:
    """One length from the left, in percent of the width."""

    kind: str
    y: int
    width: float
    height: int


@dataclass(frozen=True)
class BarRow:
    """A name, its figures, and marks drawn one over the other."""

    name: str
    caption: str
    marks: tuple[Mark, ...] = ()
    is_failed: bool = False


@dataclass(frozen=True)
class IntervalChart:
    """Intervals on one axis; `limit` draws a dashed line at a value, such as the tolerated one."""

    told: str
    rows: Sequence[IntervalRow]
    axis: Axis
    limit: float | None = None


def intervals(chart: IntervalChart) -> Markup:
    """The picture."""
    height = ROW * len(chart.rows) + 30
    axis, bottom = chart.axis, height - 22
    lines = [_upright("grid", place(axis, tick.value), bottom) for tick in axis.ticks()]
    if chart.limit is not None:
        lines.append(_upright("limit", place(axis, chart.limit), bottom))
    rows = [_interval(number, row, axis) for number, row in enumerate(chart.rows)]
    told = told_rows(chart.told, [(row.name, row.caption) for row in chart.rows])
    return fluid([*lines, *rows, *_ticks(axis, height)], height, told)


def place(axis: Axis, value: float) -> float:
    """Percent of the width."""
    return round(EDGE + (100 - 2 * EDGE) * axis.share(value), 3)


def _upright(kind: str, x: float, bottom: float) -> str:
    return f'<line class="{kind}" x1="{x}%" x2="{x}%" y1="0" y2="{bottom:g}"/>'


def _ticks(axis: Axis, height: int) -> list[str]:
    ticks = axis.ticks()
    drawn = []
    for number, tick in enumerate(ticks):
        x = place(axis, tick.value)
        anchor = "start" if number == 0 and x < 8 else "end" if number == len(ticks) - 1 and x > 92 else "middle"
        drawn.append(f'<text class="tick" x="{x}%" y="{height - 6}" text-anchor="{anchor}">{escape(tick.label)}</text>')
    return drawn


def _interval(number: int, row: IntervalRow, axis: Axis) -> str:
    low, middle, high = (place(axis, value) for value in (row.low, row.estimate, row.high))
    thin = "" if row.is_enough else " thin"
    return (
        f'<svg y="{ROW * number}" width="100%" height="{ROW}"><text class="name" x="0" y="16">{escape(row.name)}</text>'
        f'<text class="figures" x="0" y="33">{escape(row.caption)}</text>'
        f'<line class="interval{thin}" x1="{low}%" x2="{high}%" y1="48" y2="48"/>'
        f'<line class="cap{thin}" x1="{low}%" x2="{low}%" y1="41" y2="55"/>'
        f'<line class="cap{thin}" x1="{high}%" x2="{high}%" y1="41" y2="55"/>'
        f'<circle class="estimate{thin}" cx="{middle}%" cy="48" r="4.5"/></svg>'
    )


def bars(rows: Sequence[BarRow], told: str = "", beside: bool = False) -> Markup:
    """Bars in rows; with `beside` the figures stand at the right of the name and rows are lower."""
    step = LOW_ROW if beside else ROW
    drawn = [_bar(step * number, row, beside) for number, row in enumerate(rows)]
    return fluid(drawn, step * len(rows), told_rows(told, [(row.name, row.caption) for row in rows]))


def _bar(y: int, row: BarRow, beside: bool) -> str:
    bad, cross = (" bad", "✕ ") if row.is_failed else ("", "")
    where = 'x="100%" y="15" text-anchor="end"' if beside else 'x="0" y="32"'
    words = (
        f'<text class="name" x="0" y="15">{escape(row.name)}</text><text class="figures{bad}" {where}>{cross}{escape(row.caption)}</text>'
    )
    failed = '<rect class="failed" x="0.5" y="40.5" width="99.5%" height="13" rx="2"/>' if row.is_failed else ""
    marks = "".join(f'<rect class="{m.kind}" x="0" y="{m.y}" width="{m.width}%" height="{m.height}" rx="1"/>' for m in row.marks)
    return f'<svg y="{y}" width="100%" height="{ROW}">{words}{failed}{marks}</svg>'


def length(count: float, most: float) -> float:
    """Percent of the width; something that is there is never too thin to be seen."""
    return round(max(100 * min(count / most, 1.0), 0.6), 3) if count and most else 0.0
