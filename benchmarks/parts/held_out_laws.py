"""Fair recognisers whose reasons were not thought of when the verdict was made: nothing was set on them, and no adjustment knows them.

dark: harder in dark pictures, originals and changed.  edge: harder towards the picture's edges and corners, steeply.
overlapped: whatever overlaps the edit is lost at once.  capped: only the largest objects of a picture are named.
coarse: what is below a size is never seen.  jittery: every picture is shaken by an amount of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from evenhand.arrays import Mask, Reals
from evenhand.media.object_facts import ORIGINAL, ObjectFacts
from evenhand.media.scenes import Scenes
from evenhand.planted.recogniser_laws import Law

CAP = 8  # objects that one picture gets
SMALLEST = 0.0008  # of the picture
DARKER = 40.0  # levels of lightness that cost one margin


@dataclass(frozen=True)
class HeldOutLaw(Law):
    """A law with further reasons.  darkness: of each picture, by scene and change, in margins."""

    darkness: Reals = field(default_factory=lambda: np.zeros((1, 1)))
    edge: float = 0.0
    overlapped: float = 0.0
    is_capped: bool = False
    is_coarse: bool = False
    jitter: float = 0.0

    def seen(self, facts: ObjectFacts, rng: np.random.Generator) -> Mask:
        """What the law sees, of which only the largest are named where it is capped."""
        found = super().seen(facts, rng)
        if self.is_coarse:
            found &= facts.area > SMALLEST
        return found & _largest(facts, found) if self.is_capped else found

    def _margin(self, facts: ObjectFacts) -> Reals:
        low = self.darkness[facts.scene % len(self.darkness), (facts.change - ORIGINAL) % self.darkness.shape[1]]
        border = np.maximum(facts.side, np.abs(facts.foot - 0.6) / 0.4) ** 4
        touching = (facts.distance <= 0.0) & (facts.edit < 0.9)
        return np.asarray(super()._margin(facts) - low - self.edge * border - self.overlapped * touching)

    def _common(self, facts: ObjectFacts, rng: np.random.Generator) -> Reals:
        common = super()._common(facts, rng)
        if not self.jitter:
            return common
        pictures = facts.scene * (int(facts.change.max()) + 2) + facts.change - ORIGINAL
        spread = self.jitter * rng.exponential(size=int(pictures.max()) + 1)
        return np.asarray(common + spread[pictures] * rng.normal(size=len(facts)))


def _largest(facts: ObjectFacts, seen: Mask) -> Mask:
    pictures = facts.scene * (int(facts.change.max()) + 2) + facts.change - ORIGINAL
    order = np.lexsort((-facts.area, ~seen, pictures))
    first = np.r_[True, np.diff(pictures[order]) != 0]
    rank = np.arange(len(order)) - np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    kept = np.zeros(len(order), bool)
    kept[order] = rank < CAP
    return kept


def darkness(medium: Scenes) -> Reals:
    """(scenes, changes and the original): margins by which each picture is darker than the middle one."""
    light = np.full((len(medium.scenes), len(medium.changes) + 1), np.nan)
    for place, scene in enumerate(medium.scenes):
        light[place, 0] = scene.picture[::4, ::4].mean()
        for change in range(len(medium.changes)):
            made = medium.made(place, change)
            if hasattr(made, "after"):
                light[place, change + 1] = made.after.picture[::4, ::4].mean()
    light = np.where(np.isnan(light), light[:, :1], light)
    return np.asarray((np.median(light[:, 0]) - light) / DARKER)


def held_out_laws(medium: Scenes) -> dict[str, HeldOutLaw]:
    """Fair recognisers, each with one reason, and one with most of them."""
    low = darkness(medium)
    most = HeldOutLaw(2.2, darkness=low, edge=1.5, overlapped=1.5, jitter=0.5)
    return {
        "dark": HeldOutLaw(darkness=low),
        "edge": HeldOutLaw(edge=2.5),
        "overlapped": HeldOutLaw(overlapped=3.0),
        "capped": HeldOutLaw(is_capped=True),
        "coarse": HeldOutLaw(is_coarse=True),
        "jittery": HeldOutLaw(jitter=1.0),
        "most": replace(most, size=0.7, hidden=1.0, together=0.7),
    }
