"""Oracles side by side: the same rows under several questions, and what chance alone would do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.report import words
from evenhand.report.frame import DataTable, Section, TableCell, TableRow, filled
from evenhand.report.record import Record

HEADS = ("Oracle", "Flips", "Interval", "Proxy effect", "Chance alone", "Beyond chance", "p", "Who the other one is")


def section(record: Record) -> Section | None:
    """The section; None where only one oracle was asked."""
    views = (record.body.oracles or {}).get("views") or []
    if not views:
        return None
    table = DataTable("Share who get another answer", HEADS, [_row(view) for view in views])
    return Section("oracles", "Oracles side by side", "Oracles", filled("sections/oracles.html.j2", table=table))


def _row(view: Mapping[str, Any]) -> TableRow:
    rate, proxy, null = (view.get(name) or {} for name in ("rate", "proxy", "null"))
    excess, p_value = view.get("excess"), view.get("p_value")
    cells = [
        TableCell(words.percent(rate.get("estimate"))),
        TableCell(f"{words.percent(rate.get('low'))} to {words.percent(rate.get('high'))}"),
        TableCell(words.percent(proxy["estimate"]) if proxy else "–"),
        TableCell(words.percent(null["mean"]) if null else "–"),
        TableCell(words.signed(excess) if excess is not None else "–"),
        TableCell(words.number(p_value) if p_value is not None else "–"),
        TableCell(words.text(view.get("question"), 300), kind="words"),
    ]
    return TableRow(words.text(view.get("name"), 60), cells)
