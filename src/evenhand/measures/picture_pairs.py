"""Pairs of pictures that differ in one attribute, what a classifier says about them, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.arrays import Labels, Mask, Reals, Scores
from evenhand.contract import Editor, KnowsSides, PictureModel, Pictures
from evenhand.errors import DataError, InvalidArgument
from evenhand.media.album import Album
from evenhand.statistics.intervals import Interval, clopper_pearson
from evenhand.statistics.net import net_interval


@dataclass(frozen=True, eq=False)
class PicturePairs:
    """First pictures as they are, second pictures with the attribute flipped by an editor."""

    first: Pictures
    second: Pictures
    labels: Labels  # what the album calls the first pictures
    side: Labels  # 1 where the first picture has the attribute's higher value and its twin the lower one, else 0
    attribute: str
    flip: str  # what the flip really is: exact re-rendering, learned translation, classifier flip, latent reflection
    values: tuple[str, str] = ("the lower value", "the higher value")  # what the attribute's two sides are called

    def __post_init__(self) -> None:
        if self.first.shape != self.second.shape or len(self.labels) != len(self.first) or len(self.side) != len(self.first):
            raise InvalidArgument(
                f"first {self.first.shape}, second {self.second.shape}, {len(self.labels)} labels: a pair needs one of each"
            )

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, chosen: Any) -> PicturePairs:
        return replace(self, first=self.first[chosen], second=self.second[chosen], labels=self.labels[chosen], side=self.side[chosen])

    @classmethod
    def joined(cls, *parts: PicturePairs) -> PicturePairs:
        """Several batches as one."""
        arrays: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in ("first", "second", "labels", "side")
        }
        return replace(parts[0], **arrays)


def make_pairs(album: Album, editor: Editor) -> PicturePairs:
    """Every picture of the album with its twin."""
    known = album.known(editor.attribute)
    if not len(known):
        raise DataError(f"attribute {editor.attribute!r} of album {album.name!r} is unknown for every picture: there are no pairs")
    sides = editor.sides(known) if isinstance(editor, KnowsSides) else known.sides(editor.attribute)
    names = known.attribute(editor.attribute).values
    ends = (names[0], names[-1])
    return PicturePairs(known.pictures, editor.twins(known), known.label.codes, sides, editor.attribute, editor.flip, ends)


@dataclass(frozen=True, eq=False)
class JudgedPairs:
    """Pairs with both answers."""

    pairs: PicturePairs
    first: Scores
    second: Scores
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def labels(self) -> tuple[Labels, Labels]:
        """Both labels."""
        return self.first.argmax(axis=1), self.second.argmax(axis=1)

    @cached_property
    def unfair(self) -> Mask:
        """Which pairs get two different labels."""
        return np.asarray(self.labels[0] != self.labels[1])

    @cached_property
    def gap(self) -> Reals:
        """The largest difference of any class's score within the pair."""
        return np.asarray(np.abs(self.first - self.second).max(axis=1), dtype=np.float64)

    @property
    def share(self) -> Interval:
        """The share of unfair pairs, with its exact interval."""
        return clopper_pearson(int(self.unfair.sum()), len(self))

    def __getitem__(self, chosen: Any) -> JudgedPairs:
        return JudgedPairs(self.pairs[chosen], self.first[chosen], self.second[chosen], self.classes)


def judge(pairs: PicturePairs, model: PictureModel) -> JudgedPairs:
    """Ask the model about both pictures of every pair."""
    return JudgedPairs(pairs, model.scores(pairs.first), model.scores(pairs.second), model.classes)


@dataclass(frozen=True)
class Leaning:
    """Whether a classifier leans one way: per class, how its share changes when the attribute goes from its lower to its higher code."""

    net: dict[str, float]
    low: dict[str, float]
    high: dict[str, float]
    tolerance: float
    confidence: float
    pairs: int
    along: str = ""  # from which of the attribute's values to which

    @property
    def found(self) -> bool:
        """Whether some class's change lies beyond the tolerance, with all of its interval."""
        return any(self.low[name] > self.tolerance or self.high[name] < -self.tolerance for name in self.net)

    @property
    def strongest(self) -> str:
        """The class that changes most."""
        return max(self.net, key=lambda name: abs(self.net[name]))


UPWARD = "up the order"
"""The name of the change that ordered classes add: labels that move up minus labels that move down."""


def leaning(judged: JudgedPairs, tolerance: float = 0.05, confidence: float = 0.95, ordered: bool = False) -> Leaning:
    """Exact intervals of the net change of every class, holding all together.

    Every classifier flips some labels near its borders, in both directions alike.  A bias shows as flips that mostly go one way, so it
    is the difference of the two directions that is tested, against a tolerance rather than against zero.  Bonferroni over the changes
    makes all intervals hold together; with two classes there is only one change.  Where classes have an order, such as age groups,
    the net movement along it is one more change, and the most telling one: a class in the middle gains here what it loses there.
    """
    turned = judged.pairs.side > 0
    lower = np.where(turned, judged.labels[1], judged.labels[0])
    higher = np.where(turned, judged.labels[0], judged.labels[1])
    moves = {name: ((higher == code) & (lower != code), (higher != code) & (lower == code)) for code, name in enumerate(judged.classes)}
    if ordered:
        moves[UPWARD] = (higher > lower, higher < lower)
    distinct = 1 if len(judged.classes) == 2 else len(moves)
    each = 1.0 - (1.0 - confidence) / distinct
    found = {name: net_interval(int(came.sum()), int(went.sum()), len(judged), each) for name, (came, went) in moves.items()}
    along = f"{judged.pairs.attribute} goes from {judged.pairs.values[0]} to {judged.pairs.values[1]}"
    net, low = {name: one.estimate for name, one in found.items()}, {name: one.low for name, one in found.items()}
    return Leaning(net, low, {name: one.high for name, one in found.items()}, tolerance, confidence, len(judged), along)
