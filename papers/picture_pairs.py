"""Pairs of pictures that differ in one attribute as arrays: what the papers' tables count, and a jury of their editor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arrays import Labels, Mask, Reals, Scores
from evenhand.contract import Editor, KnowsSides, PictureModel, Pictures
from evenhand.errors import DataError, InvalidArgument
from evenhand.measures.studies.jury import Edit, EditorFacts, KnownValues, facts_of
from evenhand.measures.studies.leaning import Leaning, LeaningRule, leaning_of
from evenhand.media.album import Album
from evenhand.statistics.intervals import Interval, clopper_pearson

if TYPE_CHECKING:
    from evenhand.models.torch_pictures import TorchClassifier


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


def leaning(judged: JudgedPairs, tolerance: float = 0.05, confidence: float = 0.95, ordered: bool = False) -> Leaning:
    """Exact intervals of the net change of every class when the attribute goes from its lower to its higher code."""
    turned = judged.pairs.side > 0
    lower = np.where(turned, judged.labels[1], judged.labels[0])
    higher = np.where(turned, judged.labels[0], judged.labels[1])
    along = f"{judged.pairs.attribute} goes from {judged.pairs.values[0]} to {judged.pairs.values[1]}"
    return leaning_of(lower, higher, judged.classes, LeaningRule(tolerance, confidence, ordered), along)


Jury = Mapping[str, PictureModel]
"""Independent classifiers by the attribute that they read."""


def train_jury(album: Album, attributes: Sequence[str], rng: np.random.Generator, epochs: int = 4) -> dict[str, TorchClassifier]:
    """One classifier per attribute, trained on pictures that neither the editor nor the classifier under test has seen."""
    from evenhand.models.picture_training import Course, train

    course = Course(epochs=epochs)
    return {name: train("vgg", replace(album, label=album.attribute(name)).known(name), rng, course) for name in attributes}


def assess(editor: Editor, album: Album, jury: Jury) -> EditorFacts:
    """Let a jury read the pictures of an album and their twins."""
    if editor.attribute not in jury:
        raise InvalidArgument(f"jury has no classifier of {editor.attribute!r}, only of {sorted(jury)}")
    album = album.known(editor.attribute)
    edit = Edit(editor.attribute, editor.flip, album.pictures, editor.twins(album), 1 - album.sides(editor.attribute))
    return facts_of(edit, {name: KnownValues(album.attribute(name).values, album.attribute(name).codes) for name in jury}, jury)
