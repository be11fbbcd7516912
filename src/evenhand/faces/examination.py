"""A user's own classifier on a user's own album: pairs by an editor, the editor judged, the verdict, one page and one JSON object."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from evenhand.datasets.faces.album import Album
from evenhand.faces.abilities import PictureModel
from evenhand.faces.contact import contact_html
from evenhand.faces.editors.editor import Editor, EditorFacts, Jury, assess
from evenhand.faces.pairs import Judged, Leaning, judge, leaning, make_pairs
from evenhand.faces.style import document, table_html


@dataclass(frozen=True, eq=False)
class AlbumExamination:
    """What was seen."""

    album: str
    judged: Judged
    leaning: Leaning
    facts: EditorFacts

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
            "unfair_pairs": self.judged.share.as_dict(),
            "net_change": self.leaning.net,
            "net_change_low": self.leaning.low,
            "net_change_high": self.leaning.high,
            "tolerance": self.leaning.tolerance,
            "flips_confirmed": self.facts.confirmed.as_dict(),
            "collateral": {name: share.as_dict() for name, share in self.facts.collateral.items()},
        }


def examine_album(album: Album, model: PictureModel, editor: Editor, jury: Jury, tolerance: float = 0.05) -> AlbumExamination:
    """Judge every picture of the album with its twin, and the editor that made the twins."""
    judged = judge(make_pairs(album, editor), model)
    return AlbumExamination(album.name, judged, leaning(judged, tolerance), assess(editor, album, jury))


def album_page(found: AlbumExamination) -> str:
    """The page's HTML."""
    lean = found.leaning
    rows = [[name, f"{lean.net[name]:+.1%}", f"{lean.low[name]:+.1%} to {lean.high[name]:+.1%}"] for name in lean.net]
    said = "<br>".join(escape(line) for line in found.facts.lines())
    parts = [
        f'<p class="verdict">{found.outcome} (tolerance {lean.tolerance:.0%}, {lean.confidence:.0%} confidence)</p>',
        f"<p>Pairs with two different labels: {escape(str(found.judged.share))}.</p>",
        table_html(("class", "net change of its share", "interval"), rows),
        f"<h2>The twins</h2><p>{said}</p>",
        f"<h2>Contact sheet</h2><p>Picture, twin, what differs; widest gap first.</p>{contact_html(found.judged)}",
    ]
    return document(f"{found.album}: {found.judged.pairs.attribute}", "".join(parts))
