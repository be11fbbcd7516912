"""Scenes as rows (scene, change, changed): a change is made when its row is first shown, and is the same whatever was asked before.

Algorithm 1 of DistroFair: every operator, class and scene, out of the cluster's distribution.  Added: null changes as a control, the
share of every other object that stays visible, and the reason of every change that cannot be made.  Knows nothing of recognisers; what
one of them counts in the originals may be given as `seen`, else the data's own truth says what is usual.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Rows
from evenhand.contract import Operator, Recogniser
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import DataError, InvalidArgument
from evenhand.limits import Count, check_limits
from evenhand.media.operators import chosen_operators
from evenhand.media.operators.parts.donors import DonorBank, Share, collect
from evenhand.media.operators.parts.mutated import Inpainter, Mutation, Skipped
from evenhand.media.operators.parts.order import ChangeOrder
from evenhand.media.scene import SAID_BY, Picture, PixelBox, Scene
from evenhand.media.scene_clusters import NO_RANGE, Clusters, Range, cluster, distribution
from evenhand.media.vocabulary import Labels

MOST_BYTES = 1 << 28  # of changed pixels that are kept; older changes are made again when they are asked for again
SCENE, CHANGE, CHANGED = "scene", "change", "changed"


@dataclass(frozen=True)
class ChangePlan:
    """What is tried.  Paper: insertion of seven classes, deletion and rotation of four, five repeats (deletion one).

    insert: classes of which objects are added.
    change: classes that are deleted, turned, and put back.
    operators: names of the registry, or operators with parameters of your own; all usual ones without, and "paper" for the paper's.
    repeats: how often a change by chance is tried on each scene.
    controls: whether null changes are tried too.
    clusters: how many groups of similar scenes; None for the number with the best silhouette.
    inpainter: a net that fills holes.  reader: a recogniser; only objects that it calls what their labels say are inserted elsewhere.
    donors: further scenes, whose objects are inserted where the scenes themselves show none of a class that may be.
    """

    insert: tuple[str, ...] = ("person", "car", "motorcycle", "truck", "bird", "cat", "dog")
    change: tuple[str, ...] = ("person", "car", "motorcycle", "truck")
    operators: tuple[str | Operator, ...] = ()
    repeats: Count = 1
    controls: bool = True
    clusters: int | None = None
    inpainter: Inpainter | None = field(default=None, repr=False)
    reader: Recogniser | None = field(default=None, repr=False)
    donors: tuple[Scene, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not self.insert or not self.change:
            raise InvalidArgument(f"insert={self.insert!r} and change={self.change!r} must each name at least one class")
        check_limits(self)

    @cached_property
    def made_by(self) -> dict[str, Operator]:
        """Every operator that is used, by its name."""
        chosen = chosen_operators(self.operators)
        return {name: one for name, one in chosen.items() if self.controls or not one.is_null}

    def changes(self) -> tuple[SceneChange, ...]:
        """Every operator with every class it is for, repeated where chance makes a difference; null changes last."""
        ordered = sorted(self.made_by.items(), key=lambda entry: (entry[1].is_null, entry[1].is_whole, not entry[1].adds, entry[0]))
        found = []
        for name, operator in ordered:
            without = operator.is_null or operator.is_whole
            classes: tuple[str | None, ...] = (None,) if without else self.insert if operator.adds else self.change
            times = self.repeats if operator.is_random and not operator.is_null else 1
            found += [SceneChange(name, label, turn) for label in classes for turn in range(1, times + 1)]
        return tuple(found)


@dataclass(frozen=True)
class SceneChange:
    """One value of the column `change`; without a class, one that the scene shows is chosen by chance."""

    operator: str
    label: str | None
    turn: int = 1

    @property
    def name(self) -> str:
        """For a reader: "insert person", "put back", "rotate car (2)"."""
        words = self.operator.replace("_", " ") + (f" {self.label}" if self.label else "")
        return words + (f" ({self.turn})" if self.turn > 1 else "")


@dataclass(frozen=True, eq=False)
class ChangeFacts:
    """What a change that was made means for the counts; small enough to be kept for every one."""

    operator: str
    label: str
    hidden: Counter[str]  # objects that the change itself covered, by canonical class
    touched: frozenset[str]  # canonical classes whose counts the change alters by itself
    added: int
    how: str
    cpu_seconds: float
    boxes: tuple[PixelBox, ...] = ()  # where the picture changed
    kept: tuple[float, ...] = ()  # for each object of the scene, the share of its visible pixels that stays visible


class Scenes:
    """A medium whose rows are a scene, a change, and whether the change is made."""

    kind = "scenes"
    is_listed = True  # its rows are all there is: drawing at random from the domain would draw the same ones

    def __init__(
        self,
        scenes: Sequence[Scene],
        plan: ChangePlan | None = None,
        labels: Labels | None = None,
        seed: int = 0,
        seen: Sequence[Counter[str]] | None = None,
    ) -> None:
        if not scenes:
            raise DataError("scenes: none was given; at least one is needed")
        self.plan, self.labels, self.seed = plan or ChangePlan(), labels or Labels(), seed
        wanted = {*self.plan.insert, *self.plan.change}
        self.scenes = tuple(_named_alike(scene, wanted, self.labels) for scene in _distinct(scenes))
        self.changes = self.plan.changes()
        self.truth = tuple(self.labels.true_counts(scene.truth) for scene in self.scenes)
        self.seen = self.truth if seen is None else tuple(seen)
        self._facts: dict[tuple[int, int], ChangeFacts | Skipped] = {}
        self._kept = _KeptChanges(MOST_BYTES)

    def as_seen(self, seen: Sequence[Counter[str]]) -> Scenes:
        """The same scenes with these counts of the originals, a recogniser's for example, deciding what is usual."""
        return Scenes(self.scenes, self.plan, self.labels, self.seed, seen).with_donors_of(self)

    def with_donors_of(self, other: Scenes) -> Scenes:
        """This medium; what another one of the same scenes and labels has cut out of them is not cut out again."""
        is_alike = other.scenes == self.scenes and other.labels == self.labels and _same_donors(self.plan, other.plan)
        if is_alike and "bank" in other.__dict__:
            self.__dict__["bank"] = other.bank
        return self

    @cached_property
    def is_annotated(self) -> bool:
        """Whether somebody says what is there; else a recogniser's own answers are all that is known."""
        return not all(SAID_BY in scene.facts for scene in self.scenes)

    @cached_property
    def clusters(self) -> Clusters:
        """Groups of scenes with similar objects."""
        return cluster(self.scenes, np.random.default_rng([self.seed, 0]), self.plan.clusters)

    @cached_property
    def ranges(self) -> tuple[dict[str, Range], ...]:
        """What is usual in each cluster, class by class."""
        names = sorted({*self.plan.insert, *self.plan.change})
        known = [Counter({name: one[self.labels.canonical(name)] for name in names}) for one in self.seen]
        members = [np.flatnonzero(self.clusters.of == place) for place in range(self.clusters.count)]
        return tuple(distribution([self.scenes[k] for k in group], [known[int(k)] for k in group], names) for group in members)

    @cached_property
    def bank(self) -> DonorBank:
        """Objects of these scenes that may be inserted elsewhere."""
        wanted = {*self.plan.insert, *self.plan.change}
        outside = [_named_alike(scene, wanted, self.labels) for scene in self.plan.donors]
        return collect(self.scenes, self.labels, self.plan.reader, outside)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The canonical classes of the data, of the changes, and of the vocabulary."""
        changed = {self.labels.canonical(name) for name in (*self.plan.insert, *self.plan.change)}
        return tuple(sorted({*changed, *self.labels.synonyms, *(name for truth in self.truth for name in truth)}))

    def class_of(self, label: str) -> str:
        """The canonical class that a label means."""
        return self.labels.canonical(label)

    def as_shown(self, rows: Rows) -> Rows:
        """The rows with one change for every unchanged scene: it is one picture, whatever change it waits for."""
        shown = np.array(rows, dtype=np.float64)
        shown[shown[:, 2] == 0, 1] = 0.0
        return shown

    def show(self, rows: Rows) -> list[Picture]:
        """One picture for every row; they need not have one size."""
        return [scene.picture for scene in self.shown_scenes(rows)]

    def shown_scenes(self, rows: Rows) -> list[Scene]:
        """The scenes that the rows show, with everything that is known of them; a change that cannot be made leaves its scene as it is."""
        return [self.scenes[place] if not changed else self._after(place, change) for place, change, changed in _codes(rows)]

    def _after(self, place: int, change: int) -> Scene:
        made = self.made(place, change)
        return self.scenes[place] if isinstance(made, Skipped) else made.after

    def is_possible(self, rows: Rows) -> Mask:
        """Which rows can be shown."""
        return np.array([not changed or isinstance(self.facts(at, k), ChangeFacts) for at, k, changed in _codes(rows)], dtype=bool)

    def facts(self, place: int, change: int) -> ChangeFacts | Skipped:
        """What a change does to the counts of a scene, or why it cannot be made."""
        if (place, change) not in self._facts:
            self.made(place, change)
        return self._facts[place, change]

    def made(self, place: int, change: int) -> Mutation | Skipped:
        """The change itself, with both pictures."""
        known = self._facts.get((place, change))
        if isinstance(known, Skipped):
            return known
        kept = self._kept.find(place, change)
        if kept is not None:
            return kept
        started = time.process_time()
        made = self._make(place, self.changes[change])
        seconds = time.process_time() - started
        if isinstance(made, Mutation):
            self._kept.add(place, change, made)
        self._facts.setdefault((place, change), self._summed_up(made, seconds) if isinstance(made, Mutation) else made)
        return made

    def _make(self, place: int, change: SceneChange) -> Mutation | Skipped:
        """By a generator of the scene's and the change's names, so that what was made before does not matter."""
        scene, operator = self.scenes[place], self.plan.made_by[change.operator]
        rng = np.random.default_rng([self.seed, *_words(f"{scene.name}\x1f{change.name}")])
        if operator.is_whole:
            return operator.change(ChangeOrder(scene, "", 0, NO_RANGE, self.bank, self.plan.inpainter), rng)
        label = change.label or _any_present(scene, self.plan.change, rng)
        usual = self.ranges[self.clusters.of[place]][label]
        seen = self.seen[place][self.labels.canonical(label)]
        bank = self.shared_bank(place, change, label)
        return operator.change(ChangeOrder(scene, label, seen, usual, bank, self.plan.inpainter, self.plan.reader), rng)

    def shared_bank(self, place: int, change: SceneChange, label: str) -> DonorBank:
        """The donors for one change of a scene: no two changes of the same scene insert the same one."""
        adding = [one for one in self.changes if self.plan.made_by[one.operator].adds and one.label == label]
        share = Share((adding.index(change) + place) % len(adding), len(adding)) if change in adding else Share()
        return replace(self.bank, turn=self.changes.index(change) * len(self.scenes) + place, share=share)

    def _summed_up(self, made: Mutation, seconds: float) -> ChangeFacts:
        hidden = self.labels.true_counts(made.hidden(frozenset()))
        added = max(0, len(made.after.instances) - len(made.before.instances))
        touched = self.labels.touched(made.label) if made.label else frozenset[str]()
        return ChangeFacts(made.operator, made.label, hidden, touched, added, made.how, seconds, made.boxes, made.kept)

    def is_null(self, change: int) -> bool:
        """Whether this change leaves the content as it was."""
        return self.plan.made_by[self.changes[change].operator].is_null

    @cached_property
    def columns(self) -> tuple[Column, Column, Column]:
        """Scene, change, and whether it is made."""
        return (
            Column(SCENE, "category", tuple(scene.name for scene in self.scenes)),
            Column(CHANGE, "category", tuple(change.name for change in self.changes)),
            Column(CHANGED, "boolean", (False, True)),
        )

    @cached_property
    def domain(self) -> TabularDomain:
        """Every scene with every change; a change that cannot be made is an impossible twin."""
        return TabularDomain(self.columns, (CHANGED,), constraints=(BelievableChange(self),))

    def rows(self, null: bool = False) -> Rows:
        """Every scene, unchanged, with every change that counts, or with every null change."""
        changes = [k for k in range(len(self.changes)) if self.is_null(k) == null]
        pairs = np.array([(place, k) for place in range(len(self.scenes)) for k in changes], dtype=np.float64).reshape(-1, 2)
        return np.hstack([pairs, np.zeros((len(pairs), 1))])

    def digest(self) -> str:
        """Sixteen hexadecimal digits of the pictures, what is known of them, and how they are changed."""
        reader = "" if self.plan.reader is None else self.plan.reader.name
        others = [scene.name for scene in self.plan.donors]
        settings = (self.plan, sorted(self.plan.made_by), self.plan.inpainter is None, reader, others, self.labels, self.seed)
        whole = hashlib.sha256(repr(settings).encode())
        for scene, seen in zip(self.scenes, self.seen, strict=True):
            whole.update(repr((scene.name, scene.shape, sorted(scene.truth.items()), sorted(seen.items()))).encode())
            whole.update(scene.picture.tobytes())
        return whole.hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class BelievableChange:
    """The rule that a change can be made in its scene; asking makes the change."""

    medium: Scenes
    text: str = "the change can be made believably"

    def holds(self, rows: Rows) -> Mask:
        """Which rows keep it; an unchanged scene always does."""
        return self.medium.is_possible(rows)


@dataclass(frozen=True, eq=False)
class _Patch:
    """A change without the pixels that stayed as they were."""

    mutation: Mutation  # its pictures are the original's
    places: NDArray[np.int32] | None  # of the changed pixels in the flat picture; None for all of them
    pixels: Picture

    @property
    def bytes(self) -> int:
        places = 0 if self.places is None else self.places.nbytes
        return places + self.pixels.nbytes + sum(one.stencil.nbytes for one in self.mutation.after.instances)

    def whole(self) -> Mutation:
        before = self.mutation.before
        places: NDArray[np.int32] | slice = slice(None) if self.places is None else self.places
        picture = before.picture.copy()
        picture.reshape(-1, 3)[places] = self.pixels
        changed = np.zeros(before.shape, bool)
        changed.reshape(-1)[places] = True
        return replace(self.mutation, after=replace(self.mutation.after, picture=picture), changed=changed)


class _KeptChanges:
    """Changes by scene and change, the least recently used thrown away first."""

    def __init__(self, most_bytes: int) -> None:
        self._most, self._bytes = most_bytes, 0
        self._patches: OrderedDict[tuple[int, int], _Patch] = OrderedDict()

    def find(self, place: int, change: int) -> Mutation | None:
        if (place, change) not in self._patches:
            return None
        self._patches.move_to_end((place, change))
        return self._patches[place, change].whole()

    def add(self, place: int, change: int, made: Mutation) -> None:
        different = (made.after.picture != made.before.picture).any(axis=2)
        bare = replace(made, after=replace(made.after, picture=made.before.picture), changed=None)
        # Four bytes for a place and three for its pixel: where more than three in seven pixels differ, all of them take less.
        places = None if different.mean() > 3 / 7 else np.flatnonzero(different).astype(np.int32)
        patch = _Patch(bare, places, made.after.picture.reshape(-1, 3)[slice(None) if places is None else places])
        self._patches[place, change] = patch
        self._bytes += patch.bytes
        while self._bytes > self._most and len(self._patches) > 1:
            self._bytes -= self._patches.popitem(last=False)[1].bytes


def _same_donors(one: ChangePlan, other: ChangePlan) -> bool:
    return one.reader is other.reader and one.donors == other.donors


def _codes(rows: Rows) -> list[tuple[int, int, bool]]:
    return [(int(place), int(change), bool(changed)) for place, change, changed in rows]


def _words(text: str) -> list[int]:
    """Four numbers that stand for a text."""
    content = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return [int.from_bytes(content[at : at + 4], "big") for at in range(0, 16, 4)]


def _any_present(scene: Scene, labels: Sequence[str], rng: np.random.Generator) -> str:
    """One of these classes that the scene shows, by chance; the first one where it shows none."""
    present = [label for label in labels if scene.of(label)]
    return str(rng.choice(present)) if present else labels[0]


def _distinct(scenes: Sequence[Scene]) -> list[Scene]:
    """Scenes whose names differ: a second one of the same name gets a number."""
    used: Counter[str] = Counter()
    found = []
    for scene in scenes:
        used[scene.name] += 1
        found.append(scene if used[scene.name] == 1 else replace(scene, name=f"{scene.name} ({used[scene.name]})"))
    return found


def _named_alike(scene: Scene, wanted: set[str], labels: Labels) -> Scene:
    """Objects whose label means a wanted class get its name; all others keep theirs."""
    names: Mapping[str, str] = {labels.canonical(name): name for name in sorted(wanted)}
    if all(names.get(labels.canonical(one.label), one.label) == one.label for one in scene.instances):
        return scene
    return replace(scene, instances=tuple(replace(one, label=names.get(labels.canonical(one.label), one.label)) for one in scene.instances))
