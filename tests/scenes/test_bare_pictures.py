"""A folder of pictures without annotations: a recogniser's own boxes are the objects, and only changes of its answers are judged."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.scenes.test_box_layouts import saved

import evenhand as eh
from evenhand.contract import Detection
from evenhand.datasets.scenes.bare_pictures import BarePictures, PromptedMask, prompted_ground, roomier, rough_mask, whole_mask
from evenhand.datasets.scenes.picture_files import write_picture
from evenhand.datasets.scenes.prompted_segmenter import PromptedSegmenter
from evenhand.errors import InvalidArgument, UnknownName
from evenhand.media.operators.delete import delete
from evenhand.media.operators.parts.cast_shadow import cast_shadow
from evenhand.media.operators.parts.company import companions
from evenhand.media.operators.parts.mutated import Mutation, Skipped
from evenhand.media.operators.parts.net_filling import agreed_filling
from evenhand.media.operators.parts.one_away import CUT_OFF, HELD, TOUCHED, UNSURE, Removal
from evenhand.media.scene import MASKS, ROAD, SAID_BY, UNKNOWN, Instance, PixelBox, Scene, overlap
from evenhand.media.scenes import ChangePlan, Scenes
from evenhand.verbs.init import init


@pytest.fixture(scope="module")
def folder(streets, tmp_path_factory):
    path = tmp_path_factory.mktemp("bare")
    for k, scene in enumerate(streets[:3]):
        write_picture(path / f"{k}.png", scene.picture)
    return path


class Boxed:
    """Tells the true boxes of the streets, one of them under two names."""

    name = "boxed"

    def __init__(self, streets):
        self.streets = streets

    def recognise(self, pictures):
        answers = []
        for picture in pictures:
            scene = next(one for one in self.streets if np.array_equal(one.picture, picture))
            found = [Detection(one.label, 0.9, tuple(map(float, one.box))) for one in scene.instances if one.counted]
            answers.append((*found, Detection("vehicle", 0.3, found[0].box)))
        return answers

    def fingerprint(self):
        return "boxed"


def test_a_recognisers_own_boxes_are_the_objects_each_by_one_name(streets, folder):
    scenes = list(BarePictures(folder, Boxed(streets)).scenes())
    assert [scene.name for scene in scenes] == ["0", "1", "2"]
    assert all(scene.is_rough for scene in scenes)
    assert "vehicle" not in {one.label for scene in scenes for one in scene.instances}
    assert not Scenes(scenes, ChangePlan(("person",), ("person",))).is_annotated


@pytest.mark.slow
def test_rough_masks_are_for_deletion_only_and_with_a_segmenter_the_rest_is_tried(streets, folder):
    plan = ChangePlan(("person",), ("person", "car"), ("delete", "mirror"), controls=False)
    rough = Scenes(list(BarePictures(folder, Boxed(streets)).scenes()), plan)
    reasons = {made.reason for place in range(3) for k in (2, 3) if isinstance(made := rough.made(place, k), Skipped)}
    assert any("masks are rough" in reason for reason in reasons)
    assert not any(isinstance(rough.made(place, k), Mutation) for place in range(3) for k in (2, 3))

    def segmenter(picture, boxes):
        scene = next(one for one in streets if np.array_equal(one.picture, picture))
        by_box = {one.box: one.mask(scene.shape) for one in scene.instances}
        return [PromptedMask(by_box[max(by_box, key=lambda known: overlap(known, box))], 0.97) for box in boxes]

    sharp = Scenes(list(BarePictures(folder, Boxed(streets), segmenter).scenes()), plan)
    made = [sharp.made(place, k) for place in range(3) for k in (2, 3)]
    assert not any("masks are rough" in getattr(one, "reason", "") for one in made)


def test_a_rough_mask_is_nearer_to_the_object_than_its_box():
    picture = np.full((100, 100, 3), 200, np.uint8)
    down, over = np.mgrid[0:100, 0:100]
    ball = np.hypot(down - 50, over - 40) < 22
    picture[ball] = (30, 60, 160)
    found = rough_mask(picture, PixelBox(17, 27, 63, 73))
    assert (found & ball).sum() / (found | ball).sum() > 0.85


def test_pictures_alone_ask_for_a_recogniser_and_an_unknown_one_is_named(folder):
    with pytest.raises(InvalidArgument, match="need a recogniser"):
        eh.open(folder)
    with pytest.raises(UnknownName, match="yolo"):
        eh.open(folder, settings={"recogniser": "yolo"})


def test_init_writes_a_project_for_pictures_and_the_detector_that_names_their_objects(tmp_path, data):
    net, frames = data / "models" / "yolox_nano.onnx", sorted((data / "images" / "street" / "frames").glob("*.png"))
    (tmp_path / "pictures").mkdir()
    for path in frames[:2]:
        shutil.copy(path, tmp_path / "pictures")
    written = init(tmp_path / "pictures", model=net, file=tmp_path / "evenhand.yaml")
    assert written.project.medium.settings["format"] == "pictures"
    assert Path(written.project.medium.settings["recogniser"]) == net.resolve()


def test_a_segmenter_that_takes_boxes_is_asked_in_its_own_pixels(tmp_path):
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper

    onnx = pytest.importorskip("onnx")
    saved(tmp_path, {"image_embeddings": np.zeros((1, 4, 4, 4), np.float32)}, ("FLOAT", [1, 3, 64, 64]))
    (tmp_path / "net.onnx").rename(tmp_path / "encoder.onnx")
    # This decoder marks everything right of the first corner, in the pixels of the picture (32 wide where the encoder has 64).
    names = {"image_embeddings": [1, 4, 4, 4], "point_coords": [1, 2, 2], "point_labels": [1, 2], "orig_im_size": [2]}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in names.items()]
    row = helper.make_tensor("row", TensorProto.FLOAT, [1, 1, 1, 32], np.arange(32, dtype=np.float32))
    ones = helper.make_tensor("ones", TensorProto.FLOAT, [1, 1, 32, 1], np.ones(32, np.float32))
    index, half = (helper.make_tensor(n, t, [], [v]) for n, t, v in (("at", TensorProto.INT64, 0), ("half", TensorProto.FLOAT, 0.5)))
    quality = helper.make_tensor("q", TensorProto.FLOAT, [1, 1], [0.95])
    nodes = [helper.make_node("Constant", [], [one.name], value=one) for one in (row, ones, index, half, quality)]
    nodes += [
        helper.make_node("Flatten", ["point_coords"], ["flat"], axis=0),
        helper.make_node("Gather", ["flat", "at"], ["left"], axis=1),
        helper.make_node("Mul", ["left", "half"], ["own"]),
        helper.make_node("Sub", ["row", "own"], ["beyond"]),
        helper.make_node("Mul", ["beyond", "ones"], ["masks"]),
        helper.make_node("Identity", ["q"], ["iou_predictions"]),
    ]
    outputs = [
        helper.make_tensor_value_info("masks", TensorProto.FLOAT, [1, 1, 32, 32]),
        helper.make_tensor_value_info("iou_predictions", TensorProto.FLOAT, [1, 1]),
    ]
    model = helper.make_model(helper.make_graph(nodes, "d", inputs, outputs), opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(tmp_path / "decoder.onnx"))
    (tmp_path / "sam.yaml").write_text("encoder: encoder.onnx\ndecoder: decoder.onnx\n", encoding="utf-8")
    net = PromptedSegmenter.from_yaml(tmp_path / "sam.yaml")
    (told,) = net(np.zeros((32, 32, 3), np.uint8), [(10, 4, 20, 30)])
    assert told.quality == pytest.approx(0.95)
    assert not told.mask[:, :10].any()
    assert told.mask[:, 12:].all()


def test_encoders_and_decoders_are_joined_by_name_and_padding_is_cut_off(tmp_path):
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    # As SAM2 is exported: the encoder tells its layers in another order than the decoder asks for them, and masks are those of a square.
    fine, coarse = np.full((1, 2, 8, 8), 5, np.float32), np.zeros((1, 4, 2, 2), np.float32)
    saved(tmp_path, {"high_res": fine, "image_embed": coarse}, ("FLOAT", [1, 3, 64, 64]))
    (tmp_path / "net.onnx").rename(tmp_path / "encoder.onnx")
    shapes = {"image_embed": [1, 4, 2, 2], "high_res": [1, 2, 8, 8], "point_coords": [1, 2, 2], "point_labels": [1, 2]}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    below = np.where(np.arange(16)[:, None] < 8, -1.0, 1.0).repeat(16, axis=1).astype(np.float32)  # all below the middle of the square
    parts = [
        helper.make_tensor("rows", TensorProto.FLOAT, [1, 1, 16, 16], below.ravel()),
        helper.make_tensor("q", TensorProto.FLOAT, [1, 1], [0.9]),
        helper.make_tensor("at", TensorProto.INT64, [1], [0]),
    ]
    nodes = [helper.make_node("Constant", [], [one.name], value=one) for one in parts]
    nodes += [
        helper.make_node("ReduceMax", ["high_res"], ["five"], keepdims=1),
        helper.make_node("Mul", ["rows", "five"], ["masks"]),
        helper.make_node("Identity", ["q"], ["iou_predictions"]),
    ]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("masks", "iou_predictions")]
    graph = helper.make_graph([node for node in nodes if node.output[0] != "at"], "d", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(tmp_path / "decoder.onnx"))
    (tmp_path / "sam.yaml").write_text("encoder: encoder.onnx\ndecoder: decoder.onnx\n", encoding="utf-8")
    (told,) = PromptedSegmenter.from_yaml(tmp_path / "sam.yaml")(np.zeros((48, 64, 3), np.uint8), [(10, 4, 20, 30)])
    rows = np.flatnonzero(told.mask.any(axis=1))
    assert rows.min() == pytest.approx(32, abs=1)  # the square's middle is at two thirds of a picture that fills three quarters of it
    assert rows.max() == 47


class Pointed:
    """Answers every question about points with one mask, and keeps what it was asked."""

    def __init__(self, mask):
        self.mask, self.asked = mask, []

    def around(self, picture, on, away):
        self.asked.append((picture.shape, on, away))
        return PromptedMask(self.mask, 0.95)


def test_ground_is_what_lies_below_feet_and_nothing_else():
    body, floor = np.zeros((240, 320), bool), np.zeros((240, 320), bool)
    body[60:150, 140:175], floor[130:] = True, True
    body[142:150, 148:167] = False  # two feet
    scene = Scene("street", np.full((240, 320, 3), 90, np.uint8), (Instance.from_mask("person", body),))
    segmenter = Pointed(floor)
    regions = prompted_ground(scene, segmenter)
    assert set(np.unique(regions)) == {UNKNOWN, ROAD}
    assert (regions[150:] == ROAD).all()
    assert not (regions[body] == ROAD).any()
    _, on, away = segmenter.asked[0]
    assert (on[:, 1] > 150).all()
    assert body[away[:, 1].astype(int), away[:, 0].astype(int)].any()  # who stands there is no ground
    assert prompted_ground(scene, Pointed(np.roll(floor, -130, axis=0) & ~floor)) is None  # an answer that misses the points
    flying = replace(scene, instances=(Instance.from_mask("kite", body),))
    assert prompted_ground(flying, segmenter) is None


def test_a_mask_that_nobody_drew_is_not_taken_from_behind_a_nearer_object():
    picture = np.full((240, 320, 3), 90, np.uint8)
    far, near = np.zeros((240, 320), bool), np.zeros((240, 320), bool)
    far[100:130, 140:170], near[90:170, 171:200] = True, True
    things = (Instance.from_mask("car", far), Instance.from_mask("person", near))
    drawn = Scene("drawn", picture, things)
    assert isinstance(delete(drawn, "car"), Mutation)
    named = delete(Scene("bare", picture, things, facts={SAID_BY: "a detector"}), "car")
    assert isinstance(named, Skipped)
    assert named.reason == TOUCHED


def stood(label, rows, columns, shape=(240, 320)):
    """An object with two feet."""
    mask = np.zeros(shape, bool)
    mask[rows[0] : rows[1], columns[0] : columns[1]] = True
    mask[rows[1] - 8 : rows[1], columns[0] + 4 : columns[1] - 4] = False
    return Instance.from_mask(label, mask)


def test_of_bare_pictures_one_object_goes_with_what_it_rides_and_holds_and_the_others_stay():
    alone, rider = stood("person", (60, 110), (20, 40)), stood("person", (90, 150), (150, 170))
    bicycle, bag = stood("bicycle", (110, 160), (140, 180)), stood("handbag", (100, 112), (170, 180))
    picture = np.full((240, 320, 3), 90, np.uint8)
    for one in (alone, rider, bicycle, bag):
        picture[one.mask((240, 320))] = 40, 60, 150
    scene = Scene("bare", picture, (alone, rider, bicycle, bag), facts={SAID_BY: "a detector"})
    made = delete(scene, "bicycle")
    assert isinstance(made, Mutation)
    assert alone in made.after.instances
    assert not {"bicycle"} & {one.label for one in made.after.instances}
    assert rider not in made.after.instances
    assert companions(scene, rider) == (rider, bag, bicycle)
    assert (made.after.picture[60:102, 20:40] == picture[60:102, 20:40]).all()
    assert delete(scene, "handbag").reason == HELD  # somebody's hand would be left
    sitting = replace(scene, instances=(stood("person", (60, 110), (20, 80)),))
    assert delete(sitting, "person").reason == CUT_OFF


@pytest.mark.parametrize(("noise", "is_made"), [(0, False), (6, True), (40, False)])
def test_a_net_that_smears_or_makes_something_up_is_not_believed(noise, is_made):
    rng = np.random.default_rng(0)
    picture = (90 + rng.normal(0, 9, (240, 320, 3))).clip(0, 255).astype(np.uint8)
    one = stood("person", (60, 130), (100, 130))
    picture[one.mask((240, 320))] = 200, 60, 60
    scene = Scene("bare", picture, (one,), facts={SAID_BY: "a detector"})

    def net(shown, hole):
        filling = (90 + rng.normal(0, noise, shown.shape)).clip(0, 255).astype(np.uint8)
        return np.where(hole[..., None], filling, shown)

    removal = Removal(scene, (one,))
    assert isinstance(removal.made("person", net), Mutation) == is_made


def test_a_function_of_the_users_own_names_what_bare_pictures_show(folder, tmp_path, monkeypatch):
    """The newcomer's case: a folder of pictures, no annotations, and a detector that is a Python function."""
    (tmp_path / "my_detector.py").write_text("def detect(picture):\n    return [('car', 0.9, (2, 2, 30, 20))]\n\n\nTHRESHOLD = 3\n")
    monkeypatch.chdir(tmp_path)
    written = init(folder, model="my_detector:detect", file=tmp_path / "evenhand.yaml")
    assert "show: car" in written.summary()
    assert 'recogniser: "my_detector:detect"' in (tmp_path / "evenhand.yaml").read_text()
    with pytest.raises(InvalidArgument, match="must be a function of one picture, got int"):
        init(folder, model="my_detector:THRESHOLD", file=tmp_path / "other.yaml")


def test_a_net_that_fills_the_mirror_image_otherwise_has_made_something_up():
    scene = Scene("bare", np.full((120, 160, 3), 90, np.uint8), ())
    hole = np.zeros((120, 160), bool)
    hole[40:70, 60:90] = True

    def known(picture, where):
        return np.where(where[..., None], 90, picture)

    def made_up(picture, where):
        shade = np.linspace(0, 240, 160).astype(np.uint8)[None, :, None]  # darker to its left, whichever way the picture looks
        return np.where(where[..., None], shade, picture)

    assert agreed_filling(scene, hole, known) is not None
    assert agreed_filling(scene, hole, made_up) is None


def test_a_second_look_with_more_room_brings_the_feet_and_not_another_thing():
    first, legs, house = (np.zeros((100, 100), bool) for _ in range(3))
    first[20:60, 40:60] = True
    legs[20:72, 41:59] = True
    legs[20:60, 40:60] = True
    house[:, :] = True
    one = PromptedMask(first, 0.9)
    assert whole_mask(one, PromptedMask(legs, 0.82)).mask.sum() == legs.sum()
    assert whole_mask(one, PromptedMask(house, 0.95)).mask is first  # far more than it, so something else
    unsure = PromptedMask(first, 0.85)
    assert whole_mask(unsure, PromptedMask(first.copy(), 0.84)).quality >= 0.88  # two looks agree
    assert whole_mask(unsure, PromptedMask(legs, 0.84)).quality == 0.85
    assert roomier(PixelBox(40, 20, 60, 60), (100, 100)) == PixelBox(38, 18, 62, 70)


def test_what_nobody_knows_the_outline_of_stays_where_others_are_known():
    one = replace(stood("person", (60, 130), (100, 130)), is_rough=True)
    scene = Scene("bare", np.full((240, 320, 3), 90, np.uint8), (one,), facts={SAID_BY: "a detector", MASKS: "segmenter"})
    assert delete(scene, "person").reason == UNSURE
    assert isinstance(delete(replace(scene, instances=(replace(one, is_rough=False),)), "person"), Mutation)


def test_a_kerb_and_a_dark_street_are_no_shadow_and_a_dark_patch_at_the_feet_is():
    one = stood("person", (40, 140), (140, 170))
    plain = np.full((240, 320, 3), 120, np.uint8)
    kerb, patch = plain.copy(), plain.copy()
    kerb[134:140] = 40
    patch[136:146, 130:185] = 40
    shadows = [cast_shadow(Scene("s", picture, (one,)), one) for picture in (plain, kerb, patch)]
    assert not shadows[1][:, :136].any()
    assert not shadows[1][:, 174:].any()
    assert shadows[2][140:145, 132:183].all()
