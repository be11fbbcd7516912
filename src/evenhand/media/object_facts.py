"""What is known of every object of a scene before and after a change, beside its class: size, place, crowding, and how near the edit was.

These are the reasons for which an object is hard to recognise whatever its class is.  Knows nothing of recognisers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals
from evenhand.media.film import films
from evenhand.media.scene import PixelBox, Scene
from evenhand.media.scenes import ChangeFacts, Scenes

ORIGINAL = -1
"""Stands for the unchanged scene where a change is expected."""
FAR = 1.5
"""Of the picture's diagonal: farther from the edit than any object can be, for scenes that are not changed."""
ALIKE = 0.96
"""Least correlation of two coarse pictures that may be of one film."""
RUN_FRAMES = 3
"""So many neighbouring frames of a film count as one scene: they show the same objects."""


@dataclass(frozen=True, eq=False)
class ObjectFacts:
    """One entry for each object in each picture, as arrays of one length."""

    label: NDArray[np.object_]  # canonical class
    scene: NDArray[np.intp]
    change: NDArray[np.intp]  # ORIGINAL where nothing is changed
    thing: NDArray[np.intp]  # the same number for the same object in every picture
    area: Reals  # share of the picture
    foot: Reals  # 0 top, 1 bottom
    side: Reals  # 0 in the middle, 1 at an edge
    visible: Reals  # share that nothing hides, the change included
    crowding: Reals  # share of its surroundings that other objects fill
    distance: Reals  # from the edit, in picture diagonals
    edit: Reals  # share of the picture that the edit's boxes take

    def __len__(self) -> int:
        return len(self.label)

    def where(self, chosen: Mask | NDArray[np.intp]) -> ObjectFacts:
        """The chosen entries."""
        return ObjectFacts(*(getattr(self, each.name)[chosen] for each in fields(self)))

    @classmethod
    def join(cls, parts: Sequence[ObjectFacts]) -> ObjectFacts:
        """All entries in one."""
        return cls(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls)))


@dataclass(frozen=True)
class ScenePicture:
    """One picture: a scene as it was, or after a change."""

    place: int
    change: int = ORIGINAL
    made: ChangeFacts | None = None


def object_facts(medium: Scenes, pictures: Sequence[ScenePicture]) -> ObjectFacts:
    """The counted objects of these scenes as they were, with how visible the change leaves them."""
    starts = np.cumsum([0, *(len(scene.instances) for scene in medium.scenes)])
    return ObjectFacts.join([_of_picture(medium, one, int(starts[one.place])) for one in pictures])


def _of_picture(medium: Scenes, shown: ScenePicture, first: int) -> ObjectFacts:
    scene = medium.scenes[shown.place]
    counted = np.array([place for place, one in enumerate(scene.instances) if one.counted], dtype=np.intp)
    boxes = np.array([scene.instances[place].box for place in counted], float).reshape(-1, 4)
    kept = np.array(shown.made.kept, float)[counted] if shown.made else np.ones(len(counted))
    visible = np.array([scene.instances[place].visible for place in counted], float) * kept
    labels = np.array([medium.class_of(scene.instances[place].label) for place in counted], dtype=object)
    return box_facts(scene, shown, BoxFacts(labels, first + counted, boxes, visible))


@dataclass(frozen=True, eq=False)
class BoxFacts:
    """Objects of one picture by their boxes, an annotation's or a recogniser's."""

    label: NDArray[np.object_]
    thing: NDArray[np.intp]
    boxes: Reals  # (n, 4)
    visible: Reals


def box_facts(scene: Scene, shown: ScenePicture, objects: BoxFacts) -> ObjectFacts:
    """Size, place, crowding and nearness of boxes in one picture."""
    height, width = scene.shape
    boxes, n = objects.boxes, len(objects.boxes)
    sizes = np.maximum(boxes[:, 2:] - boxes[:, :2], 1.0)
    others = np.array([one.box for one in scene.instances if one.counted], float).reshape(-1, 4)
    edits = np.array(shown.made.boxes if shown.made else (), float).reshape(-1, 4)
    gaps = _gaps(boxes, edits) / np.hypot(height, width)
    return ObjectFacts(
        objects.label,
        np.full(n, shown.place, np.intp),
        np.full(n, shown.change, np.intp),
        objects.thing,
        np.prod(sizes, axis=1) / (height * width),
        boxes[:, 3] / height,
        np.abs(boxes[:, [0, 2]].mean(axis=1) / width - 0.5) * 2.0,
        objects.visible,
        _crowding(boxes, others),
        gaps.min(axis=1) if len(edits) else np.full(n, FAR),
        np.full(n, _share(edits, height * width)),
    )


def _gaps(boxes: Reals, edits: Reals) -> Reals:
    """Pixels between every box and every edit; 0 where they overlap."""
    apart = np.maximum(edits[None, :, :2] - boxes[:, None, 2:], boxes[:, None, :2] - edits[None, :, 2:])
    return np.asarray(np.hypot(*np.moveaxis(np.maximum(apart, 0.0), 2, 0)))


def _crowding(boxes: Reals, others: Reals) -> Reals:
    """How much of a box half as large again is filled by other objects' boxes, at most 1."""
    margin = (boxes[:, 2:] - boxes[:, :2]) / 4
    wide = np.hstack([boxes[:, :2] - margin, boxes[:, 2:] + margin])
    corners = np.minimum(wide[:, None, 2:], others[None, :, 2:]) - np.maximum(wide[:, None, :2], others[None, :, :2])
    shared = np.prod(np.maximum(corners, 0.0), axis=2)
    own = np.prod(np.maximum(boxes[:, 2:] - boxes[:, :2], 1.0), axis=1)
    around = np.prod(np.maximum(wide[:, 2:] - wide[:, :2], 1.0), axis=1)
    return np.asarray(np.clip((shared.sum(axis=1) - own) / around, 0.0, 1.0))


def _share(edits: Sequence[PixelBox] | Reals, pixels: int) -> float:
    corners = np.asarray(edits, float).reshape(-1, 4)
    return float(min(1.0, np.prod(corners[:, 2:] - corners[:, :2], axis=1).sum() / pixels))


def film_runs(scenes: Sequence[Scene], frames: int = RUN_FRAMES) -> NDArray[np.intp]:
    """A number for each scene: neighbouring frames of one film share it, where names ("film_00042") and looks agree; others stand alone."""
    found = np.arange(len(scenes), dtype=np.intp)
    for film in films([scene.name for scene in scenes]):
        first, taken = -1, frames
        for place in (frame.place for frame in film):
            if taken >= frames or not _look_alike(scenes[first], scenes[place]):
                first, taken = place, 0
            found[place], taken = first, taken + 1
    return found


def _look_alike(one: Scene, other: Scene) -> bool:
    """Whether two pictures are nearly one at a coarse look."""
    if one.shape != other.shape:
        return False
    here, there = (_thumbnail(scene).ravel() for scene in (one, other))
    return bool(np.corrcoef(here, there)[0, 1] > ALIKE)


def _thumbnail(scene: Scene) -> Reals:
    step = max(1, min(scene.shape) // 12)
    grey = scene.picture[: scene.shape[0] // step * step, : scene.shape[1] // step * step].mean(axis=2)
    return np.asarray(grey.reshape(scene.shape[0] // step, step, scene.shape[1] // step, step).mean(axis=(1, 3)))
