"""Pictures with semantic label maps: one class number per pixel; connected pieces of a class become objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from evenhand.datasets.scenes.picture_files import pairs, read_map, read_picture
from evenhand.errors import DataError, require
from evenhand.media.scene import BUILDING, PAVEMENT, PLANTS, ROAD, SKY, STRUCTURE, UNKNOWN, Instance, Regions, Scene


@dataclass(frozen=True)
class MapLegend:
    """What the numbers mean: things that are objects, scenery that can hide, and regions."""

    things: Mapping[int, str]
    regions: Mapping[int, int]
    scenery: Mapping[int, str] = field(default_factory=dict)
    least_pixels: int = 60


CAMVID = MapLegend(
    {6: "sign", 8: "car", 9: "person", 10: "cyclist"},
    {0: SKY, 1: BUILDING, 2: STRUCTURE, 3: ROAD, 4: PAVEMENT, 5: PLANTS, 7: STRUCTURE, 11: UNKNOWN},
    {2: "pole"},
)


def from_label_maps(frames: Path, maps: Path, legend: MapLegend = CAMVID) -> Iterator[Scene]:
    """Scenes from two folders with equal file stems."""
    for picture_path, map_path in pairs(frames, maps):
        yield scene_from_map(picture_path.stem, read_picture(picture_path), read_map(map_path), legend)


def scene_from_map(
    name: str, picture: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], codes: Regions, legend: MapLegend = CAMVID
) -> Scene:
    """One scene; the regions under objects are taken from the rows beside them, so that ground stays ground."""
    if codes.shape != picture.shape[:2]:
        raise DataError(f"{name}: the label map has shape {codes.shape}, its picture {picture.shape[:2]}")
    regions = np.zeros(codes.shape, np.uint8)
    for code, region in legend.regions.items():
        regions[codes == code] = region
    instances = [*_pieces(codes, legend.things, legend.least_pixels, True), *_pieces(codes, legend.scenery, legend.least_pixels, False)]
    return Scene(name, picture, tuple(instances), regions)


def _pieces(codes: Regions, names: Mapping[int, str], least: int, counted: bool) -> Iterator[Instance]:
    cv2 = require("cv2", "image")
    for code, name in names.items():
        count, pieces, stats, _ = cv2.connectedComponentsWithStats((codes == code).astype(np.uint8))
        for place in range(1, count):
            left, top, wide, tall, area = (int(value) for value in stats[place])
            if area >= least:
                stencil = np.ascontiguousarray(pieces[top : top + tall, left : left + wide] == place)
                yield Instance(name, (left, top, left + wide, top + tall), stencil, counted=counted)
