"""Pictures under a change that leaves the person as they are: as they came, changed, what differs, and both answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.report import words

MOST_CHANGES, MOST_CASES = 24, 4
PNG = "data:image/png;base64,"
SIDES = (("person", "As it came"), ("twin", "Changed"), ("difference", "What differs"))


@dataclass(frozen=True)
class ChangedPicture:
    """One picture under one change; readings: what the jury reads, and what it sees in both."""

    who: str
    file: str
    truth: str
    before: str
    after: str
    pictures: tuple[tuple[str, str], ...]  # what it shows, and its data URI
    readings: tuple[tuple[str, str, str], ...]

    @property
    def is_lost(self) -> bool:
        """Whether the right answer was lost."""
        return self.after != self.truth


@dataclass(frozen=True)
class ShownChange:
    """One change with its pictures."""

    title: str
    lead: str
    cases: tuple[ChangedPicture, ...]


def shown_changes(figures: Mapping[str, Any]) -> list[ShownChange]:
    """The changes of a study that kept pictures; none of any other study."""
    kept = figures.get("pictures")
    if not isinstance(kept, Sequence) or isinstance(kept, str):
        return []
    return [_change(each) for each in kept[:MOST_CHANGES] if isinstance(each, Mapping) and each.get("cases")]


def _change(told: Mapping[str, Any]) -> ShownChange:
    lost, right = told.get("lost") or 0, told.get("right") or 0
    lead = f"{words.number(lost)} of {words.number(right)} right answers are lost"
    cases = tuple(_case(each) for each in list(told["cases"])[:MOST_CASES] if isinstance(each, Mapping))
    more = "; one picture that keeps its answer" if not lost else f"; {len(cases)} of them, groups in turn" if lost > len(cases) else ""
    return ShownChange(words.title(words.text(told.get("change") or "changed", 80)), f"{lead}{more}.", cases)


def _case(told: Mapping[str, Any]) -> ChangedPicture:
    before, after = [*(words.text(each, 60) for each in told.get("said") or ()), "–", "–"][:2]
    pictures = told.get("pictures") or {}
    return ChangedPicture(
        words.text(told.get("who") or "", 120),
        words.text(told.get("file") or "", 120),
        words.text(told.get("truth") or "", 60),
        before,
        after,
        tuple((caption, pictures[side]) for side, caption in SIDES if str(pictures.get(side) or "").startswith(PNG)),
        tuple(
            (words.text(name, 60), words.text(each[0], 60), words.text(each[1], 60))
            for name, each in (told.get("readings") or {}).items()
            if len(each) == 2
        ),
    )
