"""Model files that run code, point elsewhere or swell when they are loaded."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from parts.hostile_cases import LABELS, ROWS, SPRUNG, Trap, add, archive, ask, case


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


def _treelite(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def made(folder: Path) -> None:
        import treelite
        from sklearn.ensemble import RandomForestClassifier

        whole = bytes(treelite.sklearn.import_model(RandomForestClassifier(3, random_state=0).fit(ROWS, LABELS)).serialize_bytes())
        (folder / "model.tl").write_bytes(change(whole))
        ask(folder / "model.tl")

    return made


add("treelite_cut_short", _treelite(lambda whole: whole[: len(whole) // 2]))
add("treelite_garbage", _treelite(lambda whole: whole[:40] + b"\xff" * 400))


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
