"""A table of values as coloured squares: stronger is darker, below zero in another colour, a missing value is empty, a thin one hatched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from evenhand.report.charts.canvas import escape, fixed, label, short

STRONGEST = 0.7
"""Opacity of the strongest square: words on it stay readable."""

MOST_NAME = 18


@dataclass(frozen=True)
class HeatMap:
    """Values by line and column.  `full` is the value drawn strongest; without `words` squares say nothing and are small."""

    told: str
    lines: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    full: float = 1.0
    words: Sequence[Sequence[str]] | None = None
    thin: Sequence[Sequence[bool]] | None = None  # squares that rest on too few
    notes: Sequence[Sequence[str]] | None = None  # a second, softer line in every square, which is larger then


def heat_map(chart: HeatMap) -> Markup:
    """The picture; it keeps its size."""
    if chart.notes:
        return _large(chart)
    longest = max((len(said) for line in chart.words or () for said in line), default=0)
    side = (
        max(30.0, 9.0 * longest + 12)
        if chart.words
        else max(4.0, min(16.0, 720 / max(1, max((len(line) for line in chart.values), default=1))))
    )
    tall = 30.0 if chart.words else 22.0
    left = 10 + 6.6 * max((len(short(name, MOST_NAME)) for name in chart.lines), default=0)
    top = 10 + (5.4 * max((len(short(name, MOST_NAME)) for name in chart.columns), default=0) if chart.columns else 0)
    parts = [label(left - 6, top + tall * (at + 0.5) + 4, short(name, MOST_NAME), "tick", "end") for at, name in enumerate(chart.lines)]
    parts += [_turned(left + side * (at + 0.6), top - 5, short(name, MOST_NAME)) for at, name in enumerate(chart.columns)]
    for row, line in enumerate(chart.values):
        for column, value in enumerate(line):
            said = chart.words[row][column] if chart.words else ""
            parts.append(_square((left + side * column, top + tall * row), (side, tall), Heat(value, chart.full, said)))
            if chart.thin and chart.thin[row][column]:
                parts.append(_hatched(left + side * column, top + tall * row, side, tall))
    parts = [THIN, *parts] if chart.thin else parts
    width = left + side * max((len(line) for line in chart.values), default=0) + 40
    return fixed(parts, (width, top + tall * len(chart.values) + 8), chart.told)


LARGE_WIDE, LARGE_TALL, LETTER = 96.0, 52.0, 7.0


def _large(chart: HeatMap) -> Markup:
    """Squares with two lines of words, under names that stand upright."""
    columns = [short(name, MOST_NAME) for name in chart.columns]
    side = max([LARGE_WIDE, *(LETTER * len(name) + 12 for name in columns)])
    left, top = 16 + LETTER * max((len(short(name, MOST_NAME)) for name in chart.lines), default=0), 26.0
    parts = [THIN] if chart.thin else []
    parts += [label(left + side * (at + 0.5), top - 9, name, "large", "middle") for at, name in enumerate(columns)]
    for row, line in enumerate(chart.values):
        y = top + LARGE_TALL * row
        parts.append(label(left - 8, y + LARGE_TALL / 2 + 4, short(chart.lines[row], MOST_NAME), "large", "end"))
        for column, value in enumerate(line):
            x = left + side * column
            parts.append(_square((x, y), (side, LARGE_TALL), Heat(value, chart.full, "")))
            if chart.thin and chart.thin[row][column]:
                parts.append(_hatched(x, y, side, LARGE_TALL))
            parts += _two_lines(x + side / 2, y, _said(chart.words, row, column), _said(chart.notes, row, column))
    return fixed(parts, (left + side * len(columns) + 8, top + LARGE_TALL * len(chart.values) + 8), chart.told)


def _said(words: Sequence[Sequence[str]] | None, row: int, column: int) -> str:
    return words[row][column] if words else ""


def _two_lines(middle: float, y: float, said: str, note: str) -> list[str]:
    return [label(middle, y + 23, said, "name large", "middle"), label(middle, y + 40, note, "name", "middle")] if said else []


THIN = (
    '<defs><pattern id="thin" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<line class="thin-hatch" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>'
)


def _hatched(x: float, y: float, wide: float, tall: float) -> str:
    return f'<rect fill="url(#thin)" x="{x:.1f}" y="{y:.1f}" width="{wide - 1:.1f}" height="{tall - 1:.1f}"><title>too few</title></rect>'


def _turned(x: float, y: float, words: str) -> str:
    return f'<text class="tick" transform="translate({x:.1f},{y:.1f}) rotate(-55)">{escape(words)}</text>'


@dataclass(frozen=True)
class Heat:
    """One square's value, the value of the strongest colour, and what is written on it."""

    value: float | None
    full: float
    said: str


def _square(corner: tuple[float, float], size: tuple[float, float], heat: Heat) -> str:
    (x, y), (wide, tall), value = corner, size, heat.value
    where = f'x="{x:.1f}" y="{y:.1f}" width="{max(wide - 1, 1):.1f}" height="{tall - 1:.1f}"'
    if value is None:
        return f'<rect class="heat empty-square" {where}/>'
    opacity = STRONGEST * min(1.0, abs(value) / heat.full) if heat.full else 0.0
    kind = "heat negative" if value < 0 else "heat"
    words = label(x + wide / 2, y + tall / 2 + 4, heat.said, "cell", "middle") if heat.said else ""
    return f'<rect class="{kind}" fill-opacity="{opacity:.3f}" {where}><title>{value:.4g}</title></rect>{words}'
