"""A summary in Markdown for a pull request or a wiki.  Values stand in code spans, so that nothing in them is markup, link or mention."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.report import facts, where, witness_cards, words, writing
from evenhand.report.provenance import gate_sentence, provenance
from evenhand.report.record import Record, RunRecord, read

MOST_PAIRS = 10

MEANING = (
    "## What this means\n\nEvery pair is proof: the model gave these two answers. Each rate is a share of one named population. "
    "Findings are the count of a search, not a rate. Only the protected columns were tested, and twins miss what a model does "
    "through proxies."
)

SYMBOLS = {"pass": "✅ Pass", "violation": "❌ Violation", "inconclusive": "❔ Inconclusive"}


def write(result: Mapping[str, Any], path: Path) -> Path:
    """Write the summary."""
    return writing.save(render(result), Path(path))


def render(result: Mapping[str, Any]) -> str:
    """The summary as text."""
    record = read(result)
    parts = [
        _opening(record),
        _rates(record),
        _where(record),
        _pairs(record),
        _methods(record),
        _failures(record),
        _facts(record),
        MEANING,
        _header(record),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _opening(record: Record) -> str:
    data, protected = code(record.header.data.name), ", ".join(code(name) for name in record.protected) or "not named"
    lines = [f"# {SYMBOLS[record.outcome]}: {prose(record.reason)}", f"Data {data}, protected {protected}.", prose(gate_sentence(record))]
    return "\n\n".join(line for line in lines if line)


def _rates(record: Record) -> str:
    lines = []
    for rate in record.body.rates:
        heading, explanation = words.population(rate.population)
        shown = [words.percent(rate.estimate), f"{words.percent(rate.low)} to {words.percent(rate.high)} ({words.level(rate.confidence)})"]
        shown = shown if rate.is_measured else ["not measured", "may be anything"]
        lines.append([prose(heading), *shown, words.number(rate.n), prose(explanation)])
    return "## How often\n\n" + (
        table(["Population", "Rate", "Exact interval", "n", "What it is"], lines) if lines else "No rate was measured."
    )


def _where(record: Record) -> str:
    told = where.section(record)
    if told is None:
        return ""
    lines = [
        [code(rule.text, 400, in_table=True), rule.share, prose(rule.interval), words.number(rule.n), rule.others, rule.p_value]
        for rule in told.rules
    ]
    names = ["Who", "Share", "Interval", "n", "Others", "Corrected p"]
    shown = table(names, lines) if lines else "No rule."
    note = f"\n\n{prose(told.note)}." if told.note else ""
    first = ", ".join(code(bar.label) for bar in told.influences.bars[:3]) if told.influences else ""
    columns = f"\n\nThe columns that say most about who is affected: {first}." if first else ""
    return f"## Where it concentrates\n\n{prose(told.lead)}\n\n{shown}{note}{columns}"


def _pairs(record: Record) -> str:
    cards = witness_cards.pairs_of(record)
    if not cards:
        return "## Evidence\n\nNo pairs."
    lines = [
        [
            code(card.id, in_table=True),
            "<br>".join(
                f"{code(c.column, in_table=True)}: {code(c.person, in_table=True)} → {code(c.twin, in_table=True)}" for c in card.differing
            ),
            f"{code(card.outcome, in_table=True)} → {code(card.twin_outcome, in_table=True)}",
            card.origin
            + "".join(
                f"<br>{code(c.column, in_table=True)}: {code(c.real, in_table=True)} → {code(c.person, in_table=True)}"
                for c in card.departures
            ),
        ]
        for card in cards[:MOST_PAIRS]
    ]
    more = f"\n\n{len(cards) - MOST_PAIRS:,} more pairs are in the result." if len(cards) > MOST_PAIRS else ""
    told = f"\n\nTo ask the model again: {code(f'evenhand replay {cards[0].id}')}"
    return (
        "## Evidence: pairs of people\n\n"
        + table(["Witness", "Person → twin", "Outcome", "How it differs from a real row"], lines)
        + more
        + told
    )


def _methods(record: Record) -> str:
    names = ["Method", "Candidates", "Duplicates", "Findings", "Model rows", "CPU-seconds", "Findings per CPU-second", "Ended"]
    lines = [_run(run) for run in record.body.runs] + [
        [code(name, in_table=True), *["–"] * 6, "**failed**"] for name in record.body.failures
    ]
    return "## Methods\n\n" + (table(names, lines) if lines else "No method was run.")


def _run(run: RunRecord) -> list[str]:
    counts = [run.candidates, run.duplicates, run.findings, run.model_rows, run.cpu_seconds, run.per_second]
    return [code(run.method, in_table=True), *(words.number(count) for count in counts), prose(words.ending(run.ended))]


def _failures(record: Record) -> str:
    lines = [f"- {code(name, 60)} failed: {code(why, 600)}" for name, why in record.body.failures.items()]
    return "## Failed\n\n" + "\n".join(lines) if lines else ""


def _facts(record: Record) -> str:
    lines = [
        f"- {code(run.method)}: {prose(fact.name)}: {code(fact.value, 600)}"
        for run in record.body.runs
        for fact in facts.readable(run.facts)
    ]
    return "## What the methods measured\n\n" + "\n".join(lines) if lines else ""


def _header(record: Record) -> str:
    return "## How to reproduce\n\n" + table(
        ["Field", "Value"], [[prose(name), code(value, 600, in_table=True)] for name, value in provenance(record)]
    )


def table(names: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table of cells that are safe already."""
    rows = [names, ["---"] * len(names), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def code(value: object, longest: int = words.LONGEST, *, in_table: bool = False) -> str:
    """A value as a code span: the fence is longer than any run of backticks in it."""
    written = words.text(value, longest)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", written)), default=0))
    room = " " if written.startswith("`") or written.endswith("`") else ""
    # A table splits cells at every bar before it looks for code, and takes the backslash away itself.
    return f"{fence}{room}{written.replace('|', chr(92) + '|') if in_table else written}{room}{fence}"


def prose(written: str) -> str:
    """Running text with everything that Markdown would act upon escaped."""
    escaped = re.sub(r"([\\`*_\[\]<>&|~#!:$])", r"\\\1", words.printable(written))
    return escaped.replace("www.", "www\\.").replace("@", "@\u2060")
