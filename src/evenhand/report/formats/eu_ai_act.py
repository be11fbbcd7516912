"""Items of the EU AI Act for high-risk systems, each with what this result measured for it, or that it did not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.contract import population_words
from evenhand.report import words
from evenhand.report.evidence import LegalSource, opening
from evenhand.report.formats.md import prose, table
from evenhand.report.lead import lead
from evenhand.report.record import Record

endings = (".eu-ai-act.md",)

SOURCES = (
    LegalSource(
        "Regulation (EU) 2024/1689 (Artificial Intelligence Act)", "Articles 9, 10, 12, 13, 15, 113 and Annex IV", "OJ L, 2024-07-12",
        "http://data.europa.eu/eli/reg/2024/1689/oj", "copies of the text",
    ),
    LegalSource(
        "Digital Omnibus on AI, amending it", "dates of application", "Council press release, 2026-06-29",
        "https://pubt.io/view/05F17399F4640BA895E91D794EB2716EE8B5C1B9", "a copy of the press release",
    ),
)  # fmt: skip
NOTHING = "not measured in this result"
MOST_GROUPS = 8


@dataclass(frozen=True)
class ActItem:
    """One demand of the Act, and what a result tells of it."""

    article: str
    demand: str
    told: Callable[[Record], str]


def render(record: Record) -> str:
    """The pack."""
    rows = [[each.article, prose(each.demand), prose(each.told(record) or NOTHING)] for each in ITEMS]
    dates = (
        "As enacted in 2024, the requirements for high-risk systems apply from 2026-08-02 (Annex III) and from 2027-08-02 (products of "
        "Annex I; Article 113). The Digital Omnibus on AI, which the Council adopted on 2026-06-29, moves these dates to 2027-12-02 and "
        "2028-08-02; its number and the day on which it entered into force stand in the Official Journal, which was not read here. "
        "Articles are numbered as in the Act of 2024. Check the Official Journal for the text in force."
    )
    parts = [
        opening("EU AI Act: what was measured for which item", record, SOURCES),
        dates,
        table(["Article", "Item", "What this result holds"], rows),
        f"Result: {prose(lead(record))}",
    ]
    return "\n\n".join(parts) + "\n"


def _data(record: Record) -> str:
    data = record.header.data
    return f"{words.number(data.rows)} rows of {words.text(data.name, 80)}, digest {words.text(data.digest, 40)}" if data.rows else ""


def _bias(record: Record) -> str:
    groups = record.body.groups
    different = sum(each.get("verdict") == "different" for each in groups)
    told = [f"{len(groups)} group figures, {different} of which differ"] if groups else []
    told += [
        f"twins: {words.percent(r.estimate)} of {population_words(r.population)} treated differently (n = {r.n:,})"
        for r in record.body.rates[:1]
        if r.is_measured
    ]
    return "; ".join(told)


def _gaps(record: Record) -> str:
    small = {str(part.get("name")) for each in record.body.groups for part in each.get("groups") or [] if not part.get("is_enough", True)}
    if not record.body.groups:
        return ""
    named = "; ".join(words.text(name, 60) for name in sorted(small)[:MOST_GROUPS])
    more = f" and {len(small) - MOST_GROUPS} more" if len(small) > MOST_GROUPS else ""
    return f"groups with too few rows: {named}{more}" if small else "every group has enough rows for the gap that matters"


def _accuracy(record: Record) -> str:
    figures = [each for each in record.body.groups if each.get("metric") == "accuracy" and each.get("estimate") is not None]
    return "; ".join(f"{_levels(f)}gap in accuracy by {words.text(f['attribute'], 60)}: {words.percent(f['estimate'])}" for f in figures)


def _levels(figure: Mapping[str, Any]) -> str:
    """How often each group is answered rightly, as far as a line holds them."""
    groups = [each for each in figure.get("groups") or [] if each.get("estimate") is not None]
    told = ", ".join(f"{words.text(each.get('name'), 60)}: {words.percent(each['estimate'])}" for each in groups[:MOST_GROUPS])
    more = f" and {len(groups) - MOST_GROUPS} more groups" if len(groups) > MOST_GROUPS else ""
    return f"accuracy {told}{more}; " if told else ""


def _declared(record: Record) -> str:
    return "for each group as under 13(3)(b)(v); the level over all people is not in this result" if _accuracy(record) else ""


def _robustness(record: Record) -> str:
    proof = record.body.certificate
    if proof and proof.get("upper") is not None:
        return f"proved: at most {words.percent(proof['upper'])} of the domain depends on what is protected"
    worst = (record.body.where or {}).get("worst") or {}
    return f"widest gap of scores between twins that was seen: {worst['gap']:.3f}" if worst.get("gap") is not None else ""


def _logging(record: Record) -> str:
    header = record.header
    kept = f"versioned JSON, seed {header.seed}, command {words.text(header.command, 200)}, digests of data, domain and model"
    return f"the system's own logs: {NOTHING}; what is kept of this test: {kept}"


def _rule(record: Record) -> str:
    return f"outcome {record.outcome} against the project's engineering tolerances; {len(record.witnesses)} pairs kept for replay"


def _dated(record: Record) -> str:
    return f"this result, of {words.text(record.header.date or 'an unknown date', 40)}; it is not signed"


ITEMS = (
    ActItem("9(6), (8)", "testing against prior defined metrics and probabilistic thresholds", _rule),
    ActItem("10(2)(b), (3)", "data governance: origin and statistical properties of the data", _data),
    ActItem("10(2)(f)–(g)", "examination for possible biases, and measures to detect them", _bias),
    ActItem("10(2)(h)", "identification of data gaps or shortcomings", _gaps),
    ActItem("12(1)", "record-keeping: events recorded automatically (logs) over the lifetime of the system", _logging),
    ActItem("13(3)(b)(v)", "performance regarding specific persons or groups", _accuracy),
    ActItem("13(3)(b)(ii), 15(1), (3)", "accuracy: levels and metrics declared", _declared),
    ActItem("15(4)", "robustness: errors and inconsistencies", _robustness),
    ActItem("Annex IV 2(g)", "testing procedures, metrics, also of discriminatory impacts; test reports dated and signed", _dated),
)  # fmt: skip
