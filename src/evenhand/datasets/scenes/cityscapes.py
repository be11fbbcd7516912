"""Scenes from Cityscapes: polygon files, or instance-id maps."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.datasets.scenes.picture_files import EVERY, SceneSample, annotation_faults, read_map, read_picture
from evenhand.datasets.scenes.rle import mask_from_polygons
from evenhand.errors import DataError
from evenhand.media.scene import BUILDING, PAVEMENT, PLANTS, ROAD, SKY, STRUCTURE, TERRAIN, Instance, Scene

THINGS: Mapping[int, str] = {24: "person", 25: "rider", 26: "car", 27: "truck", 28: "bus", 31: "train", 32: "motorcycle", 33: "bicycle"}
PARTS: Mapping[int, str] = {17: "pole", 19: "traffic light", 20: "traffic sign"}
STUFF: Mapping[int, int] = {
    7: ROAD,
    8: PAVEMENT,
    9: PAVEMENT,
    11: BUILDING,
    12: BUILDING,
    13: STRUCTURE,
    17: STRUCTURE,
    21: PLANTS,
    22: TERRAIN,
    23: SKY,
}
STUFF_NAMES: Mapping[str, int] = {
    "road": ROAD,
    "sidewalk": PAVEMENT,
    "parking": PAVEMENT,
    "building": BUILDING,
    "wall": BUILDING,
    "fence": STRUCTURE,
    "vegetation": PLANTS,
    "terrain": TERRAIN,
    "sky": SKY,
    "ground": TERRAIN,
}
THING_NAMES = (*THINGS.values(), "traffic light", "traffic sign", "pole")


def from_polygons(pictures: Path, annotations: Path, sample: SceneSample = EVERY) -> Iterator[Scene]:
    """Scenes from `*_gtFine_polygons.json` files and the `*_leftImg8bit` pictures; later polygons lie in front of earlier ones."""
    for path in sample.of(sorted(annotations.rglob("*_polygons.json"))):
        stem = path.name.split("_gt")[0]
        content, shape = _read(path)
        picture = read_picture(_picture(pictures, stem))
        if picture.shape[:2] != shape:
            raise DataError(f"{path} is for a picture of {shape}, but the picture has {picture.shape[:2]}")
        owner, regions = np.full(shape, -1, np.int32), np.zeros(shape, np.uint8)
        for place, thing in enumerate(content):
            with annotation_faults(path):
                mask = mask_from_polygons([np.asarray(thing["polygon"], float).ravel().tolist()], shape)
            owner[mask] = place
            if thing["label"] in STUFF_NAMES:
                regions[mask] = STUFF_NAMES[thing["label"]]
        instances = [
            _one(owner == place, str(thing["label"])) for place, thing in enumerate(content) if _name(str(thing["label"])) in THING_NAMES
        ]
        yield Scene(stem, picture, tuple(one for one in instances if one is not None), regions)


def _read(path: Path) -> tuple[list[dict[str, Any]], tuple[int, int]]:
    """The objects that are not deleted, and the picture's size."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        shape = (int(content["imgHeight"]), int(content["imgWidth"]))
        return [thing for thing in content["objects"] if not thing.get("deleted") and thing["label"] and thing["polygon"]], shape
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as fault:
        raise DataError(f"{path} is not a Cityscapes polygon file: {fault!r}") from fault


def _name(label: str) -> str:
    return label.removesuffix("group")


def _one(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], label: str) -> Instance | None:
    if mask.sum() < 20:
        return None
    return replace(Instance.from_mask(_name(label), mask), counted=not label.endswith("group") and label != "pole")


def _picture(pictures: Path, stem: str) -> Path:
    endings = ("_leftImg8bit.png", "_leftImg8bit.jpg", ".png", ".jpg")
    for ending in endings:  # the whole stem: bremen_1 is not bremen_10
        found = sorted(pictures.rglob(stem + ending))
        if found:
            return found[0]
    raise DataError(f"{pictures} has no picture called {stem} with one of the endings {', '.join(endings)}")


def from_instance_ids(pictures: Path, annotations: Path, sample: SceneSample = EVERY) -> Iterator[Scene]:
    """Scenes from `*_instanceIds.png`: 26001 is the second car; a number below 1000 is a class without single objects."""
    for path in sample.of(sorted(annotations.rglob("*_instanceIds.png"))):
        stem = path.name.split("_gt")[0]
        codes = read_map(path).astype(np.int64)
        regions = np.zeros(codes.shape, np.uint8)
        for code, region in STUFF.items():
            regions[codes == code] = region
        instances = []
        for code in np.unique(codes):
            kind = int(code) // 1000 if code >= 1000 else int(code)
            if kind in THINGS and (codes == code).sum() >= 20:
                instances.append(replace(Instance.from_mask(THINGS[kind], codes == code), counted=code >= 1000))
        picture = read_picture(_picture(pictures, stem))
        if picture.shape[:2] != codes.shape:
            raise DataError(f"{path} is for a picture of {codes.shape}, but the picture has {picture.shape[:2]}")
        yield Scene(stem, picture, tuple(instances), regions)
