"""Accuracy against unfairness as SVG: every repair a point with its intervals, and the front of what nothing beats.  Fetches nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from evenhand.measures.repair_measures import AS_GIVEN

if TYPE_CHECKING:
    from evenhand.campaign.repair_comparison import RepairLine

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 1040, 460, 70, 190, 16, 52
LABEL = 17
"""The least distance of two labels' lines."""


@dataclass(frozen=True)
class AxisScale:
    """From a share to a place."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The place of a share."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 2)

    def ticks(self) -> list[float]:
        """Four to eight round values."""
        raw = (self.high - self.low) / 6
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(power * k for k in (1, 2, 5, 10) if power * k >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def drawn(lines: Sequence[RepairLine]) -> tuple[list[RepairLine], list[RepairLine]]:
    """The lines in the picture, and those far outside it: a constant answer would squeeze all others into a corner."""
    usual = [line for line in lines if line.verdict != "alarm" and line.name != AS_GIVEN]
    return usual, [line for line in lines if line.verdict == "alarm"]


def pareto(lines: Sequence[RepairLine], measure: str = "if_o") -> str:
    """The picture."""
    shown, _ = drawn(lines)
    if not shown:
        return "<p>Nothing to draw: every model gives one answer to everybody.</p>"
    across = _scale([line.means[measure].estimate for line in shown], LEFT, WIDTH - RIGHT, floor=0.0)
    up = _scale([line.means["accuracy"].estimate for line in shown], HEIGHT - BOTTOM, TOP)
    front = sorted((line for line in shown if line.on_front), key=lambda line: line.means[measure].estimate)
    path = " ".join(f"{across(line.means[measure].estimate)},{up(line.means['accuracy'].estimate)}" for line in front)
    parts = [
        *_grid(across, up),
        f'<polyline class="front" points="{path}"/>' if len(front) > 1 else "",
        *(_whiskers(line, measure, across, up) for line in shown),
        *(_point(line, measure, across, up) for line in shown),
        *_labels(shown, measure, across, up),
    ]
    told = "; ".join(
        f"{line.name}: accuracy {line.means['accuracy'].estimate:.1%}, unfair {line.means[measure].estimate:.1%}" for line in shown
    )
    return (
        f'<svg class="picture" viewBox="0 0 {WIDTH} {HEIGHT}" width="100%" role="img" aria-label="{escape(told)}" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def _scale(values: Sequence[float], start: float, end: float, floor: float | None = None) -> AxisScale:
    low, high = min(values), max(values)
    room = max(0.08 * (high - low), 0.002)
    return AxisScale(low - room if floor is None else min(floor, low) - room / 2, high + room, start, end)


def _grid(across: AxisScale, up: AxisScale) -> list[str]:
    bottom = HEIGHT - BOTTOM
    parts = []
    for value in (tick for tick in across.ticks() if tick >= 0):
        x = across(value)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{TOP}" y2="{bottom}"/>')
        parts.append(f'<text class="tick" x="{x}" y="{bottom + 20}" text-anchor="middle">{100 * value:.4g}%</text>')
    for value in up.ticks():
        y = up(value)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{100 * value:.4g}%</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text class="figures" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">unfairly treated among held-out people (IF_o)</text>'
    )
    parts.append(f'<text class="figures" x="{-(TOP + bottom) / 2}" y="14" text-anchor="middle" transform="rotate(-90)">accuracy</text>')
    return parts


def _whiskers(line: RepairLine, measure: str, across: AxisScale, up: AxisScale) -> str:
    x, y = line.means[measure], line.means["accuracy"]
    parts = []
    if x.low is not None and x.high is not None:
        at = up(y.estimate)
        parts.append(f'<line class="whisker" x1="{across(max(0.0, x.low))}" x2="{across(x.high)}" y1="{at}" y2="{at}"/>')
    if y.low is not None and y.high is not None:
        at = across(x.estimate)
        parts.append(f'<line class="whisker" x1="{at}" x2="{at}" y1="{up(y.low)}" y2="{up(y.high)}"/>')
    return "".join(parts)


def _point(line: RepairLine, measure: str, across: AxisScale, up: AxisScale) -> str:
    x, y = across(line.means[measure].estimate), up(line.means["accuracy"].estimate)
    return f'<circle class="point {line.role}" cx="{x}" cy="{y}" r="7"><title>{escape(line.name)}</title></circle>'


def _labels(lines: Sequence[RepairLine], measure: str, across: AxisScale, up: AxisScale) -> list[str]:
    """Names in a column at the right, in the order of the points' heights, each with a thin line to its point."""
    ranked = sorted(lines, key=lambda line: up(line.means["accuracy"].estimate))
    parts, last = [], TOP - LABEL + 8.0
    room = HEIGHT - BOTTOM
    for place, line in enumerate(ranked):
        x, y = across(line.means[measure].estimate), up(line.means["accuracy"].estimate)
        at = min(max(y, last + LABEL), room - LABEL * (len(ranked) - 1 - place))
        last = at
        parts.append(f'<line class="leader" x1="{x + 8}" y1="{y}" x2="{WIDTH - RIGHT + 6}" y2="{at}"/>')
        parts.append(f'<text class="name" x="{WIDTH - RIGHT + 10}" y="{round(at + 5, 2)}">{escape(line.name)}</text>')
    return parts
