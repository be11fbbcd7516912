"""What a learned editor's twins prove: the classifier's movement beyond that of independent readers, and beyond edits that mean nothing.

A learned editor never changes one attribute alone.  So a movement of the classifier counts only where readers of the same label, as good
as the classifier and trained on pictures in which label and attribute are balanced, do not move that way; and only where it is larger
than under every one of several edits of the same size at other places, and under an edit that is undone again.  That a classifier stands
still counts only beside readers that do so too: what an editor changes besides could hide a leaning.  Where no such reader can be had,
nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Labels, Mask, Reals, Rows
from evenhand.contract import PictureModel, Pictures, StudyCase, labels_of
from evenhand.measures.border_shares import SMALLEST, least_share
from evenhand.media.album import as_bytes
from evenhand.media.album_medium import AlbumMedium
from evenhand.media.parts.loose_pictures import LoosePictures
from evenhand.media.picture_batches import batches
from evenhand.models.attribute_readers import attribute_reader
from evenhand.models.shown import ShownModel, of_own_pictures

FEWEST_IN_CELL = 10
"""Pictures of each label under each value that a reader needs in each half."""
NULL_EDITS = 19
"""Edits that mean nothing: a movement larger than all of them has a chance of one in twenty."""
FOUR_OF_FIVE = NormalDist().inv_cdf(0.8)
WORSE_READER = 0.05
"""A reader may be less accurate than the classifier by no more than this."""


@dataclass(frozen=True)
class Weighed:
    """One movement of a classifier between two values, beyond what readers and meaningless edits explain.

    beyond, low, high: by class, the classifier's net change minus the readers', with bounds that hold together.
    reader: by class, the readers' own net change.  null: the largest such movement under edits of the same size that mean nothing;
    0 where none was needed.
    accuracy, reader_accuracy: on unedited pictures.  reason: why nothing can be claimed; empty where the movement counts.
    near: how many of the twins lie as near to the classifier's border as the pictures as they came, at most 1.  reach: the smallest net
    change of the pictures as they came that these twins would show in four cases of five.  Both are found out where readers allow a claim.
    """

    beyond: dict[str, float]
    low: dict[str, float]
    high: dict[str, float]
    reader: dict[str, float]
    null: float
    accuracy: float
    reader_accuracy: float
    reason: str
    near: float = 1.0
    reach: float = float("nan")


@dataclass(frozen=True, eq=False)
class Turned:
    """Rows under the two values of an attribute that are compared, and the labels that the classifier gives them."""

    attribute: str
    lower: Rows
    higher: Rows
    said_lower: Labels
    said_higher: Labels
    has_moved: bool = True  # whether it is to be claimed that the classifier moves: edits that mean nothing must then be outdone


@dataclass(frozen=True, eq=False)
class Readers:
    """Two readers of the label, each of the half of the pictures that it has not learnt from."""

    first: PictureModel
    second: PictureModel
    second_half: Mask

    def read(self, pictures: Pictures, part: slice = slice(None)) -> Labels:
        """Labels by the reader that knows none of these pictures, which are this part of all."""
        by_first = self.second_half[part]
        read: Labels = np.empty(len(pictures), dtype=np.intp)
        for reader, own in ((self.first, by_first), (self.second, ~by_first)):
            if own.any():
                read[own] = reader.scores(pictures[own]).argmax(axis=1)
        return read


def weighed(case: StudyCase, turned: Turned, rng: np.random.Generator) -> Weighed:
    """The movement of the classifier, weighed; a reason instead where it cannot be."""
    classes = tuple(str(name) for name in case.model.classes)
    if case.labels is None or (case.labels < 0).any():
        return _unweighed("true labels of all pictures are needed to train an independent reader of the label")
    pictures = case.medium.show(case.rows)
    readers = _given(case, classes) or _trained(case, pictures, turned.attribute, rng)
    if readers is None:
        return _unweighed(
            f"fewer than {FEWEST_IN_CELL} pictures of some label under each value of {turned.attribute!r} in each half: "
            "no independent reader of the label can be trained, and none is given as a jury"
        )
    right, read_right = labels_of(case.model.scores(case.rows)) == case.labels, readers.read(pictures) == case.labels
    del pictures  # large ones take much memory, and the twins come next
    own = Movement(turned.said_lower, turned.said_higher, len(classes))
    other = Movement(readers.read(case.medium.show(turned.lower)), readers.read(case.medium.show(turned.higher)), len(classes))
    beyond, bounds = _bounds(own.steps - other.steps, case.confidence)
    reason, null, near, reach = _doubt(case, other, right.astype(float) - read_right), 0.0, 1.0, float("nan")
    if not reason:
        near = _near(case, turned)
        reach = _reach(float(bounds.max()), near, case, len(classes))
    if not reason and turned.has_moved:  # the edits that mean nothing take longest, and are needed only where all else holds
        null = _largest_null(case, turned, readers, other.lower, rng)
        reason = "" if float(np.abs(beyond).max()) > null else f"an edit of the same size that means nothing moves it as far ({null:.1%})"
    named = dict(zip(classes, beyond.tolist(), strict=True))
    low, high = (dict(zip(classes, (beyond + sign * bounds).tolist(), strict=True)) for sign in (-1, 1))
    moved = dict(zip(classes, other.net.tolist(), strict=True))
    rights = float(right.mean()), float(read_right.mean())
    return Weighed(named, low, high, moved, float(null), *rights, reason, min(near, 1.0), max(reach, null))


def _near(case: StudyCase, turned: Turned) -> float:
    """How many twins lie as near to the classifier's border as pictures as they came."""
    own = of_own_pictures(case.model.model, case.medium).scores(case.rows)
    return least_share(own, np.concatenate([case.model.scores(turned.lower), case.model.scores(turned.higher)]))


def _reach(around: float, near: float, case: StudyCase, classes: int) -> float:
    """The smallest net change of one's own pictures that the twins show beyond what is tolerated, in four cases of five.

    Where fewer of them lie near the border, a change shows as so much less of itself.
    """
    spread = around / _level(case.confidence, classes)
    return (case.tolerance + around + FOUR_OF_FIVE * spread) / max(near, SMALLEST)


@dataclass(frozen=True, eq=False)
class Movement:
    """Labels under the lower and under the higher value."""

    lower: Labels
    higher: Labels
    classes: int

    @property
    def steps(self) -> NDArray[np.float64]:
        """For every picture and class: 1 where the class came, -1 where it went, (n, classes)."""
        every = np.arange(self.classes)
        steps: NDArray[np.float64] = (self.higher[:, None] == every).astype(np.float64) - (self.lower[:, None] == every)
        return steps

    @property
    def net(self) -> Reals:
        """The net change of every class."""
        net: Reals = self.steps.mean(axis=0)
        return net


def _unweighed(reason: str) -> Weighed:
    nothing = float("nan")
    return Weighed({}, {}, {}, {}, nothing, nothing, nothing, reason)


def _halves(labels: Labels, values: Labels, rng: np.random.Generator) -> tuple[Index, Index] | None:
    """For each half of the pictures, places drawn from it such that every label is as common under one value as under another."""
    half = np.zeros(len(labels), dtype=bool)
    half[rng.permutation(len(labels))[: len(labels) // 2]] = True
    found = [_balanced(np.flatnonzero(part), labels, values, rng) for part in (half, ~half)]
    return None if found[0] is None or found[1] is None else (found[0], found[1])


def _balanced(places: Index, labels: Labels, values: Labels, rng: np.random.Generator) -> Index | None:
    cells = [places[(labels[places] == label) & (values[places] == value)] for label in np.unique(labels) for value in np.unique(values)]
    if min(len(cell) for cell in cells) < FEWEST_IN_CELL:
        return None
    most = max(len(cell) for cell in cells)
    return np.concatenate([cell if len(cell) == most else rng.choice(cell, most) for cell in cells])


def _given(case: StudyCase, classes: tuple[str, ...]) -> Readers | None:
    """The user's own reader of the label, for both halves; it must know the classifier's classes."""
    column = case.domain.label.column if case.domain.label else ""
    reader = getattr(case.medium, "jury", {}).get(column)
    if reader is None or tuple(str(name) for name in reader.classes) != classes:
        return None
    return Readers(reader, reader, np.zeros(len(case.rows), dtype=bool))


def _trained(case: StudyCase, pictures: Pictures, attribute: str, rng: np.random.Generator) -> Readers | None:
    """Two readers of the label, of pictures in which it is as common under one value as under another; None where there are too few."""
    labels = case.labels
    assert labels is not None
    parts = _halves(labels, case.rows[:, case.domain.place(attribute)].astype(np.intp), rng)
    if parts is None:
        return None
    classes = tuple(str(name) for name in case.model.classes)
    first, second = (attribute_reader(pictures[part], labels[part], classes, rng) for part in parts)
    second_half = np.ones(len(labels), dtype=bool)
    second_half[parts[0]] = False
    return Readers(first, second, second_half)


def _bounds(differences: NDArray[np.float64], confidence: float) -> tuple[Reals, Reals]:
    """The mean of each column, and how far from it the bounds lie that hold for all columns together."""
    n, classes = differences.shape
    return differences.mean(axis=0), _level(confidence, classes) * np.sqrt((differences.var(axis=0) + 1 / n) / n)


def _level(confidence: float, classes: int) -> float:
    return NormalDist().inv_cdf(1 - (1 - confidence) / (2 * classes))


@dataclass(frozen=True, eq=False)
class NullEdit:
    """An edit that means nothing: changes of other pictures, moved to other places and colours, of the same size."""

    order: Index
    down: int
    right: int
    colours: Index
    sign: float

    @classmethod
    def drawn(cls, pictures: Pictures, rng: np.random.Generator) -> NullEdit:
        """One by chance."""
        height, width = pictures.shape[1:3]
        down, right = int(rng.integers(height // 4, 3 * height // 4)), int(rng.integers(width // 4, 3 * width // 4))
        order, colours = rng.permutation(len(pictures)), rng.permutation(3)
        return cls(order.astype(np.intp), down, right, colours.astype(np.intp), float(rng.choice([-1.0, 1.0])))

    def applied(self, before: Pictures, after: Pictures, part: slice) -> Pictures:
        """Some of the pictures with other pictures' changes."""
        places = self.order[part]
        change = after[places].astype(np.float32) - before[places].astype(np.float32)
        moved = np.roll(change, (self.down, self.right), axis=(1, 2))[..., self.colours] * self.sign
        return as_bytes(before[part].astype(np.float32) + moved)


def _largest_null(case: StudyCase, turned: Turned, readers: Readers, read_lower: Labels, rng: np.random.Generator) -> float:
    """The largest movement of a class beyond the readers', over several meaningless edits."""
    model = case.model.model
    if not isinstance(model, ShownModel) or case.domain.label is None:
        return np.inf
    before, after = case.medium.show(turned.lower), case.medium.show(turned.higher)
    found = 0.0
    for _ in range(NULL_EDITS):
        edit = NullEdit.drawn(before, rng)
        said, read = (np.concatenate(each) for each in zip(*_asked(model, readers, edit, before, after), strict=True))
        own, other = (Movement(first, second, len(case.model.classes)) for first, second in ((turned.said_lower, said), (read_lower, read)))
        found = max(found, float(np.abs(own.net - other.net).max()))
    return max(found, _there_and_back(case, turned, readers, model))


def _there_and_back(case: StudyCase, turned: Turned, readers: Readers, model: ShownModel) -> float:
    """The largest movement of a class beyond the readers' where pictures are edited to the other value and back; 0 where none can be."""
    medium, label, place = case.medium, case.domain.label, case.domain.place(turned.attribute)
    if not isinstance(medium, AlbumMedium) or label is None:
        return 0.0
    lower, higher = int(turned.lower[0, place]), int(turned.higher[0, place])
    own = case.rows[:, place].astype(np.intp)
    back = medium.there_and_back(case.rows, turned.attribute, np.where(own == lower, higher, lower))
    if back is None:
        return 0.0
    pictures = LoosePictures(back, label)
    said = labels_of(case.model.scores(case.rows)), labels_of(replace(model, medium=pictures).scores(pictures.rows))
    read = readers.read(medium.show(case.rows)), readers.read(back)
    moved = Movement(*said, len(case.model.classes)).net - Movement(*read, len(case.model.classes)).net
    return float(np.abs(moved).max())


def _asked(model: ShownModel, readers: Readers, edit: NullEdit, before: Pictures, after: Pictures) -> Iterator[tuple[Labels, Labels]]:
    """What the classifier and the readers say of the edited pictures, some at a time."""
    label = model.medium.domain.label
    assert label is not None
    for part in batches(len(before), before[:1].nbytes):
        pictures = LoosePictures(edit.applied(before, after, part), label)
        yield labels_of(replace(model, medium=pictures).scores(pictures.rows)), readers.read(pictures.pictures, part)


def _doubt(case: StudyCase, other: Movement, better: Reals) -> str:
    """Why the readers allow no claim; empty where they do."""
    worse, spread = _bounds(better[:, None], case.confidence)
    if float(worse[0] + spread[0]) > WORSE_READER:
        return (
            f"the independent reader of the label may be up to {float(worse[0] + spread[0]):.1%} less accurate than the classifier: "
            "it would not notice what the editor changes besides"
        )
    moved, around = _bounds(other.steps, case.confidence)
    if float((np.abs(moved) + around).max()) > case.tolerance:
        return (
            f"the editor may change the label itself: an independent reader moves by up to {float((np.abs(moved) + around).max()):.1%}, "
            f"and {case.tolerance:.1%} is tolerated"
        )
    return ""
