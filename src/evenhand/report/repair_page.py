"""The comparison as one self-contained HTML page: nothing is fetched, no script runs, everything from the data is escaped."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evenhand.measures.repair_measures import MEASURES, Measure
from evenhand.report import words, writing
from evenhand.report.pareto import drawn, pareto

if TYPE_CHECKING:
    from evenhand.campaign.repair_comparison import RepairComparison, RepairLine

TONES = {"better": "good", "better, at a price": "unsure", "worse": "bad", "alarm": "bad", "no evidence of improvement": "unsure"}


def write(comparison: RepairComparison, path: Path) -> Path:
    """Write the page."""
    return writing.save(render(comparison), Path(path))


def render(comparison: RepairComparison) -> str:
    """The page as text."""
    return _environment().get_template("comparison.html.j2").render(_context(comparison))


@cache
def _environment() -> Environment:
    loader = PackageLoader("evenhand.report", "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def _context(comparison: RepairComparison) -> dict[str, Any]:
    header, alpha = comparison.header, 1 - comparison.terms.confidence
    style = "\n".join(_environment().get_template(name).render().strip() for name in ("style.css", "comparison.css"))
    return {
        "style": Markup(style),  # noqa: S704 - our own files, with nothing of the data in them
        "style_digest": base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        "header": header,
        "data_name": words.text(header["data"], 80),
        "protected": [words.text(name, 60) for name in header["protected"]],
        "sentence": comparison.sentence,
        "tone": "pass" if comparison.best else "inconclusive",
        "symbol": "✓" if comparison.best else "?",
        "seeds": words.plural(len(comparison.outcomes), "seed", "seeds"),
        "confidence": words.level(comparison.terms.confidence),
        "tolerance": words.percent(comparison.terms.tolerance),
        "notes": comparison.notes,
        "picture": Markup(pareto(comparison.lines)),  # noqa: S704 - every name in it is escaped there
        "left_out": [line.name for line in drawn(comparison.lines)[1]],
        "measures": MEASURES,
        "lines": [_line(line, comparison, alpha) for line in comparison.lines],
        "refused": list(comparison.refused.items()),
        "how": _how(header),
        "provenance": [(words.title(name), words.text(value, 400)) for name, value in header.items()],
    }


def _line(line: RepairLine, comparison: RepairComparison, alpha: float) -> dict[str, Any]:
    facts = comparison.outcomes[0].facts.get(line.name, {})
    return {
        "name": line.name,
        "role": line.role,
        "tone": TONES.get(line.verdict, "plain"),
        "verdict": line.verdict,
        "reason": line.reason,
        "notes": line.notes,
        "facts": "first seed: " + _told(facts) if facts else "",
        "cells": [_cell(line, measure, alpha) for measure in MEASURES],
    }


def _told(facts: Mapping[str, Any]) -> str:
    return words.text("; ".join(f"{name.replace('_', ' ')} {value}" for name, value in facts.items()), 400)


def _cell(line: RepairLine, measure: Measure, alpha: float) -> dict[str, str]:
    mean, change = line.means[measure.name], line.changes[measure.name]
    if not math.isfinite(mean.estimate):
        return {"value": "–", "interval": "not measured", "mark": "", "tone": ""}
    interval = "" if mean.low is None or mean.high is None else f"{_number(max(0.0, mean.low))} to {_number(min(1.0, mean.high))}"
    shown = line.role != "control" and change.p_value <= alpha and abs(change.mean.estimate) > 0
    falls = change.mean.estimate < 0
    good = falls == (measure.better == "lower")
    mark = ("▼" if falls else "▲") if shown else ""
    return {"value": _number(mean.estimate), "interval": interval, "mark": mark, "tone": "good-mark" if good else "bad-mark"}


def _number(share: float) -> str:
    return f"{100 * share:.2f}%"


def _how(header: Mapping[str, Any]) -> str:
    train, judge = _name(header["train_method"]), _name(header["judge_method"])
    return (
        f"For every seed a model of the given kind was fitted to about {header['train_rows']:,} training rows and judged on "
        f"{header['held_out_rows']:,} held-out ones. The findings of {train} trained. The findings of {judge} that are no twins of those, "
        "a new search of that method on every mended model, held-out real rows and inputs drawn from the whole domain judged. "
        "Repairs that fit a new model are held against the same model fitted again with another seed; the others against the model "
        "as it was."
    )


def _name(method: str) -> str:
    return method.split("(")[0].lower()
