"""A result in a notebook and at a prompt: plain HTML without script or style, and one line of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.report import frame, page, words
from evenhand.report.frame import DataTable, TableCell, TableRow
from evenhand.report.record import Record, read
from evenhand.report.sections import witness_cards

MOST_PAIRS = 5
MOST_CHECKS = 12


def brief(result: Mapping[str, Any]) -> str:
    """A result in one line, as a prompt shows it."""
    record = read(result)
    data = f" of {words.text(record.header.data.name, 40)}" if record.header.data.name else ""
    witnesses = f", {words.plural(len(record.witnesses), 'witness', 'witnesses')}" if record.witnesses else ""
    return f"<{record.verb}{data}: {record.outcome}: {words.text(record.reason, 120)}{witnesses}>"


def fragment(result: Mapping[str, Any]) -> str:
    """The verdict, the rates, the checks and the first pairs as plain HTML."""
    record = read(result)
    cards = witness_cards.pairs_of(record, MOST_PAIRS)
    tables = [table for table in (_rates(record), _checks(record), _pairs(cards)) if table is not None]
    shown = [card for card in cards if card.pictures]
    return frame.filled("notebook.html.j2", tables=tables, shown=shown, **page.banner(record))


def _rates(record: Record) -> DataTable | None:
    rows = [
        TableRow(
            words.population(rate.population)[0],
            [
                TableCell(words.percent(rate.estimate)),
                TableCell(f"{words.percent(rate.low)} to {words.percent(rate.high)}"),
                TableCell(f"{rate.n:,}"),
            ],
        )
        for rate in record.body.rates
    ]
    return DataTable("How often", ("Population", "Rate", "Interval", "n"), rows) if rows else None


def _checks(record: Record) -> DataTable | None:
    rows = [
        TableRow(words.text(check.name, 80), [TableCell(check.outcome), TableCell(words.text(check.message, 200))])
        for check in record.checks[:MOST_CHECKS]
    ]
    return DataTable("Checks", ("Check", "Outcome", "Message"), rows) if rows else None


def _pairs(cards: list[witness_cards.PairCard]) -> DataTable | None:
    rows = [
        TableRow(card.id, [TableCell(card.headline), TableCell(f"{card.outcome} → {card.twin_outcome}"), TableCell(card.origin)])
        for card in cards
    ]
    return (
        DataTable("Pairs; `evenhand replay ID` asks again", ("Witness", "What differs", "Outcome", "Where it comes from"), rows)
        if rows
        else None
    )
