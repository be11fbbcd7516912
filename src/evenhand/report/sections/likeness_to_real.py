"""How natural what was found is: real rows and findings on one axis of likelihood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.report import words
from evenhand.report.charts.canvas import Axis
from evenhand.report.charts.rows import IntervalChart, IntervalRow, intervals
from evenhand.report.frame import Section, filled
from evenhand.report.record import Record


def section(record: Record) -> Section | None:
    """The section; None where nothing was compared."""
    told = record.body.naturalness
    if not told or not all(isinstance(told.get(name), list) and len(told[name]) == 5 for name in ("real", "found")):
        return None
    rows = [_row("Real rows", told["real"], told.get("real_rows")), _row("Findings", told["found"], told.get("found_rows"))]
    axis = Axis.over([value for row in rows for value in (row.low, row.high)], "log-likelihood")
    picture = intervals(IntervalChart("Log-likelihood of real rows and of findings.", rows, axis))
    html = filled("sections/naturalness.html.j2", picture=picture, share=_share(told))
    return Section("natural", "How natural the findings are", "Naturalness", html)


def _row(name: str, quantiles: list[float], count: Any) -> IntervalRow:
    low, middle, high = quantiles[0], quantiles[2], quantiles[4]
    caption = f"{middle:.3g} ({low:.3g} to {high:.3g}), n = {words.number(count)}"
    return IntervalRow(name, caption, low, middle, high)


def _share(told: Mapping[str, Any]) -> str:
    share = told.get("natural_share")
    return words.percent(share) if isinstance(share, (int, float)) else ""
