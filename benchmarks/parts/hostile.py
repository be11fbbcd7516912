"""Hostile files and answers, one function each: it makes the thing in a folder and opens it as a user would.

A case is stopped when Evenhand says so in one clear line (or, where `is_harmless`, when it comes to no harm), nothing ran, the process
lives, and it took little memory.  Used by `benchmarks/wiring.py` and by the tests.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import socket
import struct
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain

DOMAIN = TabularDomain(
    columns=(
        *(Column(name, "real", low=-3.0, high=3.0, dtype="float64") for name in ("a", "b", "c")),
        Column("sex", "category", ("f", "m"), dtype="object"),
    ),
    protected=("sex",),
    label=Label("income", ("low", "high"), ("high",)),
)
ROWS = DOMAIN.sample(200, np.random.default_rng(0))
LABELS = (ROWS[:, 0] + ROWS[:, 1] > 0).astype(np.intp)
SPRUNG = "sprung"


@dataclass(frozen=True)
class Hostile:
    """One case."""

    name: str
    attack: Callable[[Path], None]
    is_harmless: bool = False
    is_slow: bool = False


CASES: list[Hostile] = []


def case(is_harmless: bool = False, is_slow: bool = False) -> Callable[[Callable[[Path], None]], Callable[[Path], None]]:
    """Put a function into the table."""

    def add(attack: Callable[[Path], None]) -> Callable[[Path], None]:
        CASES.append(Hostile(attack.__name__, attack, is_harmless, is_slow))
        return attack

    return add


def add(name: str, attack: Callable[[Path], None], is_harmless: bool = False, is_slow: bool = False) -> None:
    """Put one of a family into the table."""
    CASES.append(Hostile(name, attack, is_harmless, is_slow))


def ask(path: Path, **settings: Any) -> None:
    """Wrap a file and ask the model, as a user does."""
    from evenhand.models.wrap import wrap

    wrap(path, DOMAIN, takes="codes", **settings).scores(ROWS)


class Trap:
    """Unpickling it makes a file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / SPRUNG

    def __reduce__(self) -> Any:
        return (open, (str(self.path), "w"))


def archive(path: Path, members: dict[str, bytes]) -> Path:
    """A zip file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return path


# --- what runs code when it is loaded -------------------------------------------------------------------------------------------------


def _pickled(ending: str) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        path = folder / f"model{ending}"
        path.write_bytes(pickle.dumps(Trap(folder)))
        ask(path)

    return attack


for _ending in (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".pt2"):
    add(f"pickle_named_{_ending[1:]}", _pickled(_ending))


@case()
def program_with_a_pickle_inside(folder: Path) -> None:
    """torch.export falls back to full unpickling of its weights."""
    trap = pickle.dumps(Trap(folder))
    members = {"archive/archive_format": b"pt2", "archive/data/weights/model.pt": trap, "archive/data/sample_inputs/model.pt": trap}
    ask(archive(folder / "model.pt2", members))


@case()
def program_with_a_shape_that_is_code(folder: Path) -> None:
    """torch.export evaluates the text of a symbolic shape."""
    shape = {"expr_str": f"__import__('pathlib').Path({str(folder / SPRUNG)!r}).touch()"}
    members = {"archive/archive_format": b"pt2", "archive/models/model.json": json.dumps({"range_constraints": shape}).encode()}
    ask(archive(folder / "model.pt2", members))


@case()
def program_under_another_name(folder: Path) -> None:
    ask(archive(folder / "model.pt", {"a/archive_format": b"pt2", "a/data.pkl": pickle.dumps(Trap(folder))}))


@case()
def script_whose_forward_writes(folder: Path) -> None:
    ask(archive(folder / "model.pt", {"m/constants.pkl": b"\x80\x02).", "m/data.pkl": pickle.dumps(Trap(folder)), "m/version": b"3"}))


def _mlflow(flavours: object, files: Callable[[Path], dict[str, bytes]]) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        home = folder / "model"
        home.mkdir()
        text = flavours if isinstance(flavours, str) else json.dumps({"flavors": flavours})
        (home / "MLmodel").write_text(text)
        for name, content in files(folder).items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_bytes(content)
        ask(home)

    return attack


def _trapped(name: str) -> Callable[[Path], dict[str, bytes]]:
    return lambda folder: {name: pickle.dumps(Trap(folder))}


add("mlflow_pytorch_pickle", _mlflow({"pytorch": {"model_data": "data"}}, _trapped("data/model.pth")))
add("mlflow_sklearn_pickle", _mlflow({"sklearn": {"pickled_model": "model.pkl"}}, _trapped("model.pkl")))
add("mlflow_python_function", _mlflow({"python_function": {"loader_module": "os"}}, _trapped("python_model.pkl")))
add("mlflow_xgboost_pickle", _mlflow({"xgboost": {"data": "model.pkl"}}, _trapped("model.pkl")))
add("mlflow_file_outside", _mlflow({"onnx": {"data": "../../../etc/passwd"}}, lambda _: {}))
add("mlflow_yaml_object", _mlflow("flavors: !!python/object/apply:os.system ['touch sprung']\n", lambda _: {}))
add("mlflow_yaml_laughs", _mlflow("a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\nflavors: {onnx: {data: c}}\n", lambda _: {}))
add("mlflow_not_yaml", _mlflow("{[", lambda _: {}))
add("mlflow_wrong_shape", _mlflow({"onnx": [1, 2]}, lambda _: {}))


# --- skops: trees that point elsewhere -------------------------------------------------------------------------------------------------


def _skops(make: Callable[[], Any], spoil: Callable[[Any], None]) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        import skops.io

        fitted = make().fit(ROWS, LABELS)
        spoil(fitted)
        skops.io.dump(fitted, folder / "model.skops")
        ask(folder / "model.skops")

    return attack


def _tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=0)


def _respoil(tree: Any, field: str, place: int, value: int) -> Any:
    """The same tree with one cell of its nodes changed."""
    state = tree.__getstate__()
    state["nodes"][field][place] = value
    tree.__setstate__(state)
    return tree


def _in_tree(field: str, value: int) -> Callable[[Any], None]:
    return lambda fitted: _respoil(fitted.tree_, field, 0, value) and None


for _name, _field, _value in (
    ("child_far_away", "left_child", 1 << 40),
    ("child_below_zero", "right_child", -77),
    ("circle", "left_child", 0),
    ("feature_far_away", "feature", 1 << 40),
):
    add(f"skops_tree_{_name}", _skops(_tree, _in_tree(_field, _value)))


@case()
def skops_forest_that_reads_beyond_its_rows(folder: Path) -> None:
    from sklearn.ensemble import RandomForestClassifier

    def spoil(fitted: Any) -> None:
        fitted.n_features_in_ = 4
        for each in fitted.estimators_:
            each.tree_.n_features = 400
            each.n_features_in_ = 400
            _respoil(each.tree_, "feature", 0, 399)

    _skops(lambda: RandomForestClassifier(3, random_state=0), spoil)(folder)


@case()
def skops_histogram_tree_child_far_away(folder: Path) -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    def spoil(fitted: Any) -> None:
        fitted._predictors[0][0].nodes["left"][0] = 4_000_000_000

    _skops(lambda: HistGradientBoostingClassifier(max_iter=2), spoil)(folder)


@case()
def skops_histogram_tree_feature_far_away(folder: Path) -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    def spoil(fitted: Any) -> None:
        fitted._predictors[0][0].nodes["feature_idx"][0] = 1 << 40

    _skops(lambda: HistGradientBoostingClassifier(max_iter=2), spoil)(folder)


@case()
def skops_support_vectors_that_are_not_there(folder: Path) -> None:
    from sklearn.svm import SVC

    def spoil(fitted: Any) -> None:
        fitted._n_support = np.array([5_000_000, 5_000_000], dtype=np.int32)

    _skops(SVC, spoil)(folder)


@case()
def skops_sparse_matrix_with_far_entries(folder: Path) -> None:
    from sklearn.linear_model import LogisticRegression

    def spoil(fitted: Any) -> None:
        fitted.sparsify()
        fitted.coef_.indices = fitted.coef_.indices + 100_000_000

    _skops(LogisticRegression, spoil)(folder)


@case()
def skops_boosting_with_too_many_trees_a_round(folder: Path) -> None:
    from sklearn.ensemble import GradientBoostingClassifier

    def spoil(fitted: Any) -> None:
        fitted.estimators_ = np.concatenate([fitted.estimators_] * 50, axis=1)

    _skops(lambda: GradientBoostingClassifier(n_estimators=2), spoil)(folder)


def _schema(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    """A skops file whose description is rewritten."""

    def attack(folder: Path) -> None:
        import skops.io

        whole = io.BytesIO(skops.io.dumps(_tree().fit(ROWS, LABELS)))
        with zipfile.ZipFile(whole) as opened:
            members = {name: opened.read(name) for name in opened.namelist()}
        changed = change(json.loads(members["schema.json"]))
        members["schema.json"] = changed if isinstance(changed, bytes) else json.dumps(changed).encode()
        ask(archive(folder / "model.skops", members))

    return attack


def _renamed(schema: dict[str, Any]) -> Any:
    return {**schema, "__class__": "system", "__module__": "os", "__loader__": "TypeNode"}


add("skops_foreign_function", _schema(_renamed))
add("skops_description_too_deep", _schema(lambda _: b'{"a":' * 50_000 + b"1" + b"}" * 50_000))
add("skops_description_of_another_shape", _schema(lambda _: {"__class__": 3}))
add("skops_description_empty", _schema(lambda _: b""))


def bomb(path: Path, name: str, head: bytes) -> Path:
    """A small archive whose one member unfolds to 300 MB of zeros behind a head."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made, made.open(name, "w") as member:
        member.write(head)
        for _ in range(300):
            member.write(b"\0" * (1 << 20))
    return path


@case()
def skops_bomb(folder: Path) -> None:
    ask(bomb(folder / "model.skops", "schema.json", b"{}"))


@case()
def npz_bomb(folder: Path) -> None:
    shape = b"{'descr': '<f8', 'fortran_order': False, 'shape': (19660800, 2), }".ljust(117) + b"\n"
    ask(bomb(folder / "model.npz", "linear.kernel.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(shape)) + shape))


@case()
def skops_cut_short(folder: Path) -> None:
    import skops.io

    whole = skops.io.dumps(_tree().fit(ROWS, LABELS))
    (folder / "model.skops").write_bytes(whole[: len(whole) // 2])
    ask(folder / "model.skops")


# --- boosters ---------------------------------------------------------------------------------------------------------------------------


def lightgbm_text() -> str:
    """A small model as LightGBM writes it."""
    import lightgbm

    fitted = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1, min_child_samples=5).fit(ROWS, LABELS)
    return str(fitted.booster_.model_to_string())


def _lightgbm(change: Callable[[str], str]) -> Callable[[Path], None]:
    return _mlflow({"lightgbm": {"data": "model.txt"}}, lambda _: {"model.txt": change(lightgbm_text()).encode()})


def _entry(key: str, value: str) -> Callable[[str], str]:
    """The first entry of the first such line replaced."""

    def change(text: str) -> str:
        head, mark, rest = text.partition(f"\n{key}=")
        line, _, more = rest.partition("\n")
        return head + mark + " ".join([value, *line.split(" ")[1:]]) + "\n" + more

    return change


for _key, _value in (
    ("left_child", "70000"),
    ("left_child", "0"),
    ("right_child", "-70000"),
    ("split_feature", "900000"),
    ("num_leaves", "2000000000"),
    ("num_leaves", "-5"),
    ("left_child", "x"),
    ("threshold", ""),
):
    add(f"lightgbm_{_key}_{_value or 'missing'}", _lightgbm(_entry(_key, _value)))
add("lightgbm_garbage", _lightgbm(lambda _: "tree\nversion=v4\n" + "x" * 1000))


def xgboost_json() -> dict[str, Any]:
    """A small model as XGBoost writes it."""
    import xgboost

    fitted = xgboost.XGBClassifier(n_estimators=2, n_jobs=1).fit(ROWS, LABELS)
    found: dict[str, Any] = json.loads(bytes(fitted.get_booster().save_raw(raw_format="json")))
    return found


def _xgboost(change: Callable[[dict[str, Any]], Any], name: str = "model.json") -> Callable[[Path], None]:
    def content(_: Path) -> dict[str, bytes]:
        changed = change(xgboost_json())
        return {name: changed if isinstance(changed, bytes) else json.dumps(changed).encode()}

    return _mlflow({"xgboost": {"data": name}}, content)


def _first_tree(key: str, value: int) -> Callable[[dict[str, Any]], Any]:
    def change(model: dict[str, Any]) -> Any:
        model["learner"]["gradient_booster"]["model"]["trees"][0][key][0] = value
        return model

    return change


for _key, _number in (("left_children", 70_000), ("left_children", 0), ("right_children", -9), ("split_indices", 900_000)):
    add(f"xgboost_{_key}_{_number}", _xgboost(_first_tree(_key, _number)))
add("xgboost_too_deep", _xgboost(lambda _: b"[" * 200_000))
add("xgboost_cut_short", _xgboost(lambda model: json.dumps(model).encode()[:900]))
add("xgboost_garbage_ubj", _xgboost(lambda _: b"{L\xff\xff\xff\xff\xff\xff\xff\x7f" + b"x" * 100, "model.ubj"))


def _catboost(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def content(folder: Path) -> dict[str, bytes]:
        import catboost

        fitted = catboost.CatBoostClassifier(iterations=3, verbose=False, allow_writing_files=False, thread_count=1).fit(ROWS, LABELS)
        fitted.save_model(str(folder / "whole.cbm"))
        return {"model.cb": change((folder / "whole.cbm").read_bytes())}

    return _mlflow({"catboost": {"data": "model.cb"}}, content)


add("catboost_cut_short", _catboost(lambda whole: whole[: len(whole) // 2]))
add("catboost_huge_length", _catboost(lambda whole: whole[:4] + b"\xff\xff\xff\x7f" + whole[8:]))
add("catboost_garbage", _catboost(lambda _: b"CBM1" + b"\xff" * 500))


# --- ONNX, npz, saved models -------------------------------------------------------------------------------------------------------------


def _onnx(nodes: Callable[[Any], list[Any]], initializers: Callable[[Any], list[Any]] = lambda _: []) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        import onnx
        from onnx import helper

        entry = helper.make_tensor_value_info("x", 1, [None, 4])
        leaving = helper.make_tensor_value_info("y", 1, None)
        graph = helper.make_graph(nodes(helper), "g", [entry], [leaving], initializers(onnx))
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        (folder / "model.onnx").write_bytes(made.SerializeToString())
        ask(folder / "model.onnx")

    return attack


def _external(onnx: Any) -> list[Any]:
    tensor = onnx.TensorProto(name="w", data_type=1, dims=[4, 2], data_location=1)
    tensor.external_data.add(key="location", value="../../../../etc/passwd")
    return [tensor]


def _huge(onnx: Any) -> list[Any]:
    return [onnx.numpy_helper.from_array(np.array([60_000, 60_000], np.int64), "shape")]


add("onnx_far_too_large", _onnx(lambda helper: [helper.make_node("ConstantOfShape", ["shape"], ["y"])], _huge))
add("onnx_file_outside", _onnx(lambda helper: [helper.make_node("MatMul", ["x", "w"], ["y"])], _external))
add("onnx_unknown_operation", _onnx(lambda helper: [helper.make_node("RunThis", ["x"], ["y"], domain="com.example")]))
add("onnx_circle", _onnx(lambda helper: [helper.make_node("Relu", ["y"], ["z"]), helper.make_node("Relu", ["z"], ["y"])]))


def _written(name: str, content: Callable[[Path], bytes]) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        (folder / name).write_bytes(content(folder))
        ask(folder / name)

    return attack


def _npz(arrays: dict[str, Any]) -> bytes:
    made = io.BytesIO()
    np.savez_compressed(made, **arrays)
    return made.getvalue()


add("onnx_garbage", _written("model.onnx", lambda _: b"\x08\x08" + b"\xff" * 400))
add("npz_with_a_pickle", _written("model.npz", lambda folder: _npz({"linear.kernel": np.array([Trap(folder)], dtype=object)})))
add("npz_garbage", _written("model.npz", lambda _: b"PK\x03\x04" + b"\0" * 100))
add("npz_of_other_shapes", _written("model.npz", lambda _: _npz({"linear.kernel": np.zeros((4, 2)), "linear.bias": np.zeros(9)})))


def _saved(told: object) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        home = folder / "model"
        home.mkdir()
        (home / "evenhand-model.json").write_text(told if isinstance(told, str) else json.dumps(told))
        ask(home)

    return attack


_BASE = {"classes": ["low", "high"], "path": "."}
add("saved_model_in_itself", _saved({"evenhand_model": 1, "kind": "masked", "places": [0], "codes": [0], "base": _BASE}))
add("saved_model_outside", _saved({"evenhand_model": 1, "kind": "torch", **_BASE, "path": "../../../etc/passwd"}))
add("saved_model_of_another_shape", _saved({"evenhand_model": 1, "kind": "mixture", "weights": 3, "bases": 4}))
add("saved_model_too_deep", _saved('{"a":' * 100_000))


# --- runs, witnesses, results ------------------------------------------------------------------------------------------------------------


def _in_file(name: str, content: bytes, read: Callable[[Path], Any]) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        (folder / name).write_bytes(content)
        read(folder / name)

    return attack


def _open_run(path: Path) -> None:
    from evenhand.engine.store import RunFolder

    run = RunFolder.open(path.parent)
    run.journal(), run.findings(), run.result


def _open_witness(path: Path) -> None:
    from evenhand.engine import witness

    witness.load(path)


def _open_result(path: Path) -> None:
    from evenhand import report

    report.load(path)


_DEEP = b'{"a":[' * 100_000 + b"]}" * 100_000
for _name, _read in (("header.json", _open_run), ("witness.json", _open_witness), ("result.json", _open_result)):
    add(f"{_name}_garbage", _in_file(_name, b"\x00\xff{", _read))
    add(f"{_name}_too_deep", _in_file(_name, _DEEP, _read))
    add(f"{_name}_a_list", _in_file(_name, b"[1, 2]", _read))
    add(f"{_name}_unsealed", _in_file(_name, b'{"format": 2, "witness": 2, "evenhand_result": "two", "method": "x"}', _read))


@case()
def run_part_of_another_run(folder: Path) -> None:
    from evenhand.disk import sealed

    (folder / "header.json").write_text(sealed({"format": 2, "method": "x"}))
    (folder / "journal").mkdir()
    (folder / "journal" / "part-000001.parquet").write_bytes(b"PAR1" + b"\xff" * 200 + b"PAR1")
    (folder / "checksums.json").write_text(sealed({"journal/part-000001.parquet": "0" * 64}))
    _open_run(folder / "header.json")


@case(is_harmless=True)
def witness_picture_outside(folder: Path) -> None:
    from evenhand.engine.exhibits import read_pictures

    shown = read_pictures({"person": "../../../../etc/passwd", "twin": "/etc/passwd\0.png"}, folder)
    assert not any(text.startswith("data:") for text in shown.values())


def png(width: int, height: int, packed: bytes) -> bytes:
    """A PNG file with any head and content."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def _zeros(megabytes: int) -> bytes:
    deflate, parts = zlib.compressobj(9), []
    for _ in range(megabytes):
        parts.append(deflate.compress(b"\0" * (1 << 20)))
    return b"".join([*parts, deflate.flush()])


@case()
def witness_picture_bomb(folder: Path) -> None:  # noqa: ARG001
    from evenhand.media.png import picture_of

    picture_of(png(2, 2, _zeros(300)))


# --- data: annotations, pictures, tables -------------------------------------------------------------------------------------------------


def _picture(folder: Path, name: str = "a.png") -> Path:
    from evenhand.media.png import write_png

    write_png(folder / name, np.zeros((8, 8, 3), np.uint8))
    return folder / name


def _coco(annotation: dict[str, Any], file_name: str = "a.png") -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        from evenhand.datasets.scenes.coco import from_coco

        _picture(folder)
        told = {"images": [{"id": 1, "file_name": file_name}], "categories": [{"id": 1, "name": "car"}]}
        one = {"id": 1, "image_id": 1, "category_id": 1, **annotation}
        (folder / "coco.json").write_text(json.dumps({**told, "annotations": [one]}))
        list(from_coco(folder / "coco.json", folder, 0))

    return attack


add("coco_picture_outside", _coco({"bbox": [0, 0, 4, 4]}, "../../../../../../etc/passwd"))
add("coco_picture_absolute", _coco({"bbox": [0, 0, 4, 4]}, "/etc/passwd"))
add("coco_picture_with_a_null", _coco({"bbox": [0, 0, 4, 4]}, "a\0.png"), is_harmless=True)
add("coco_mask_far_too_large", _coco({"segmentation": {"size": [10**6, 10**6], "counts": [10**12]}}))
add("coco_mask_that_never_ends", _coco({"segmentation": {"size": [8, 8], "counts": "o" * 1_000_000}}))
add("coco_polygon_of_no_numbers", _coco({"segmentation": [[float("nan")] * 6]}))
add("coco_polygon_far_away", _coco({"segmentation": [[1e300, 1e300, -1e300, 0, 5, 5]]}))
add("coco_box_without_end", _coco({"bbox": [0, 0, float("inf"), 4]}))
add("coco_of_another_shape", _coco({"category_id": {"a": 1}}))


@case()
def coco_picture_through_a_link(folder: Path) -> None:
    (folder / "inside").mkdir()
    secret = _picture(folder, "secret.png")
    (folder / "inside" / "a.png").symlink_to(secret)
    from evenhand.datasets.scenes.picture_files import picture_path

    picture_path(folder / "inside", "a.png")


def _voc(text: str) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        from evenhand.datasets.scenes.voc import from_voc

        (folder / "a.xml").write_text(text)
        list(from_voc(folder, folder))

    return attack


_LAUGHS = '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><annotation><filename>&c;</filename></annotation>'
_SECRET = '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><annotation><filename>&b;</filename></annotation>'
add("voc_entities", _voc(_LAUGHS))
add("voc_foreign_file", _voc(_SECRET))
add("voc_picture_outside", _voc("<annotation><filename>../../../../etc/passwd</filename></annotation>"))


@case()
def album_picture_outside(folder: Path) -> None:
    from evenhand.datasets.albums.folder import read
    from evenhand.datasets.albums.reading import Reading

    (folder / "attributes.csv").write_text("file,age\n../../../../etc/passwd,young\n")
    read(folder, Reading("age", 16))


def _opened_picture(content: Callable[[], bytes], name: str = "a.png") -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        from evenhand.datasets.albums.reading import read_pictures
        from evenhand.datasets.scenes.picture_files import read_picture
        from evenhand.errors import DataError

        (folder / name).write_bytes(content())
        try:
            read_picture(folder / name)
        except DataError:
            read_pictures([folder / name], 16)

    return attack


add("picture_far_too_large", _opened_picture(lambda: png(60_000, 60_000, _zeros(1))))
add("picture_just_too_large", _opened_picture(lambda: png(9_000, 9_000, _zeros(232))))
add("picture_that_is_a_program", _opened_picture(lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "a.jpg"))
add("picture_cut_short", _opened_picture(lambda: png(64, 64, zlib.compress(b"\0" * 5000)[:20])))


def _table(name: str, content: Callable[[Path], bytes]) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        from evenhand.domain.frames import read_table

        (folder / name).write_bytes(content(folder))
        read_table(folder / name)

    return attack


def _many_rows(folder: Path) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    column = pa.array(np.zeros(1 << 20, np.int8)).dictionary_encode()
    with parquet.ParquetWriter(folder / "made.parquet", pa.schema([("a", column.type)])) as writer:
        for _ in range(300):
            writer.write_table(pa.table({"a": column}), row_group_size=1 << 20)
    return (folder / "made.parquet").read_bytes()


add("parquet_garbage", _table("a.parquet", lambda _: b"PAR1" + b"\xff" * 64 + b"PAR1"))
add("parquet_bomb", _table("a.parquet", _many_rows))
add("csv_of_null_bytes", _table("a.csv", lambda _: b"\0" * 1000))
add("csv_that_is_an_archive", _table("a.csv", lambda _: gzip.compress(b"a,b\n1,2\n")))


def _project(text: str) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        from evenhand.domain.project_file import read_project

        (folder / "evenhand.yaml").write_text(text)
        read_project(folder / "evenhand.yaml")

    return attack


CODE_AS_CONDITION = 'columns: {a: {values: [1, 2]}}\nconstraints: ["__import__(os).system(touch) > 1"]\n'
add("project_with_an_object", _project("columns: !!python/object/apply:os.system ['touch sprung']\n"))
add("project_of_laughs", _project("a: &a [x]\nb: [*a, *a]\n"))
add("project_too_deep", _project("[" * 5000))
add(
    "project_condition_that_is_code",
    _project('columns: {a: {values: [1, 2]}}\nconstraints: [\'__import__("os").system("touch sprung") > 1\']\n'),
)


@case()
def answer_cache_of_garbage(folder: Path) -> None:
    from evenhand.models.http import HttpModel
    from evenhand.models.wrap import wrap

    (folder / "answers.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    wrap(HttpModel("http://127.0.0.1:9/", cache=folder / "answers.db", retries=0), DOMAIN).scores(ROWS)


@case()
def kept_answers_of_garbage(folder: Path) -> None:
    from evenhand.models.recognisers.cache import _read

    (folder / "a.jsonl").write_bytes(b'{"picture": "x", "answer": 3}\n')
    _read(folder / "a.jsonl")


# --- answers of endpoints ----------------------------------------------------------------------------------------------------------------


@contextmanager
def endpoint(answer: Callable[[socket.socket, int], None]) -> Iterator[str]:
    """A server that reads each request and then does as it likes with the connection."""
    server = socket.create_server(("127.0.0.1", 0))
    served = [0]

    def talk(connection: socket.socket) -> None:
        with connection:
            connection.settimeout(20)
            try:
                if _read_request(connection):
                    served[0] += 1
                    answer(connection, served[0])
            except OSError:
                pass

    def listen() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(connection,), daemon=True).start()

    threading.Thread(target=listen, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/predict"
    finally:
        server.close()


def _read_request(connection: socket.socket) -> bool:
    got = b""
    while b"\r\n\r\n" not in got:
        piece = connection.recv(65536)
        if not piece:
            return False
        got += piece
    head, _, body = got.partition(b"\r\n\r\n")
    length = next((int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")), 0)
    while len(body) < length:
        body += connection.recv(65536)
    return True


def response(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """A whole response."""
    told = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close"} | headers
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in told.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


def asked_over_http(answer: Callable[[socket.socket, int], None], **settings: Any) -> Callable[[Path], None]:
    """Ask a hostile endpoint; it must be over soon."""

    def attack(_: Path) -> None:
        from evenhand.models.http import HttpModel
        from evenhand.models.wrap import wrap

        wished = {"timeout_seconds": 1.5, "retries": 0, "backoff_seconds": 0.0, "concurrency": 1, "batch_rows": 1000} | settings
        started = time.monotonic()
        with endpoint(answer) as url:
            try:
                wrap(HttpModel(url, **wished), DOMAIN).scores(ROWS)
            finally:
                assert time.monotonic() - started < 15, "the deadline was not kept"

    return attack


def _endless(connection: socket.socket, _: int) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[")
    while True:
        connection.sendall(b"0," * 50_000)


def _trickle(connection: socket.socket, _: int) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        connection.sendall(b" ")
        time.sleep(0.2)


def _trickling_head(connection: socket.socket, _: int) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X-A: b\r\n")
        time.sleep(0.2)


def _says(content: Callable[[], bytes]) -> Callable[[socket.socket, int], None]:
    return lambda connection, _: connection.sendall(content())


def _bomb(times: int) -> bytes:
    packed = gzip.compress(b"\0" * (64 << 20))
    return packed if times == 1 else gzip.compress(packed)


GOOD = json.dumps({"predictions": [0.5] * 16}).encode()
HTTP_ANSWERS: dict[str, Callable[[], bytes]] = {
    "gzip_bomb": lambda: response(_bomb(1), Content_Encoding="gzip"),
    "gzip_twice": lambda: response(_bomb(2), Content_Encoding="gzip, gzip"),
    "unasked_encoding": lambda: response(b"\x0b", Content_Encoding="br"),
    "broken_gzip": lambda: response(b"not gzip", Content_Encoding="gzip"),
    "too_deep": lambda: response(b"[" * 100_000),
    "too_deep_and_whole": lambda: response(b'{"a":' * 20_000 + b"1" + b"}" * 20_000),
    "million_digits": lambda: response(b'{"predictions": [' + b"9" * 1_000_000 + b"]}"),
    "not_numbers": lambda: response(b'{"predictions": [NaN, Infinity]}'),
    "html": lambda: response(b"<html>login</html>", Content_Type="text/html"),
    "broken_letters": lambda: response(b'{"predictions": "\xff\xfe"}'),
    "redirect_to_a_file": lambda: response(b"", "302 Found", Location="file:///etc/passwd"),
    "redirect_to_itself": lambda: response(b"", "307 Temporary Redirect", Location="/predict"),
    "wrong_length": lambda: response(GOOD, Content_Length="999999"),
    "length_below_zero": lambda: response(GOOD, Content_Length="-1"),
    "two_lengths": lambda: response(GOOD, Content_Length="5\r\nContent-Length: 6"),
    "no_http": lambda: b"SSH-2.0-OpenSSH_9.6\r\n",
    "huge_head": lambda: b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"b" * 2_000_000 + b"\r\n\r\n",
    "empty": lambda: response(b""),
    "too_many": lambda: response(json.dumps({"predictions": [0.5] * 500_000}).encode()),
    "other_names": lambda: response(b'{"error": "none of this"}'),
    "status_999": lambda: response(b"", "999 What"),
}
for _name, _content in HTTP_ANSWERS.items():
    add(f"http_{_name}", asked_over_http(_says(_content)))
add("http_endless", asked_over_http(_endless))
add("http_trickle", asked_over_http(_trickle))
add("http_trickling_head", asked_over_http(_trickling_head))
for _number, _text in enumerate(("nan", "inf", "-5", "1e309", "9" * 5000, "Wed, 99 Foo 2015", "Wed, 21 Oct 2015 07:28:00 GMT", "\x00")):
    add(f"http_retry_after_{_number}", asked_over_http(_says(lambda text=_text: response(b"", "503 Down", Retry_After=text)), retries=1))


@case()
def http_secrets_sent_back(_: Path) -> None:
    """What is refused must not be shown: a password in the address, a key in a header, both echoed."""
    from evenhand.errors import EvenhandError
    from evenhand.models.http import HttpModel
    from evenhand.models.wrap import wrap

    echo = _says(lambda: response(b"you sent hunter2secret and sk-live-123456", "403 Forbidden"))
    with endpoint(echo) as url:
        settings = HttpModel(
            url.replace("//", "//me:hunter2secret@") + "?key=hunter2secret", headers={"X-Key": "sk-live-123456"}, retries=0
        )
        try:
            wrap(settings, DOMAIN).scores(ROWS)
        except EvenhandError as fault:
            if "hunter2secret" in str(fault) or "sk-live-123456" in f"{fault}{settings!r}{settings.connection!r}":
                raise RuntimeError("a secret was shown") from None
            raise


@case(is_harmless=True)
def http_cookies_are_not_kept(_: Path) -> None:
    from evenhand.models.http_transport import Connection, RequestBody, Transport

    with endpoint(_says(lambda: response(GOOD, Set_Cookie="who=you; Path=/"))) as url:
        transport = Transport(Connection(url))
        transport.ask(RequestBody(json=[1]))
        assert not list(transport._client.cookies.jar)


# --- our own servers ---------------------------------------------------------------------------------------------------------------------


def _to_our_server(headers: dict[str, str], with_token: bool) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        import http.client

        from evenhand.verbs.study import serve

        server = serve([], folder / "study")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=5)
            path = f"/answers?token={server.token}" if with_token else "/answers"
            connection.request("POST", path, b"[]", headers)
            assert connection.getresponse().status == 403
            assert len(list((folder / "study").iterdir())) == 1  # the key and no answers
        finally:
            server.shutdown()
            server.server_close()

    return attack


add("study_without_its_token", _to_our_server({}, with_token=False), is_harmless=True)
add("study_under_another_name", _to_our_server({"Host": "evil.example"}, with_token=True), is_harmless=True)
add("study_from_another_site", _to_our_server({"Origin": "https://evil.example"}, with_token=True), is_harmless=True)


# --- running a case ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ending:
    """How a case ended: the line that was said, the memory it took, and what is wrong with that; nothing where it was stopped."""

    name: str
    said: str
    megabytes: float
    wrong: str


MOST_MEGABYTES = 500.0
LONGEST_LINE = 700


def run_case(hostile: Hostile, folder: Path) -> tuple[str, str]:
    """What was said and what is wrong, in this process."""
    from evenhand.errors import EvenhandError

    said, wrong = "", "" if hostile.is_harmless else "nothing was said"
    try:
        hostile.attack(folder)
    except EvenhandError as fault:
        said = str(fault)
        wrong = "more than one line" if "\n" in said else "a very long line" if len(said) > LONGEST_LINE else ""
    except Exception as fault:
        wrong = f"{type(fault).__name__}: {fault}"[:300]
    if (folder / SPRUNG).exists() or Path(SPRUNG).exists():
        wrong = "code ran"
    return said, wrong


def _megabytes(name: str) -> float:
    """A figure of this process as the kernel keeps it: VmRSS is what it holds now, VmHWM the most it ever held."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) / 1024


def run_in_a_child(hostile: Hostile, folder: Path) -> Ending:
    """The same in a fork, which measures itself: a fork's peak begins at what it holds, whatever its parent once held."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        base = _megabytes("VmRSS")
        said, wrong = run_case(hostile, folder)
        os.write(write, json.dumps([said[:2000], wrong, _megabytes("VmHWM") - base]).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    said, wrong, taken = json.loads(told) if told else ("", f"the process died (status {status})", 0.0)
    if not wrong and taken > MOST_MEGABYTES:
        wrong = f"it took {taken:.0f} MB"
    return Ending(hostile.name, said, taken, wrong)
