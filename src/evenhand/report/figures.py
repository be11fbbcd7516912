"""Figures of any shape as tables: numbers, shares with bounds, and lists and mappings of them.  Knows no study by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evenhand.report import words
from evenhand.report.charts.canvas import Axis
from evenhand.report.charts.rows import IntervalChart, IntervalRow
from evenhand.report.frame import DataTable, TableCell, TableRow

MOST_ROWS, MOST_COLUMNS, MOST_DRAWN = 200, 24, 24
MOST_BESIDE = 7
"""Columns beyond which a table is moved sideways to be seen."""
HEADS = ("label", "name", "class", "along", "attribute", "group", "layer", "operator", "recogniser")
"""Fields that name a line of a table, the first that there is."""

INNER = {"weighed": "beyond what an independent reader of the label does"}
"""Names of what stands inside a line, in words."""
BESIDE = {
    "null": "moved by edits that mean nothing",
    "accuracy": "accuracy of the model",
    "near": "twins near the model's border, for each of the pictures as they came",
    "reach": "smallest change of the pictures as they came that these twins would show",
}
"""Names of single values beside bounds, in words."""

OUTCOMES = {
    "pass": ("✓ pass", "good"),
    "violation": ("✕ violation", "bad"),
    "inconclusive": ("? inconclusive", "unsure"),
    "failed": ("✕ failed", "bad"),
}
SHARES = (
    "share",
    "rate",
    "accuracy",
    "coverage",
    "control",
    "excess",
    "guessing",
    "confirmed",
    "tolerance",
    "confidence",
    "alpha",
    "before",
    "after",
    "reader",
)
"""Words in the name of a figure between -1 and 1 that is shown in percent; any other is shown as a number."""


@dataclass(frozen=True)
class ShownFigures:
    """One figure under its name: as a table, and as intervals where it has bounds."""

    title: str
    table: DataTable
    chart: IntervalChart | None = None


def shown(figures: Mapping[str, Any]) -> list[ShownFigures]:
    """All figures: those of one value together first, then each list or mapping by itself."""
    single = {name: value for name, value in figures.items() if _is_cell(value)}
    first = [_single(single)] if single else []
    return [*first, *(each for name, value in figures.items() if name not in single for each in _figure(words.title(name), value))]


def is_share(value: Any) -> bool:
    """Whether a figure is an estimate with bounds."""
    return isinstance(value, Mapping) and "estimate" in value and "low" in value and "high" in value


def _is_cell(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float)) or is_share(value)


def _single(values: Mapping[str, Any]) -> ShownFigures:
    rows = [TableRow(words.title(name), [cell(name, value)]) for name, value in values.items()]
    return ShownFigures("", DataTable("", ("Figure", "Value"), rows))


def _figure(title: str, value: Any) -> Iterator[ShownFigures]:
    """A list of mappings, or a mapping of mappings or shares; anything else in words."""
    if not value:
        return
    if isinstance(value, Mapping):
        parallel = _parallel(value)
        if parallel:
            yield _lines(title, parallel)
        elif all(_is_cell(each) for each in value.values()):
            yield _cells(title, value)
        elif all(isinstance(each, Mapping) for each in value.values()):
            yield _lines(title, value)
        else:
            for each in shown(value):
                yield ShownFigures(f"{title}: {each.title}" if each.title else title, each.table, each.chart)
    elif isinstance(value, Sequence) and value and all(isinstance(each, Mapping) for each in value):
        yield from _listed(title, value)
    else:
        yield _single({title: words.text(value, 600)})


def _cells(title: str, values: Mapping[str, Any]) -> ShownFigures:
    """One value for each name; shares with bounds are drawn as well."""
    rows = [TableRow(words.text(name, 80), [cell(f"{title} {name}".lower(), value)]) for name, value in values.items()]
    shares = {name: {"share": value} for name, value in values.items() if is_share(value)}
    return ShownFigures(title, DataTable("", ("", "Value"), rows), _chart(title, shares))


def _listed(title: str, lines: Sequence[Mapping[str, Any]]) -> Iterator[ShownFigures]:
    if any(_tables_in(line) for line in lines):
        for line in lines:
            heading = _heading(line) or title
            for each in _tables_in(line).values():
                yield from _listed(heading, each)
        return
    if all(_parallel(line) for line in lines):
        for line in lines:
            yield ShownFigures(_head(line, title), *_table_and_chart(_head(line, title), _parallel(line)))
            for name, inner in line.items():
                if _holds_mappings(inner):
                    yield from _beside(f"{_head(line, title)}: {INNER.get(name, name)}", inner)
        return
    named: dict[str, Mapping[str, Any]] = {}
    for number, line in enumerate(lines[:MOST_ROWS], 1):
        head = _head(line, str(number))
        named[head if head not in named else f"{head} ({number})"] = {n: v for n, v in line.items() if n != _head_field(line)}
    yield _lines(title, named)


def _beside(title: str, inner: Mapping[str, Any]) -> Iterator[ShownFigures]:
    """What stands in a line beside its own bounds: bounds of another kind, and single values."""
    parallel = _parallel(inner)
    if parallel:
        yield _lines(title, parallel)
    single = {BESIDE.get(name, name): value for name, value in inner.items() if _is_cell(value) and value != "" and value == value}
    if single:
        yield replace(_single(single), title="" if parallel else title)


def _holds_mappings(value: Any) -> bool:
    return isinstance(value, Mapping) and not is_share(value) and any(isinstance(each, Mapping) for each in value.values())


def _heading(line: Mapping[str, Any]) -> str:
    """Of a line that holds tables: its own title and what it is by, else all its words."""
    if isinstance(line.get("title"), str):
        by = line.get("attribute")
        return words.text(f"{line['title']}, by {by}" if isinstance(by, str) else line["title"], 120)
    return ", ".join(words.text(value, 60) for value in line.values() if isinstance(value, str))


def _tables_in(line: Mapping[str, Any]) -> dict[str, Sequence[Mapping[str, Any]]]:
    """Lists of lines inside a line."""
    return {
        name: each for name, each in line.items() if isinstance(each, list) and each and all(isinstance(part, Mapping) for part in each)
    }


def _head_field(line: Mapping[str, Any]) -> str:
    return next((name for name in HEADS if isinstance(line.get(name), str)), "")


def _head(line: Mapping[str, Any], otherwise: str) -> str:
    name = _head_field(line)
    return words.text(line[name], 80) if name else otherwise


def _parallel(value: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """{"net": {a: .., b: ..}, "low": {a: .., b: ..}, "high": ..} by a and b; empty where the mappings do not match."""
    inner = {name: each for name, each in value.items() if isinstance(each, Mapping) and not is_share(each) and not _holds_mappings(each)}
    keys = [tuple(each) for each in inner.values()]
    if len(inner) < 2 or len(set(keys)) != 1 or "low" not in inner or "high" not in inner:
        return {}
    renamed = {("estimate" if name in ("net", "mean", "estimate", "beyond") else name): each for name, each in inner.items()}
    return {key: {name: each[key] for name, each in renamed.items()} for key in keys[0]}


def _lines(title: str, lines: Mapping[str, Mapping[str, Any]]) -> ShownFigures:
    return ShownFigures(title, *_table_and_chart(title, lines))


def _table_and_chart(title: str, lines: Mapping[str, Mapping[str, Any]]) -> tuple[DataTable, IntervalChart | None]:
    flat = {name: _flat(line) for name, line in list(lines.items())[:MOST_ROWS]}
    columns = list(dict.fromkeys(column for line in flat.values() for column in line))[:MOST_COLUMNS]
    is_wide = len(columns) > MOST_BESIDE
    if is_wide and len(flat) == 1:  # a single line that is too wide to be seen whole stands upright
        (name, line), *_ = flat.items()
        upright = [TableRow(words.title(column), [cell(column, line.get(column))]) for column in columns]
        return DataTable("", ("", words.text(name, 80)), upright), _chart(title, flat)
    rows = [TableRow(words.text(name, 80), [cell(column, line.get(column)) for column in columns]) for name, line in flat.items()]
    table = DataTable("", ["", *(words.title(column) for column in columns)], rows, is_wide)
    return table, _chart(title, flat)


def _flat(line: Mapping[str, Any], before: str = "", depth: int = 0) -> dict[str, Any]:
    """One line of cells: bounds are joined with their estimate, mappings inside are named by their path."""
    found: dict[str, Any] = {}
    if is_share(line):
        found[before or "share"] = {name: line[name] for name in ("estimate", "low", "high", "n") if name in line}
        line = {name: value for name, value in line.items() if name not in ("estimate", "low", "high", "n", "confidence")}
    for name, value in line.items():
        path = f"{before} {name}".strip()
        if isinstance(value, Mapping) and not is_share(value) and depth < 3:
            found |= _flat(value, path, depth + 1)
        else:
            found[path] = value
    return found


def cell(name: str, value: Any) -> TableCell:
    """One value as a cell."""
    if is_share(value):
        bounds = f"{_share(value['low'])} to {_share(value['high'])}" if value["low"] is not None and value["high"] is not None else ""
        count = f", n = {words.number(value['n'])}" if value.get("n") is not None else ""
        return TableCell(_share(value["estimate"]), f"{bounds}{count}")
    if isinstance(value, str) and value in OUTCOMES and name.split()[-1:] != ["label"]:
        return TableCell(OUTCOMES[value][0], kind=OUTCOMES[value][1])
    if isinstance(value, bool):
        return TableCell("yes" if value else "no")
    if isinstance(value, float) and -1 <= value <= 1 and any(word in name for word in SHARES):
        return TableCell(_share(value))
    if isinstance(value, (int, float)):
        return TableCell(words.number(value))
    return TableCell("–" if value in (None, "", [], {}) else words.text(value, 300), kind="words")


def _share(value: float | None) -> str:
    return "–" if value is None else words.signed(value)


def _chart(title: str, lines: Mapping[str, Mapping[str, Any]]) -> IntervalChart | None:
    """The first share with bounds of every line on one axis; None where fewer than two lines have one."""
    found = [(name, next((each for each in line.values() if _is_bounded(each)), None)) for name, line in lines.items()]
    rows = [_row(name, share) for name, share in found if share is not None][:MOST_DRAWN]
    if len(rows) < 2:
        return None
    ends = [value for row in rows for value in (row.low, row.high)]
    return IntervalChart(f"{title}.", rows, Axis.over(ends, unit="share", floor=0.0))


def _is_bounded(value: Any) -> bool:
    return is_share(value) and None not in (value["estimate"], value["low"], value["high"])


def _row(name: str, share: Mapping[str, Any]) -> IntervalRow:
    caption = f"{_share(share['estimate'])} ({_share(share['low'])} to {_share(share['high'])})"
    return IntervalRow(words.text(name, 48), caption, share["low"], share["estimate"], share["high"])
