"""Contact sheets and further tables: what a verb brings along under its own title."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.report import words
from evenhand.report.contact_sheet import kept_sheets
from evenhand.report.figures import ShownFigures, shown
from evenhand.report.frame import DataTable, Section, TableCell, TableRow, filled
from evenhand.report.record import Record

UNTOLD = ("records", "pairs", "classes", "changes", "replays")
"""Parts of a body that are kept for programs alone, or told as a study, as checks, as pairs and in the first picture."""


def contact_sheets(record: Record) -> Section | None:
    """Pictures of many pairs at once; None where none was kept."""
    kept = [each for each in kept_sheets(record) if str(each.get("picture") or "").startswith("data:image/png;base64,")]
    if not kept:
        return None
    shown = [
        {
            "title": words.text(each.get("title") or "Pairs", 120),
            "picture": each["picture"],
            "sentence": words.text(each["sentence"], 400) if each.get("sentence") else "",
        }
        for each in kept
    ]
    return Section("sheets", "Contact sheets", "Contact sheets", filled("sections/sheets.html.j2", sheets=shown))


def further(record: Record) -> Section | None:
    """Tables with titles of their own; None where there are none."""
    tables = [table for each in record.body.tables if (table := _table(each)) is not None]
    tables += [_other(each) for each in shown(_untold(record))]
    if not tables:
        return None
    return Section("further", "Further figures", "Further figures", filled("sections/further.html.j2", tables=tables))


def _untold(record: Record) -> dict[str, Any]:
    """What of the body no other section tells; the cost that `doctor` foresees stands among its checks."""
    told = (*UNTOLD, "cost") if record.verb == "doctor" else UNTOLD
    return {name: value for name, value in (record.body.model_extra or {}).items() if name not in told and (name, value) != ("left_out", 0)}


def _other(each: ShownFigures) -> dict[str, Any]:
    """Figures that no other section knows: in a table of their own."""
    return {"title": each.title or "Figures", "sentence": "", "table": each.table}


def _table(told: Mapping[str, Any]) -> dict[str, Any] | None:
    heads, rows = told.get("heads") or [], told.get("rows") or []
    if not heads or not rows:
        return None
    made = [_row(row, len(heads)) for row in rows]
    table = DataTable("", [words.text(head, 60) for head in heads], made, len(heads) > 6)
    sentence = words.text(told["sentence"], 600) if told.get("sentence") else ""
    return {"title": words.text(told.get("title") or "Figures", 120), "sentence": sentence, "table": table}


def _row(cells: list[Any], count: int) -> TableRow:
    padded = [*cells, *[None] * count][:count]
    return TableRow(_cell(padded[0]), [TableCell(_cell(each), kind="words" if isinstance(each, str) else "") for each in padded[1:]])


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return words.number(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else words.text(value, 300)
