"""Studies of what a medium shows: classes of objects, leanings, the jury of an editor, neurons, and whatever else was studied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.report import words
from evenhand.report.charts.rows import intervals
from evenhand.report.figures import OUTCOMES, ShownFigures, shown
from evenhand.report.frame import DataTable, Section, TableCell, TableRow, filled
from evenhand.report.lead import sentence
from evenhand.report.record import Record, StudyRecord
from evenhand.report.sections import neuron_maps, object_classes
from evenhand.report.sections.changed_pictures import shown_changes

MOST_SENTENCES = 12
AT_ONCE = 2
"""Figures that are open at first; the others are folded."""

MOST_FOLDED = 8
"""More figures than these are folded together; as many checks are open at first."""


@dataclass(frozen=True)
class Topic:
    """What a study is called, and what a reader needs to know before its figures."""

    title: str
    lead: str = ""


KNOWN = {
    "classes": Topic(
        "Classes of objects",
        "How often objects of each class are lost or invented after a change that does not touch them, beside null changes of the same "
        "kind. A class is judged once, over all its trials, with an interval that allows for losses that come together in one picture.",
    ),
    "distrofair": Topic(
        "The paper's tables, over several recognisers",
        "What DistroFair reports, from these scenes: classes whose error lies above the mean error, by the union of the data's truth and "
        "all recognisers' answers, and by each recogniser's own answers; insertion out of the distribution beside insertion inside it. "
        "About half of all classes lie above the mean whatever the recogniser, so that this is shown and decides nothing.",
    ),
    "leaning": Topic(
        "Which way the answers lean",
        "How the share of each outcome moves as the protected value changes: flips one way minus flips the other way. A model that flips "
        "as often one way as the other treats single pictures unevenly, but leans towards nobody.",
    ),
    "jury": Topic(
        "What the twins really changed",
        "Independent classifiers looked at the pictures before and after the edit. The protected attribute should have changed, everything "
        "else should have stayed. Where they hardly beat guessing the commonest value, they say little.",
    ),
    "robust_groups": Topic(
        "What changes cost each group",
        "Each change leaves the person as they are: light, focus, something worn. Of the pictures that were read rightly before it, the "
        "share that is lost is compared between groups, within every true label. The intervals of all changes hold together.",
    ),
    "tone_gaps": Topic(
        "Right answers by skin tone, in the same light",
        "Skin tones were read from the pixels. Pictures taken in the dark are read as darker and are harder, so groups are compared within "
        "the same label and the same light; tones that are misread mix the groups, which is allowed for.",
    ),
    "match_errors": Topic(
        "False matches and false non-matches",
        "How often pairs of different people are taken for one person, and pairs of one person for two people, in every group. As many "
        "pairs of a group are needed as show a gap of 10 %; a smaller gap takes more.",
    ),
    "other_labels": Topic(
        "The other labels",
        "The model says several labels of each picture. Those besides the main one are compared between groups here, all corrected for "
        "each other.",
    ),
    "neurons": Topic(
        "Neurons",
        "How the readable layers react to pairs that differ only in what is protected, and how much of each measure's range they cover.",
    ),
}


def sections(record: Record) -> list[Section]:
    """One section for each study that found something."""
    made: list[Section] = []
    for name, study in (_classes(record) | record.body.studies).items():
        if study.figures or study.sentences:
            topic = KNOWN.get(name, Topic(words.title(name)))
            html = object_classes.html(study, topic.lead) if object_classes.is_told(study) else _html(study, topic.lead)
            made.append(Section(f"study-{len(made) + 1}", topic.title, topic.title, html))
    return made


def _classes(record: Record) -> dict[str, StudyRecord]:
    """A scan of scenes judges classes itself; the page tells them like any study."""
    told = (record.body.model_extra or {}).get("classes")
    if not isinstance(told, Mapping):
        return {}
    return {"classes": StudyRecord(figures=dict(told), checks=[check for check in record.checks if check.name.startswith("class ")])}


def _html(study: StudyRecord, lead: str) -> Any:
    map_of = neuron_maps.maps(study.figures)
    untold = {"reason", *({"layers"} if map_of else ()), *({"pictures"} if (changes := shown_changes(study.figures)) else ())}
    told = {name: value for name, value in study.figures.items() if name not in untold}
    figures, checks = [_figure(each) for each in shown(told)], _checks(study)
    is_long = checks is not None and len(checks.rows) > MOST_FOLDED
    return filled(
        "sections/study.html.j2",
        lead=lead,
        sentences=[sentence(each) for each in study.sentences[:MOST_SENTENCES]],
        more=max(0, len(study.sentences) - MOST_SENTENCES),
        checks=None if is_long else checks,
        folded_checks=checks if is_long else None,
        figures=figures[: MOST_FOLDED if len(figures) <= MOST_FOLDED else AT_ONCE],
        together=figures[AT_ONCE:] if len(figures) > MOST_FOLDED else [],
        maps=map_of,
        changes=changes,
        at_once=AT_ONCE,
    )


ORDER = {"violation": 0, "failed": 1, "inconclusive": 2, "pass": 3}


def _checks(study: StudyRecord) -> DataTable | None:
    """What was decided, the worst first."""
    rows = [
        TableRow(
            words.text(check.name, 100),
            [
                TableCell(OUTCOMES[check.outcome][0], kind=OUTCOMES[check.outcome][1]),
                TableCell(words.text(check.message, 600), kind="words"),
            ],
        )
        for check in sorted(study.checks, key=lambda check: ORDER[check.outcome])
    ]
    return DataTable("What was decided", ("Check", "Outcome", "Why"), rows) if rows else None


def _figure(each: ShownFigures) -> dict[str, Any]:
    return {"title": each.title, "table": each.table, "picture": intervals(each.chart) if each.chart else None}
