"""Changed pictures in which a recogniser lost objects that the change had not touched: the worst of them, and scenes to learn from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.media.parts.marked_boxes import MarkedBox, with_boxes
from evenhand.media.scenes import Scenes
from evenhand.models.recognisers.jpeg import jpeg_uri

MOST_SHOWN, MOST_LISTED = 6, 50
WIDTH = 420
"""Pixels of each of the two pictures that are kept for a page."""


@dataclass(frozen=True, eq=False)
class HarmedPicture:
    """One changed picture and what was lost in it."""

    place: int
    change: int
    lost: Counter[str]  # objects at risk that are gone, by class
    before: tuple[MarkedBox, ...]
    after: tuple[MarkedBox, ...]


@dataclass(frozen=True)
class WorstPicture:
    """A harmed picture as it is shown: before and after with the recogniser's boxes."""

    scene: str
    change: str
    lost: str
    picture_before: str  # data URIs
    picture_after: str


def worst_pictures(medium: Scenes, harmed: Sequence[HarmedPicture], blamed: Collection[str]) -> tuple[WorstPicture, ...]:
    """Those with the most lost objects of the blamed classes, of any class where nobody is blamed; one for each scene."""
    ordered = sorted(harmed, key=lambda one: (-_blame(one, blamed), -one.lost.total(), one.place, one.change))
    chosen = list({one.place: one for one in reversed(ordered)}.values())[::-1]
    chosen.sort(key=lambda one: (-_blame(one, blamed), -one.lost.total(), one.place))
    return tuple(_shown(medium, one) for one in chosen[:MOST_SHOWN] if _blame(one, blamed) or not blamed)


def _blame(one: HarmedPicture, blamed: Collection[str]) -> int:
    return sum(count for label, count in one.lost.items() if label in blamed)


def _shown(medium: Scenes, one: HarmedPicture) -> WorstPicture:
    before, after = medium.show(np.array([(one.place, one.change, 0), (one.place, one.change, 1)], float))
    told = ", ".join(f"{count} x {label}" if count > 1 else label for label, count in one.lost.most_common())
    sides = [jpeg_uri(with_boxes(side, boxes, WIDTH)) for side, boxes in ((before, one.before), (after, one.after))]
    return WorstPicture(medium.scenes[one.place].name, medium.changes[one.change].name, told, *sides)


def scenes_to_learn_from(medium: Scenes, harmed: Sequence[HarmedPicture]) -> list[dict[str, Any]]:
    """Scenes whose changed pictures lose the most objects, each with how many of its pictures do and the classes that are lost."""
    lost: dict[int, Counter[str]] = defaultdict(Counter)
    pictures: Counter[int] = Counter()
    for one in harmed:
        lost[one.place] += one.lost
        pictures[one.place] += 1
    order = sorted(lost, key=lambda place: (-lost[place].total(), place))
    return [
        {
            "scene": medium.scenes[place].name,
            "lost": lost[place].total(),
            "pictures": pictures[place],
            "classes": ", ".join(label for label, _ in lost[place].most_common()),
        }
        for place in order[:MOST_LISTED]
    ]
