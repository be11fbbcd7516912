"""Data sets as they lie on disk once unpacked: the folder alone is given, and the part for validation is read with its own pictures."""

from __future__ import annotations

import csv
import json

import cv2
import numpy as np
import pytest

from evenhand.datasets.scene_data import found_scenes, read_scenes
from evenhand.datasets.scenes.picture_files import write_picture

GREYS = {"train": 60, "val": 180}
"""The parts have pictures of equal names and another brightness."""
BOX = {"xmin": 10, "ymin": 5, "xmax": 40, "ymax": 35}


def picture(path, grey):
    write_picture(path, np.full((40, 60, 3), grey, np.uint8))


def content(**more):
    segment = {"segmentation": [[10, 5, 40, 5, 40, 35, 10, 35]], "bbox": [10, 5, 30, 30]}
    return {
        "images": [{"id": 1, "file_name": "a.png"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, **segment, **more}],
        "categories": [{"id": 1, "name": "car", "isthing": 1}],
    }


def coco(folder, part, grey):
    picture(folder / f"{part}2017" / "a.png", grey)
    (folder / "annotations").mkdir(exist_ok=True)
    (folder / "annotations" / f"captions_{part}2017.json").write_text(json.dumps({"images": [], "annotations": []}))
    (folder / "annotations" / f"instances_{part}2017.json").write_text(json.dumps(content()))


def panoptic(folder, part, grey):
    picture(folder / f"{part}2017" / "a.png", grey)
    told = content(segments_info=[{"id": 7, "category_id": 1}], file_name="a.png")
    codes = np.zeros((40, 60, 3), np.uint8)
    codes[5:35, 10:40, 0] = 7
    write_picture(folder / "annotations" / f"panoptic_{part}2017" / "a.png", codes)
    (folder / "annotations" / f"panoptic_{part}2017.json").write_text(json.dumps(told))


def cityscapes(folder, part, grey):
    picture(folder / "leftImg8bit" / part / "ulm" / "ulm_1_leftImg8bit.png", grey)
    shape = {"label": "car", "polygon": [[10, 5], [40, 5], [40, 35], [10, 35]]}
    below = folder / "gtFine" / part / "ulm" / "ulm_1_gtFine_polygons.json"
    below.parent.mkdir(parents=True)
    below.write_text(json.dumps({"imgHeight": 40, "imgWidth": 60, "objects": [shape]}))


def cityscapes_ids(folder, part, grey):
    picture(folder / "leftImg8bit" / part / "ulm" / "ulm_1_leftImg8bit.png", grey)
    codes = np.zeros((40, 60), np.uint16)
    codes[5:35, 10:40] = 26000
    below = folder / "gtFine" / part / "ulm" / "ulm_1_gtFine_instanceIds.png"
    below.parent.mkdir(parents=True)
    cv2.imwrite(str(below), codes)


def facet(folder, part, grey):
    del part  # FACET is one set whose pictures are shared out, with files for detectors beside its table
    picture(folder / "imgs_2" / "a.png", grey)
    (folder / "imgs_1").mkdir(exist_ok=True)
    line = {"filename": "a.png", "bounding_box": json.dumps({"x": 10, "y": 5, "width": 30, "height": 30})}
    table(folder / "annotations" / "annotations.csv", line)
    (folder / "annotations" / "coco_boxes.json").write_text(json.dumps(content()))


def miap(folder, part, grey):
    picture(folder / {"val": "validation"}.get(part, part) / f"{part}.png", grey)
    said = {"GenderPresentation": "Unknown", "AgePresentation": "Young"}
    line = {"ImageID": part, "XMin": 1 / 6, "XMax": 2 / 3, "YMin": 1 / 8, "YMax": 7 / 8, **said}
    table(folder / f"open_images_extended_miap_boxes_{part}.csv", line)


def voc(folder, part, grey):
    kit = folder / "VOCdevkit" / {"train": "VOC2007", "val": "VOC2012"}[part]
    picture(kit / "JPEGImages" / "a.png", grey)
    sides = "".join(f"<{name}>{value}</{name}>" for name, value in BOX.items())
    (kit / "Annotations").mkdir()
    thing = f"<object><name>car</name><bndbox>{sides}</bndbox></object>"
    (kit / "Annotations" / "a.xml").write_text(f"<annotation><filename>a.png</filename>{thing}</annotation>")


def table(path, line):
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as opened:
        lines = csv.DictWriter(opened, list(line))
        lines.writeheader()
        lines.writerow(line)


@pytest.mark.parametrize("unpack", [coco, panoptic, cityscapes, cityscapes_ids, facet, miap, voc])
def test_the_folder_alone_is_enough_and_validation_is_read(tmp_path, unpack):
    for part, grey in GREYS.items():
        unpack(tmp_path, part, grey)
    (scene,) = read_scenes(found_scenes(tmp_path))
    assert abs(int(scene.picture.mean()) - GREYS["val"]) < 5
    (thing,) = scene.instances
    assert scene.is_rough or np.abs(np.subtract(thing.box, tuple(BOX.values()))).max() <= 1  # polygons may fill their last pixel


def test_a_picture_is_never_looked_for_outside(tmp_path):
    picture(tmp_path / "elsewhere" / "a.png", 90)
    (tmp_path / "data" / "annotations").mkdir(parents=True)
    (tmp_path / "data" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "data" / "annotations" / "instances.json").write_text(json.dumps(content()))
    with pytest.raises(Exception, match=r"a\.png is missing"):
        read_scenes(found_scenes(tmp_path / "data"))
