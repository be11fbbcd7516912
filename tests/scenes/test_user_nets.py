"""Nets that a user brings as ONNX files: segmenters, inpainters, and the features for the Frechet distance."""

from __future__ import annotations

import numpy as np
import pytest
from scene_realism import NetFeatures, Region, frechet_distance

from evenhand.datasets.scene_data import SceneChoices, SceneSource, read_scenes
from evenhand.datasets.scenes.picture_files import write_picture
from evenhand.datasets.scenes.segmenter import Described, OnnxSegmenter
from evenhand.datasets.scenes.voc import from_voc
from evenhand.errors import DataError, InvalidArgument, UnknownName, WrongAnswer
from evenhand.media.operators.delete import delete
from evenhand.media.operators.parts.inpaint import NetInpainter
from evenhand.media.operators.parts.mutated import Skipped
from evenhand.media.scene import ROAD, Instance, Scene
from evenhand.models.onnx_session import open_onnx

onnx = pytest.importorskip("onnx")
helper = pytest.importorskip("onnx.helper")
pytest.importorskip("onnxruntime")


DESCRIBED = "net: segmenter.onnx\nclasses: [background, car, dog]\nthings: [car, dog]\nmean: [0, 0, 0]\nspread: [1, 1, 1]\n"


def save(path, nodes, inputs, outputs, constants=None):
    weights = [onnx.numpy_helper.from_array(value, name) for name, value in (constants or {}).items()]
    graph = helper.make_graph(nodes, "net", inputs, outputs, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(path))
    return path


def floats(name, *shape):
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)


@pytest.fixture
def segmenter(tmp_path):
    # background scores 0, red scores high for a car, blue for a dog; the pixels arrive normalised with mean 0 and spread 1
    weight = np.zeros((3, 3, 1, 1), np.float32)
    weight[1, :, 0, 0], weight[2, :, 0, 0] = (10, -10, -10), (-10, -10, 10)
    node = helper.make_node("Conv", ["picture", "weight"], ["scores"])
    path = save(
        tmp_path / "segmenter.onnx",
        [node],
        [floats("picture", 1, 3, "height", "width")],
        [floats("scores", 1, 3, "height", "width")],
        {"weight": weight},
    )
    return OnnxSegmenter(path, ("background", "car", "dog"), mean=(0.0, 0.0, 0.0), spread=(1.0, 1.0, 1.0))


def painted():
    picture = np.full((60, 90, 3), 90, np.uint8)
    picture[20:40, 10:40] = (220, 10, 10)
    picture[30:45, 60:80] = (10, 10, 220)
    return picture


def test_boxes_get_the_segmenters_masks(tmp_path, segmenter):
    write_picture(tmp_path / "p" / "one.png", painted())
    box = "<object><name>car</name><bndbox><xmin>5</xmin><ymin>15</ymin><xmax>50</xmax><ymax>44</ymax></bndbox></object>"
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.xml").write_text(f"<annotation><filename>one.png</filename>{box}</annotation>")
    (scene,) = from_voc(tmp_path / "a", tmp_path / "p", segmenter)
    assert scene.instances[0].box == (10, 20, 40, 40)
    assert scene.instances[0].area == 600
    with pytest.raises(InvalidArgument, match="unicorn"):
        segmenter(painted(), "unicorn", (0, 0, 9, 9))


def test_a_bare_picture_becomes_a_scene(segmenter):
    scene = segmenter.scene("bare", painted(), ("car", "dog"), {"background": ROAD})
    assert scene.truth == {"car": 1, "dog": 1}
    assert scene.regions[0, 0] == ROAD


def test_a_segmenter_with_more_classes_than_names_is_refused(segmenter):
    few = OnnxSegmenter(segmenter.path, ("background", "car"), mean=segmenter.mean, spread=segmenter.spread)
    with pytest.raises(WrongAnswer, match="shape"):
        few.label_map(painted())


def test_a_described_segmenter_makes_scenes_of_a_folder_and_its_file_is_checked(tmp_path, segmenter):
    words = DESCRIBED + "regions: {background: road}\n"
    path = tmp_path / "segmenter.yaml"
    path.write_text(words)
    write_picture(tmp_path / "p" / "one.png", painted())
    (scene,) = Described.from_yaml(path).scenes(tmp_path / "p")
    assert scene.truth == {"car": 1, "dog": 1}
    for wrong, said in (
        (words.replace("things: [car", "things: [cow"), "cow"),
        (words.replace("road", "rood"), "rood"),
        ("net: x", "classes"),
    ):
        path.write_text(wrong)
        with pytest.raises(DataError, match=said):
            Described.from_yaml(path)


def test_bare_pictures_are_read_with_a_segmenter(tmp_path, segmenter):
    (tmp_path / "s.yaml").write_text(DESCRIBED)
    write_picture(tmp_path / "p" / "one.png", painted())
    (scene,) = read_scenes(SceneSource("pictures", tmp_path / "p", segmenter=tmp_path / "s.yaml"))
    assert scene.truth == {"car": 1, "dog": 1}
    with pytest.raises(InvalidArgument, match="need a recogniser"):
        SceneSource("pictures", tmp_path / "p")
    with pytest.raises(UnknownName, match="cow"):
        SceneChoices(("cow",)).plan([scene])


@pytest.mark.parametrize("top", [1.0, 255.0])
def test_an_inpainter_with_lamas_inputs_fills_the_hole_and_nothing_else(tmp_path, top):
    # picture * (1 - mask) + 0.5 * mask, answered from 0 to 1 or, as some exports do, from 0 to 255
    nodes = [
        helper.make_node("Sub", ["one", "mask"], ["rest"]),
        helper.make_node("Mul", ["image", "rest"], ["known"]),
        helper.make_node("Mul", ["mask", "half"], ["grey"]),
        helper.make_node("Add", ["known", "grey"], ["sum"]),
        helper.make_node("Mul", ["sum", "top"], ["output"]),
    ]
    numbers = {name: np.array(value, np.float32) for name, value in (("one", 1.0), ("half", 0.5), ("top", top))}
    path = save(
        tmp_path / "lama.onnx",
        nodes,
        [floats("image", 1, 3, 64, 64), floats("mask", 1, 1, 64, 64)],
        [floats("output", 1, 3, 64, 64)],
        numbers,
    )
    picture, hole = painted(), np.zeros((60, 90), bool)
    hole[18:42, 8:42] = True
    filled = NetInpainter(open_onnx(path))(picture, hole)
    assert filled.shape == picture.shape
    assert np.array_equal(filled[~hole], picture[~hole])
    assert np.abs(filled[24:36, 16:34].astype(int) - 127).max() <= 3
    one = save(
        tmp_path / "one.onnx",
        [helper.make_node("Relu", ["image"], ["output"])],
        [floats("image", 1, 3, 8, 8)],
        [floats("output", 1, 3, 8, 8)],
    )
    with pytest.raises(WrongAnswer, match="two: picture and mask"):
        NetInpainter(open_onnx(one))
    with pytest.raises(InvalidArgument, match="cannot be read"):
        open_onnx(tmp_path / "absent.onnx")


def test_the_better_filling_is_chosen_and_said(tmp_path):
    rng = np.random.default_rng(0)
    picture = rng.normal(100, 8, (120, 160, 1)).repeat(3, axis=2).clip(0, 255).astype(np.uint8)
    mask = np.zeros((120, 160), bool)
    mask[40:60, 50:70] = True
    picture[mask] = (200, 30, 30)
    scene = Scene("s", picture, (Instance.from_mask("car", mask),))
    made = delete(scene, "car", lambda picture, hole: np.full_like(picture, 255))
    assert made.how.startswith("shifted clone (")
    truth = rng.normal(100, 8, (120, 160, 1)).repeat(3, axis=2).clip(0, 255).astype(np.uint8)
    assert "mark" in delete(scene, "car", lambda picture, hole: truth).how
    wide = np.zeros((120, 160), bool)
    wide[30:80, 40:100] = True
    large = delete(Scene("large", picture, (Instance.from_mask("car", wide),)), "car", lambda picture, hole: truth)
    assert isinstance(large, Skipped) or large.how == "shifted clone"  # a net fills no more than a twentieth of a picture


@pytest.mark.slow
def test_migan_removes_an_object(data):
    from evenhand.datasets.scenes.label_maps import from_label_maps

    street = data / "images" / "street"
    net = NetInpainter(open_onnx(data / "models" / "migan_pipeline_v2.onnx", threads=2))
    scenes = (one for one in from_label_maps(street / "frames", street / "labels") if one.of("cyclist"))
    made = next(one for one in (delete(scene, "cyclist", net) for scene in scenes) if not isinstance(one, Skipped))
    assert "learned inpainter" in made.how
    assert "cyclist" not in made.after.truth


def test_features_of_a_net_tell_textures_apart(tmp_path):
    # differences of neighbours, rectified: smooth regions answer with nothing
    weight = np.zeros((2, 3, 3, 3), np.float32)
    weight[0, :, 1, 1], weight[0, :, 1, 2], weight[1, :, 1, 1], weight[1, :, 2, 1] = 1, -1, 1, -1
    nodes = [
        helper.make_node("Conv", ["picture", "weight"], ["slopes"], name="slopes", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["slopes"], ["relu"], name="relu"),
        helper.make_node("GlobalAveragePool", ["relu"], ["answer"], name="pool"),
    ]
    path = save(tmp_path / "net.onnx", nodes, [floats("picture", 1, 3, 96, 96)], [floats("answer", 1, 2, 1, 1)], {"weight": weight})
    rng, mask = np.random.default_rng(0), np.zeros((60, 60), bool)
    mask[15:45, 15:45] = True

    def regions(spread):
        return [Region(rng.normal(120, spread, (60, 60, 3)).clip(0, 255).astype(np.uint8), mask, str(k), "car") for k in range(12)]

    net = NetFeatures(path)
    calm, same, rough = (net(regions(spread)) for spread in (4, 4, 40))
    assert calm.shape == (12, 2)
    assert frechet_distance(calm, rough) > 20 * frechet_distance(calm, same)
