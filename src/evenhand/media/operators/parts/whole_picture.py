"""What changes of the whole picture share: every object keeps its place and its mask, only the pixels differ."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.media.operators.parts.mutated import Mutation
from evenhand.media.scene import PAVEMENT, ROAD, SKY, TERRAIN, Picture, PixelBox, Scene

Floats = NDArray[np.float32]
HORIZON = 0.42  # of the height, where nothing is known about it
NEAREST = 0.03  # so far below the horizon, as a share of the height, everything counts as far away


# fmt: off
INDOORS = frozenset(
    (
        "chair", "couch", "bed", "dining table", "toilet", "tv", "laptop", "mouse", "remote", "keyboard", "microwave", "oven",
        "toaster", "sink", "refrigerator", "book", "clock", "vase", "wine glass", "cup", "fork", "knife", "spoon", "bowl",
        "pizza", "cake", "potted plant", "hair drier", "toothbrush", "bottle",
    )
)
OUTDOORS = frozenset(
    (
        "car", "truck", "bus", "train", "motorcycle", "bicycle", "cyclist", "rider", "boat", "airplane", "traffic light",
        "sign", "stop sign", "fire hydrant", "parking meter", "horse", "cow", "sheep", "elephant", "bear", "zebra", "giraffe",
        "kite", "skis", "snowboard", "surfboard", "baseball bat", "baseball glove", "frisbee",
    )
)
# fmt: on


def is_outdoors(scene: Scene) -> bool:
    """Whether weather can be seen: there is ground or sky, or there are things of the street and none of a room."""
    if scene.regions is not None and np.isin(scene.regions, (ROAD, PAVEMENT, TERRAIN, SKY)).mean() > 0.1:
        return True
    shown = {one.label for one in scene.instances}
    return bool(shown & OUTDOORS) and not shown & INDOORS


def seen_through(operator: str, scene: Scene, pixels: NDArray[Any], how: str) -> Mutation:
    """The same scene with other pixels; the edit is the whole picture, and no class is touched."""
    height, width = scene.shape
    picture: Picture = np.asarray(np.clip(pixels + 0.5, 0, 255), np.uint8)
    kept, edit = (1.0,) * len(scene.instances), (PixelBox(0, 0, width, height),)
    return Mutation(operator, "", scene, scene.with_picture(picture), edit, kept, how, changed=np.ones(scene.shape, bool))


def far_away(scene: Scene) -> Floats:
    """How far every pixel is, from 0 to 1: by the depth that is known, else by the row, and for objects by the row of their feet."""
    if scene.depth is not None:
        known = np.nan_to_num(np.asarray(scene.depth, np.float32), posinf=1e3)
        return np.asarray(np.clip(known / max(float(np.quantile(known, 0.9)), 1e-6), 0, 1), np.float32)
    height, width = scene.shape
    rows = _by_row((np.arange(height) / height).astype(np.float32))
    far = np.repeat(rows[:, None], width, axis=1)
    for one in sorted(scene.instances, key=lambda each: each.foot):
        left, top, right, bottom = one.box
        far[top:bottom, left:right][one.stencil] = _by_row(np.array([one.foot / height], np.float32))[0]
    return far


def _by_row(rows: Floats) -> Floats:
    """Distance along a level ground, one over how far below the horizon; a wide soft bend, for an upright wall knows no horizon."""
    below = (rows - HORIZON) / NEAREST
    return np.asarray(0.85 / (1 + np.logaddexp(0, below / 4)) ** 0.8, np.float32)
