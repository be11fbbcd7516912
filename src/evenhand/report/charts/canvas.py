"""What all charts share: the SVG element with its words for those who cannot see it, axes with round ticks, and a file of its own."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources

from markupsafe import Markup

from evenhand.report.words import printable

TONES = 6
"""Lines and dots with a colour of their own; the others are grey."""


def escape(told: object) -> str:
    """Words for a picture: invisible and broken characters written out, markup escaped."""
    return html.escape(printable(str(told)))


def tone(place: int) -> str:
    """The class of the line or dot at this place."""
    return f"tone-line-{place}" if 0 <= place < TONES else "tone-line-other"


def fluid(parts: Iterable[str], height: float, told: str) -> Markup:
    """A picture as wide as its frame, whose places are percent of the width: text keeps its size on every screen."""
    opening = f'<svg class="picture" role="img" width="100%" height="{height:g}" aria-label="{escape(told)}">'
    return Markup(f"{opening}{''.join(parts)}</svg>")  # noqa: S704 - every part escapes what it shows


def scaled(parts: Iterable[str], size: tuple[float, float], told: str, kind: str = "chart") -> Markup:
    """A picture with units of its own that shrinks with its frame."""
    width, height = size
    opening = f'<svg class="{kind}" role="img" viewBox="0 0 {width:g} {height:g}" aria-label="{escape(told)}"'
    return Markup(f"{opening}>{''.join(parts)}</svg>")  # noqa: S704 - every part escapes what it shows


def fixed(parts: Iterable[str], size: tuple[float, float], told: str, kind: str = "chart") -> Markup:
    """A picture that keeps its size; a frame that is too narrow scrolls."""
    width, height = size
    drawn = scaled(parts, size, told, f"{kind} fixed")
    return Markup(str(drawn).replace("<svg ", f'<svg width="{width:g}" height="{height:g}" ', 1))  # noqa: S704 - escaped above


def standalone(picture: str, title: str = "") -> str:
    """The picture as a file: the page's own colours and rules are inside, so that it is light or dark as its reader likes."""
    style = (resources.files("evenhand.report") / "templates" / "style.css").read_text(encoding="utf-8")
    named = f"<title>{escape(title)}</title>" if title else ""
    opening, rest = re.match(r"(<svg[^>]*>)(.*)", str(picture), re.DOTALL).groups()  # type: ignore[union-attr]  # made above
    opening = opening.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" ', 1)
    ground = '<rect class="ground" width="100%" height="100%"/>'
    return f"{opening}{named}<style>{style}</style>{ground}{rest}\n"


def label(x: float, y: float, words: object, kind: str = "", anchor: str = "start") -> str:
    """A line of text at a point of its base line."""
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(str(words))}</text>'


def short(words: str, most: int) -> str:
    """At most this many characters."""
    return words if len(words) <= most else f"{words[: most - 1]}…"


@dataclass(frozen=True)
class Tick:
    """A mark of an axis."""

    value: float
    label: str


@dataclass(frozen=True)
class Axis:
    """From values to shares of a length, linear or by decades; `unit` is share, number or amount."""

    low: float
    high: float
    title: str = ""
    unit: str = "number"
    is_log: bool = False

    @classmethod
    def over(cls, values: Iterable[float], title: str = "", unit: str = "number", floor: float | None = None) -> Axis:
        """A linear axis with a little room around the values; `floor` is always on it."""
        known = [value for value in values if math.isfinite(value)] + ([floor] if floor is not None else [])
        low, high = min(known, default=0.0), max(known, default=1.0)
        room = 0.06 * (high - low) or max(abs(high), 1.0) * 0.05
        return cls(low - room if floor is None or low < floor else low, high + room, title, unit)

    @classmethod
    def decades(cls, values: Iterable[float], title: str = "") -> Axis:
        """A logarithmic axis over whole decades; what is not above 0 stands at its left end."""
        known = [value for value in values if value > 0 and math.isfinite(value)] or [1.0]
        low, high = math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))
        return cls(10.0**low, 10.0 ** max(high, low + 1), title, "number", True)

    def share(self, value: float) -> float:
        """Where a value stands, 0 to 1."""
        if self.is_log:
            inside = max(value, self.low)
            place = (math.log10(inside) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        else:
            place = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return min(max(place, 0.0), 1.0)

    def ticks(self) -> list[Tick]:
        """Whole decades, or four to eight round values."""
        if self.is_log:
            powers = range(round(math.log10(self.low)), round(math.log10(self.high)) + 1)
            step = max(1, math.ceil(len(powers) / 7))
            return [Tick(10.0**power, power_label(power)) for power in powers[::step]]
        return [Tick(value, self.said(value)) for value in round_values(self.low, self.high)]

    def said(self, value: float) -> str:
        """A value on the axis in words."""
        if self.unit == "share":
            return f"{100 * value:.6g}%".replace("-", "−")
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}".replace("-", "−")


def round_values(low: float, high: float) -> list[float]:
    """Four to eight round values inside a range."""
    span = high - low
    if span <= 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(span))
    first, last, step = 0, 0, power
    for step in (power * k for k in (2.5, 2.0, 1.0, 0.5, 0.25, 0.2, 0.1)):  # the widest step that gives four values or more
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first >= 3:
            break
    return [k * step + 0.0 for k in range(first, last + 1)]


def power_label(power: int) -> str:
    """A power of ten as an axis shows it."""
    if power < 0:
        return f"{10.0**power:.{-power}f}"
    return {0: "1", 1: "10", 2: "100", 3: "1k", 4: "10k", 5: "100k", 6: "1M", 7: "10M", 8: "100M"}.get(power, f"1e{power}")


def nice(value: float) -> float:
    """The next of 1, 2, 5 times a power of ten, at most 1: where an axis of shares ends."""
    if value <= 0:
        return 0.01
    power = 10.0 ** math.floor(math.log10(value))
    return min(1.0, next(power * step for step in (1, 2, 5, 10) if power * step >= value * (1 - 1e-9)))


def told_rows(opening: str, rows: Sequence[tuple[str, str]]) -> str:
    """What a picture of rows shows, in words."""
    return " ".join([opening, "; ".join(f"{name}: {said}" for name, said in rows)]).strip()
