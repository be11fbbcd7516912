"""Groups: every figure with its size, bounds, test and verdict; the groups themselves as intervals, or as a curve along a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from evenhand.report import words
from evenhand.report.charts.canvas import Axis
from evenhand.report.charts.plots import Frame, Line, Plot, plot
from evenhand.report.charts.rows import IntervalChart, IntervalRow, intervals
from evenhand.report.frame import DataTable, Section, TableCell, TableRow, filled
from evenhand.report.record import Record
from evenhand.report.sections.crossed_groups import crossed_map

MOST_GROUPS = 24
MARKS = {"different": ("✕ different", "bad"), "not shown": ("– no difference shown", ""), "insufficient": ("? insufficient", "unsure")}
HEADS = ("Figure", "Size", "Bounds", "p", "Test", "Verdict", "What is compared")


def section(record: Record) -> Section | None:
    """The section; None where no groups were compared."""
    body = record.body
    if not (body.groups or body.fairlearn or record.verb == "measure"):
        return None
    names = list(dict.fromkeys(str(each.get("attribute")) for each in body.groups))
    html = filled(
        "sections/groups.html.j2",
        smallest_gap=record.header.details.get("smallest_gap"),
        attributes=[_attribute(name, [each for each in body.groups if str(each.get("attribute")) == name]) for name in names],
        fairlearn=_fairlearn(body.fairlearn),
        crossed=crossed_map(record),
    )
    return Section("groups", "Groups", "Groups", html)


def _attribute(name: str, figures: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    shown = words.text(name, 120)
    return {
        "name": shown,
        "table": DataTable(f"Every figure by {shown}", HEADS, [_row(each) for each in figures]),
        "panels": [panel for each in figures if (panel := _panel(each)) is not None],
    }


def _row(each: Mapping[str, Any]) -> TableRow:
    unit, verdict = each.get("unit", "share"), MARKS.get(str(each.get("verdict")), (words.text(each.get("verdict")), ""))
    size, low, high = (value(each.get(name), unit) for name in ("estimate", "low", "high"))
    every = each.get("estimate_all_groups")
    note = f"all groups: {value(every, unit)}" if every not in (None, each.get("estimate")) else ""
    bounds = f"{low} to {high}" if each.get("estimate") is not None else "too few rows"
    cells = [
        TableCell(size, note),
        TableCell(bounds),
        TableCell(_p(each.get("p_adjusted"))),
        TableCell(words.text(each.get("test"), 60)),
        TableCell(*verdict[:1], kind=verdict[1]),
        TableCell(words.text(each.get("meaning"), 300), kind="words"),
    ]
    return TableRow(words.text(each.get("title"), 80), cells)


def _p(p_value: Any) -> str:
    if not isinstance(p_value, (int, float)):
        return "–"
    return "< 1e-6" if p_value < 1e-6 else f"{p_value:.3g}"


def value(number: float | None, unit: str) -> str:
    """A figure in its unit."""
    if number is None:
        return "–"
    return words.percent(number) if unit == "share" else f"{number:.3g}"


def _panel(each: Mapping[str, Any]) -> dict[str, Any] | None:
    """A figure's picture with its caption; None where there is nothing to draw."""
    picture = _curve(each) if each.get("curve") else _strips(each)
    if picture is None:
        return None
    groups = each.get("groups") or []
    small = [(words.text(g.get("name"), 80), g.get("rows"), g.get("needed")) for g in groups if not g.get("is_enough")]
    return {
        "title": words.text(each.get("title"), 80),
        "meaning": words.text(each.get("meaning"), 300),
        "picture": picture,
        "is_curve": bool(each.get("curve")),
        "height": "" if each.get("curve") else _height(len(groups)),
        "left_out": max(0, len(groups) - MOST_GROUPS),
        "insufficient": small[:MOST_GROUPS],
        "is_shown": each.get("verdict") == "different" and len(groups) - len(small) < 2,
    }


def _height(groups: int) -> str:
    """What a panel must be called so that it fits on a sheet of paper."""
    return "tallest" if groups > 2 * MOST_GROUPS // 3 else "tall" if groups > MOST_GROUPS // 3 else ""


def _strips(each: Mapping[str, Any]) -> Markup | None:
    groups = [group for group in each.get("groups") or [] if group.get("estimate") is not None][:MOST_GROUPS]
    if not groups or each.get("metric") == "disparate_impact":
        return None
    unit = each.get("unit", "share")
    ends = [group[name] for group in groups for name in ("low", "high", "estimate") if group.get(name) is not None]
    axis = Axis(0.0, 1.0, unit="share") if unit == "share" else Axis(min(ends), max(ends))
    return intervals(IntervalChart(f"{words.text(each.get('title'), 80)}.", [_strip(group, unit, axis) for group in groups], axis))


def _strip(group: Mapping[str, Any], unit: str, axis: Axis) -> IntervalRow:
    low, high = group.get("low"), group.get("high")
    caption = f"{value(group['estimate'], unit)} ({value(low, unit)} to {value(high, unit)}), n = {words.number(group.get('rows'))}"
    bounds = axis.low if low is None else low, axis.high if high is None else high
    return IntervalRow(
        words.text(group.get("name"), 60), caption, bounds[0], group["estimate"], bounds[1], bool(group.get("is_enough", True))
    )


def _curve(each: Mapping[str, Any]) -> Markup:
    """The figure along a number with the band that holds all of it."""
    curve, unit = each["curve"], each.get("unit", "share")
    at, estimate, low, high = (curve[name] for name in ("at", "estimate", "low", "high"))
    band = [*zip(at, high, strict=True), *reversed(list(zip(at, low, strict=True)))]
    line = Line(words.text(each.get("title"), 80), list(zip(at, estimate, strict=True)), "tone-line-1", band)
    told = "; ".join(f"at {at[i]:.6g}: {value(estimate[i], unit)}" for i in range(0, len(at), max(1, len(at) // 6)))
    up = Axis.over([*low, *high], unit="share" if unit == "share" else "number")
    across = Axis(at[0], at[-1], words.text(each.get("attribute"), 40))
    return plot(Plot(f"{line.name}: {told}", across, up, [line], frame=Frame(480, 230, left=58)))


def _fairlearn(figures: Sequence[Mapping[str, Any]]) -> DataTable | None:
    if not figures:
        return None
    rows = []
    for each in figures:
        named = list((each.get("by_group") or {}).items())[:MOST_GROUPS]
        groups = "; ".join(f"{words.isolated(words.text(name, 40))} {_three(number)}" for name, number in named)
        cells = [
            TableCell(words.text(each.get("attribute"), 80)),
            TableCell(_three(each.get("difference"))),
            TableCell(groups, kind="words"),
        ]
        rows.append(TableRow(words.text(each.get("metric"), 60), cells))
    return DataTable("Values without a test", ("Metric", "By", "Difference", "Groups"), rows)


def _three(number: Any) -> str:
    return f"{number:.3f}" if isinstance(number, (int, float)) else "–"
