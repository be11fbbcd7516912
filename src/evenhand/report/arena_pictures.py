"""Where the marks of the arena's pictures stand: mean ranks with their reach, discovery curves, naturalness against quantity."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evenhand.report import words
from evenhand.report.scan_marks import EDGE, ROW, Picture, RateStrip, Tick

WIDTH, HEIGHT = 360, 230
LEFT, RIGHT, TOP, BOTTOM = 46, 20, 12, 34
LETTER_WIDTH, LETTER_HEIGHT = 6.4, 11.0
SHOWN = 6
"""Methods with a colour of their own; the others are grey."""


@dataclass(frozen=True)
class ArenaLine:
    """One curve."""

    name: str
    tone: str
    points: str  # as SVG writes them


@dataclass(frozen=True)
class Dot:
    """One named place."""

    name: str
    tone: str
    x: float
    y: float
    anchor: str
    name_y: float = 0.0


@dataclass(frozen=True)
class ArenaMark:
    """A tick of either axis."""

    at: float
    label: str


@dataclass(frozen=True)
class Chart:
    """A small picture with two axes, in its own units."""

    title: str
    description: str
    across: str
    up: str
    columns: tuple[ArenaMark, ...]
    rows: tuple[ArenaMark, ...]
    lines: tuple[ArenaLine, ...] = ()
    dots: tuple[Dot, ...] = ()


def tones(methods: Sequence[str]) -> dict[str, str]:
    """The first few methods in order get a colour each, the rest are grey."""
    return {name: f"tone-line-{at}" if at < SHOWN else "tone-line-other" for at, name in enumerate(methods)}


def mean_ranks(ranked: Mapping[str, Any]) -> Picture | None:
    """One row per method: its mean rank, and half the critical difference to either side."""
    means: dict[str, float] = ranked.get("mean_ranks") or {}
    if len(means) < 2:
        return None
    reach = (ranked.get("critical_difference") or 0.0) / 2
    last = float(len(means))
    strips = []
    for place, (name, mean) in enumerate(sorted(means.items(), key=lambda each: each[1])):
        low, high = max(1.0, mean - reach), min(last, mean + reach)
        caption = f"mean rank {mean:.2f}, first alone on {ranked['wins'].get(name, 0)} of {ranked['grounds']}"
        strips.append(RateStrip(ROW * place, words.text(name, 48), caption, *(_share(value, last) for value in (low, mean, high))))
    told = "; ".join(f"{strip.label}: {strip.caption}" for strip in strips)
    return Picture(ROW * len(strips) + 30, f"Mean ranks. {told}", tuple(strips), ticks=_rank_ticks(int(last)))


def _share(rank: float, last: float) -> float:
    return round(EDGE + (100 - 2 * EDGE) * (rank - 1) / (last - 1), 3)


def _rank_ticks(last: int) -> tuple[Tick, ...]:
    step = max(1, math.ceil((last - 1) / 8))
    shown = list(range(1, last + 1, step))
    return tuple(Tick(_share(r, last), f"{r}", "start" if r == 1 else "end" if r == last else "middle") for r in shown)


def curves(ground: Mapping[str, Any], tone: Mapping[str, str], figure: str) -> Chart | None:
    """Findings against model rows, both logarithmic, one line per method; None when nobody found anything."""
    lines = {name: line for name, line in ground["lines"].items() if line.get(figure) and max(line[figure]) >= 1}
    if not lines:
        return None
    across = _Axis.over([max(x, 1.0) for line in lines.values() for x in line["model_rows"]])
    up = _Axis.over([1.0, *(max(line[figure]) for line in lines.values())])
    drawn = sorted(lines, key=lambda name: tone[name] != "tone-line-other")  # colours are drawn over grey
    made = tuple(ArenaLine(name, tone[name], _points(lines[name], figure, across, up)) for name in drawn)
    best = max(lines, key=lambda name: lines[name][figure][-1])
    title = f"{words.text(ground['dataset'], 30)}, {words.text(ground['protected'], 30)}, {words.text(ground['model'], 30)}"
    told = f"{title}: {words.text(best, 40)} ends highest with {words.number(round(lines[best][figure][-1]))}."
    return Chart(title, told, "model rows", figure, across.marks(_x), up.marks(_y), made)


def _points(line: Mapping[str, Sequence[float]], figure: str, across: _Axis, up: _Axis) -> str:
    pairs = zip(line["model_rows"], line[figure], strict=True)
    return " ".join(f"{_x(across.share(max(x, 1.0))):.1f},{_y(up.share(max(y, 1.0))):.1f}" for x, y in pairs)


def scatter(title: str, places: Mapping[str, tuple[float, float]], tone: Mapping[str, str]) -> Chart | None:
    """Naturalness (share, up) against quantity (per CPU-second, logarithmic, across); None without places."""
    there = {name: (x, y) for name, (x, y) in places.items() if x > 0}
    if not there:
        return None
    across = _Axis.over([x for x, _ in there.values()])
    dots = []
    for name, (x, y) in sorted(there.items(), key=lambda each: each[1]):
        at = across.share(x)
        dots.append(Dot(name, tone[name], round(_x(at), 1), round(_y(y), 1), "end" if at > 0.6 else "start"))
    rows = tuple(ArenaMark(_y(share), f"{share:.0%}") for share in (0.0, 0.25, 0.5, 0.75, 1.0))
    told = "; ".join(f"{words.text(name, 30)}: {words.number(x)} a second, {y:.0%} natural" for name, (x, y) in there.items())
    return Chart(title, f"{title}. {told}", "findings per CPU-second", "natural share", across.marks(_x), rows, dots=_apart(dots))


def _apart(dots: Sequence[Dot]) -> tuple[Dot, ...]:
    """Every name at the nearest free place beside its dot."""
    taken = [(dot.x - 5, dot.x + 5, dot.y) for dot in dots]
    placed = []
    for dot in dots:
        steps = [sign * LETTER_HEIGHT * step for step in range(9) for sign in (1, -1)]
        choices = [replace(dot, anchor=anchor, name_y=dot.y + 4.0 + step) for step in steps for anchor in (dot.anchor, _other(dot.anchor))]
        chosen = next((each for each in choices if _is_free(each, taken)), choices[0])
        taken.append(_span(chosen))
        placed.append(chosen)
    return tuple(placed)


def _other(anchor: str) -> str:
    return "end" if anchor == "start" else "start"


def _span(dot: Dot) -> tuple[float, float, float]:
    """Left, right and middle of a name."""
    length = 7 + LETTER_WIDTH * len(dot.name)
    return (dot.x + 6, dot.x + length, dot.name_y - 4) if dot.anchor == "start" else (dot.x - length, dot.x - 6, dot.name_y - 4)


def _is_free(dot: Dot, taken: Sequence[tuple[float, float, float]]) -> bool:
    left, right, y = _span(dot)
    inside = left > LEFT and right < WIDTH and 4 < y < HEIGHT - BOTTOM + 2
    return inside and not any(left < other[1] and right > other[0] and abs(y - other[2]) < LETTER_HEIGHT for other in taken)


@dataclass(frozen=True)
class _Axis:
    """A logarithmic axis over whole decades."""

    low: int
    high: int

    @classmethod
    def over(cls, values: Sequence[float]) -> _Axis:
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        return cls(low, max(high, low + 1))

    def share(self, value: float) -> float:
        return (math.log10(value) - self.low) / (self.high - self.low)

    def marks(self, place: Any) -> tuple[ArenaMark, ...]:
        return tuple(
            ArenaMark(place((power - self.low) / (self.high - self.low)), _power(power)) for power in range(self.low, self.high + 1)
        )


def _power(power: int) -> str:
    if power < 0:
        return f"{10.0**power:.{-power}f}"
    small = {0: "1", 1: "10", 2: "100", 3: "1k", 4: "10k", 5: "100k", 6: "1M", 7: "10M", 8: "100M"}
    return small.get(power, f"1e{power}")


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
