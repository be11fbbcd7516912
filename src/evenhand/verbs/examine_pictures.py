"""A user's own classifier on a user's own album: pairs by an editor, the editor judged, the verdict, one page and one JSON object."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from evenhand.contract import Editor, PictureModel
from evenhand.measures.picture_pairs import JudgedPairs, Leaning, judge, leaning, make_pairs
from evenhand.media.album import Album
from evenhand.media.editors.editor import EditorFacts, Jury, assess
from evenhand.report.contact_sheet import contact_html
from evenhand.report.picture_style import document, facts_html, synthetic_line, verdict_html
from evenhand.statistics.intervals import Interval, clopper_pearson


@dataclass(frozen=True, eq=False)
class AlbumExamination:
    """What was seen."""

    album: str
    judged: JudgedPairs
    leaning: Leaning
    facts: EditorFacts
    accuracy: Interval | None = None  # where the album's labels are the classifier's classes
    synthetic: bool = False

    @property
    def outcome(self) -> str:
        """Violation where the classifier leans and the twins are what they claim; inconclusive where they are not; else pass."""
        if self.facts.confirmed.low < 0.5:
            return "inconclusive"
        return "violation" if self.leaning.found else "pass"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "album": self.album,
            "attribute": self.judged.pairs.attribute,
            "flip": self.judged.pairs.flip,
            "outcome": self.outcome,
            "accuracy": None if self.accuracy is None else self.accuracy.as_dict(),
            "unfair_pairs": self.judged.share.as_dict(),
            "along": self.leaning.along,
            "net_change": self.leaning.net,
            "net_change_low": self.leaning.low,
            "net_change_high": self.leaning.high,
            "tolerance": self.leaning.tolerance,
            "flips_confirmed": self.facts.confirmed.as_dict(),
            "jury_accuracy": self.facts.baseline,
            "jury_guessing": self.facts.guessing,
            "collateral": {name: share.as_dict() for name, share in self.facts.collateral.items()},
        }


@dataclass(frozen=True)
class PictureRule:
    """When a classifier is said to lean: beyond this net change, along the order of the classes too where they have one."""

    tolerance: float = 0.05
    ordered: bool = False


USUAL = PictureRule()
FEWEST, MOST_VALUES = 12, 10


def examine_album(album: Album, model: PictureModel, editor: Editor, jury: Jury, rule: PictureRule = USUAL) -> AlbumExamination:
    """Judge every picture of the album with its twin, and the editor that made the twins."""
    judged = judge(make_pairs(album, editor), model)
    lean = leaning(judged, rule.tolerance, ordered=rule.ordered)
    return AlbumExamination(album.name, judged, lean, assess(editor, album, jury), accuracy_of(album, model), album.is_synthetic)


def accuracy_of(album: Album, model: PictureModel) -> Interval | None:
    """How often the classifier repeats the album's labels; nothing where the labels are other words than the classes."""
    if not set(album.label.values) <= set(model.classes):
        return None
    known = album.labelled_as(model.classes)
    known = known[np.flatnonzero(known.label.codes >= 0)]
    right = model.scores(known.pictures).argmax(axis=1) == known.label.codes
    return clopper_pearson(int(right.sum()), len(right))


def watched(album: Album, attribute: str, label: str, most: int = 3) -> list[str]:
    """The attributes that a jury watches for collateral change: the label first, then others with a few well-filled values."""
    names = [name for name in (label, *album.attributes) if name != attribute and _is_readable(album, name)]
    return list(dict.fromkeys(names))[:most]


def _is_readable(album: Album, name: str) -> bool:
    codes = album.attribute(name).codes
    counts = np.bincount(codes[codes >= 0], minlength=2)
    return 2 <= len(counts) <= MOST_VALUES and int(np.sort(counts)[-2]) >= FEWEST


def album_page(found: AlbumExamination) -> str:
    """The page's HTML."""
    parts = [
        synthetic_line(found.synthetic),
        verdict_html(found.leaning, WORDS[found.outcome]),
        f"<p>Pairs with two different labels: {escape(str(found.judged.share))}.",
        f" Accuracy on the album's labels: {escape(str(found.accuracy))}.</p>" if found.accuracy else "</p>",
        f"<h2>The twins</h2>{facts_html(found.facts)}",
        f"<h2>Contact sheet</h2><p>Picture, twin, what differs; widest gap first.</p>{contact_html(found.judged)}",
    ]
    return document(f"{found.album}: {found.judged.pairs.attribute}", "".join(parts))


WORDS = {
    "violation": "The classifier leans",
    "pass": "No leaning beyond the tolerance",
    "inconclusive": "Inconclusive: an independent classifier does not confirm that the twins show the other value",
}
