"""The frame that every page stands in: templates with everything escaped, the one style sheet, sections, tables."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from evenhand.report import words


@dataclass(frozen=True)
class Section:
    """A part of a page: its anchor, its heading, what the navigation calls it, and its content, escaped already."""

    id: str
    title: str
    nav: str
    html: Markup


@dataclass(frozen=True)
class TableCell:
    """One cell; `kind` is bad, good, unsure or words (left-aligned text)."""

    text: str
    note: str = ""
    kind: str = ""


@dataclass(frozen=True)
class TableRow:
    """One line of a table under its head."""

    head: str
    cells: Sequence[TableCell]
    note: str = ""
    kind: str = ""


@dataclass(frozen=True)
class DataTable:
    """A table; on a phone its lines become cards, or it scrolls when it is `wide`."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[TableRow]
    is_wide: bool = False

    def is_words(self, place: int) -> bool:
        """Whether the column at this place holds running text: its head then stands at the left as well."""
        return any(place and place <= len(row.cells) and row.cells[place - 1].kind == "words" for row in self.rows)


@cache
def environment() -> Environment:
    """The templates, with the filters that pages share."""
    made = Environment(
        loader=PackageLoader("evenhand.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "percent": words.percent,
        "at_least": words.at_least,
        "at_most": words.at_most,
        "number": words.number,
        "text": words.text,
        "level": words.level,
        "coded": coded,
    }
    made.filters["breakable"] = breakable
    made.filters["sentence_case"] = words.sentence_case
    return made


def coded(written: str) -> Markup:
    """Our own words with what stands between backticks as code; everything is escaped."""
    parts = written.split("`")
    return Markup("").join(Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts))


def breakable(written: str) -> Markup:
    """A name that may be broken after its underscores, and nowhere else."""
    return Markup("_<wbr>").join(escape(part) for part in written.split("_"))


def filled(template: str, **context: Any) -> Markup:
    """A template with its context; everything in it is escaped by the template or was before."""
    return Markup(environment().get_template(template).render(context))  # noqa: S704 - autoescaped


@cache
def style() -> str:
    """The one style sheet."""
    return environment().get_template("style.css").render().strip()


def style_digest() -> str:
    """What the page's policy allows: this style sheet and no other."""
    return base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
