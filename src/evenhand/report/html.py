"""One self-contained HTML page: nothing is fetched, no script runs, everything from the data is escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evenhand.report import facts, scan_marks, where, witness_cards, words, writing
from evenhand.report.provenance import gate_sentence, provenance
from evenhand.report.record import Record, RunRecord, read

PAIRS_AT_ONCE = 6
"""Pairs that are open at first; the others are folded."""

VERDICTS = {"pass": ("✓", "Pass"), "violation": ("✕", "Violation"), "inconclusive": ("?", "Inconclusive")}


def write(result: Mapping[str, Any], path: Path) -> Path:
    """Write the page."""
    return writing.save(render(result), Path(path))


def render(result: Mapping[str, Any]) -> str:
    """The page as text; equal results give equal pages."""
    record = read(result)
    return _environment().get_template("report.html.j2").render(_context(record))


@cache
def _environment() -> Environment:
    """The templates, with everything escaped and the filters that pages share."""
    made = Environment(
        loader=PackageLoader("evenhand.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"percent": words.percent, "number": words.number, "text": words.text, "level": words.level}
    return made


def _context(record: Record) -> dict[str, Any]:
    symbol, word = VERDICTS[record.outcome]
    cards = witness_cards.pairs_of(record)
    style = _environment().get_template("style.css").render().strip()
    return {
        "style": Markup(style),  # noqa: S704 - our own file, with nothing of the data in it
        "style_digest": base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        "record": record,
        "symbol": symbol,
        "word": word,
        "data_name": words.text(record.header.data.name, 80),
        "protected": [words.text(name, 80) for name in record.protected],
        "short": _in_short(record),
        "rates": [(rate, *words.population(rate.population)) for rate in record.body.rates],
        "anytime": words.text(record.body.anytime.get("sentence"), 300) if record.body.anytime else "",
        "unfair_sampled": max((rate.unfair or 0 for rate in record.body.rates), default=0),
        "pairs": cards,
        "pairs_at_once": PAIRS_AT_ONCE,
        "directions": witness_cards.directions(record),
        "runs": [_run(run) for run in record.body.runs],
        "failures": [(words.text(name, 60), words.text(why, 600)) for name, why in record.body.failures.items()],
        "interrupted": [words.text(run.method, 60) for run in record.body.runs if run.is_interrupted],
        "pictures": {
            "rates": scan_marks.rates(record),
            "methods": scan_marks.methods(record),
            "differences": scan_marks.differences(record),
        },
        "where": where.section(record),
        "oracle": words.oracle(record.header.oracle or ""),
        "gate": gate_sentence(record),
        "provenance": provenance(record),
    }


def _run(run: RunRecord) -> dict[str, Any]:
    return {
        "name": words.text(run.method, 60),
        "record": run,
        "ending": words.ending(run.ended),
        "cpu_seconds": words.number(run.cpu_seconds),
        "per_second": words.number(run.per_second),
        "facts": facts.readable(run.facts),
    }


def _in_short(record: Record) -> str:
    """The most realistic rate as one sentence."""
    if not record.body.rates or not record.body.rates[0].is_measured:
        return "How often it happens was not measured."
    rate = record.body.rates[0]
    among = {"data": "Among the real rows", "domain": "Of everything that the domain allows"}.get(
        rate.population, f"In the population “{words.text(rate.population, 60)}”"
    )
    columns = _listed([words.text(name, 60) for name in record.protected]) or "the protected columns"
    treated = words.treated(record.header.oracle or "", columns)
    return (
        f"{among}, {words.percent(rate.estimate)} {treated} "
        f"({words.level(rate.confidence)} interval {words.percent(rate.low)} to {words.percent(rate.high)}, n = {rate.n:,})."
    )


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
