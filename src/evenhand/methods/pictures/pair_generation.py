"""The loop that every pair method runs in: the same perturbation on both pictures, step by step, until the labels part.

Perturbations add up as real numbers, but the model is asked about whole pixel values: what is found can be saved as a picture.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Labels
from evenhand.contract import PictureModel
from evenhand.measures.picture_pairs import JudgedPairs, PicturePairs, judge
from evenhand.statistics.intervals import Interval, clopper_pearson

Pixels = NDArray[np.float32]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Moment:
    """What a method sees at each step: both pictures of the pairs that are still fair, and their common label."""

    first: Pixels
    second: Pixels
    labels: Labels
    pair: Index  # places among all pairs, for a method that keeps something per pair
    step: int


@runtime_checkable
class PairMethod(Protocol):
    """A way to perturb pairs.  Its parameters are the fields of a frozen dataclass."""

    needs: ClassVar[type]

    @property
    def steps(self) -> int:
        """At most how many times a pair is perturbed."""

    def perturbation(self, moment: Moment, model: Any, memory: dict[str, Any], rng: np.random.Generator) -> Pixels:
        """What to add to both pictures of every pair now."""


@dataclass(frozen=True, eq=False)
class Generated:
    """What came of the search: all pairs as they were left, which became unfair, and when."""

    judged: JudgedPairs
    found: NDArray[np.bool_]
    steps: Index  # the step at which a pair became unfair, or the last one
    model_pictures: int

    @property
    def share(self) -> Interval:
        """The share of fair pairs that became unfair."""
        return clopper_pearson(int(self.found.sum()), len(self.found))

    @property
    def unfair(self) -> JudgedPairs:
        """Only the pairs that became unfair."""
        return self.judged[self.found]


def generate(
    method: PairMethod, pairs: PicturePairs, model: PictureModel, rng: np.random.Generator, progress: Progress | None = None
) -> Generated:
    """Perturb pairs that the model treats alike, in one batch, at most `method.steps` times each; pairs unfair before never count."""
    first, second = pairs.first.astype(np.float32), pairs.second.astype(np.float32)
    asked, found, steps = 2 * len(pairs), np.zeros(len(pairs), bool), np.zeros(len(pairs), np.intp)
    start = judge(pairs, model)
    labels, found = start.labels[0], start.unfair.copy()
    memory: dict[str, Any] = {}
    for step in range(1, method.steps + 1):
        open_pairs = np.flatnonzero(~found)
        if not len(open_pairs):
            break
        moment = Moment(first[open_pairs], second[open_pairs], labels[open_pairs], open_pairs, step)
        change = method.perturbation(moment, model, memory, rng)
        first[open_pairs], second[open_pairs] = np.clip(moment.first + change, 0, 255), np.clip(moment.second + change, 0, 255)
        parted, labels[open_pairs] = _parted(model, first[open_pairs], second[open_pairs])
        asked, steps[open_pairs] = asked + 2 * len(open_pairs), step
        found[open_pairs] = parted
        if progress:
            progress("generating", step, method.steps)
    final = judge(replace(pairs, first=np.rint(first), second=np.rint(second)), model)
    return Generated(final, final.unfair & ~start.unfair, steps, asked)


def _parted(model: PictureModel, first: Pixels, second: Pixels) -> tuple[NDArray[np.bool_], Labels]:
    one, other = model.scores(np.rint(first)).argmax(axis=1), model.scores(np.rint(second)).argmax(axis=1)
    return one != other, one
