"""The constraints of a graph as a table that a person can edit, and the way back: changed lines become wishes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from evenhand.disk import read_utf8, whole_file
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import ConstraintError
from evenhand.synthesis import families
from evenhand.synthesis.fitting import Fits
from evenhand.synthesis.graph import Edge, Graph
from evenhand.synthesis.wishes import Wishes

FIELDS = ("action", "kind", "source", "value", "column", "outcome", "share", "low", "high", "distribution", "error")
"""`action` is for the reader: writing `delete` there removes the constraint.  `outcome` is the column's value that a share is of."""

Line = Mapping[str, str]


def lines_of(graph: Graph, domain: TabularDomain) -> list[dict[str, str]]:
    """One line per value of a category, per number, and per value of every association."""
    found = [*_columns(graph, domain), *_associations(graph, domain)]
    return [{field: line.get(field, "") for field in FIELDS} for line in found]


def _columns(graph: Graph, domain: TabularDomain) -> Iterator[dict[str, str]]:
    for place, column in enumerate(domain.columns):
        if column.is_listed:
            for value, share in zip(column.values, graph.shares[place], strict=False):
                yield {"kind": "category", "column": column.name, "value": str(value), "share": f"{share:.6g}", "error": "0"}
        else:
            fits = graph.numbers[place]
            yield {"kind": "number", "column": column.name, **_numeric(fits, 0, column), "error": f"{graph.node_error(place):.4g}"}


def _associations(graph: Graph, domain: TabularDomain) -> Iterator[dict[str, str]]:
    for edge in graph.edges:
        names = {"source": domain.names[edge.source], "column": domain.names[edge.target]}
        if edge.fits is None:
            yield from ({**line, **names, "error": f"{edge.error:.4g}"} for line in _shares(graph, domain, edge))
            continue
        for code, value in enumerate(domain.columns[edge.source].values):
            if edge.fits.count[code] > 0:
                error = f"{1 - edge.fits.p_value[code]:.4g}"
                told = _numeric(edge.fits, code, domain.columns[edge.target])
                yield {"kind": "category -> number", **names, "value": str(value), **told, "error": error}


def _shares(graph: Graph, domain: TabularDomain, edge: Edge) -> Iterator[dict[str, str]]:
    """One line for each pair of values of two categories: how often the second stands beside the first."""
    table = graph.tables.get(edge.target) or graph.data.joints.get(edge.target)
    if table is None or edge.source not in table.sources:
        yield {"kind": "category -> category"}
        return
    axis = table.sources.index(edge.source)
    others = tuple(at for at in range(len(table.sources)) if at != axis)
    counts = table.counts.reshape(*table.sizes, -1).sum(axis=others)
    for code, value in enumerate(domain.columns[edge.source].values):
        total = counts[code].sum()
        for place, outcome in enumerate(domain.columns[edge.target].values):
            share = f"{counts[code, place] / total:.6g}" if total else ""
            yield {"kind": "category -> category", "value": str(value), "outcome": str(outcome), "share": share}


def _numeric(fits: Fits, group: int, column: Column) -> dict[str, str]:
    words = families.describe(int(fits.family[group]), fits.parameters[group])
    distribution = json.dumps({key: round(v, 6) if isinstance(v, float) else v for key, v in words.items()}) if words else ""
    low, high = (str(column.value(end)) if column.is_moment else f"{end:.10g}" for end in (fits.low[group], fits.high[group]))
    return {"low": low, "high": high, "distribution": distribution}


def write_table(graph: Graph, domain: TabularDomain, path: Path) -> None:
    """The table as CSV."""
    with whole_file(path) as new, new.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(lines_of(graph, domain))


def read_wishes(path: Path, graph: Graph, domain: TabularDomain) -> Wishes:
    """What a person changed in the table, as wishes."""
    if not path.is_file():
        raise ConstraintError("there is no such file", file=str(path))
    try:
        reader = csv.DictReader(io.StringIO(read_utf8(path), newline=""), restval="")
        if reader.fieldnames is None or not set(FIELDS) <= set(reader.fieldnames):
            raise ConstraintError(f"expected a table with the columns {', '.join(FIELDS)}", file=str(path), line=1)
        edited = list(reader)
    except csv.Error as fault:
        raise ConstraintError(f"this is no table: {fault}", file=str(path)) from fault
    return Wishes.parse(_differences(lines_of(graph, domain), edited, domain), domain)


def _key(line: Line) -> tuple[str, ...]:
    return tuple(line[field] for field in ("kind", "source", "value", "column", "outcome"))


def _differences(known: Sequence[Line], edited: Sequence[Line], domain: TabularDomain) -> dict[str, list[dict[str, object]]]:
    before = {_key(line): line for line in known}
    deleted: list[dict[str, object]] = []
    modified: list[dict[str, object]] = []
    shares: dict[str, dict[object, float]] = {}
    reweighed: set[str] = set()
    beside: dict[tuple[str, str, str], list[Line]] = {}
    for line in edited:
        old = before.get(_key(line))
        where: dict[str, object] = {"association": [line["source"], line["column"]]} if line["source"] else {"column": line["column"]}
        if line["action"].strip() == "delete":
            deleted += [where] if where not in deleted else []
        elif line["kind"] == "category":
            column = domain.columns[domain.place(line["column"])]
            value = next((v for v in column.values if str(v) == line["value"]), line["value"])
            shares.setdefault(line["column"], {})[value] = _number(line, "share")
            if old is None or old["share"] != line["share"]:
                reweighed.add(line["column"])
        elif line["kind"] == "category -> category":
            beside.setdefault((line["source"], line["column"], line["value"]), []).append(line)
        else:
            modified += _changed(line, old, where, domain)
    modified += [wish for lines in beside.values() if (wish := _reweighed(lines, before, domain))]
    gone = {str(entry.get("column")) for entry in deleted}
    modified += [{"column": name, "frequencies": shares[name]} for name in sorted(reweighed - gone)]
    return {"modify": modified, "delete": deleted}


def _reweighed(lines: Sequence[Line], before: Mapping[tuple[str, ...], Line], domain: TabularDomain) -> dict[str, object]:
    """The wish that the edited shares of one value of a source make; nothing where none was edited."""
    first = lines[0]
    unchanged = all((old := before.get(_key(line))) is not None and old["share"] == line["share"] for line in lines)
    if unchanged or not first["value"]:
        return {}
    shares = {_value(domain, first["column"], line["outcome"]): _number(line, "share") for line in lines}
    value = _value(domain, first["source"], first["value"])
    return {"association": [first["source"], first["column"]], "value": value, "frequencies": shares}


def _value(domain: TabularDomain, column: str, text: str) -> object:
    return next((value for value in domain.columns[domain.place(column)].values if str(value) == text), text)


def _changed(line: Line, old: Line | None, where: dict[str, object], domain: TabularDomain) -> list[dict[str, object]]:
    wish = dict(where)
    if old is None or (line["low"], line["high"]) != (old["low"], old["high"]):
        is_moment = domain.columns[domain.place(line["column"])].is_moment
        wish["range"] = [line[end].strip() if is_moment else _number(line, end) for end in ("low", "high")]
    if line["distribution"] and (old is None or line["distribution"] != old["distribution"]):
        wish["distribution"] = _distribution(line)
    if len(wish) == len(where):
        return []
    if line["source"]:
        source = domain.columns[domain.place(line["source"])]
        wish["value"] = next((v for v in source.values if str(v) == line["value"]), line["value"])
    return [wish]


def _distribution(line: Line) -> dict[str, object]:
    try:
        words = json.loads(line["distribution"])
    except ValueError:
        words = None
    if not isinstance(words, dict):
        example = '{"name": "normal", "loc": 50, "scale": 10}'
        raise ConstraintError(f"{line['kind']} {line['column']}: distribution must look like {example}, got {line['distribution']!r}")
    return words


def _number(line: Line, field: str) -> float:
    try:
        number = float(line[field])
    except ValueError:
        raise ConstraintError(f"{line['kind']} {line['column']}: {field} must be a number, got {line[field]!r}") from None
    if not np.isfinite(number):
        raise ConstraintError(f"{line['kind']} {line['column']}: {field} must be finite, got {line[field]!r}")
    return number
