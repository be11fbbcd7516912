"""A section for a model card (Markdown): what was tested, on whom, the figures with their uncertainty, and what they do not say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.report import words
from evenhand.report.formats.md import code, prose, table
from evenhand.report.lead import lead, sentence
from evenhand.report.provenance import gate_sentence
from evenhand.report.record import Record
from evenhand.report.two_minutes import two_minutes

endings = (".card.md", "model_card.md", "model-card.md")

MOST_GROUPS = 40


def render(record: Record) -> str:
    """The section; its headings are below a card's own."""
    parts = [
        f"## Fairness evaluation\n\n**{words.title(record.outcome)}.** {prose(lead(record))}",
        _factors(record),
        _rates(record),
        _groups(record),
        _disaggregated(record),
        _checks(record),
        _caveats(record),
        _source(record),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _factors(record: Record) -> str:
    lines = [f"- **{told.title}**: {_coded(told.text)}" for told in two_minutes(record)]
    rule = gate_sentence(record)
    return "\n".join([*lines, *([f"- **Engineering tolerance**: {prose(rule)}"] if rule else [])])


def _coded(written: str) -> str:
    """Our own words, with what stands between backticks left as code."""
    return "".join(code(part) if place % 2 else prose(part) for place, part in enumerate(written.split("`")))


def _rates(record: Record) -> str:
    rows = [
        [
            prose(words.population(rate.population)[0]),
            words.percent(rate.estimate),
            f"{words.percent(rate.low)} to {words.percent(rate.high)} ({words.level(rate.confidence)})",
            f"{rate.n:,}",
        ]
        for rate in record.body.rates
        if rate.is_measured
    ]
    return "### Individuals\n\n" + table(["Population", "Treated differently", "Interval", "n"], rows) if rows else ""


def _groups(record: Record) -> str:
    rows = [
        [prose(words.text(each.get("title"), 80)), code(each.get("attribute"), in_table=True), _bounds(each), str(each.get("verdict"))]
        for each in record.body.groups
    ]
    return "### Groups\n\n" + table(["Figure", "By", "Size and bounds", "Verdict"], rows) if rows else ""


def _bounds(each: Mapping[str, Any]) -> str:
    shown = [_in_unit(each.get(name), str(each.get("unit"))) for name in ("estimate", "low", "high")]
    return f"{shown[0]} ({shown[1]} to {shown[2]})" if each.get("estimate") is not None else "too few rows"


def _in_unit(value: Any, unit: str) -> str:
    if not isinstance(value, (int, float)):
        return "–"
    return words.signed(value) if unit == "share" else words.number(value)


def _disaggregated(record: Record) -> str:
    """The first figure of every attribute, group by group."""
    first: dict[str, Mapping[str, Any]] = {}
    for each in record.body.groups:
        first.setdefault(str(each.get("attribute")), each)
    rows = [
        [code(name, in_table=True), code(part.get("name"), in_table=True), _bounds({**part, "unit": each.get("unit")}), f"{part['rows']:,}"]
        for name, each in first.items()
        for part in (each.get("groups") or [])[:MOST_GROUPS]
        if isinstance(part.get("rows"), int)
    ]
    if not rows:
        return ""
    named = prose(words.text(next(iter(first.values())).get("meaning"), 200))
    return f"### Disaggregated\n\nHere: {named}.\n\n" + table(["By", "Group", "Value and bounds", "n"], rows)


def _checks(record: Record) -> str:
    if record.body.groups or not record.checks:
        return ""
    rows = [[code(each.name, in_table=True), each.outcome, prose(words.text(each.message, 300)) or "–"] for each in record.checks[:30]]
    return "### Checks\n\n" + table(["Check", "Outcome", "Message"], rows)


def _caveats(record: Record) -> str:
    from evenhand.report.sections.meaning import does_not

    return "### Caveats\n\n" + "\n".join(f"- {prose(each)}" for each in does_not(record))


def _source(record: Record) -> str:
    header = record.header
    facts = {
        "Evenhand": header.evenhand, "verb": record.verb, "date": header.date, "seed": header.seed, "data": header.data.digest,
        "model": header.model.digest, "domain": header.domain.digest,
    }  # fmt: skip
    told = ", ".join(f"{name} {code(value)}" for name, value in facts.items() if value not in (None, ""))
    return f"Reason: {prose(sentence(record.reason))} Source: {told}."
