"""One self-contained page of any result: nothing is fetched, no script runs, everything from the data is escaped.

The sections are chosen by what the result holds; what a result lacks is not there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup

from evenhand.report import frame, two_minutes, words
from evenhand.report.frame import Section
from evenhand.report.lead import SYMBOLS, beside, classes_decide, lead, outcome_word, sentence
from evenhand.report.provenance import gate_sentence
from evenhand.report.record import Record
from evenhand.report.sections import (
    answer_tree,
    check_list,
    concentration,
    group_gaps,
    how_often,
    likeness_to_real,
    meaning,
    neuron_maps,
    oracle_views,
    over_time,
    policy_conditions,
    proof_bounds,
    repair_lines,
    searches,
    sheets,
    standings,
    studies,
    synthesis_fit,
    witness_cards,
)

MAKERS: tuple[Callable[[Record], Section | list[Section] | None], ...] = (
    policy_conditions.section,
    proof_bounds.section,
    over_time.section,
    how_often.section,
    studies.sections,
    concentration.section,
    witness_cards.section,
    sheets.contact_sheets,
    group_gaps.section,
    oracle_views.section,
    repair_lines.section,
    standings.ranks,
    standings.good_sets,
    standings.discovery,
    standings.grounds,
    synthesis_fit.section,
    likeness_to_real.section,
    answer_tree.section,
    neuron_maps.section,
    searches.section,
    check_list.section,
    sheets.further,
    meaning.meaning,
    meaning.reproduce,
)
"""The order in which a page tells."""

TITLES = {
    "scan": "fairness report",
    "measure": "fairness measurement",
    "certify": "certificate",
    "repair": "repair comparison",
    "synth": "synthetic rows",
    "bench": "methods side by side",
    "campaign": "many models",
    "compare": "models side by side",
    "doctor": "examination of a model",
    "replay": "replay",
    "gate": "gate of a build",
}


def render(record: Record) -> str:
    """The page as text; equal results give equal pages."""
    makers = sorted(MAKERS, key=lambda maker: maker is not studies.sections) if classes_decide(record) else MAKERS
    sections = [section for maker in makers for section in _made(maker(record))]
    brief, picture = two_minutes.two_minutes(record), two_minutes.strip(record)
    return frame.filled("page.html.j2", sections=sections, brief=brief, strip=picture, **banner(record))


def _made(found: Section | list[Section] | None) -> list[Section]:
    return found if isinstance(found, list) else [found] if found is not None else []


def banner(record: Record) -> dict[str, Any]:
    """What stands at the top of every rendering in HTML."""
    first = lead(record)
    reason = sentence(record.reason)
    return {
        "style": Markup(frame.style()),  # noqa: S704 - our own file, with nothing of the data in it
        "style_digest": frame.style_digest(),
        "outcome": record.outcome,
        "symbol": SYMBOLS[record.outcome],
        "word": outcome_word(record),
        "lead": first,
        "reason": reason if reason != first else "",
        "gate": gate_sentence(record),
        "title": "results over time" if record.body.series else TITLES[record.verb],
        "data_name": words.text(record.header.data.name, 80) if record.header.data.name else "",
        "protected": [words.text(name, 80) for name in record.protected],
        "date": words.text(record.header.date, 40) if record.header.date else "",
        "version": words.text(record.header.evenhand, 40) if record.header.evenhand else "",
        "alarms": [words.text(each, 900).rstrip(".") for each in record.body.alarms],
        "notes": [words.text(each, 1200).rstrip(".") for each in record.body.notes],
        "sentences": beside(record),
        "is_search": record.verb in ("scan", "bench"),
        "failures": [(words.text(c.name, 60), words.text(c.message, 600)) for c in record.checks if c.outcome == "failed"],
        "interrupted": [words.text(run.method, 60) for run in record.body.runs if run.is_interrupted],
    }
