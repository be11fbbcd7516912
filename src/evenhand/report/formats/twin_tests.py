"""Evidence about disparate treatment: twins that differ in nothing but what is protected, how often, and pair by pair."""

from __future__ import annotations

from evenhand.report import words
from evenhand.report.evidence import LegalSource, missing, opening
from evenhand.report.formats.md import code, prose, table
from evenhand.report.lead import lead
from evenhand.report.record import Record
from evenhand.report.sections import witness_cards

endings = (".twin-tests.md",)
tells_outcome = False  # evidence for others to judge: it has no pass mark

SOURCES = (
    LegalSource(
        "Title VII of the Civil Rights Act of 1964", "42 U.S.C. § 2000e-2(a)", "as in effect on 2025-08-27",
        "https://uscode.house.gov/view.xhtml?req=granuleid:USC-prelim-title42-section2000e-2", "a copy of the Code",
    ),
    LegalSource(
        "Equal Credit Opportunity Act, Regulation B", "12 CFR § 1002.4(a) and its official interpretation, on disparate treatment",
        "amended 2026-04-22, effective 2026-07-21: the effects test of § 1002.6(a) is gone, § 1002.4(a) stands",
        "https://www.consumerfinance.gov/rules-policy/regulations/1002/4/",
        "a copy of the Bureau's page, and notes of law firms on the change",
    ),
    LegalSource(
        "Directive 2000/43/EC", "Article 2(2)(a), direct discrimination", "2000-06-29, OJ L 180 of 2000-07-19",
        "http://data.europa.eu/eli/dir/2000/43/oj", "a copy of the text",
    ),
)  # fmt: skip
MOST_PAIRS = 50

WHAT = (
    "Matched pairs, as in paired testing: two inputs that are equal but for the protected attribute and "
    "what is declared to follow from it, "
    "and the two answers of the model. A pair shows that the attribute alone moves the answer; it does "
    "not show intent, and its absence does "
    "not show that there is no proxy."
)


def render(record: Record) -> str:
    """The pack."""
    often = "## How often" if record.body.wiring_doubt else "## How often\n\n" + prose(lead(record))
    parts = [opening("Twin tests", record, SOURCES), WHAT, often, _rates(record), _pairs(record)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _rates(record: Record) -> str:
    rows = [
        [
            prose(words.population(r.population)[0]),
            words.percent(r.estimate),
            f"{words.percent(r.low)} to {words.percent(r.high)}",
            f"{r.n:,}",
        ]
        for r in record.body.rates
        if r.is_measured
    ]
    return table(["Population", "Treated differently", "Interval", "n"], rows) if rows else ""


def _pairs(record: Record) -> str:
    cards = witness_cards.pairs_of(record, MOST_PAIRS)
    if not cards:
        return "## Pairs\n\n" + missing("pairs")
    rows = [
        [code(each.id, in_table=True), prose(each.headline), f"{prose(each.outcome)} → {prose(each.twin_outcome)}", prose(each.origin)]
        for each in cards
    ]
    return "## Pairs\n\n" + table(["Witness", "What differs", "Answer", "How it differs from a real row"], rows)
