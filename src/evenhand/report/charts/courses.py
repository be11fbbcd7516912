"""How a share went from one measurement to the next: a line through the estimates, in the band of their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from evenhand.report.charts.canvas import Axis, Tick
from evenhand.report.charts.plots import Dot, Frame, Line, Plot, Whiskers, plot

MOST_DOTS = 40
"""Measurements that have a dot with whiskers of their own; more are drawn as line and band alone."""


SMALL = Frame(560, 240, 58)


@dataclass(frozen=True)
class CoursePoint:
    """One measurement with its bounds."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class CountAxis(Axis):
    """An axis of measurements: there are no halves of them."""

    def ticks(self) -> list[Tick]:
        """Whole numbers only, at most ten of them."""
        step = max(1, -(-int(self.high) // 10))
        return [Tick(float(at), str(at)) for at in range(int(self.low), int(self.high) + 1, step)]


@dataclass(frozen=True)
class RateCourse:
    """What was measured, in words and in order; `tolerated` is drawn as a line of its own."""

    name: str
    told: str
    points: Sequence[CoursePoint]
    tolerated: float | None = None
    frame: Frame = SMALL


def course(chart: RateCourse) -> Markup:
    """The picture; the number of the measurement goes across."""
    points, last = chart.points, float(max(2, len(chart.points)))
    upper = [(float(at), each.high) for at, each in enumerate(points, 1)]
    lower = [(float(at), each.low) for at, each in enumerate(points, 1)]
    lines = [Line(chart.name, [(float(at), each.estimate) for at, each in enumerate(points, 1)], "tone-line-1", (*upper, *reversed(lower)))]
    if chart.tolerated is not None:
        lines.append(Line("tolerated", [(1.0, chart.tolerated), (last, chart.tolerated)], "tone-line-other", is_dashed=True))
    shares = [y for _, y in (*upper, *lower)] + ([chart.tolerated] if chart.tolerated is not None else [])
    up = Axis.over(shares, "rate", "share", floor=0.0)
    return plot(Plot(chart.told, CountAxis(1.0, last, "run, the oldest first"), up, lines, _dots(points), chart.frame))


def _dots(points: Sequence[CoursePoint]) -> list[Dot]:
    """A dot for each with its interval, while they are few enough to be told apart."""
    few = points if len(points) <= MOST_DOTS else ()
    return [Dot("", float(at), each.estimate, "tone-line-1", Whiskers(y_low=each.low, y_high=each.high)) for at, each in enumerate(few, 1)]
