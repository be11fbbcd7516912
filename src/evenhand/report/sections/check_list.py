"""Every check with its own outcome: what a build server would show as test cases."""

from __future__ import annotations

from evenhand.report import words
from evenhand.report.frame import DataTable, Section, TableCell, TableRow, filled
from evenhand.report.record import CheckRecord, Record

OUTCOMES = {
    "pass": ("✓ pass", "good"),
    "violation": ("✕ violation", "bad"),
    "inconclusive": ("? inconclusive", "unsure"),
    "failed": ("✕ failed", "bad"),
}
AT_ONCE = 12
"""Up to so many checks are open at first; more are folded."""


def section(record: Record) -> Section | None:
    """The section; None where the page tells every check elsewhere."""
    told = record.body
    if not record.checks or told.conditions or told.runs or told.groups or told.repairs or told.certificate or told.series:
        return None
    table = DataTable("Every check with its outcome", ("Check", "Outcome", "Message"), [_row(check) for check in record.checks])
    html = filled("sections/checks.html.j2", table=table, is_folded=len(record.checks) > AT_ONCE)
    return Section("checks", "Checks", "Checks", html)


def _row(check: CheckRecord) -> TableRow:
    shown, kind = OUTCOMES[check.outcome]
    return TableRow(
        words.text(check.name, 100),
        [TableCell(shown, kind=kind), TableCell(words.sentence_case(words.text(check.message, 600)), kind="words")],
    )
