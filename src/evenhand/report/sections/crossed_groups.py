"""Groups by several protected columns at once, as a map: darker is more often favourable, hatched is too few to be judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from markupsafe import Markup

from evenhand.report import words
from evenhand.report.charts.heat_maps import HeatMap, heat_map
from evenhand.report.record import Record

FIGURE = "statistical_parity"
MOST_SQUARES = 400


def crossed_map(record: Record) -> Markup | None:
    """The map of the first figure by all protected columns together; None where only one column makes groups."""
    figures = {str(each.get("attribute")): each for each in record.body.groups if each.get("metric") == FIGURE}
    crossed = next((name for name in figures if " and " in name and all(part in figures for part in name.split(" and "))), None)
    if crossed is None:
        return None
    values = [[str(group.get("name")) for group in figures[part].get("groups") or []] for part in crossed.split(" and ")]
    lines, columns = values[0], [", ".join(each) for each in product(*values[1:])]
    cells = {str(group.get("name")): group for group in figures[crossed].get("groups") or []}
    if not cells or len(lines) * len(columns) > MOST_SQUARES:
        return None
    found = [[cells.get(f"{line}, {column}") for column in columns] for line in lines]
    shares = [[_estimate(cell) for cell in row] for row in found]
    return heat_map(
        HeatMap(
            _told(crossed, cells),
            [words.text(line, 60) for line in lines],
            [words.text(column, 60) for column in columns],
            shares,
            max((share for row in shares for share in row if share is not None), default=1.0) or 1.0,
            words=[[_words(cell) for cell in row] for row in found],
            thin=[[cell is not None and not cell.get("is_enough", True) for cell in row] for row in found],
            notes=[[_rows(cell) for cell in row] for row in found],
        )
    )


def _estimate(cell: Mapping[str, Any] | None) -> float | None:
    value = cell.get("estimate") if cell else None
    return float(value) if isinstance(value, (int, float)) else None


def _words(cell: Mapping[str, Any] | None) -> str:
    share = _estimate(cell)
    return "" if share is None else f"{100 * share:.0f}%"


def _rows(cell: Mapping[str, Any] | None) -> str:
    return f"n = {words.number(cell.get('rows'))}" if cell else ""


def _told(name: str, cells: Mapping[str, Mapping[str, Any]]) -> str:
    """The map in words."""
    shown: Sequence[str] = [
        f"{words.text(key, 60)}: {words.percent(cell.get('estimate'))}, n = {words.number(cell.get('rows'))}"
        + ("" if cell.get("is_enough", True) else ", too few")
        for key, cell in list(cells.items())[:40]
    ]
    return f"Share with the favourable outcome by {words.text(name, 120)}. {'; '.join(shown)}"
