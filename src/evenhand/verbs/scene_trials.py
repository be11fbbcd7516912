"""Algorithm 1: every operator, class and scene, out of or inside the cluster's distribution, and what the recogniser answered.

Faithful to the paper: insertion brings the count one above the cluster's maximum, deletion removes the whole class, rotation turns one
object.  Added: the share of every other object that stays visible, null mutations as a control, and the reason of every skip.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import numpy as np

from evenhand.contract import Answer, Recogniser
from evenhand.errors import UnknownName
from evenhand.media.operators.delete import delete
from evenhand.media.operators.empty_patch import empty_patch
from evenhand.media.operators.insert import insert
from evenhand.media.operators.parts.donors import DonorBank, collect
from evenhand.media.operators.parts.mutated import (
    CONTROLS,
    DELETE,
    EMPTY_PATCH,
    INSERT,
    OPERATORS,
    PUT_BACK,
    ROTATE,
    Inpainter,
    Mutation,
    Skipped,
)
from evenhand.media.operators.put_back import put_back
from evenhand.media.operators.rotate import rotate
from evenhand.media.scene import Scene
from evenhand.media.scene_clusters import Clusters, Range, cluster, distribution, orientation_bin
from evenhand.media.vocabulary import Labels
from evenhand.models.recognisers.seen_objects import seen_counts

OUT, IN, CONTROL = "out of distribution", "in distribution", "control"
ROTATION_TRIES = 4


@runtime_checkable
class SeesScenes(Protocol):
    """A simulated recogniser that is told the truth and errs on purpose."""

    def recognise_scenes(self, scenes: Sequence[Scene]) -> list[Answer]:
        """One answer for each scene."""


@dataclass(frozen=True)
class Campaign:
    """What is tried.  Paper: insertion of seven classes, deletion and rotation of four, five repeats (deletion one)."""

    insert: tuple[str, ...] = ("person", "car", "motorcycle", "truck", "bird", "cat", "dog")
    change: tuple[str, ...] = ("person", "car", "motorcycle", "truck")
    operators: tuple[str, ...] = OPERATORS
    style: str = OUT
    repeats: int = 1
    controls: bool = True
    clusters: int | None = None
    most_inserted: int = 12
    inpainter: Inpainter | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in self.operators:
            if name not in OPERATORS:
                raise UnknownName("operator", name, OPERATORS)


@dataclass(frozen=True, eq=False)
class SceneTrial:
    """One mutated picture with the counts before and after; the pictures themselves are kept only when a sink keeps them."""

    operator: str
    label: str
    style: str
    scene: str
    cluster: int
    truth: Counter[str]  # of the data
    before: Counter[str]
    after: Counter[str]
    hidden: Counter[str]  # objects that the mutation itself covered
    touched: frozenset[str]
    added: int
    seconds: float
    how: str = ""


@dataclass(frozen=True, eq=False)
class CampaignOutcome:
    """Everything that one recogniser was tried with."""

    recogniser: str
    trials: tuple[SceneTrial, ...]
    skips: tuple[Skipped, ...]
    clusters: Clusters
    ranges: tuple[Mapping[str, Range], ...]
    scenes: tuple[str, ...]
    truth: tuple[Counter[str], ...]
    originals: tuple[Counter[str], ...]


Sink = Callable[[SceneTrial, Mutation, Answer], None]


def answers_for(recogniser: Recogniser | SeesScenes, scenes: Sequence[Scene]) -> list[Answer]:
    """The recogniser's answers to these scenes' pictures."""
    if isinstance(recogniser, SeesScenes):
        return recogniser.recognise_scenes(scenes)
    return recogniser.recognise([scene.picture for scene in scenes])


class Workshop:
    """What all trials on one set of scenes share: vocabulary, donors, clusters."""

    def __init__(self, scenes: Sequence[Scene], labels: Labels, campaign: Campaign, rng: np.random.Generator) -> None:
        self.labels, self.campaign, self.rng = labels, campaign, rng
        self.scenes = tuple(_named_alike(scene, {*campaign.insert, *campaign.change}, labels) for scene in scenes)
        self.bank: DonorBank = collect(self.scenes, labels)
        self.clusters = cluster(self.scenes, rng, campaign.clusters)
        self.truth = tuple(labels.true_counts(scene.truth) for scene in self.scenes)

    def ranges(self, seen: Sequence[Counter[str]]) -> tuple[dict[str, Range], ...]:
        """Each cluster's distribution as this recogniser sees it."""
        names = sorted({*self.campaign.insert, *self.campaign.change})
        known = [Counter({name: one[self.labels.canonical(name)] for name in names}) for one in seen]
        members = [np.flatnonzero(self.clusters.of == place) for place in range(self.clusters.count)]
        return tuple(distribution([self.scenes[k] for k in group], [known[int(k)] for k in group], names) for group in members)

    def mutations(
        self, seen: Sequence[Counter[str]], ranges: Sequence[Mapping[str, Range]]
    ) -> Iterator[tuple[int, Mutation | Skipped, float]]:
        """Algorithm 1's double loop; yields the scene's place, the result, and the CPU-seconds that it took."""
        for operator in self.campaign.operators:
            for label in self.campaign.insert if operator == INSERT else self.campaign.change:
                name = self.labels.canonical(label)
                for _ in range(1 if operator == DELETE else self.campaign.repeats):
                    for place in range(len(self.scenes)):
                        started = time.process_time()
                        made = self._mutate(operator, label, place, seen[place][name], ranges[self.clusters.of[place]][label])
                        yield place, made, time.process_time() - started
        if self.campaign.controls:
            yield from self._controls()

    def _mutate(self, operator: str, label: str, place: int, seen: int, usual: Range) -> Mutation | Skipped:
        scene = self.scenes[place]
        if operator == DELETE:
            return delete(scene, label, self.campaign.inpainter)
        if operator == ROTATE:
            return self._rotate(scene, label, usual)
        wanted = usual.most - seen + 1
        if self.campaign.style == IN:
            if usual.most <= seen:
                return Skipped(INSERT, label, scene.name, "no room inside the distribution")
            wanted = int(self.rng.integers(1, usual.most - seen + 1))
        if wanted > self.campaign.most_inserted:
            return Skipped(INSERT, label, scene.name, f"{wanted} objects would be needed")
        return insert(scene, label, wanted, self.bank, self.rng)

    def _rotate(self, scene: Scene, label: str, usual: Range) -> Mutation | Skipped:
        for _ in range(ROTATION_TRIES):
            made = rotate(scene, label, self.rng, self.campaign.inpainter)
            if isinstance(made, Skipped) or orientation_bin(made.after.instances[-1]) not in usual.orientations:
                return made
        return Skipped(ROTATE, label, scene.name, "the class already shows these orientations")

    def _controls(self) -> Iterator[tuple[int, Mutation | Skipped, float]]:
        for operator, act in ((PUT_BACK, put_back), (EMPTY_PATCH, empty_patch)):
            for place, scene in enumerate(self.scenes):
                present = [label for label in self.campaign.change if scene.of(label)]
                label = str(self.rng.choice(present)) if present else self.campaign.change[0]
                started = time.process_time()
                made = act(scene, label, self.rng, self.campaign.inpainter)
                assert operator in CONTROLS
                yield place, made, time.process_time() - started


def _named_alike(scene: Scene, wanted: set[str], labels: Labels) -> Scene:
    """Objects whose label means a wanted class get its name; all others keep theirs."""
    names = {labels.canonical(name): name for name in sorted(wanted)}
    if all(names.get(labels.canonical(one.label), one.label) == one.label for one in scene.instances):
        return scene
    return replace(scene, instances=tuple(replace(one, label=names.get(labels.canonical(one.label), one.label)) for one in scene.instances))


def examine(
    recogniser: Recogniser | SeesScenes,
    name: str,
    workshop: Workshop,
    sink: Sink | None = None,
    say: Callable[[int], None] | None = None,
) -> CampaignOutcome:
    """Run the whole campaign against one recogniser."""
    labels, scenes = workshop.labels, workshop.scenes
    seen = [seen_counts(answer, labels) for answer in answers_for(recogniser, scenes)]
    ranges = workshop.ranges(seen)
    trials, skips = [], []
    for done, (place, made, seconds) in enumerate(workshop.mutations(seen, ranges), 1):
        if say is not None:
            say(done)
        if isinstance(made, Skipped):
            skips.append(made)
            continue
        (answer,) = answers_for(recogniser, [made.after])
        trial = as_trial(made, (place, seconds), seen[place], answer, workshop)
        trials.append(trial)
        if sink is not None:
            sink(trial, made, answer)
    return CampaignOutcome(
        name, tuple(trials), tuple(skips), workshop.clusters, ranges, tuple(scene.name for scene in scenes), workshop.truth, tuple(seen)
    )


def as_trial(made: Mutation, where: tuple[int, float], before: Counter[str], answer: Answer, workshop: Workshop) -> SceneTrial:
    """The counts of one mutation."""
    place, seconds = where
    labels = workshop.labels
    touched = labels.touched(made.label)
    hidden = labels.true_counts(made.hidden(frozenset()))
    added = len(made.after.instances) - len(made.before.instances)
    style = CONTROL if made.operator in CONTROLS else workshop.campaign.style
    return SceneTrial(
        made.operator,
        made.label,
        style,
        made.before.name,
        int(workshop.clusters.of[place]),
        workshop.truth[place],
        before,
        seen_counts(answer, labels),
        hidden,
        touched,
        max(0, added),
        seconds,
        made.how,
    )
