"""The surrogate boundary of a model in a latent space: an auxiliary set of labelled latents, ranked, balanced and fitted.

Latents are never all held at once: each batch has its own seed, so that it can be drawn a second time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Reals, Scores
from evenhand.contract import Task, labels_of
from evenhand.methods.parts.boundary import Boundary, fit_boundary, ranking_auc
from evenhand.synthesis.latent import Latents, LatentSpace

USELESS_AUC = 0.55
"""A boundary that ranks latents no better than this leads nowhere in particular."""
KEPT_BYTES = 128_000_000
"""So much of a stream is remembered instead of drawn again."""
LATENTS_OF_FITNESS = 200_000
"""At most so many latents are ranked for the AUC on all."""


@dataclass(frozen=True)
class Recipe:
    """How the auxiliary set is made: how many latents, the confidence from which on one counts, most of each class, the fit.

    share: of what is left of the budget, so much may go into it; latents that it does not pay for are not labelled
    """

    latents: int
    confidence: float
    per_class: int
    boundary: str
    batch: int
    share: float = 1.0


@dataclass(frozen=True)
class LatentStream:
    """Latents that can be drawn again: one seed per batch."""

    space: LatentSpace
    seeds: tuple[np.random.SeedSequence, ...]
    batch: int
    total: int
    kept: dict[int, Latents] = field(default_factory=dict)  # the first batches, as far as they fit in KEPT_BYTES

    @classmethod
    def new(cls, space: LatentSpace, total: int, batch: int, rng: np.random.Generator) -> LatentStream:
        """A stream of `total` latents."""
        root = np.random.SeedSequence(int(rng.integers(2**62)))
        return cls(space, tuple(root.spawn(-(-total // batch))), batch, total)

    def __iter__(self) -> Iterator[Latents]:
        for at, seed in enumerate(self.seeds):
            latents = self.kept.get(at)
            if latents is None:
                latents = self.space.latents(min(self.batch, self.total - at * self.batch), np.random.default_rng(seed))
                if (at + 1) * self.batch * latents.shape[1] * latents.itemsize <= KEPT_BYTES:
                    self.kept[at] = latents
            yield latents

    def take(self, places: Index) -> Latents:
        """The latents at these places, in ascending order of their places."""
        places = np.sort(places)
        taken: Latents = np.empty((len(places), self.space.latent_size), dtype=next(iter(self)).dtype)
        ends = np.searchsorted(places, np.arange(len(self.seeds) + 1) * self.batch)
        for at, latents in enumerate(self):
            if ends[at] == len(places):
                break
            chosen = slice(ends[at], ends[at + 1])
            np.take(latents, places[chosen] - at * self.batch, axis=0, out=taken[chosen], mode="clip")
        return taken


@dataclass
class Ranked:
    """Where in the stream the most confident latents of one class stand, at most `room` of them."""

    room: int
    places: list[Index] = field(default_factory=list)
    confidences: list[Reals] = field(default_factory=list)
    held: int = 0

    def add(self, places: Index, confidences: Reals) -> None:
        """Remember what may turn out to be among the best."""
        self.places.append(places)
        self.confidences.append(confidences)
        self.held += len(places)
        if self.held > 3 * self.room:
            self.settle()

    def settle(self) -> tuple[Index, Reals]:
        """The best so far, the most confident first."""
        places, confidences = np.concatenate(self.places), np.concatenate(self.confidences)
        best = np.argsort(-confidences, kind="stable")[: self.room]
        self.places, self.confidences, self.held = [places[best]], [confidences[best]], len(best)
        return self.places[0], self.confidences[0]


@dataclass(frozen=True)
class Imitation:
    """The surrogate boundary, or None with the reason why there is none; `facts` are for the reader of the run."""

    stream: LatentStream
    boundary: Boundary | None
    facts: dict[str, Any]

    @property
    def is_useful(self) -> bool:
        """Whether moving to the boundary is better than not moving."""
        return self.boundary is not None and not self.facts.get("useless", False)


def favourable_classes(task: Task) -> Mask:
    """Which of the model's classes lie on the favourable side; the last one where the domain does not say."""
    label = task.domain.label
    good = label.favourable if label else task.model.classes[-1:]
    sides = np.array([name in good for name in task.model.classes])
    return sides if sides.any() and not sides.all() else np.arange(len(sides)) == len(sides) - 1


def imitate(space: LatentSpace, task: Task, recipe: Recipe, rng: np.random.Generator) -> Imitation:
    """Label latents with the model, rank, balance, fit, and say how well the plane fits."""
    stream = LatentStream.new(space, recipe.latents, min(recipe.batch, recipe.latents), rng)
    classes = (Ranked(recipe.per_class), Ranked(recipe.per_class))
    sides = _labelled(stream, task, classes, recipe.share)
    facts: dict[str, Any] = {"latents": len(sides), "favourable_share": float(sides.mean()), "kind": recipe.boundary}
    if task.model.is_hard:
        facts["ranking"] = "the model says labels only: no latent is more confident than another, so none is left out"
    if sides.all() or not sides.any():
        facts |= {"useless": True, "verdict": f"the model gives all {len(sides):,} samples the same side: there is no boundary to find"}
        return Imitation(stream, None, facts)
    places, counts = _balanced(classes, recipe, facts, rng)
    latents, is_favourable = stream.take(places), sides[places]
    boundary = fit_boundary(latents, is_favourable, recipe.boundary, counts.astype(np.float64))
    facts["auc_train"] = ranking_auc(np.repeat(boundary.distances(latents), counts), np.repeat(is_favourable, counts))
    facts["auc_of_noise"] = noise_auc(latents.shape[1], int(is_favourable.sum()), int((~is_favourable).sum()))
    facts |= _fitness(stream, boundary, sides, facts["auc_of_noise"])
    return Imitation(stream, boundary, facts)


def _labelled(stream: LatentStream, task: Task, classes: tuple[Ranked, Ranked], share: float) -> Mask:
    """The side of every latent of the stream, as far as this share of the budget goes; the confident ones go to their class."""
    favourable, end = favourable_classes(task), (1.0 - share) * task.left()
    sides: list[Mask] = []
    for at, latents in enumerate(stream):
        scores = task.model.scores(stream.space.decode(latents))
        side, confidence = side_of(scores, favourable)
        for which, ranked in enumerate(classes):
            chosen = np.flatnonzero(side == bool(which))
            ranked.add(at * stream.batch + chosen, confidence[chosen])
        sides.append(side)
        if task.left() < end:
            break
    return np.concatenate(sides)


def side_of(scores: Scores, favourable: Mask) -> tuple[Mask, Reals]:
    """Whether the label is favourable, and the scores of that side together."""
    side: Mask = favourable[labels_of(scores)]
    chance = scores[:, favourable].sum(axis=1)
    return side, np.where(side, chance, scores.sum(axis=1) - chance).astype(np.float64)


def _balanced(classes: tuple[Ranked, Ranked], recipe: Recipe, facts: dict[str, Any], rng: np.random.Generator) -> tuple[Index, Index]:
    """Ascending places of the confident latents of both classes, and how often each counts: the smaller class is repeated at random."""
    parts = []
    for name, ranked in zip(("unfavourable", "favourable"), classes, strict=True):
        places, confidences = ranked.settle()
        enough = int(np.searchsorted(-confidences, -recipe.confidence, side="left"))
        if enough == 0:
            facts[f"lowered_confidence_{name}"] = float(confidences[-1])
            enough = len(places)
        facts[f"confident_{name}"] = enough
        parts.append(places[:enough])
    size = max(len(part) for part in parts)
    repeats = [np.bincount(rng.integers(0, len(part), size - len(part)), minlength=len(part)) for part in parts]
    places, counts = np.concatenate(parts), 1 + np.concatenate(repeats)
    ascending = np.argsort(places)
    return places[ascending], counts[ascending]


def noise_auc(size: int, favourable: int, unfavourable: int) -> float:
    """The AUC, on the latents that it was fitted to, of a plane between two classes that do not differ at all."""
    return 0.5 + 0.5 * math.erf(math.sqrt(size * (1 / favourable + 1 / unfavourable)) / 2)


def _fitness(stream: LatentStream, boundary: Boundary, sides: Mask, of_noise: float) -> dict[str, Any]:
    """AUC on latents as they come, and whether that is any use."""
    values: list[NDArray[np.floating]] = []
    heard = 0
    for latents in stream:
        values.append(boundary.distances(latents))
        heard += len(latents)
        if heard >= min(LATENTS_OF_FITNESS, len(sides)):
            break
    known = sides[:heard]
    auc = ranking_auc(np.concatenate(values), known)
    facts: dict[str, Any] = {"auc_all": auc, "auc_all_latents": heard, "useless": False}
    rarer = int(min(known.sum(), (~known).sum()))
    # The AUC varies with about 1 / sqrt(12 rarer): what is not farther than that above a plane fitted to noise is noise.
    if not auc > max(USELESS_AUC, of_noise + 2.0 / np.sqrt(12.0 * max(rarer, 1))):
        verdict = f"the boundary is useless here: it ranks latents with an AUC of {auc:.3f}, one fitted to noise with {of_noise:.3f}"
        facts |= {"useless": True, "verdict": verdict}
    return facts
