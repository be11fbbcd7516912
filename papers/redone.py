"""What redoing a table or a figure gives, and the page that shows it beside the published figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
from cells import Cells
from rank_agreement import spearman

from evenhand.statistics.ranking import mean_interval

ALIKE = 0.7
"""Two orders with this rank correlation are said to agree."""


@dataclass(frozen=True)
class Effort:
    """How much is run: in short (under 90 CPU-seconds an item), or all of it."""

    is_quick: bool = True
    cells: Cells = field(default_factory=Cells)

    @property
    def seeds(self) -> range:
        """Those of a figure with an interval."""
        return range(3 if self.is_quick else 5)

    def choose(self, quick: int, full: int) -> int:
        """A count by the form of the run."""
        return quick if self.is_quick else full


@dataclass(frozen=True)
class Grid:
    """A table."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        return f"**{self.title}**\n\n" + "\n".join(f"| {' | '.join(map(str, row))} |" for row in lines)


def in_words(sentence: str) -> Grid:
    """What the text says, where no figure is at hand."""
    return Grid("In words", ["text"], [[sentence]])


@dataclass(frozen=True)
class Redone:
    """An item redone.

    published: what the paper prints; ours: the same from this code, over `seeds`.  agrees, differs: sentences, the latter with the reason.
    pictures: charts by file name.
    """

    ours: Sequence[Grid]
    published: Sequence[Grid] = ()
    agrees: Sequence[str] = ()
    differs: Sequence[str] = ()
    seeds: str = "0"
    pictures: Mapping[str, str] = field(default_factory=dict)
    interval: str = "Intervals are 95 % of the mean over seeds (Student's t)."
    set_up: str = ""  # how this run differs from the paper's, where that is not what the inventory says


@dataclass(frozen=True)
class FieldNote:
    """A result that goes beyond one table: the question, what was done, figures, what follows, and what to beware of."""

    question: str
    done: str
    grids: Sequence[Grid]
    follows: Sequence[str]
    beware: Sequence[str] = ()
    seeds: str = "0"
    pictures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Range:
    """What a figure can be at least and at most: an interval over few seeds ends there."""

    least: float = -np.inf
    most: float = np.inf


ANYTHING, COUNTS, PERCENT = Range(), Range(0.0), Range(0.0, 100.0)


def told(values: Sequence[float | None], form: str = ",.0f", within: Range = ANYTHING) -> str:
    """Mean and 95 % interval over seeds, within what the figure can be; a dash where there is nothing."""
    present = [float(value) for value in values if value is not None and np.isfinite(value)]
    if not present:
        return "-"
    found = mean_interval(present)
    if found.low is None or found.high is None:
        return f"{found.mean:{form}}"
    return f"{found.mean:{form}} ({max(found.low, within.least):{form}} to {min(found.high, within.most):{form}})"


def ranked(what: str, ours: Mapping[str, float], published: Mapping[str, float]) -> tuple[bool, str, str]:
    """Whether two rankings of the same names are alike (Spearman's correlation of at least .7), as a claim with both its sentences."""
    names = [name for name in published if np.isfinite(ours.get(name, np.nan))]
    if len(names) < 4:
        return True, "", ""
    found = spearman([ours[name] for name in names], [published[name] for name in names])
    order = ", ".join(sorted(names, key=lambda name: -ours[name]))
    words = f"{what}: rank correlation with the published order {found:+.2f} (ours, from most to least: {order})."
    return found >= ALIKE, words, words


def sorted_by_truth(sentences: Sequence[tuple[bool, str, str]]) -> tuple[list[str], list[str]]:
    """What agrees, and what does not: of each claim the sentence that the figures support."""
    return [yes for holds, yes, _ in sentences if holds and yes], [no for holds, _, no in sentences if not holds and no]


def either(holds: bool, words: str) -> tuple[bool, str, str]:
    """A sentence of figures that agree or do not: the same words under the heading that they belong to."""
    return holds, words, words


@dataclass(frozen=True)
class PageFacts:
    """What a page says about its run."""

    title: str
    command: str
    cpu_seconds: float
    sorts: float  # the same in units of the yardstick, each part by the pace of the machine while it was computed
    note: str = ""


def _spent(cpu_seconds: float) -> str:
    """Small costs with a decimal, so that none is told as zero."""
    return f"{cpu_seconds:,.0f}" if cpu_seconds >= 9.95 else f"{cpu_seconds:.1f}"


def _list(title: str, sentences: Sequence[str]) -> str:
    return f"## {title}\n\n" + "\n".join(f"- {sentence}" for sentence in sentences) if sentences else ""


def page(done: Redone | FieldNote, facts: PageFacts) -> str:
    """The page of an item or of a note."""
    return _item_page(done, facts) if isinstance(done, Redone) else _note_page(done, facts)


def _note_page(note: FieldNote, facts: PageFacts) -> str:
    run = f"`{facts.command}`, seeds {note.seeds}, {datetime.now(UTC).date().isoformat()}, {_spent(facts.cpu_seconds)} CPU-seconds."
    parts = [
        f"# {facts.title}",
        note.question,
        f"## What was done\n\n{note.done}\n\n{run}",
        "## What came out\n\n" + "\n\n".join(map(str, note.grids)),
        _list("What follows", note.follows),
        _list("What to beware of", note.beware),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _item_page(done: Redone, facts: PageFacts) -> str:
    cost = f"{_spent(facts.cpu_seconds)} CPU-seconds of one core, {facts.sorts:,.0f} times sorting ten million doubles"
    run = f"`{facts.command}`, seeds {done.seeds}, {datetime.now(UTC).date().isoformat()}. Cost: {cost}. {done.interval}"
    drawn = "\n\n".join(f"![{name}]({name})" for name in done.pictures)
    grids = [("Published", done.published), ("Redone", done.ours)]
    parts = [
        f"# {facts.title}",
        run,
        f"What differs in the set-up: {done.set_up or facts.note}." if done.set_up or facts.note else "",
        *(f"## {title}\n\n" + "\n\n".join(map(str, shown)) for title, shown in grids if shown),
        drawn,
        _list("What agrees", done.agrees),
        _list("What does not, and why", done.differs),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
