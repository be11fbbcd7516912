"""The shape of requests and answers: a JSON template filled with rows, and a small path language that finds the values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, WrongAnswer
from evenhand.models.http_presets import tensors_of

ROWS, ROW, COLUMNS, TENSORS, CSV, EACH = "$rows", "$row", "$columns", "$tensors", "$csv", "$each"
"""All rows; one row; the columns' names; a tensor for each column; lines of CSV; and a list of what stands in it for every row."""
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+|\*|[A-Za-z_][\w-]*)\]")


@dataclass(frozen=True)
class NamedElement:
    """The element of a list whose "name" is this, as the tensors of an answer have one."""

    name: str

    def of(self, value: Any) -> Any:
        """That element; KeyError where there is none."""
        found = [each for each in value if isinstance(each, dict) and each.get("name") == self.name] if isinstance(value, list) else []
        if not found:
            raise KeyError(self.name)
        return found[0]


@dataclass(frozen=True)
class AnswerPath:
    """Steps into a JSON answer: a name, a position, "*" for every element, or an element by its own name."""

    text: str
    steps: tuple[str | int | NamedElement, ...]

    def find(self, answer: Any, shown: str) -> Any:
        """The value or values at this path; `shown` is the answer's beginning, for the message when it is not there."""
        try:
            return _walk(answer, self.steps)
        except (KeyError, IndexError, TypeError) as fault:
            raise WrongAnswer(f"the answer has nothing at {self.text!r} ({_missing(fault)}); the answer begins: {shown}") from None


def _walk(value: Any, steps: tuple[str | int | NamedElement, ...]) -> Any:
    for at, step in enumerate(steps):
        if step == "*":
            if not isinstance(value, list):
                raise TypeError(f"[*] needs a list, found {type(value).__name__}")
            return [_walk(element, steps[at + 1 :]) for element in value]
        if isinstance(step, NamedElement):
            value = step.of(value)
            continue
        if isinstance(step, int) != isinstance(value, list):
            raise TypeError(f"{step!r} does not fit {type(value).__name__}")
        value = value[step]
    return value


def _missing(fault: Exception) -> str:
    return f"no key {fault}" if isinstance(fault, KeyError) else str(fault)


def parse_path(text: str) -> AnswerPath:
    """Compile `predictions[*].probability`; the empty path is the whole answer."""
    steps: list[str | int | NamedElement] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            raise InvalidArgument(f"answer={text!r} is no path (position {at}); expected names and [n] or [*], as in predictions[*].score")
        name, place = match.groups()
        steps.append(name if name is not None else "*" if place == "*" else int(place) if place.isdigit() else NamedElement(place))
        at = match.end()
    return AnswerPath(text, tuple(steps))


def takes_single_row(template: Any) -> bool:
    """Whether the template sends one row at a time; it must hold "$rows" or "$row", not both."""
    marks = {text for text in _texts(template) if text in (ROWS, ROW, TENSORS, CSV, EACH)}
    if len(marks) != 1:
        raise InvalidArgument(
            f'request={template!r} must hold either "$rows" (a list of rows), "$row" (one row per request), {{"$each": ...}} '
            'around "$row", "$tensors" or "$csv"'
        )
    return ROW in marks


def is_of_a_table(template: Any) -> bool:
    """Whether only rows of a table can be written so: by columns, tensors or lines of CSV."""
    return any(text in (COLUMNS, TENSORS, CSV) for text in _texts(template))


def _texts(template: Any) -> Iterator[str]:
    if isinstance(template, str):
        yield template
    elif isinstance(template, dict) and set(template) == {EACH}:
        yield EACH
    elif isinstance(template, dict):
        for value in template.values():
            yield from _texts(value)
    elif isinstance(template, list):
        for value in template:
            yield from _texts(value)


def body_of(template: Any, records: list[Any], columns: Sequence[str] = ()) -> Any:
    """The template with its marks replaced."""
    if template == COLUMNS:
        return list(columns)
    if template == TENSORS:
        return tensors_of(records)
    if isinstance(template, dict) and set(template) == {EACH}:
        return [body_of(template[EACH], [record], columns) for record in records]
    if template == ROWS:
        return records
    if template == ROW:
        return records[0]
    if isinstance(template, dict):
        return {name: body_of(value, records, columns) for name, value in template.items()}
    return [body_of(value, records, columns) for value in template] if isinstance(template, list) else template


def records_of(rows: Rows, domain: TabularDomain, rows_as: str) -> list[Any]:
    """Rows as JSON values; a missing cell is null."""
    if rows_as == "codes":
        return [[None if np.isnan(code) else code for code in row] for row in rows.tolist()]
    frame = domain.decode(rows).astype(object)
    columns = [[_plain(cell) for cell in frame[name].where(frame[name].notna(), None)] for name in domain.names]
    cells = [list(row) for row in zip(*columns, strict=True)]
    return cells if rows_as == "lists" else [dict(zip(domain.names, row, strict=True)) for row in cells]


def _plain(cell: Any) -> Any:
    return cell.item() if isinstance(cell, np.generic) else cell


def excerpt(text: str, most: int = 200) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line[:most] + ("..." if len(line) > most else "") if line else "(nothing)"
