"""A short summary for a pull request or a wiki (Markdown).

Values stand in code spans, so that nothing in them is markup, link or mention.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evenhand.report import facts, words
from evenhand.report.lead import lead, nouns, outcome_word, sentence
from evenhand.report.provenance import gate_sentence, provenance
from evenhand.report.record import CheckRecord, Record, RunRecord, StudyRecord
from evenhand.report.sections import concentration, policy_conditions, standings, witness_cards
from evenhand.report.sections.repair_lines import is_of_amounts

endings = (".md", ".markdown")

MOST_PAIRS = 10
MOST_CONDITIONS = 30

MEANING = (
    "## What this means\n\nEvery pair is proof: the model gave these two answers. Each rate is a share of one named population. "
    "Findings are the count of a search, not a rate. Only the protected columns were tested, and twins miss what a model does "
    "through proxies."
)

SYMBOLS = {"pass": "✅", "violation": "❌", "inconclusive": "❔"}


def render(record: Record) -> str:
    """The summary as text; what a result lacks is left out."""
    parts = [
        _opening(record),
        _alarms(record),
        _policy(record),
        _over_time(record),
        _rates(record),
        _certificate(record),
        *(_study(name, study) for name, study in record.body.studies.items()),
        _where(record),
        _pairs(record),
        _groups(record),
        _repairs(record),
        _standings(record),
        _methods(record),
        _checks(record),
        _failures(record),
        _facts(record),
        MEANING if record.witnesses or record.body.rates else "",
        _header(record),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _opening(record: Record) -> str:
    protected = ", ".join(code(name) for name in record.protected) or "not named"
    data = f"Data {code(record.header.data.name)}, protected {protected}." if record.header.data.name else f"Protected: {protected}."
    first, reason = lead(record), sentence(record.reason)
    title = f"# {SYMBOLS[record.outcome]} {outcome_word(record)}: {prose(first)}"
    lines = [title, prose(reason) if reason != first else "", data, prose(gate_sentence(record))]
    return "\n\n".join(line for line in lines if line)


def _alarms(record: Record) -> str:
    lines = [f"- **Alarm**: {prose(words.text(each, 900))}" for each in record.body.alarms]
    return "\n".join([*lines, *(f"- {prose(words.text(each, 1200))}" for each in record.body.notes)])


def _policy(record: Record) -> str:
    """Every condition of the policy, those that decide first."""
    told = policy_conditions.ordered(record)
    rows = [
        [
            code(each.get("name"), in_table=True),
            str(each.get("standing") or each.get("outcome")),
            prose(policy_conditions.measured(each)),
            prose(policy_conditions.value(each.get("tolerated"), each)),
            _in_table(str(each.get("message") or "")),
        ]
        for each in told[:MOST_CONDITIONS]
    ]
    if not rows:
        return ""
    opening = "## Policy\n\nThresholds are engineering tolerances, not legal limits.\n\n"
    return opening + table(["Condition", "Outcome", "Measured", "Tolerated", "Why"], rows)


def _over_time(record: Record) -> str:
    """Every result of a series, the oldest first."""
    steps = (record.body.series or {}).get("steps")
    rows = [
        [
            code(each.get("name"), in_table=True),
            f"{words.percent(each.get('estimate'))} ({words.percent(each.get('low'))} to {words.percent(each.get('high'))})",
            *(prose(str((each.get(name) or {}).get("verdict") or "–")) for name in ("since_before", "since_first")),
        ]
        for each in steps or []
    ]
    return "## Over time\n\n" + table(["Result", "Rate", "Since the one before", "Since the first"], rows) if rows else ""


def _certificate(record: Record) -> str:
    proof = record.body.certificate
    if not proof or proof.get("lower") is None or proof.get("upper") is None:
        return ""
    rows = [
        ["Surely unfair, at least", words.percent(proof["lower"])],
        ["Unfair, at most", words.percent(proof["upper"])],
        ["Proved free of discrimination", words.percent(1 - proof["upper"])],
        ["Boxes", words.number(proof.get("boxes"))],
        ["CPU-seconds", words.number(proof.get("cpu_seconds"))],
    ]
    measure = f"\n\n{prose(words.text(proof['measure'], 800))}" if proof.get("measure") else ""
    return "## Bounds\n\n" + table(["What", "Share or count"], rows) + measure


def _study(name: str, study: StudyRecord) -> str:
    lines = [f"- {prose(words.text(each, 600))}" for each in study.sentences]
    rows = [_check(check) for check in study.checks]
    told = "\n".join(lines) + ("\n\n" + table(["Check", "Outcome", "Message"], rows) if rows else "")
    return f"## {prose(words.title(name))}\n\n{told.strip()}" if told.strip() else ""


def _share(value: float | None) -> str:
    return "–" if value is None else words.signed(value)


def _in_table(written: str) -> str:
    return prose(words.text(written, 300)) if written else "–"


def _groups(record: Record) -> str:
    rows = [
        [
            prose(words.text(each.get("title"), 80)),
            code(each.get("attribute"), in_table=True),
            _size(each),
            _p(each),
            prose(words.text(each.get("verdict"), 40)),
        ]
        for each in record.body.groups
    ]
    return "## Groups\n\n" + table(["Figure", "By", "Size", "Corrected p", "Verdict"], rows) if rows else ""


def _size(each: Mapping[str, Any]) -> str:
    if each.get("estimate") is None:
        return "too few rows"
    shown = [
        words.signed(value) if each.get("unit") == "share" and value is not None else words.number(value)
        for value in map(each.get, ("estimate", "low", "high"))
    ]
    return f"{shown[0]} ({shown[1]} to {shown[2]})"


def _p(each: Mapping[str, Any]) -> str:
    p_value = each.get("p_adjusted")
    return f"{p_value:.3g}" if isinstance(p_value, (int, float)) else "–"


def _repairs(record: Record) -> str:
    told = record.body.repairs or {}
    rows = []
    for line in told.get("lines") or []:
        means = line.get("means") or {}
        figures = [
            _share((means.get(name) or {}).get("estimate")) for name in ("explained" if "explained" in means else "accuracy", "if_o")
        ]
        rows.append(
            [
                code(line.get("name"), in_table=True),
                *figures,
                prose(words.text(line.get("verdict"), 40)),
                _in_table(str(line.get("reason") or "")),
            ]
        )
    return (
        "## Repairs\n\n"
        + table(["Repair", "Explained" if is_of_amounts(record) else "Accuracy", "Unfair among held-out people", "Verdict", "Why"], rows)
        if rows
        else ""
    )


def _standings(record: Record) -> str:
    told = record.body.standings
    if not told:
        return ""
    return f"## Who is ahead\n\n{prose(standings.headline(told))}"


def _checks(record: Record) -> str:
    """Checks that no other part tells."""
    body = record.body
    if body.runs or body.groups or body.repairs or body.certificate:
        return ""
    rows = [_check(check) for check in record.checks]
    return "## Checks\n\n" + table(["Check", "Outcome", "Message"], rows) if rows else ""


def _check(check: CheckRecord) -> list[str]:
    return [code(check.name, in_table=True), check.outcome, code(check.message, 400, in_table=True) if check.message else "–"]


def _rates(record: Record) -> str:
    lines = []
    for rate in record.body.rates:
        heading, explanation = words.population(rate.population, nouns(record)[1])
        shown = [words.percent(rate.estimate), f"{words.percent(rate.low)} to {words.percent(rate.high)} ({words.level(rate.confidence)})"]
        shown = shown if rate.is_measured else ["not measured", "may be anything"]
        lines.append([prose(heading), *shown, words.number(rate.n), prose(explanation)])
    if not lines and record.verb != "scan":
        return ""
    return "## How often\n\n" + (
        table(["Population", "Rate", "Exact interval", "n", "What it is"], lines) if lines else "No rate was measured."
    )


def _where(record: Record) -> str:
    told = concentration.concentration(record)
    if told is None:
        return ""
    lines = [
        [code(rule.text, 400, in_table=True), rule.share, prose(rule.interval), words.number(rule.n), rule.others, rule.p_value]
        for rule in told.rules
    ]
    names = ["Who", "Share", "Interval", "n", "Others", "Corrected p"]
    shown = table(names, lines) if lines else "No rule."
    note = f"\n\n{prose(told.note)}." if told.note else ""
    first = ", ".join(code(bar.name) for bar in told.influences[:3])
    columns = f"\n\nThe columns that say most about who is affected: {first}." if first else ""
    return f"## Where it concentrates\n\n{prose(told.lead)}\n\n{shown}{note}{columns}"


def _pairs(record: Record) -> str:
    cards = witness_cards.pairs_of(record, MOST_PAIRS)
    if not cards:
        return "## Evidence\n\nNo pairs." if record.verb in ("scan", "certify") else ""
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
    more = f"\n\n{len(record.witnesses) - MOST_PAIRS:,} more pairs are in the result." if len(record.witnesses) > MOST_PAIRS else ""
    told = f"\n\nTo ask the model again: {code(f'evenhand replay {cards[0].id}')}" if record.verb != "certify" else ""
    return "## Evidence: pairs\n\n" + table(["Witness", "What differs", "Outcome", "How it differs from a real row"], lines) + more + told


def _methods(record: Record) -> str:
    names = ["Method", "Candidates", "Duplicates", "Findings", "Model rows", "CPU-seconds", "Findings per CPU-second", "Ended"]
    if not record.body.runs and not record.body.failures and record.verb != "scan":
        return ""
    lines = [_run(run) for run in record.body.runs] + [
        [code(name, in_table=True), *["–"] * 6, "**failed**"] for name in record.body.failures
    ]
    return "## Methods\n\n" + (table(names, lines) if lines else "No method was run.")


def _run(run: RunRecord) -> list[str]:
    counts = [run.candidates, run.duplicates, run.findings, run.model_rows, run.cpu_seconds, run.per_second]
    return [code(run.method, in_table=True), *(words.number(count) for count in counts), prose(words.ending(run.ended))]


def _failures(record: Record) -> str:
    failed = [check for check in record.checks if check.outcome == "failed"]
    lines = [f"- {code(check.name, 60)} failed: {code(check.message, 600)}" for check in failed]
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
