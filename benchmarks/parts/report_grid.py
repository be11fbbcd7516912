"""Results of every verb and every medium, rendered in every format; and the same with attacks in every text that comes from outside."""

from __future__ import annotations

import csv
import io
import json
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import evenhand as eh
from evenhand import report
from evenhand.report.record import plain

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "report"), str(ROOT / "tests" / "browser")]

import medium_results
import sample_results
import verb_results
from chromium import CHROMIUM, chromium

__all__ = ["CHROMIUM", "cells", "chromium", "formats_by_verb", "many_findings", "of_medium", "of_verb", "poisoned", "verbs"]

STRUCTURE = frozenset(
    ("verb", "outcome", "verdict", "unit", "role", "standing", "kind", "metric", "population", "better", "picture", "pictures", "ended")
)
"""Fields whose words the format itself gives; all others may come from data, model or user."""


@cache
def verbs() -> tuple[str, ...]:
    """Every verb that leaves a result."""
    return (*verb_results.MAKERS, "gate")


@cache
def of_verb(verb: str) -> dict[str, Any]:
    """A small result of a verb on a table."""
    if verb == "gate":
        policy = eh.Policy(eh.Gate(max_rate=0.1), (eh.GroupLimit("statistical_parity", most=0.1),), worst_gap=0.9)
        options = eh.GateOptions(budget=eh.Budget(candidates=300), rate_rows=300)
        made: Any = eh.gate(verb_results.model(), verb_results.people(), policy, options=options)
    else:
        made = verb_results.result(verb)
    content: dict[str, Any] = plain(made.as_dict())
    return content


@cache
def of_medium(verb: str, medium: str) -> dict[str, Any] | None:
    """A small result of a verb on another medium; None where the verb refuses the medium in words."""
    made = medium_results.result(verb, medium)
    return None if made is None else plain(made.as_dict())


def cells() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every verb on a table and on every other medium that it takes."""
    for verb in verbs():
        yield verb, of_verb(verb)
    for medium in medium_results.MEDIA:
        for verb in medium_results.MAKERS:
            content = of_medium(verb, medium)
            if content is not None:
                yield f"{verb} of {medium}", content


def poisoned(content: Mapping[str, Any]) -> dict[str, Any]:
    """The same result with an attack in place of every text from outside, and in the names of columns."""
    attacks = [each for each in sample_results.HOSTILE if each.strip()]
    count = iter(range(10**9))

    def turned(value: Any, name: str) -> Any:
        if isinstance(value, str) and name not in STRUCTURE:
            return attacks[next(count) % len(attacks)]
        if isinstance(value, Mapping):
            return {f"{attacks[0]}{key}" if name in ("person", "twin") else key: turned(each, str(key)) for key, each in value.items()}
        return [turned(each, name) for each in value] if isinstance(value, list) else value

    header = {**content["header"], "medium": content["header"]["medium"]}
    kept = {"evenhand_result": content["evenhand_result"], "verb": content["verb"], "outcome": content["outcome"]}
    parts = ["reason", "sentences", "checks", "witnesses", "body"]
    if content["verb"] == "bench":  # its body names methods as keys and as values: both would have to be turned alike
        parts.remove("body")
        kept["body"] = content["body"]
    poisoned_parts = {part: turned(content[part], part) for part in parts}
    medium = {"medium": content["header"]["medium"], "oracle": content["header"].get("oracle")}
    return {**kept, "header": {**turned(header, "header"), **medium}, **poisoned_parts}


def parses(name: str, text: str) -> bool:
    """Whether a rendering is what it says it is."""
    try:
        return bool(PARSERS.get(name, str.strip)(text))
    except (ValueError, ET.ParseError, csv.Error):
        return False


def _page(text: str) -> bool:
    return text.startswith("<!doctype html>") and text.rstrip().endswith("</html>") and text.count("<h1") == 1


PARSERS: dict[str, Callable[[str], Any]] = {
    "json": json.loads,
    "sarif": lambda text: json.loads(text)["version"] == "2.1.0",
    "junit": lambda text: ET.fromstring(text).tag == "testsuites",
    "csv": lambda text: list(csv.reader(io.StringIO(text))),
    "html": _page,
}


def formats_by_verb() -> dict[str, float | int]:
    """The share of verb x format x medium cells that render and parse, and how many cells that are."""
    done = []
    for name, content in cells():
        for form in report.known_formats():
            try:
                done.append(parses(form, report.render(content, form)))
            except Exception as fault:
                print(f"{name} as {form}: {fault}")
                done.append(False)
    return {"formats_by_verb": sum(done) / len(done), "format_cells": len(done)}


def many_findings(count: int) -> dict[str, Any]:
    """A scan's result with very many pairs."""
    content = of_verb("scan")
    pairs = [{**content["witnesses"][at % len(content["witnesses"])], "id": f"{at:010x}"} for at in range(count)]
    runs = [{**run, "findings": count} for run in content["body"]["runs"]]
    return {**content, "witnesses": pairs, "body": {**content["body"], "runs": runs}}
