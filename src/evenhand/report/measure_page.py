"""A measurement as one self-contained HTML page: what was decided, individuals, groups, curves, oracles side by side.  Computes nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from evenhand.errors import InvalidArgument
from evenhand.report import words, writing
from evenhand.report.html import VERDICTS, _environment
from evenhand.report.record import plain

VERSION = 1
MOST_GROUPS = 24
MARKS = {"different": ("✕", "different"), "not shown": ("✓", "no difference shown"), "insufficient": ("?", "insufficient")}
TONES = {"different": "bad", "not shown": "good", "insufficient": "unsure"}


@dataclass(frozen=True)
class Strip:
    """One interval on a common axis, its places in percent of the width."""

    label: str
    caption: str
    low: float
    estimate: float
    high: float
    is_enough: bool = True


@dataclass(frozen=True)
class CurveMarks:
    """A line with its band, in the units of a 600 by 200 picture."""

    line: str
    band: str
    ticks: tuple[tuple[float, str], ...]
    levels: tuple[tuple[float, str], ...]
    description: str


def write(result: Mapping[str, Any], path: Path) -> Path:
    """Write the page."""
    return writing.save(render(result), Path(path))


def render(result: Mapping[str, Any]) -> str:
    """The page as text; equal measurements give equal pages."""
    content = plain(result)
    if not isinstance(content, dict) or content.get("evenhand_measurement") != VERSION:
        raise InvalidArgument("result: it is not a measurement of this version; pass Measurement.as_dict()")
    return _environment().get_template("measured.html.j2").render(_context(content))


def _context(result: dict[str, Any]) -> dict[str, Any]:
    symbol, word = VERDICTS[result["outcome"]]
    style = _environment().get_template("style.css").render().strip() + "\n" + _environment().get_template("measured.css").render().strip()
    return {
        "style": Markup(style),  # noqa: S704 - our own file, with nothing of the data in it
        "style_digest": base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        "symbol": symbol,
        "word": word,
        "reason": words.text(result["reason"], 600).rstrip("."),
        "header": result["header"],
        "data_name": words.text(result["header"].get("data"), 80),
        "protected": [words.text(name, 80) for name in result["header"]["protected"]],
        "alarms": [words.text(each, 900) for each in result["alarms"]],
        "notes": [words.text(each, 1200) for each in result["notes"]],
        "individual": [_individual(each) for each in result["individual"]],
        "anytime": result["anytime"],
        "weighted": result["weighted"],
        "attributes": _attributes(result["groups"]),
        "views": (result["oracles"] or {}).get("views", []),
        "fairlearn": [_fairlearn(each) for each in result["fairlearn"]],
        "provenance": [(words.title(name), words.text(value, 200)) for name, value in result["header"].items()],
    }


def _individual(each: Mapping[str, Any]) -> dict[str, Any]:
    heading, explanation = words.population(str(each["population"]).split(",")[0])
    return {**each, "heading": heading, "explanation": explanation}


def _attributes(figures: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The figures of each attribute together, with a picture of the groups for each of them."""
    names = list(dict.fromkeys(each["attribute"] for each in figures))
    return [{"name": words.text(name, 120), "figures": [_figure(each) for each in figures if each["attribute"] == name]} for name in names]


def _figure(each: Mapping[str, Any]) -> dict[str, Any]:
    mark, verdict = MARKS[each["verdict"]]
    shown = [value(each[name], each["unit"]) for name in ("estimate", "low", "high")]
    return {
        "title": words.text(each["title"], 80),
        "meaning": each["meaning"],
        "mark": mark,
        "verdict": verdict,
        "tone": TONES[each["verdict"]],
        "size": shown[0],
        "bounds": f"{shown[1]} to {shown[2]}" if each["estimate"] is not None else "too few rows",
        "every": value(each["estimate_all_groups"], each["unit"]) if each["estimate_all_groups"] not in (None, each["estimate"]) else "",
        "p": "< 1e-6" if each["p_adjusted"] < 1e-6 else f"{each['p_adjusted']:.3g}",
        "test": each["test"],
        "strips": _strips(each),
        "left_out": max(0, len(each["groups"]) - MOST_GROUPS),
        "insufficient": [(words.text(g["name"], 80), g["rows"], g["needed"]) for g in each["groups"] if not g["is_enough"]][:MOST_GROUPS],
        "curve": _curve(each["curve"], each["unit"]) if each["curve"] else None,
    }


def value(number: float | None, unit: str) -> str:
    """A figure in its unit."""
    if number is None:
        return "–"
    return words.percent(number) if unit == "share" else f"{number:.3g}"


def _strips(each: Mapping[str, Any]) -> list[Strip]:
    groups = [group for group in each["groups"] if group["estimate"] is not None][:MOST_GROUPS]
    if not groups or each["metric"] == "disparate_impact":
        return []
    ends = [group[name] for group in groups for name in ("low", "high", "estimate") if group[name] is not None]
    low, high = (0.0, 1.0) if each["unit"] == "share" else (min(ends), max(ends))
    return [_strip(group, each["unit"], low, high) for group in groups]


def _strip(group: Mapping[str, Any], unit: str, low: float, high: float) -> Strip:
    bounds = [low if group["low"] is None else group["low"], group["estimate"], high if group["high"] is None else group["high"]]
    begin, middle, end = (_place(each, low, high) for each in bounds)
    caption = f"{value(group['estimate'], unit)} ({value(group['low'], unit)} to {value(group['high'], unit)}), n = {group['rows']:,}"
    return Strip(words.text(group["name"], 60), caption, begin, middle, end, group["is_enough"])


def _place(number: float, low: float, high: float) -> float:
    return round(1 + 98 * (number - low) / (high - low), 3) if high > low else 50.0


def _curve(curve: Mapping[str, Any], unit: str) -> CurveMarks:
    at, low, high = curve["at"], curve["low"], curve["high"]
    bottom, top = min(low), max(high)
    left, right = at[0], at[-1]

    def x(number: float) -> float:
        return round(40 + 550 * (number - left) / (right - left), 1) if right > left else 300.0

    def y(number: float) -> float:
        return round(180 - 165 * (number - bottom) / (top - bottom), 1) if top > bottom else 100.0

    line = " ".join(f"{x(a)},{y(e)}" for a, e in zip(at, curve["estimate"], strict=True))
    there = [f"{x(a)},{y(h)}" for a, h in zip(at, high, strict=True)]
    back = [f"{x(a)},{y(each)}" for a, each in zip(reversed(at), reversed(low), strict=True)]
    steps = [left + (right - left) * step / 4 for step in range(5)]
    levels = [bottom + (top - bottom) * step / 3 for step in range(4)]
    told = "; ".join(f"at {at[i]:.6g}: {value(curve['estimate'][i], unit)}" for i in range(0, len(at), max(1, len(at) // 6)))
    return CurveMarks(
        line, " ".join([*there, *back]), tuple((x(s), f"{s:.4g}") for s in steps), tuple((y(s), value(s, unit)) for s in levels), told
    )  # fmt: skip


def _fairlearn(each: Mapping[str, Any]) -> dict[str, Any]:
    groups = ", ".join(f"{words.text(name, 40)} {_short(number)}" for name, number in list(each["by_group"].items())[:MOST_GROUPS])
    return {
        "metric": each["metric"],
        "attribute": words.text(each["attribute"], 80),
        "difference": _short(each["difference"]),
        "groups": groups,
    }


def _short(number: float | None) -> str:
    return "–" if number is None else f"{number:.3f}"
