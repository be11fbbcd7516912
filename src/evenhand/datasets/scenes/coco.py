"""Scenes from COCO files: instances (polygons or run lengths) and panoptic maps."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.datasets.scenes.picture_files import EVERY, SceneSample, annotation_faults, picture_path, read_picture, scene_name
from evenhand.datasets.scenes.rle import mask_from_polygons, mask_from_rle
from evenhand.datasets.scenes.voc import cut_by_colour
from evenhand.errors import DataError
from evenhand.media.scene import BUILDING, PAVEMENT, PLANTS, ROAD, SKY, TERRAIN, UNKNOWN, Instance, Picture, PixelBox, Scene, Stencil

STUFF_REGIONS: Mapping[str, int] = {
    "road": ROAD,
    "pavement-merged": PAVEMENT,
    "pavement": PAVEMENT,
    "platform": PAVEMENT,
    "dirt-merged": TERRAIN,
    "grass-merged": TERRAIN,
    "sand": TERRAIN,
    "gravel": TERRAIN,
    "snow": TERRAIN,
    "sky-other-merged": SKY,
    "sky": SKY,
    "building-other-merged": BUILDING,
    "house": BUILDING,
    "wall-other-merged": BUILDING,
    "wall-brick": BUILDING,
    "wall-stone": BUILDING,
    "tree-merged": PLANTS,
    "flower": PLANTS,
}


def from_coco(annotations: Path, pictures: Path, least_pixels: int = 24, sample: SceneSample = EVERY) -> Iterator[Scene]:
    """Scenes from an instances file and its folder of pictures."""
    with annotation_faults(annotations):
        yield from _instances(annotations, pictures, least_pixels, sample)


def _instances(annotations: Path, pictures: Path, least_pixels: int, sample: SceneSample) -> Iterator[Scene]:
    content = _read(annotations, ("images", "annotations", "categories"))
    names = {int(one["id"]): str(one["name"]) for one in content["categories"]}
    by_picture: dict[int, list[dict[str, Any]]] = {}
    for one in content["annotations"]:
        by_picture.setdefault(int(one["image_id"]), []).append(one)
    for entry in sample.of(content["images"]):
        path = picture_path(pictures, str(entry["file_name"]))
        picture = read_picture(path)
        found = [_instance(one, names, picture) for one in by_picture.get(int(entry["id"]), ())]
        instances = tuple(one for one in found if one is not None and one.area >= least_pixels)
        yield Scene(scene_name(pictures, path), picture, instances)


def _read(path: Path, keys: tuple[str, ...]) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as fault:
        raise DataError(f"{path} cannot be read as COCO annotations: {fault}") from fault
    if not isinstance(content, dict):
        raise DataError(f"{path} holds a {type(content).__name__}; a COCO file has {', '.join(keys)}")
    missing = [key for key in keys if key not in content]
    if missing:
        raise DataError(f"{path} has no {', '.join(missing)}; a COCO file has {', '.join(keys)}")
    return dict(content)


def _instance(one: Mapping[str, Any], names: Mapping[int, str], picture: Picture) -> Instance | None:
    size = (int(picture.shape[0]), int(picture.shape[1]))
    category = int(one["category_id"])
    if category not in names:
        raise DataError(f"annotation {one.get('id')} names category {category}, which the file does not list")
    try:
        mask = _mask(one, picture)
    except (KeyError, TypeError, ValueError, OverflowError) as fault:
        raise DataError(f"annotation {one.get('id')} has neither a readable segmentation nor a bbox: {fault!r}") from fault
    if mask.shape != size:
        raise DataError(f"annotation {one.get('id')} has a mask of {mask.shape}; its picture has {size}")
    if not mask.any():
        return None
    return replace(Instance.from_mask(names[category], mask), counted=not one.get("iscrowd"), attributes=_attributes(one))


def _attributes(one: Mapping[str, Any]) -> dict[str, str]:
    """What a tool for annotating has written under `attributes`: one word or number for each name."""
    told = one.get("attributes")
    pairs = told.items() if isinstance(told, Mapping) else ()
    return {str(name): str(value) for name, value in pairs if isinstance(value, str | int | float) and str(value)}


def _mask(one: Mapping[str, Any], picture: Picture) -> Stencil:
    """From run lengths, polygons, or, when there are none, cut out of the box by colour: rectangles must not be pasted."""
    size = (int(picture.shape[0]), int(picture.shape[1]))
    drawn = one.get("segmentation")
    if isinstance(drawn, Mapping):
        return mask_from_rle(drawn)
    if drawn:
        return mask_from_polygons(drawn, size)
    left, top, wide, tall = (round(float(value)) for value in one["bbox"])
    inside = PixelBox(left, top, left + wide, top + tall).grown(0, size)
    return cut_by_colour(picture, "", inside) if inside.width > 0 and inside.height > 0 else np.zeros(size, bool)


def from_coco_panoptic(annotations: Path, maps: Path, pictures: Path, sample: SceneSample = EVERY) -> Iterator[Scene]:
    """Scenes from a panoptic file: things become objects, stuff becomes regions."""
    with annotation_faults(annotations):
        yield from _segments(annotations, maps, pictures, sample)


def _segments(annotations: Path, maps: Path, pictures: Path, sample: SceneSample) -> Iterator[Scene]:
    content = _read(annotations, ("images", "annotations", "categories"))
    categories = {int(one["id"]): one for one in content["categories"]}
    files = {int(one["id"]): str(one["file_name"]) for one in content["images"]}
    for entry in sample.of(content["annotations"]):
        if int(entry["image_id"]) not in files:
            raise DataError(f"{annotations}: an annotation is for picture {entry['image_id']}, which the file does not list")
        path = picture_path(pictures, files[int(entry["image_id"])])
        picture = read_picture(path)
        codes = read_picture(picture_path(maps, str(entry["file_name"]))).astype(np.int64) @ np.array([1, 256, 65536])
        regions = np.full(codes.shape, UNKNOWN, np.uint8)
        instances = []
        for segment in entry["segments_info"]:
            if int(segment["category_id"]) not in categories:
                raise DataError(f"segment {segment['id']} names category {segment['category_id']}, which the file does not list")
            category, mask = categories[int(segment["category_id"])], codes == int(segment["id"])
            if not mask.any():
                continue
            if category.get("isthing", 1):
                instances.append(replace(Instance.from_mask(str(category["name"]), mask), counted=not segment.get("iscrowd")))
            else:
                regions[mask] = STUFF_REGIONS.get(str(category["name"]), UNKNOWN)
        yield Scene(scene_name(pictures, path), picture, tuple(instances), regions)
