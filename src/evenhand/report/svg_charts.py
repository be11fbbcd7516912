"""Small charts as SVG text: lines, bars and a table of correlations.  They need no drawing library and scale with the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

COLOURS = ("#20639b", "#d1495b", "#3a7d44", "#b07d12", "#6f4e9c", "#5c6b73", "#0f8b8d")
WIDTH, HEIGHT = 520, 300
LEFT, RIGHT, TOP, BOTTOM = 58, 16, 34, 46


@dataclass(frozen=True)
class Words:
    """What is written around a chart."""

    title: str
    across: str = ""
    up: str = ""


def _frame(words: Words, inside: Sequence[str], width: int = WIDTH, height: int = HEIGHT) -> str:
    middle = (LEFT + width - RIGHT) / 2
    texts = [
        f'<text x="{LEFT}" y="20" font-size="14" font-weight="600">{escape(words.title)}</text>',
        f'<text x="{middle}" y="{height - 8}" text-anchor="middle">{escape(words.across)}</text>',
        f'<text x="14" y="{height / 2}" text-anchor="middle" transform="rotate(-90 14 {height / 2})">{escape(words.up)}</text>',
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-family="sans-serif" font-size="11">'
    return "\n".join(
        [
            head,
            f"<title>{escape(words.title)}</title>",
            f'<rect width="{width}" height="{height}" fill="white"/>',
            *texts,
            *inside,
            "</svg>",
        ]
    )


@dataclass(frozen=True)
class Scale:
    """Values to places on the page."""

    low: float
    high: float
    start: float
    stop: float

    def at(self, values: Any) -> Any:
        """Places of values."""
        return self.start + (np.asarray(values, dtype=np.float64) - self.low) / ((self.high - self.low) or 1.0) * (self.stop - self.start)

    def ticks(self) -> list[float]:
        """Round values inside the range: at the widest step that gives four or more."""
        span = (self.high - self.low) or 1.0
        power = 10.0 ** np.floor(np.log10(span))
        for step in power * np.array([2.5, 2.0, 1.0, 0.5, 0.25, 0.2, 0.1]):
            first, last = np.ceil(self.low / step - 1e-9), np.floor(self.high / step + 1e-9)
            if last - first >= 3:
                break
        return [float(each * step) + 0.0 for each in np.arange(first, last + 1)]


def _axes(across: Scale, up: Scale) -> list[str]:
    parts = [f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="#444"/>']
    parts += [f'<text x="{across.at(t):.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{t:.3g}</text>' for t in across.ticks()]
    parts += [f'<text x="{LEFT - 6}" y="{up.at(t) + 4:.1f}" text-anchor="end">{t:.3g}</text>' for t in up.ticks()]
    return parts + [f'<path d="M{LEFT} {up.at(t):.1f}H{WIDTH - RIGHT}" stroke="#e4e4e4"/>' for t in up.ticks() if t > up.low]


def lines(words: Words, series: Mapping[str, tuple[NDArray[Any], NDArray[Any]]]) -> str:
    """One line per series of (across, up) values."""
    across = Scale(min(float(x.min()) for x, _ in series.values()), max(float(x.max()) for x, _ in series.values()), LEFT, WIDTH - RIGHT)
    up = Scale(
        min(0.0, *(float(y.min()) for _, y in series.values())), max(float(y.max()) for _, y in series.values()), HEIGHT - BOTTOM, TOP
    )
    parts = _axes(across, up)
    for place, (name, (x, y)) in enumerate(series.items()):
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across.at(x), up.at(y), strict=True))
        colour = COLOURS[place % len(COLOURS)]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(
            f'<text x="{WIDTH - RIGHT - 4}" y="{HEIGHT - BOTTOM - 10 - 15 * place}" text-anchor="end" fill="{colour}">{escape(name)}</text>'
        )
    return _frame(words, parts)


def cumulative(words: Words, samples: Mapping[str, NDArray[Any]], points: int = 120) -> str:
    """Cumulative distributions of several samples, as the paper's Figure 3."""
    highest = max(float(values.max()) for values in samples.values())
    grid = np.linspace(0.0, highest or 1.0, points)
    return lines(
        words, {name: (grid, np.searchsorted(np.sort(values), grid, side="right") / len(values)) for name, values in samples.items()}
    )


def bars(words: Words, values: Mapping[str, tuple[float, float]]) -> str:
    """Bars of means with a whisker of one standard deviation either way; values may be negative."""
    lowest = min(0.0, *(mean - spread for mean, spread in values.values()))
    highest = max(1e-9, *(mean + spread for mean, spread in values.values()))
    up, step = Scale(lowest, highest, HEIGHT - BOTTOM, TOP), (WIDTH - LEFT - RIGHT) / len(values)
    parts = [f'<path d="M{LEFT} {up.at(t):.1f}H{WIDTH - RIGHT}" stroke="{"#444" if t == 0 else "#e4e4e4"}"/>' for t in up.ticks()]
    parts += [f'<text x="{LEFT - 6}" y="{up.at(t) + 4:.1f}" text-anchor="end">{t:.3g}</text>' for t in up.ticks()]
    for place, (name, (mean, spread)) in enumerate(values.items()):
        middle, zero, end = LEFT + step * (place + 0.5), float(up.at(0.0)), float(up.at(mean))
        bar = f'x="{middle - step * 0.32:.1f}" y="{min(zero, end):.1f}" width="{step * 0.64:.1f}" height="{abs(end - zero):.1f}"'
        parts.append(f'<rect {bar} fill="{COLOURS[place % 7]}"/>')
        parts.append(f'<path d="M{middle:.1f} {up.at(mean - spread):.1f}V{up.at(mean + spread):.1f}" stroke="#222"/>')
        parts.append(f'<text x="{middle:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{escape(name)}</text>')
    return _frame(words, parts)


def correlations(words: Words, names: Sequence[str], table: NDArray[np.float64]) -> str:
    """A square of correlation coefficients, blue for positive and red for negative ones."""
    cell, left = 58, 92
    parts = []
    for row, name in enumerate(names):
        parts.append(f'<text x="{left - 6}" y="{TOP + 16 + cell * (row + 0.5):.1f}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<text x="{left + cell * (row + 0.5):.1f}" y="{TOP + 8}" text-anchor="middle">{escape(name)}</text>')
        for column, value in enumerate(table[row]):
            strength = min(1.0, abs(float(value))) if np.isfinite(value) else 0.0
            colour = f"rgba({'32,99,155' if value >= 0 else '209,73,91'},{0.08 + 0.72 * strength:.2f})"
            x, y = left + cell * column, TOP + 14 + cell * row
            parts.append(f'<rect x="{x}" y="{y}" width="{cell - 2}" height="{cell - 2}" fill="{colour}"/>')
            parts.append(f'<text x="{x + cell / 2 - 1}" y="{y + cell / 2 + 3}" text-anchor="middle">{value:.2f}</text>')
    return _frame(words, parts, left + cell * len(names) + 10, TOP + 24 + cell * len(names))
