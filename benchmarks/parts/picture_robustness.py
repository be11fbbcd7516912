"""Classifiers that are equally robust for two groups, and ones that a change costs one group ten points more: how often each is blamed.

Groups are dealt out to drawn portraits by chance, alone or going along with the age group, so that a fair classifier has no true gap
within a label.  A planted one knows every changed picture by heart, and loses so many more right answers of the first group.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from evenhand.contract import StudyCase
from evenhand.datasets.album_data import from_album
from evenhand.datasets.dataset import Dataset
from evenhand.engine.gate import Gate
from evenhand.measures.studies.robust_groups import RobustGroups
from evenhand.media.album import Album, Attribute
from evenhand.media.disturbances import chosen_disturbances
from evenhand.media.without_twins import WithoutTwins
from evenhand.models.function import FunctionClassifier
from evenhand.models.meter import Meter
from evenhand.models.wrap import wrap
from evenhand.planted.portraits import AGE_GROUPS
from parts.picture_verdicts import PortraitClassifier, portraits


@dataclass(frozen=True, eq=False)
class Fragile:
    """A classifier that loses `points` more of the first group's right answers under every change; it knows each changed picture."""

    inner: PortraitClassifier
    hurt: frozenset[bytes]  # digests of the changed pictures that it loses

    @classmethod
    def planted(cls, inner: PortraitClassifier, album: Album, points: float, seed: int) -> Fragile:
        """So many points of those that were read rightly before, beyond what is lost anyway."""
        truth, group = album.label.codes, album.attribute("group").codes
        right = inner(album.pictures).argmax(axis=1) == truth
        chance = np.random.default_rng([seed, 12]).random(len(album))
        hurt: set[bytes] = set()
        for change in chosen_disturbances().values():
            pictures = change.changed(album.pictures)
            kept = right & (inner(pictures).argmax(axis=1) == truth)
            share = kept[right & (group == 0)].mean()
            lost = kept & (group == 0) & (chance < points / max(share, 1e-9))
            hurt |= {_digest(picture) for picture in pictures[lost]}
        return cls(inner, frozenset(hurt))

    def __call__(self, pictures: np.ndarray) -> np.ndarray:
        """Scores; the label of a picture that it loses is moved on by one."""
        scores = self.inner(pictures)
        moved = np.array([_digest(picture) in self.hurt for picture in pictures], dtype=bool)
        scores[moved] = np.roll(scores[moved], 1, axis=1)
        return scores


def _digest(picture: np.ndarray) -> bytes:
    return blake2b(np.ascontiguousarray(picture).tobytes(), digest_size=16).digest()


def grouped(count: int, seed: int, correlated: bool) -> Dataset:
    """Portraits whose group is dealt out by chance, going along with the oldest age group where that is asked for."""
    album = portraits(count, seed, False)
    rng = np.random.default_rng([seed, 9])
    old = album.label.codes == len(AGE_GROUPS) - 1
    codes = (rng.random(count) < np.where(old, 0.75, 0.25) if correlated else rng.random(count) < 0.5).astype(np.intp)
    album = replace(album, attributes={**album.attributes, "group": Attribute(("one", "other"), codes)}, factors=None)
    return from_album(album, [WithoutTwins("group")], (), "age_group")


@dataclass(frozen=True)
class Judged:
    """What was said of one change: the outcome, and the smallest gap that would have been found in four cases of five."""

    change: str
    outcome: str
    detectable: float


def judged(classifier: PortraitClassifier, data: Dataset, seed: int, points: float = 0.0) -> list[Judged]:
    """Every change, all corrected for each other."""
    album: Any = data.medium.album
    asked = Fragile.planted(classifier, album, points, seed) if points else classifier
    meter = Meter(wrap(FunctionClassifier(asked, AGE_GROUPS), data))
    case = StudyCase(data.domain, meter, data.medium, data.rows, data.labels, data.frame, 0.05)
    section = RobustGroups().study(case, np.random.default_rng([seed, 10]))
    told = zip(section.figures["changes"], section.claims, strict=True)
    return [Judged(one["metric"], Gate.rule(claim).outcome, one["detectable"]) for one, claim in told]
