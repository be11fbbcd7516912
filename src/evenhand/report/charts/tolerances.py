"""Intervals against what is tolerated: the first picture of a page.  What is tolerated is a grey band, what is beyond it is hatched."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from evenhand.report.charts.canvas import Axis, Tick, escape, fluid, told_rows
from evenhand.report.charts.rows import place

MOST_TICKS = 5
TALL = 74
"""Height of a row in pixels: its name, the figures in words, and the marks below them."""

LINE = 17
MOST_ON_A_LINE = 44
"""Letters of figures that a phone shows on one line; where a row has more, what is tolerated gets a line of its own in every row."""

MOST_IN_A_NAME = 40
"""Letters of a name that a phone shows on one line; where a row has more, every row has two lines for it."""


@dataclass(frozen=True)
class ToleranceRow:
    """One interval, and the part of the axis that is tolerated."""

    name: str
    caption: str
    low: float
    high: float
    estimate: float | None = None
    tolerated: float = 0.0
    allowed: str = ""  # what is tolerated, in words of its own


def tolerances(rows: Sequence[ToleranceRow], axis: Axis) -> Markup:
    """The picture."""
    is_split = any(len(f"{row.caption}; {_allowed(row, axis)}") > MOST_ON_A_LINE for row in rows)
    is_long = any(len(row.name) > MOST_IN_A_NAME for row in rows)
    tall = TALL + LINE * (is_split + is_long)
    height = tall * len(rows) + 26
    drawn = [
        f'<svg y="{tall * at}" width="100%" height="{tall}">{_words(row, axis, is_split, is_long)}</svg>' for at, row in enumerate(rows)
    ]
    drawn += [f'<svg y="{tall * at + tall - TALL}" width="100%" height="{TALL}">{_marks(row, axis)}</svg>' for at, row in enumerate(rows)]
    ticks = [
        f'<text class="tick" x="{place(axis, tick.value)}%" y="{height - 6}" text-anchor="{_side(place(axis, tick.value))}">'
        f"{escape(tick.label)}</text>"
        for tick in few(axis.ticks())
    ]
    told = told_rows("Intervals against what is tolerated.", [(row.name, f"{row.caption}; {_allowed(row, axis)}") for row in rows])
    return fluid([_hatch(), *drawn, *ticks], height, told)


def few(ticks: Sequence[Tick]) -> list[Tick]:
    """Every second of many ticks, zero among them, so that their words stand apart on a phone."""
    if len(ticks) <= MOST_TICKS:
        return list(ticks)
    zero = next((at for at, tick in enumerate(ticks) if tick.value == 0.0), 0)
    return [tick for at, tick in enumerate(ticks) if (at - zero) % 2 == 0]


def _hatch() -> str:
    return (
        '<defs><pattern id="beyond" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<line class="hatch" x1="0" y1="0" x2="0" y2="7"/></pattern></defs>'
    )


def _allowed(row: ToleranceRow, axis: Axis) -> str:
    if row.allowed:
        return row.allowed
    return f"tolerated up to {axis.said(row.tolerated)}" if row.tolerated > 0 else "none is tolerated"


def _side(at: float) -> str:
    return "start" if at < 8 else "end" if at > 92 else "middle"


def _words(row: ToleranceRow, axis: Axis, is_split: bool, is_long: bool) -> str:
    caption, allowed, down = escape(row.caption), escape(_allowed(row, axis)), LINE if is_long else 0
    lines = textwrap.wrap(row.name, MOST_IN_A_NAME, max_lines=2, placeholder="…") if is_long else [row.name]
    names = [f'<text class="name" x="0" y="{16 + down - LINE * above}">{escape(line)}</text>' for above, line in enumerate(lines[::-1])]
    first = caption if is_split else f"{caption}; {allowed}"
    second = f'<text class="figures" x="0" y="{33 + LINE + down}">{allowed}</text>' if is_split else ""
    return f'{"".join(names[::-1])}<text class="figures" x="0" y="{33 + down}">{first}</text>{second}'


def _marks(row: ToleranceRow, axis: Axis) -> str:
    low, high, limit = (place(axis, value) for value in (row.low, row.high, row.tolerated))
    end = place(axis, axis.high)
    begin = place(axis, axis.low)
    dot = "" if row.estimate is None else f'<circle class="estimate" cx="{place(axis, row.estimate)}%" cy="58" r="5"/>'
    return (
        f'<rect class="tolerated" x="{begin}%" y="46" width="{max(0.0, limit - begin):.3f}%" height="24"/>'
        f'<rect class="beyond" fill="url(#beyond)" x="{limit}%" y="46" width="{max(0.0, end - limit):.3f}%" height="24"/>'
        f'<line class="limit" x1="{limit}%" x2="{limit}%" y1="42" y2="74"/>'
        f'<line class="interval" x1="{low}%" x2="{high}%" y1="58" y2="58"/>'
        f'<line class="cap" x1="{low}%" x2="{low}%" y1="50" y2="66"/><line class="cap" x1="{high}%" x2="{high}%" y1="50" y2="66"/>'
        f"{dot}"
    )
