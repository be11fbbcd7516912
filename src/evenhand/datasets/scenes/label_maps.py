"""Pictures with semantic label maps: one class number per pixel; connected pieces of a class become objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from evenhand.datasets.scenes.legends import CAMVID, MapLegend, check_legend, check_like_camvid, check_upright
from evenhand.datasets.scenes.map_layouts import ending_of
from evenhand.datasets.scenes.picture_files import EVERY, SceneSample, pairs, read_map, read_picture, scene_name
from evenhand.errors import DataError, require
from evenhand.media.scene import Instance, PixelBox, Regions, Scene

LOOKED_AT = 8
"""So many maps are looked at before the first one is read, for whether their numbers can mean what the legend says."""


def from_label_maps(frames: Path, maps: Path, legend: MapLegend | None = None, sample: SceneSample = EVERY) -> Iterator[Scene]:
    """Scenes from two folders with equal file stems (or a known layout's); without a legend the maps must look like CamVid's."""
    drawn = sample.of(list(pairs(frames, maps, ending_of(maps))))
    if legend is not None:
        check_upright(str(maps), [read_map(path) for _, path in drawn[:LOOKED_AT]], legend)
    for picture_path, map_path in drawn:
        codes = read_map(map_path)
        if legend is None:
            check_like_camvid(str(map_path), codes)
        else:
            check_legend(str(map_path), codes, legend)
        yield scene_from_map(scene_name(frames, picture_path), read_picture(picture_path), codes, legend or CAMVID)


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
                yield Instance(name, PixelBox(left, top, left + wide, top + tall), stencil, counted=counted)
