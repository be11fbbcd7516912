"""Pictures that a change cost their right answer: as they came, changed, what differs, and both answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Index, Labels, Mask, Rows
from evenhand.contract import Medium, PictureModel, StudyCase
from evenhand.media.album import as_bytes
from evenhand.media.pixel_differences import marked_difference
from evenhand.media.png import data_uri
from evenhand.media.thumbnails import thumbnail

MOST_SHOWN, HIGH = 4, 112
"""Pictures of one change, and how many pixels high they are at most: a page shows many changes."""


@dataclass(frozen=True, eq=False)
class ChangedAnswers:
    """What a change did: in which words it is told, the medium that shows it, the answers before and after it, the true ones."""

    words: str
    medium: Medium
    before: Labels
    after: Labels
    truth: Labels

    @property
    def was_right(self) -> Mask:
        """Which were read rightly before."""
        return np.asarray((self.before == self.truth) & (self.truth >= 0))


def examples(case: StudyCase, changed: ChangedAnswers) -> dict[str, Any] | None:
    """Some pictures that lost their right answer, the groups in turn; one that kept it, where none did; None where none was right."""
    lost = np.flatnonzero(changed.was_right & (changed.after != changed.truth))
    kept = np.flatnonzero(changed.was_right)
    chosen = _in_turn(lost, _groups(case))[:MOST_SHOWN] if len(lost) else kept[:1]
    if not len(chosen):
        return None
    sides = [as_bytes(np.asarray(medium.show(case.rows[chosen]))) for medium in (case.medium, changed.medium)]
    jury: Mapping[str, PictureModel] = getattr(case.medium, "jury", {})
    read = {name: [_said(reader, shown) for shown in sides] for name, reader in jury.items()}
    people = _people(case, chosen)
    cases = [
        _case(case, changed, at, people[number], [shown[number] for shown in sides], _at(read, number)) for number, at in enumerate(chosen)
    ]
    return {"change": changed.words, "lost": len(lost), "right": len(kept), "cases": cases}


def _groups(case: StudyCase) -> Labels:
    """The combination of protected values of every row."""
    protected = case.rows[:, [case.domain.place(name) for name in case.domain.protected]]
    return np.asarray(np.unique(protected, axis=0, return_inverse=True)[1].reshape(-1))


def _in_turn(places: Index, groups: Labels) -> Index:
    """The first of every group, then the second of every group, and so on."""
    turns = np.zeros(len(places), np.intp)
    for group in np.unique(groups[places]):
        mine = groups[places] == group
        turns[mine] = np.arange(int(mine.sum()))
    return places[np.argsort(turns, kind="stable")]


def _said(reader: PictureModel, shown: Any) -> list[str]:
    return [str(reader.classes[code]) for code in reader.scores(shown).argmax(axis=1)]


def _at(read: Mapping[str, list[list[str]]], number: int) -> dict[str, list[str]]:
    """What is read of one picture, in both forms of it."""
    return {name: [said[number] for said in both] for name, both in read.items()}


def _people(case: StudyCase, chosen: Index) -> list[dict[str, str]]:
    """The protected values of each row, and the file of its picture where it has one."""
    words = case.domain.decode(case.rows[chosen])
    sources: Callable[[Rows], list[str]] | None = getattr(case.medium, "sources", None)
    files = sources(case.rows[chosen]) if sources is not None else [""] * len(chosen)
    named = [", ".join(f"{name} = {line[name]}" for name in case.domain.protected) for _, line in words.iterrows()]
    return [{"who": who, "file": file} for who, file in zip(named, files, strict=True)]


def _case(
    case: StudyCase, changed: ChangedAnswers, at: int, person: dict[str, str], sides: list[Any], readings: dict[str, list[str]]
) -> dict[str, Any]:
    first, second = (thumbnail(side, HIGH) for side in sides)
    classes = [str(name) for name in case.model.classes]
    return {
        **person,
        "truth": classes[changed.truth[at]],
        "said": [classes[changed.before[at]], classes[changed.after[at]]],
        "readings": readings,
        "pictures": {
            "person": data_uri(first),
            "twin": data_uri(second),
            "difference": data_uri(marked_difference(first, second)),
        },
    }
