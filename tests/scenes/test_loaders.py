"""Loaders read what the formats say, and name the file when they cannot."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.datasets.scenes.cityscapes import from_instance_ids, from_polygons
from evenhand.datasets.scenes.coco import from_coco, from_coco_panoptic
from evenhand.datasets.scenes.label_maps import from_label_maps
from evenhand.datasets.scenes.picture_files import read_map, write_picture
from evenhand.datasets.scenes.rle import mask_from_rle, rle_from_mask
from evenhand.datasets.scenes.voc import from_voc
from evenhand.errors import DataError
from evenhand.measures.counted_changes import counted_scenes
from evenhand.media.scene import PAVEMENT, ROAD, SKY
from evenhand.media.scenes import ChangePlan, Scenes
from evenhand.media.vocabulary import Labels
from evenhand.models.function import FunctionRecogniser
from evenhand.models.shown import shown
from evenhand.oracles.counts import Counts
from evenhand.planted.recognisers import Simulated
from evenhand.report.coco_export import export_coco

PICTURE = np.random.default_rng(0).integers(0, 255, (40, 60, 3)).astype(np.uint8)


def write_map(path, codes):
    import cv2

    path.parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(path), codes)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_run_lengths_come_back_as_they_were(height, width, seed):
    mask = np.random.default_rng(seed).random((height, width)) < 0.5
    assert np.array_equal(mask_from_rle(rle_from_mask(mask)), mask)


def test_compressed_run_lengths_are_read():
    # 2 rows, 3 columns: the middle column set, columns first: runs 2, 2, 2
    assert np.array_equal(mask_from_rle({"size": [2, 3], "counts": "222"}), [[False, True, False], [False, True, False]])
    with pytest.raises(DataError, match="6"):
        mask_from_rle({"size": [2, 3], "counts": [1, 2]})


def test_coco_polygons_crowds_and_unknown_categories(tmp_path):
    write_picture(tmp_path / "p" / "one.png", PICTURE)
    square = [[5, 5, 25, 5, 25, 25, 5, 25]]
    content = {
        "images": [{"id": 1, "file_name": "one.png"}],
        "categories": [{"id": 3, "name": "car"}],
        "annotations": [
            {"id": 1, "image_id": 1, "category_id": 3, "segmentation": square, "bbox": [5, 5, 20, 20], "iscrowd": 0},
            {"id": 2, "image_id": 1, "category_id": 3, "segmentation": square, "bbox": [5, 5, 20, 20], "iscrowd": 1},
        ],
    }
    (tmp_path / "a.json").write_text(json.dumps(content))
    (scene,) = from_coco(tmp_path / "a.json", tmp_path / "p")
    assert scene.truth == {"car": 1}
    assert abs(scene.instances[0].area - 400) < 50
    content["annotations"][0]["category_id"] = 9
    (tmp_path / "a.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match="category 9"):
        list(from_coco(tmp_path / "a.json", tmp_path / "p"))
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(DataError, match="categories"):
        list(from_coco(tmp_path / "a.json", tmp_path / "p"))


def test_panoptic_things_are_objects_and_stuff_is_ground(tmp_path):
    write_picture(tmp_path / "p" / "one.png", PICTURE)
    codes = np.zeros((40, 60, 3), np.uint8)
    codes[20:, :, 0] = 7
    codes[10:20, 10:30, 0] = 8
    write_picture(tmp_path / "m" / "one.png", codes)
    content = {
        "images": [{"id": 1, "file_name": "one.png"}],
        "categories": [{"id": 1, "name": "road", "isthing": 0}, {"id": 2, "name": "car", "isthing": 1}],
        "annotations": [
            {"image_id": 1, "file_name": "one.png", "segments_info": [{"id": 7, "category_id": 1}, {"id": 8, "category_id": 2}]}
        ],
    }
    (tmp_path / "a.json").write_text(json.dumps(content))
    (scene,) = from_coco_panoptic(tmp_path / "a.json", tmp_path / "m", tmp_path / "p")
    assert scene.truth == {"car": 1}
    assert (scene.regions[20:] == ROAD).all()


def test_cityscapes_polygons_and_ids(tmp_path):
    write_picture(tmp_path / "p" / "bremen_1_leftImg8bit.png", PICTURE)
    road, car = [[0, 20], [59, 20], [59, 39], [0, 39]], [[10, 10], [30, 10], [30, 30], [10, 30]]
    objects = [
        {"label": "road", "polygon": road},
        {"label": "car", "polygon": car},
        {"label": "persongroup", "polygon": [[40, 5], [50, 5], [50, 15]]},
    ]
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "bremen_1_gtFine_polygons.json").write_text(json.dumps({"imgHeight": 40, "imgWidth": 60, "objects": objects}))
    (scene,) = from_polygons(tmp_path / "p", tmp_path / "a")
    assert scene.truth == {"car": 1}
    assert len(scene.instances) == 2
    codes = np.full((40, 60), 23, np.uint16)
    codes[20:] = 8
    codes[10:20, 5:15], codes[10:20, 20:30] = 26000, 26001
    write_map(tmp_path / "i" / "bremen_1_gtFine_instanceIds.png", codes)
    (scene,) = from_instance_ids(tmp_path / "p", tmp_path / "i")
    assert scene.truth == {"car": 2}
    assert scene.regions[39, 0] == PAVEMENT
    assert scene.regions[0, 0] == SKY


def test_label_maps_become_connected_objects(tmp_path):
    write_picture(tmp_path / "f" / "one.png", PICTURE)
    codes = np.full((40, 60), 3, np.uint8)
    codes[5:20, 5:15], codes[5:20, 30:40] = 8, 8
    write_map(tmp_path / "m" / "one.png", codes)
    (scene,) = from_label_maps(tmp_path / "f", tmp_path / "m")
    assert scene.truth == {"car": 2}
    write_picture(tmp_path / "f" / "two.png", PICTURE)
    with pytest.raises(DataError, match=r"two\.png"):
        list(from_label_maps(tmp_path / "f", tmp_path / "m"))


def test_maps_with_a_palette_are_read_by_number_and_coloured_ones_are_refused(tmp_path):
    from PIL import Image

    codes = np.full((40, 60), 3, np.uint8)
    codes[5:20, 5:15] = 8
    image = Image.fromarray(codes, "L").convert("P")
    image.putdata(codes.ravel().tolist())
    image.putpalette([7 * k % 256 for k in range(768)])
    image.save(tmp_path / "map.png")
    assert np.array_equal(read_map(tmp_path / "map.png"), codes)
    write_picture(tmp_path / "colour.png", PICTURE)
    with pytest.raises(DataError, match="3 channels"):
        read_map(tmp_path / "colour.png")


def test_voc_boxes_get_masks_and_entities_are_refused(tmp_path):
    picture = np.full((40, 60, 3), 200, np.uint8)
    picture[10:30, 15:40] = (180, 20, 20)
    write_picture(tmp_path / "p" / "one.png", picture)
    box = "<object><name>car</name><bndbox><xmin>12</xmin><ymin>7</ymin><xmax>43</xmax><ymax>33</ymax></bndbox></object>"
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.xml").write_text(f"<annotation><filename>one.png</filename>{box}</annotation>")
    (scene,) = from_voc(tmp_path / "a", tmp_path / "p")
    assert scene.truth == {"car": 1}
    assert abs(scene.instances[0].area - 500) < 120
    (tmp_path / "a" / "one.xml").write_text('<!DOCTYPE x [<!ENTITY a "b">]><annotation>&a;</annotation>')
    with pytest.raises(DataError, match="entities"):
        list(from_voc(tmp_path / "a", tmp_path / "p"))


def test_exported_errors_load_again_with_the_same_counts(streets, tmp_path):
    def forgetful(picture):
        return ["car"] * (int(picture[::7, ::7].sum()) % 3)

    medium = Scenes(streets[:5], ChangePlan(insert=("dog",), change=("person",), operators=("paper",), controls=False))
    rows = medium.rows()
    verdict = Counts("both").judge(rows, medium.domain, shown(medium, FunctionRecogniser(forgetful)))
    found = np.hstack([rows[verdict.unfair, :2], np.ones((int(verdict.unfair.sum()), 1))])
    assert len(found)
    path = export_coco(tmp_path, medium, found, ["lost: car"] * len(found))
    loaded = {scene.name: scene.truth for scene in from_coco(path, tmp_path / "images", least_pixels=1)}
    wanted = sorted(tuple(sorted(after.truth.items())) for after in medium.shown_scenes(found))
    assert sorted(tuple(sorted(truth.items())) for truth in loaded.values()) == wanted
    assert json.loads(path.read_text())["images"][0]["evenhand"]["outcome"] == "lost: car"
    assert list(tmp_path.glob("*.jpg"))


def test_a_class_may_be_called_anything_and_its_files_stay_in_their_folder(streets, tmp_path):
    odd = {"person": "Mensch </b> ü", "sign": "Traffic Sign"}
    scenes = [
        replace(one, instances=tuple(replace(i, label=odd.get(i.label, i.label)) for i in one.instances), truth={}) for one in streets
    ]
    plan = ChangePlan(insert=("Mensch </b> ü",), change=("sign",), operators=("insert", "lean"), controls=False)
    medium = Scenes(scenes[:6], plan)
    counted = counted_scenes(medium, shown(medium, Simulated()), medium.rows())
    assert {one.label for one in counted.changes} == {"Mensch </b> ü", "sign"}  # a traffic sign is a sign
    for one in counted.changes:
        if one.operator == "insert":
            assert one.truth["mensch </b> ü"] + one.added == medium.ranges[one.cluster]["Mensch </b> ü"].most + 1
    export_coco(tmp_path, medium, medium.rows(), [""] * len(medium.rows()))
    assert {path.parent for path in tmp_path.rglob("*.png")} == {tmp_path / "images"}


def test_synonyms_can_be_edited_and_contradictions_are_named(tmp_path):
    (tmp_path / "labels.yaml").write_text("synonyms: {car: [jalopy]}\n")
    assert Labels.from_yaml(tmp_path / "labels.yaml").canonical("Jalopy") == "car"
    with pytest.raises(DataError, match="both"):
        Labels(synonyms={"car": ("van",), "truck": ("van",)})
    (tmp_path / "labels.yaml").write_text("synonym: {}\n")
    with pytest.raises(DataError, match="synonyms"):
        Labels.from_yaml(tmp_path / "labels.yaml")


def test_coco_masks_of_another_size_and_bad_annotations_are_named(tmp_path):
    write_picture(tmp_path / "p" / "day" / "one.png", PICTURE)
    write_picture(tmp_path / "p" / "night" / "one.png", PICTURE)
    whole = {"size": [40, 60], "counts": [0, 2400]}
    content = {
        "images": [{"id": 1, "file_name": "day/one.png"}, {"id": 2, "file_name": "night/one.png"}],
        "categories": [{"id": 3, "name": "car"}],
        "annotations": [{"id": 7, "image_id": 1, "category_id": 3, "segmentation": whole, "iscrowd": 1}],
    }

    def load(**changes):
        content["annotations"][0] = {"id": 7, "image_id": 1, "category_id": 3, **changes}
        (tmp_path / "a.json").write_text(json.dumps(content))
        return list(from_coco(tmp_path / "a.json", tmp_path / "p"))

    scenes = load(segmentation=whole, iscrowd=1)
    assert [scene.name for scene in scenes] == ["day_one", "night_one"]
    assert scenes[0].truth == {}
    assert scenes[0].instances[0].area == 2400
    with pytest.raises(DataError, match="annotation 7 has a mask of"):
        load(segmentation={"size": [20, 30], "counts": [0, 600]})
    with pytest.raises(DataError, match="annotation 7"):
        load(segmentation=[])
    with pytest.raises(DataError, match="annotation 7"):
        load(segmentation=[[1, 2, 3]])
    (outside,) = load(bbox=[50, 30, 40, 40])[0].instances
    assert outside.box == (50, 30, 60, 40)


def test_panoptic_categories_and_pictures_must_be_listed(tmp_path):
    write_picture(tmp_path / "p" / "one.png", PICTURE)
    write_picture(tmp_path / "m" / "one.png", np.zeros((40, 60, 3), np.uint8))
    entry = {"image_id": 1, "file_name": "one.png", "segments_info": [{"id": 0, "category_id": 5}]}
    content = {"images": [{"id": 1, "file_name": "one.png"}], "categories": [], "annotations": [entry]}
    (tmp_path / "a.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match="category 5"):
        list(from_coco_panoptic(tmp_path / "a.json", tmp_path / "m", tmp_path / "p"))
    entry["image_id"] = 9
    (tmp_path / "a.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match="picture 9"):
        list(from_coco_panoptic(tmp_path / "a.json", tmp_path / "m", tmp_path / "p"))


def test_cityscapes_files_beside_each_other_and_deleted_polygons(tmp_path):
    for name in ("bremen_1", "bremen_10"):
        write_picture(tmp_path / f"{name}_leftImg8bit.png", PICTURE[: 40 if name == "bremen_1" else 30])
    square = [[10, 10], [30, 10], [30, 30], [10, 30]]
    objects = [{"label": "car", "polygon": square, "deleted": 1}, {"label": "bus", "polygon": square}]
    path = tmp_path / "bremen_1_gtFine_polygons.json"
    path.write_text(json.dumps({"imgHeight": 40, "imgWidth": 60, "objects": objects}))
    write_map(tmp_path / "bremen_1_gtFine_instanceIds.png", np.full((40, 60), 26, np.uint16))
    (scene,) = from_polygons(tmp_path, tmp_path)
    assert scene.truth == {"bus": 1}
    (crowd,) = from_instance_ids(tmp_path, tmp_path)  # a class number without single objects is a group
    assert crowd.truth == {}
    path.write_text("[]")
    with pytest.raises(DataError, match="polygon file"):
        list(from_polygons(tmp_path, tmp_path))


def test_voc_parts_do_not_replace_their_object_and_boxes_are_cut_at_the_edge(tmp_path):
    write_picture(tmp_path / "p" / "one.jpg", PICTURE)
    box = "<bndbox><xmin>{}</xmin><ymin>5</ymin><xmax>{}</xmax><ymax>35</ymax></bndbox>"
    part = "<part><name>head</name>" + box.format(1, 4) + "</part>"
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.xml").write_text(f"<annotation><object><name>person</name>{box.format(20, 99)}{part}</object></annotation>")
    (scene,) = from_voc(tmp_path / "a", tmp_path / "p", lambda picture, label, box: whole_box(picture, box))
    assert [(one.label, one.box) for one in scene.instances] == [("person", (20, 5, 60, 35))]


def whole_box(picture, box):
    mask = np.zeros(picture.shape[:2], bool)
    mask[box[1] : box[3], box[0] : box[2]] = True
    return mask
