"""The look of a self-contained page: one style sheet, tables, the verdict, the editor's facts, and the frame around the parts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from evenhand.measures.picture_pairs import Leaning
from evenhand.media.editors.editor import EditorFacts
from evenhand.statistics.intervals import Interval

STYLE = """
:root { color-scheme: light dark; } body { font: 16px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; } figure { display: inline-block; margin: .4rem; } figcaption { font-size: .85rem; }
.contact img { image-rendering: pixelated; border-radius: 4px; }
svg { max-width: 520px; border-radius: 4px; } .verdict { font-size: 1.25rem; font-weight: 600; }
"""


def verdict_html(found: Leaning, word: str) -> str:
    """The verdict in words, and the net change of every class as the attribute goes from its lower to its higher value."""
    said = f'<p class="verdict">{word} (tolerance {found.tolerance:.0%}, {found.confidence:.0%} confidence, all classes together)</p>'
    rows = [[name, f"{found.net[name]:+.1%}", f"{found.low[name]:+.1%} to {found.high[name]:+.1%}"] for name in found.net]
    what = (
        f"<p>How each class's share changes as {escape(found.along)}, flips one way minus flips the other way:</p>" if found.along else ""
    )
    return said + what + table_html(("class", "net change", "interval"), rows)


def facts_html(facts: EditorFacts) -> str:
    """What independent classifiers say about an editor's twins: what changed, what changed along, and how well they read."""
    rows = [[facts.attribute, "should change", *_cells(facts, facts.confirmed, facts.attribute)]]
    rows += [[name, "should stay", *_cells(facts, share, name)] for name, share in facts.collateral.items()]
    note = f"<p>{escape(facts.flip)}; mean absolute pixel change {facts.pixel_change:.1f} of 255. Judged by classifiers trained apart from "
    note += "the editor and from the classifier under test; only pictures that they read rightly before the edit count. "
    note += "Where they hardly beat guessing the commonest value, they say little.</p>"
    return note + table_html(
        ("attribute", "a good twin", "really changed", "interval", "pictures", "read rightly before", "by guessing"), rows
    )


def _cells(facts: EditorFacts, share: Interval, name: str) -> list[str]:
    return [
        f"{share.estimate:.1%}",
        f"{share.low:.1%} to {share.high:.1%}",
        str(share.n),
        f"{facts.baseline[name]:.1%}",
        f"{facts.guessing.get(name, 0):.1%}",
    ]


def synthetic_line(is_synthetic: bool) -> str:
    """Where the pictures were drawn, the page says so."""
    return "<p>The portraits are synthetic: drawn by arithmetic, nobody's picture.</p>" if is_synthetic else ""


def document(title: str, body: str) -> str:
    """A whole page that fetches nothing."""
    about = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head = f'<!doctype html><html lang="en"><head>{about}<title>{escape(title)}</title>'
    return f"{head}<style>{STYLE}</style></head><body><h1>{escape(title)}</h1>{body}</body></html>"


def table_html(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain table."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
