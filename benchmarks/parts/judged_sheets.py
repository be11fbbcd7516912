"""Sheets of 24 random changes by each operator on a folder of annotated pictures, cropped to what changed, for judging by eye."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from evenhand.datasets.scene_data import found_scenes, read_scenes
from evenhand.datasets.scenes.picture_files import write_picture
from evenhand.errors import DataError, require
from evenhand.media.operators.parts.mutated import Mutation
from evenhand.media.scene import Picture
from evenhand.media.scenes import ChangePlan, Scenes
from evenhand.report.scene_sheets import sheet

OPERATORS = ("insert", "delete", "mirror", "move", "fog", "rain", "night", "exposure", "blur", "compression")
CLASSES = ("person", "car", "motorcycle", "truck", "bus", "bicycle", "dog", "cat", "bird")
SHOWN = 24
WIDE, TALL = 380, 280


def write_judged_sheets(source: Path, folder: Path, seed: int) -> dict[str, int]:
    """One sheet for each operator, one change for each picture; how many changes there are on it."""
    found = found_scenes(source, 400)
    if found is None:
        raise DataError(f"{source} holds no scenes of a known layout")
    scenes = read_scenes(found)
    known = {label for scene in scenes for label in scene.truth}
    classes = tuple(name for name in CLASSES if name in known)
    medium = Scenes(scenes, ChangePlan(classes, classes, OPERATORS, controls=False), seed=seed)
    return {operator: _write(medium, operator, folder / f"{source.name}-{operator}.png", seed) for operator in OPERATORS}


def _write(medium: Scenes, operator: str, file: Path, seed: int) -> int:
    rng = np.random.default_rng(seed)
    places = [(int(place), int(change)) for place, change, _ in medium.rows() if medium.changes[int(change)].operator == operator]
    shown: dict[int, Mutation] = {}
    for k in rng.permutation(len(places)):
        place, change = places[k]
        made = medium.made(place, change) if place not in shown and len(shown) < SHOWN else None
        if isinstance(made, Mutation):
            shown[place] = made
    if shown:
        write_picture(file, sheet([_pair(made) for made in shown.values()], 3))
    return len(shown)


def _pair(made: Mutation) -> Picture:
    """Before | after, around the largest thing that changed; the whole picture where everything did."""
    cv2 = require("cv2", "image")
    height, width = made.before.shape
    boxes = np.array(made.boxes or [(0, 0, width, height)], float)
    left, top, right, bottom = boxes[np.prod(boxes[:, 2:] - boxes[:, :2], axis=1).argmax()]
    wide = min(float(width), max(70.0, 1.8 * (right - left), 1.8 * (bottom - top) * WIDE / TALL))
    tall = min(float(height), wide * TALL / WIDE)
    x, y = (round(float(np.clip(middle - size / 2, 0, most - size))) for middle, size, most in
            (((left + right) / 2, wide, width), ((top + bottom) / 2, tall, height)))  # fmt: skip
    parts = [scene.picture[y : y + round(tall), x : x + round(wide)] for scene in (made.before, made.after)]
    return np.asarray(np.hstack([cv2.resize(part, (WIDE, TALL), interpolation=cv2.INTER_CUBIC) for part in parts]), np.uint8)
