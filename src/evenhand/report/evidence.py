"""What evidence packs share: sources with their dates, the sentence that they are no legal advice, and selection rates by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.report import words
from evenhand.report.formats.md import code, prose, table
from evenhand.report.lead import IN_DOUBT
from evenhand.report.record import Record

WRITTEN = "2026-11-18"
"""The day on which the packs' texts were written; laws change after it."""

AS_READ = "each source with its date, its official address and how it was read, which was in copies and not in the journals themselves"
"""How the laws were read."""

NOT_ADVICE = (
    "**Not legal advice.** This is a rendering of measurements for those who prepare a legal assessment. It says nothing about whether a "
    "law applies, or is kept."
)


@dataclass(frozen=True)
class LegalSource:
    """Where a demand is written, as of when, its official address, and in which copy it was read."""

    name: str
    place: str
    date: str
    address: str
    read: str

    @property
    def line(self) -> str:
        """For a list of sources."""
        return f"{self.name}, {self.place} ({self.date}): <{self.address}>; read in {self.read}"


@dataclass(frozen=True)
class Selection:
    """How often one group gets the favourable outcome, and that over the highest of its division."""

    attribute: str
    group: str
    rows: int
    rate: float
    low: float | None
    high: float | None
    share: float
    ratio: float | None


def opening(title: str, record: Record, sources: Sequence[LegalSource]) -> str:
    """The head of a pack: what it is about, of when, from which sources."""
    header = record.header
    measured = (
        f"Measured {code(header.date or 'at an unknown date')} with Evenhand {code(header.evenhand or 'unknown')} ({record.verb}), data "
        f"{code(header.data.name or 'unnamed')} ({words.number(header.data.rows)} rows), model {code(header.model.digest or 'unknown')}."
    )
    lines = [
        f"# {title}",
        NOT_ADVICE,
        measured,
        *([f"**{IN_DOUBT}** {prose(words.sentence_case(words.text(record.body.wiring_doubt, 600)))}."] if record.body.wiring_doubt else []),
        f"Sources (this text is of {WRITTEN}, {AS_READ}; look up the wording in force):\n\n"
        + "\n".join(f"- {each.line}" for each in sources),
    ]
    return "\n\n".join(lines)


def selections(record: Record) -> list[Selection]:
    """Every group of every division that was measured, intersections too."""
    found: list[Selection] = []
    for figure in record.body.groups:
        if figure.get("metric") == "statistical_parity":
            found += _division(str(figure.get("attribute")), [g for g in figure.get("groups") or [] if g.get("estimate") is not None])
    return found


def _division(attribute: str, groups: Sequence[Mapping[str, Any]]) -> list[Selection]:
    highest = max((group["estimate"] for group in groups), default=0.0)
    total = sum(int(group["rows"]) for group in groups) or 1
    return [
        Selection(
            attribute, str(each["name"]), int(each["rows"]), each["estimate"], each.get("low"), each.get("high"), int(each["rows"]) / total,
            each["estimate"] / highest if highest else None,
        )
        for each in groups
    ]  # fmt: skip


def selection_table(found: Sequence[Selection]) -> str:
    """Groups with their number, rate, interval and ratio."""
    rows = [
        [
            code(each.attribute, in_table=True),
            code(each.group, in_table=True),
            f"{each.rows:,} ({words.percent(each.share)})",
            words.percent(each.rate),
            f"{words.percent(each.low)} to {words.percent(each.high)}",
            "–" if each.ratio is None else f"{each.ratio:.3f}",
        ]
        for each in found
    ]
    return table(["By", "Category", "Number (share)", "Selection rate", "Interval", "Impact ratio"], rows)


def missing(what: str) -> str:
    """What is said where a result lacks what a pack needs."""
    return prose(f"This result holds no {what}. `evenhand measure` measures groups, `evenhand scan` looks for pairs.")
