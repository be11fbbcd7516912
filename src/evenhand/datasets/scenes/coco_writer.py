"""Scenes to pictures with annotations in the COCO format, ready for training or for another tool."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.datasets.scenes.picture_files import write_picture
from evenhand.datasets.scenes.rle import rle_from_mask
from evenhand.disk import write_whole
from evenhand.media.scene import Instance, Scene


@dataclass(frozen=True, eq=False)
class AnnotatedScene:
    """A scene, the stem of its file, and what else its entry is to say."""

    stem: str
    scene: Scene
    facts: Mapping[str, Any] = field(default_factory=dict)


def write_coco(folder: Path, annotated: Iterable[AnnotatedScene]) -> Path:
    """Pictures under `images/` and one `instances.json` beside them; returns the path of the latter."""
    entries = list(annotated)
    names = sorted({one.label for each in entries for one in each.scene.instances if one.counted})
    numbers = {name: place + 1 for place, name in enumerate(names)}
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for place, each in enumerate(entries, 1):
        file = f"{each.stem}.png"
        write_picture(folder / "images" / file, each.scene.picture)
        height, width = each.scene.shape
        images.append({"id": place, "file_name": file, "height": height, "width": width, **each.facts})
        for one in each.scene.instances:
            if one.counted:
                annotations.append({"id": len(annotations) + 1, "image_id": place, **_annotation(one, each.scene, numbers)})
    categories = [{"id": number, "name": name} for name, number in numbers.items()]
    path = folder / "instances.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps({"images": images, "annotations": annotations, "categories": categories}))
    return path


def _annotation(one: Instance, scene: Scene, numbers: Mapping[str, int]) -> dict[str, Any]:
    left, top, right, bottom = one.box
    return {
        "category_id": numbers[one.label],
        "iscrowd": 0,
        "area": one.area,
        "bbox": [left, top, right - left, bottom - top],
        "segmentation": rle_from_mask(one.mask(scene.shape)),
    }
