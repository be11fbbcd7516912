"""The content of a file against the models of `schema`; the first fault is told in the words of the file, with its line."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from evenhand.domain.schema import ProjectFile, known_keys
from evenhand.domain.yamltext import Document, flow
from evenhand.errors import DomainError

_TYPES = {"bool_type": "true or false", "int_type": "a whole number", "float_type": "a number", "string_type": "text"}
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("above", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("below", "lt"),
}


def validated(document: Document) -> ProjectFile:
    """The content with its types checked, or a DomainError at the first line that is wrong."""
    if not isinstance(document.value, dict):
        raise document.error("the file must hold keys such as version, columns, label, protected", ())
    try:
        return ProjectFile.model_validate(document.value)
    except ValidationError as invalid:
        faults = invalid.errors()
    places = [_path(fault["loc"], document) for fault in faults]
    first = min(places, key=document.line)
    raise _translated([fault for fault, place in zip(faults, places, strict=True) if place == first], first, document)


def _path(location: tuple[int | str, ...], document: Document) -> tuple[object, ...]:
    """The location without the steps that name a choice of types rather than a place in the file."""
    path: tuple[object, ...] = ()
    value = document.value
    for step in location:
        inside = isinstance(value, dict) and step in value
        if inside or (isinstance(value, list) and isinstance(step, int) and step < len(value)):
            path, value = (*path, step), value[step]
    return path


def _translated(faults: Sequence[Any], path: tuple[object, ...], document: Document) -> DomainError:
    """The faults of one place, of which there are several where several types are allowed."""
    where = ".".join(str(step) for step in path)
    fault = next((one for one in faults if one["type"] not in _TYPES), faults[0])
    last = str(fault["loc"][-1])
    if fault["type"] == "extra_forbidden":
        is_of_model = len(path) == 1 and last in known_keys(("model",))
        cure = f"it belongs to the model: {{path: FILE, {last}: ...}}" if is_of_model else _hint(last, known_keys(path[:-1]))
        return document.error(f"unknown key {where!r}; {cure}", path)
    if fault["type"] == "missing":
        return document.error(f"the key {last!r} is missing" + (f" in {where!r}" if where else ""), path)
    if last == "[key]":
        return document.error(f"{where}: the key {fault['input']!r} must be text; put it in quotes", path)
    return document.error(f"{where} must be {_wanted(fault, faults)}, got {_short(fault['input'])}{_cure(fault, faults)}", path)


def _hint(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"


def _wanted(fault: Any, faults: Sequence[Any]) -> str:
    context = fault.get("ctx", {})
    if fault["type"] in _BOUNDS:
        word, name = _BOUNDS[fault["type"]]
        return f"{word} {context[name]}"
    if fault["type"] in _TYPES:
        names = list(dict.fromkeys(_TYPES[one["type"]] for one in faults if one["type"] in _TYPES))
        if "a number" in names and "a whole number" in names:
            names.remove("a whole number")
        return " or ".join(names)
    if fault["type"] == "too_short":
        return f"at least {context['min_length']} entries"
    known = {"list_type": "a list", "dict_type": "a mapping", "model_type": "a mapping", "literal_error": str(context.get("expected", ""))}
    return known.get(fault["type"]) or str(fault["msg"])


def _cure(fault: Any, faults: Sequence[Any]) -> str:
    value = fault["input"]
    if fault["type"] == "list_type" and not isinstance(value, dict):
        return f"; write {flow([value])}" if value is not None else "; write [...]"
    if fault["type"] in ("model_type", "dict_type"):
        return "; write {key: value}"
    if fault["type"] == "literal_error" and isinstance(value, str):
        close = difflib.get_close_matches(value, str(fault["ctx"]["expected"]).replace(" or ", ", ").replace("'", "").split(", "), n=1)
        return f"; did you mean {close[0]!r}?" if close else ""
    if [one["type"] for one in faults] == ["string_type"] and isinstance(value, int | float):
        return "; put it in quotes"
    return ""


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
