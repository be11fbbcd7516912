"""Scenes from pictures without annotations: what a recogniser itself names are the objects, masks come from a segmenter or are rough.

Nobody says what is really there, so that only changes of answers can be judged.  Rough masks are cut out of boxes by colour: they are good
enough to take an object away with room to spare, and not to cut it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Answer, Detection, Recogniser
from evenhand.datasets.scenes.picture_files import EVERY, SUFFIXES, SceneSample, read_picture, scene_name
from evenhand.errors import DataError, require
from evenhand.media.operators.parts.standing import ON_THE_GROUND, stands_free
from evenhand.media.scene import MASKS, ROAD, ROUGH, SAID_BY, UNKNOWN, Instance, Picture, PixelBox, Regions, Scene, Stencil, overlap

WORK_SIDE = 128  # pixels of the crop in which a mask is cut out
CORE = 0.4  # of the box's half sides: surely the object
LEAST_SIDE = 6
SAME_THING = 0.6
MOST_POINTS = 6  # below feet, and as many on the objects themselves
LEAST_HIT, LEAST_GROUND, MOST_GROUND = 0.7, 0.04, 0.75  # of the points below feet, and of the picture
ROOM_ABOVE = 0.03  # of the picture's height above the highest feet
LEAST_QUALITY, DONOR_QUALITY = 0.88, 0.92  # of a segmenter's own mark: worse masks are rough, and only better ones are cut out
# A detector's box may end at the knees, or above the wheels of somebody who rides: a second look has more room, mostly below.  In heights.
ROOM_BESIDE, ROOM_OVER, ROOM_UNDER, ROOM_UNDER_WIDE = 0.1, 0.04, 0.25, 0.1
CONTAINED, MOST_MORE, LEAST_SECOND = 0.96, 1.5, 0.8  # of the first mask, times its pixels, and the second mask's mark
AGREED = 0.95  # overlap of two masks of which neither is sure, and which are believed since they are the same


@dataclass(frozen=True, eq=False)
class PromptedMask:
    """A mask for a box, and how good the segmenter itself takes it to be, from 0 to 1."""

    mask: Stencil
    quality: float


Points = NDArray[np.float32]  # (n, 2): columns and rows of a picture
BoxSegmenter = Callable[[Picture, Sequence[PixelBox]], list[PromptedMask]]
"""Masks for all boxes of a picture."""


@runtime_checkable
class PointSegmenter(Protocol):
    """A segmenter that also takes points."""

    def around(self, picture: Picture, on: Points, away: Points) -> PromptedMask:
        """The mask of whatever these points lie on, without what the others lie on."""
        ...


@dataclass(frozen=True, eq=False)
class BarePictures:
    """A folder of pictures, the recogniser that names objects in them, and perhaps a segmenter that takes boxes."""

    folder: Path
    recogniser: Recogniser
    segmenter: BoxSegmenter | None = None
    sample: SceneSample = EVERY

    def scenes(self) -> Iterator[Scene]:
        """One scene for each picture, with at least one object in all of them together."""
        files = bare_files(self.folder)
        if not files:
            raise DataError(f"{self.folder} holds no picture; expected one of {', '.join(SUFFIXES)}")
        for path in self.sample.of(files):
            picture = read_picture(path)
            (answer,) = self.recogniser.recognise([picture])
            objects = [(one.label, _inside(one.box, picture)) for one in _one_name_each(answer)]
            yield self._scene(scene_name(self.folder, path), picture, [(label, box) for label, box in objects if _is_large(box)])

    def _scene(self, name: str, picture: Picture, objects: list[tuple[str, PixelBox]]) -> Scene:
        boxes = [box for _, box in objects]
        shape = (int(picture.shape[0]), int(picture.shape[1]))
        masks: Sequence[PromptedMask | None] = [None] * len(boxes)
        if self.segmenter is not None and boxes:
            seen = self.segmenter(picture, [*boxes, *(roomier(box, shape) for box in boxes)])
            masks = [whole_mask(first, second) for first, second in zip(seen[: len(boxes)], seen[len(boxes) :], strict=True)]
        found: dict[int, Instance] = {}
        taken = np.zeros(shape, bool)
        for k in sorted(range(len(objects)), key=lambda k: -boxes[k][3]):  # the nearest first: it hides what is behind
            label, box = objects[k]
            mask, quality = _mask(picture, box, masks[k])
            own = mask & ~taken
            if own.any():
                visible = min(float(own.sum()) / float(mask.sum()), 1.0 if quality >= DONOR_QUALITY else 0.96)
                found[k] = replace(Instance.from_mask(label, own), visible=visible, is_rough=quality < LEAST_QUALITY)
                taken |= mask
        how = ROUGH if self.segmenter is None else "segmenter"
        scene = Scene(name, picture, tuple(found[k] for k in sorted(found)), facts={MASKS: how, SAID_BY: self.recogniser.name})
        return scene if not isinstance(self.segmenter, PointSegmenter) else replace(scene, regions=prompted_ground(scene, self.segmenter))


def prompted_ground(scene: Scene, segmenter: PointSegmenter) -> Regions | None:
    """The ground on which things stand, from points below their feet; None where nothing stands free or the answer is no ground."""
    height, width = scene.shape
    feet = [one for one in scene.instances if one.label in ON_THE_GROUND and stands_free(scene, one)]
    if not feet:
        return None
    below = [(one.box.middle[0], min(one.foot + 0.06 * one.height + 2, height - 2)) for one in feet]
    low = [(share * width, 0.97 * height) for share in (0.25, 0.5, 0.75)]
    on = np.array([(x, y) for x, y in (*below[:MOST_POINTS], *low) if not scene.occupied[int(y), int(x)]], np.float32)
    bodies = [one.box.middle for one in feet[:MOST_POINTS]]
    away = np.array([(width / 2, 0.04 * height), *bodies], np.float32)
    if not len(on):
        return None
    found = segmenter.around(scene.picture, on, away).mask & ~scene.occupied
    found[: round(min(one.foot for one in feet) - ROOM_ABOVE * height)] = False
    hit = found[on[:, 1].astype(int), on[:, 0].astype(int)].mean()
    if hit < LEAST_HIT or not LEAST_GROUND <= found.mean() <= MOST_GROUND:
        return None
    return np.asarray(np.where(found, ROAD, UNKNOWN), np.uint8)


def _one_name_each(answer: Answer) -> list[Detection]:
    """The boxed objects, the surest name of each: a box that another one nearly covers is the same thing by another name."""
    kept: list[Detection] = []
    for one in sorted(answer, key=lambda each: -each.score):
        if one.box is not None and all(overlap(one.box, other.box or one.box) < SAME_THING for other in kept):
            kept.append(one)
    return kept


def bare_files(folder: Path) -> list[Path]:
    """Every picture below a folder, by name."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix.lower() in SUFFIXES)


def _inside(box: Sequence[float] | None, picture: Picture) -> PixelBox:
    sides = PixelBox(*(round(float(value)) for value in (box or (0, 0, 0, 0))))
    return sides.grown(0, (int(picture.shape[0]), int(picture.shape[1])))


def _is_large(box: PixelBox) -> bool:
    return box.width >= LEAST_SIDE and box.height >= LEAST_SIDE


def roomier(box: PixelBox, shape: tuple[int, int]) -> PixelBox:
    """A box with room around it, and most of it below what is tall."""
    tall, wide = box.height, box.width
    beside, under = ROOM_BESIDE * max(wide, 0.4 * tall), (ROOM_UNDER if tall > wide else ROOM_UNDER_WIDE) * tall
    left, top, right, bottom = (
        round(box.left - beside),
        round(box.top - ROOM_OVER * tall),
        round(box.right + beside),
        round(box.bottom + under),
    )
    return PixelBox(left, top, right, bottom).grown(0, shape)


def whole_mask(first: PromptedMask, second: PromptedMask) -> PromptedMask:
    """The mask of a box, or that of the box with room around it where it only adds to it: feet, wheels, what is held.

    Two masks of which neither is sure are believed where they are the same.
    """
    shared = float((first.mask & second.mask).sum())
    size, most = float(first.mask.sum()), max(first.quality, second.quality)
    if most < LEAST_QUALITY:
        agrees = shared >= AGREED * max(1.0, float((first.mask | second.mask).sum()))
        return PromptedMask(first.mask | second.mask, LEAST_QUALITY) if agrees else first
    is_more = shared >= CONTAINED * size > 0 and second.quality >= LEAST_SECOND and float(second.mask.sum()) <= MOST_MORE * size
    return PromptedMask(first.mask | second.mask, most) if is_more else first


def _mask(picture: Picture, box: PixelBox, prompted: PromptedMask | None) -> tuple[Stencil, float]:
    """The segmenter's mask where it is sure of it, else a rough one."""
    if prompted is not None and prompted.quality >= LEAST_QUALITY and prompted.mask.any():
        return prompted.mask, prompted.quality
    return rough_mask(picture, box), 0.0


def rough_mask(picture: Picture, box: PixelBox) -> Stencil:
    """What differs in colour from the surroundings of a box (GrabCut, seeded with the core of the box), or an ellipse where that fails."""
    cv2 = require("cv2", "image")
    margin = max(4, (box.width + box.height) // 8)
    left, top, right, bottom = box.grown(margin, (int(picture.shape[0]), int(picture.shape[1])))
    scale = min(1.0, WORK_SIDE / max(right - left, bottom - top))
    size = max(8, round((right - left) * scale)), max(8, round((bottom - top) * scale))
    crop = cv2.resize(picture[top:bottom, left:right], size, interpolation=cv2.INTER_AREA)
    x0, y0 = (box.left - left) * scale, (box.top - top) * scale
    x1, y1 = (box.right - left) * scale, (box.bottom - top) * scale
    down, over = np.mgrid[0 : size[1], 0 : size[0]] + 0.5
    far = np.maximum(np.abs(over - (x0 + x1) / 2) / ((x1 - x0) / 2), np.abs(down - (y0 + y1) / 2) / ((y1 - y0) / 2))
    round_far = np.hypot((over - (x0 + x1) / 2) / ((x1 - x0) / 2), (down - (y0 + y1) / 2) / ((y1 - y0) / 2))
    seeds = np.where(far > 1, cv2.GC_BGD, np.where(round_far <= CORE, cv2.GC_FGD, np.where(round_far <= 1, cv2.GC_PR_FGD, cv2.GC_PR_BGD)))
    found = _cut(crop, seeds.astype(np.uint8), (far <= 1) & (round_far <= 1.05))
    whole = np.zeros(picture.shape[:2], bool)
    whole[top:bottom, left:right] = cv2.resize(found.astype(np.uint8), (right - left, bottom - top), interpolation=cv2.INTER_NEAREST) > 0
    return whole


def _cut(crop: Picture, seeds: Stencil, ellipse: Stencil) -> Stencil:
    cv2 = require("cv2", "image")
    cv2.setRNGSeed(0)
    mask = np.array(seeds, np.uint8)
    if not (mask == cv2.GC_BGD).any() or not (mask == cv2.GC_FGD).any():
        return ellipse
    cv2.grabCut(np.ascontiguousarray(crop[..., ::-1]), mask, None, np.zeros((1, 65)), np.zeros((1, 65)), 3, cv2.GC_INIT_WITH_MASK)
    found = (mask == cv2.GC_FGD) | (mask == cv2.GC_PR_FGD)
    share = found.sum() / max(1, (seeds != cv2.GC_BGD).sum())
    return found if 0.3 <= share <= 0.97 else ellipse
