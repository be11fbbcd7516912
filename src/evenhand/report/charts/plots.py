"""Charts with two axes: lines with bands, named dots with whiskers, upright bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from evenhand.report.charts.canvas import Axis, escape, label, scaled, short, tone

LETTER_WIDTH, LETTER_HEIGHT = 6.4, 12.0
MOST_NAME = 26

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Line:
    """One curve; `band` is the region that holds it, first along its upper and then back along its lower side."""

    name: str
    points: Points
    kind: str = "tone-line-0"
    band: Points = ()
    is_dashed: bool = False


@dataclass(frozen=True)
class Whiskers:
    """Bounds of a dot along both axes; None where there are none."""

    x_low: float | None = None
    x_high: float | None = None
    y_low: float | None = None
    y_high: float | None = None


@dataclass(frozen=True)
class Dot:
    """One named place."""

    name: str
    x: float
    y: float
    kind: str = "tone-line-0"
    whiskers: Whiskers = Whiskers()


@dataclass(frozen=True)
class Frame:
    """The size of a plot and the room around it."""

    width: float = 360
    height: float = 230
    left: float = 52
    right: float = 14
    top: float = 12
    bottom: float = 40

    def x(self, share: float) -> float:
        """From a share to a place."""
        return self.left + share * (self.width - self.left - self.right)

    def y(self, share: float) -> float:
        """From a share to a place, upwards."""
        return self.height - self.bottom - share * (self.height - self.top - self.bottom)


WIDE = Frame(880, 420, 62, 24, 14, 48)
"""For one picture across the whole page."""


@dataclass(frozen=True)
class Plot:
    """Lines and dots between two axes."""

    told: str
    across: Axis
    up: Axis
    lines: Sequence[Line] = ()
    dots: Sequence[Dot] = ()
    frame: Frame = Frame()
    names_inside: bool = False  # for a file of its own, which has no legend beside it


def plot(chart: Plot) -> Markup:
    """The picture."""
    bands = [f'<polygon class="band {line.kind}" points="{_points(line.band, chart)}"/>' for line in chart.lines if line.band]
    is_wide = chart.frame.width > 600
    drawn = scaled(
        [
            *_grid(chart),
            *bands,
            *(_line(line, chart) for line in chart.lines),
            *(_whiskers(dot, chart) for dot in chart.dots),
            *(_dot(dot, chart) for dot in chart.dots),
            *_names(chart),
            *(_inside(chart) if chart.names_inside else []),
        ],
        (chart.frame.width, chart.frame.height),
        chart.told,
        "chart wide-chart" if is_wide else "chart",
    )
    # On a narrow screen a wide picture keeps a readable size and scrolls in its frame; a file of its own has no frame.
    frame = '<div class="scroll" tabindex="0" role="group" aria-label="A picture that scrolls sideways on a narrow screen">'
    return Markup(f"{frame}{drawn}</div>") if is_wide and not chart.names_inside else drawn  # noqa: S704 - escaped above


def _at(chart: Plot, x: float, y: float) -> tuple[float, float]:
    return chart.frame.x(chart.across.share(x)), chart.frame.y(chart.up.share(y))


def _points(points: Points, chart: Plot) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in (_at(chart, *point) for point in points))


def _grid(chart: Plot) -> list[str]:
    frame = chart.frame
    bottom, right = frame.height - frame.bottom, frame.width - frame.right
    parts = []
    for tick in chart.across.ticks():
        x = frame.x(chart.across.share(tick.value))
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{frame.top:g}" y2="{bottom:g}"/>')
        parts.append(label(x, bottom + 15, tick.label, "tick", "middle"))
    for tick in chart.up.ticks():
        y = frame.y(chart.up.share(tick.value))
        parts.append(f'<line class="grid" x1="{frame.left:g}" x2="{right:g}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(label(frame.left - 6, y + 4, tick.label, "tick", "end"))
    parts.append(label((frame.left + right) / 2, frame.height - 6, chart.across.title, "axis", "middle"))
    if chart.up.title:
        middle = (frame.top + bottom) / 2
        turned = f'<text class="axis" x="{-middle:.1f}" y="12" text-anchor="middle" transform="rotate(-90)">{escape(chart.up.title)}</text>'
        parts.append(turned)
    return parts


def _line(line: Line, chart: Plot) -> str:
    dashed = " dashed" if line.is_dashed else ""
    if len(set(line.points)) == 1:  # a line of one point would not be seen
        x, y = _at(chart, *line.points[0])
        return f'<circle class="{line.kind}" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape(line.name)}</title></circle>'
    return f'<polyline class="{line.kind}{dashed}" points="{_points(line.points, chart)}"><title>{escape(line.name)}</title></polyline>'


def _inside(chart: Plot) -> list[str]:
    """The lines' names under each other in their colours: in the right margin where they have room there, else at the upper left."""
    widest = max((LETTER_WIDTH * len(line.name) for line in chart.lines), default=0.0)
    margin = chart.frame.width - chart.frame.right + 10
    x, y = margin if margin + widest <= chart.frame.width else chart.frame.left + 12, chart.frame.top + 16
    return [
        f'<g class="{line.kind}"><text class="inside" x="{x:.1f}" y="{y + 15 * at:.1f}">{escape(line.name)}</text></g>'
        for at, line in enumerate(chart.lines)
        if line.name
    ]


def _whiskers(dot: Dot, chart: Plot) -> str:
    x, y = _at(chart, dot.x, dot.y)
    whiskers, parts = dot.whiskers, []
    if whiskers.x_low is not None and whiskers.x_high is not None:
        left, right = (_at(chart, each, dot.y)[0] for each in (whiskers.x_low, whiskers.x_high))
        parts.append(f'<line class="whisker" x1="{left:.1f}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
    if whiskers.y_low is not None and whiskers.y_high is not None:
        low, high = (_at(chart, dot.x, each)[1] for each in (whiskers.y_low, whiskers.y_high))
        parts.append(f'<line class="whisker" x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>')
    return "".join(parts)


def _dot(dot: Dot, chart: Plot) -> str:
    x, y = _at(chart, dot.x, dot.y)
    radius = 6 if chart.frame.width > 600 else 4
    return f'<circle class="{dot.kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"><title>{escape(dot.name)}</title></circle>'


@dataclass(frozen=True)
class _Name:
    """A name beside its dot, and the room that it takes."""

    words: str
    x: float
    y: float
    anchor: str

    @property
    def left(self) -> float:
        return self.x if self.anchor == "start" else self.x - LETTER_WIDTH * len(self.words)

    @property
    def right(self) -> float:
        return self.x + LETTER_WIDTH * len(self.words) if self.anchor == "start" else self.x

    def meets(self, other: _Name) -> bool:
        return self.left < other.right and self.right > other.left and abs(self.y - other.y) < LETTER_HEIGHT


def _names(chart: Plot) -> list[str]:
    """Every name at the nearest free place beside its dot, with a thin line to the dot where it had to move away."""
    places = [_at(chart, dot.x, dot.y) for dot in chart.dots]
    taken = [_Name("o", x - LETTER_WIDTH / 2, y + 4, "start") for x, y in places]
    parts = []
    for dot, (x, y) in sorted(zip(chart.dots, places, strict=True), key=lambda each: each[1]):
        chosen = _free(short(dot.name, MOST_NAME), x, y, taken, chart.frame)
        taken.append(chosen)
        if abs(chosen.y - 4 - y) > LETTER_HEIGHT:
            parts.append(f'<line class="leader" x1="{x:.1f}" y1="{y:.1f}" x2="{chosen.x:.1f}" y2="{chosen.y - 4:.1f}"/>')
        parts.append(label(chosen.x, chosen.y, chosen.words, "name", chosen.anchor))
    return parts


def _free(words: str, x: float, y: float, taken: Sequence[_Name], frame: Frame) -> _Name:
    sides = ("start", "end") if x < frame.left + 0.6 * (frame.width - frame.left - frame.right) else ("end", "start")
    choices = [
        _Name(words, x + (9 if side == "start" else -9), y + 4 + sign * LETTER_HEIGHT * step, side)
        for step in range(14)
        for sign in ((1, -1) if step else (1,))
        for side in sides
    ]
    inside = [
        each for each in choices
        if each.left > frame.left and each.right < frame.width and frame.top + 8 < each.y < frame.height - frame.bottom + 2
    ]  # fmt: skip
    return next((each for each in inside if not any(each.meets(other) for other in taken)), choices[0])


def legend(named: Sequence[tuple[str, str]]) -> Markup:
    """Names with the colours of their lines."""
    shown = "".join(f'<span class="{kind}"><span class="key swatch"></span></span> {escape(name)} ' for name, kind in named)
    return Markup(f'<p class="legend">{shown}</p>')  # noqa: S704 - names are escaped


@dataclass(frozen=True)
class PlotColumn:
    """One upright bar with one whisker either way."""

    name: str
    value: float
    spread: float = 0.0


def columns(bars: Sequence[PlotColumn], told: str, up: Axis, frame: Frame | None = None) -> Markup:
    """Upright bars side by side; values may be negative."""
    frame = frame or Frame(520, 300)
    chart = Plot(told, Axis(0, max(1, len(bars))), up, frame=frame)
    zero, step = frame.y(up.share(0.0)), (frame.width - frame.left - frame.right) / max(1, len(bars))
    parts = _levels(chart)
    for at, bar in enumerate(bars):
        middle, end = frame.left + step * (at + 0.5), frame.y(up.share(bar.value))
        where = f'x="{middle - 0.34 * step:.1f}" y="{min(zero, end):.1f}" width="{0.68 * step:.1f}" height="{abs(end - zero):.1f}"'
        parts.append(f'<rect class="column {tone(at)}" {where}><title>{escape(bar.name)}: {up.said(bar.value)}</title></rect>')
        if bar.spread:
            low, high = (frame.y(up.share(bar.value + sign * bar.spread)) for sign in (-1, 1))
            parts.append(f'<line class="whisker" x1="{middle:.1f}" x2="{middle:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>')
        parts.append(label(middle, frame.height - frame.bottom + 15, short(bar.name, max(4, int(step / LETTER_WIDTH))), "tick", "middle"))
    return scaled(parts, (frame.width, frame.height), told)


def _levels(chart: Plot) -> list[str]:
    """The level lines of the upward axis alone."""
    frame, parts = chart.frame, []
    for tick in chart.up.ticks():
        y = frame.y(chart.up.share(tick.value))
        parts.append(f'<line class="grid" x1="{frame.left:g}" x2="{frame.width - frame.right:g}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(label(frame.left - 6, y + 4, tick.label, "tick", "end"))
    return parts
