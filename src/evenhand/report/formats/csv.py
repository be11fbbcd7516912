"""Pairs as a table for a spreadsheet: one line per witness, both rows and both outcomes."""

from __future__ import annotations

import csv
import io
from typing import Any

from evenhand.report import words
from evenhand.report.record import Record, WitnessRecord

endings = (".csv",)
tells_outcome = False  # a plain list of pairs

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What a spreadsheet would take for the beginning of a formula; a number is none."""

FIXED = ("witness", "method", "outcome", "twin_outcome", "score_gap", "real_row")


def render(record: Record) -> str:
    """The table as text; a result without pairs has its heading alone."""
    columns = list(dict.fromkeys(name for witness in record.witnesses for name in witness.columns))
    heads = [*FIXED, *(f"{side}.{name}" for name in columns for side in ("person", "twin"))]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([_safe(head) for head in heads])
    writer.writerows([_safe(cell) for cell in _cells(witness, columns)] for witness in record.witnesses)
    return file.getvalue()


def _cells(witness: WitnessRecord, columns: list[str]) -> list[Any]:
    fixed = [witness.id, witness.method, witness.outcome, witness.twin_outcome, witness.gap, witness.real_row]
    return [*fixed, *(side.get(name) for name in columns for side in (witness.person, witness.twin))]


def _safe(cell: Any) -> Any:
    """Text as text: one that a spreadsheet would compute stands behind an apostrophe."""
    if cell is None or isinstance(cell, (int, float)):
        return "" if cell is None else cell
    written = words.printable(cell if isinstance(cell, str) else words.text(cell, 2000))
    return f"'{written}" if written.lstrip().startswith(FORMULA) or written.startswith(FORMULA) else written
