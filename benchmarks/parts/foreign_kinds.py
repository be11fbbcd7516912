"""Kinds of models beyond functions and scikit-learn's estimators: boosters as objects and files, torch, ONNX, MLflow folders, endpoints.

Every one learns the same loans from the same table, whose categories are plain texts, and is wrapped as its owner would.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from parts.stand_in_servers import FORMATS, serving

Ask = Callable[[Any], Any]


@dataclass(frozen=True)
class ForeignKind:
    """A model in its wrapping, given inside a context; and what the library itself says, as the probability of a granted loan."""

    name: str
    given: Callable[[], AbstractContextManager[Any]]
    direct: Ask  # from rows of codes
    options: tuple[tuple[str, Any], ...] = ()


@cache
def _data() -> Any:
    from parts.wirings import DATA

    return DATA


@cache
def _folder() -> Path:
    """Kept until the process ends."""
    kept = tempfile.TemporaryDirectory(prefix="evenhand-kinds-")
    _KEPT.append(kept)
    return Path(kept.name)


_KEPT: list[Any] = []
JOBS, SEXES = ["pilot", "clerk", "nurse"], ["male", "female"]
"""In another order than the domain's."""


def frame_of(codes: Any) -> Any:
    """Cells of rows of codes, the columns in another order than the table's."""
    return _data().domain.decode(codes)[["sex", "pay", "job", "age"]]


def categories(codes: Any) -> Any:
    """The same with pandas categories."""
    import pandas as pd

    frame = frame_of(codes)
    return frame.assign(job=pd.Categorical(frame["job"], JOBS), sex=pd.Categorical(frame["sex"], SEXES))


@cache
def _granted() -> Any:
    return (_data().frame["loan"] == "granted").to_numpy().astype(int)


@cache
def _xgboost() -> Any:
    import xgboost

    told = {"objective": "binary:logistic", "max_depth": 3, "nthread": 1}
    return xgboost.train(told, xgboost.DMatrix(categories(_data().rows), _granted(), enable_categorical=True), 8)


def _says_xgboost(codes: Any) -> Any:
    import xgboost

    return _xgboost().predict(xgboost.DMatrix(categories(codes), enable_categorical=True))


@cache
def _lightgbm() -> Any:
    import lightgbm

    told = {"objective": "binary", "verbose": -1, "num_threads": 1}
    return lightgbm.train(told, lightgbm.Dataset(categories(_data().rows), _granted(), free_raw_data=False), 8)


def _says_lightgbm(codes: Any) -> Any:
    return _lightgbm().predict(categories(codes))


@cache
def _catboost() -> Any:
    import catboost

    told = {"iterations": 8, "depth": 4, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    return catboost.CatBoostClassifier(cat_features=["sex", "job"], **told).fit(frame_of(_data().rows), _data().frame["loan"])


def _says_catboost(codes: Any) -> Any:
    return _catboost().predict_proba(frame_of(codes))[:, list(_catboost().classes_).index("granted")]


@cache
def _plain_catboost() -> Any:
    import catboost

    return catboost.CatBoost().load_model(str(_saved(_catboost, "plain.cbm")))


@cache
def _saved(made: Callable[[], Any], name: str) -> Path:
    file = _folder() / name
    made().save_model(str(file))
    return file


@cache
def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(8, max_depth=4, random_state=0).fit(_data().rows, _granted())


@cache
def _treelite() -> Any:
    import treelite

    return treelite.sklearn.import_model(_forest())


@cache
def _treelite_file() -> Path:
    file = _folder() / "forest.tl"
    _treelite().serialize(str(file))
    return file


def _says_forest(codes: Any) -> Any:
    return _forest().predict_proba(codes)[:, 1]


def _boosters() -> list[ForeignKind]:
    libraries = {"XGBoost": (_xgboost, _says_xgboost), "LightGBM": (_lightgbm, _says_lightgbm), "CatBoost": (_catboost, _says_catboost)}
    endings = {"XGBoost": (".json", ".ubj"), "LightGBM": (".txt",), "CatBoost": (".cbm",)}
    found = [ForeignKind(f"{name}, object", partial(_plain, made), says) for name, (made, says) in libraries.items()]
    found.append(ForeignKind("CatBoost, base class", partial(_plain, _plain_catboost), _says_catboost))
    for name, (made, says) in libraries.items():
        for ending in endings[name]:
            found.append(ForeignKind(f"{name}, {ending} file", partial(_plain, partial(_saved, made, f"model{ending}")), says))
        flavour, file = name.lower(), {"XGBoost": "model.xgb", "LightGBM": "model.lgb", "CatBoost": "model.cb"}[name]
        found.append(ForeignKind(f"{name}, MLflow folder", partial(_plain, partial(_mlflow, flavour, made, file)), says))
    found += [
        ForeignKind(f"Treelite, {name}", partial(_plain, made), _says_forest, (("takes", "codes"),))
        for name, made in (("object", _treelite), (".tl file", _treelite_file))
    ]
    return [*found, *_wrappers()]


def _plain(make: Callable[[], Any]) -> AbstractContextManager[Any]:
    return nullcontext(make())


def _mlflow(flavour: str, made: Callable[[], Any], name: str) -> Path:
    """A folder as MLflow writes it: the description and the library's own file."""
    folder = _folder() / f"mlflow-{flavour}"
    folder.mkdir(exist_ok=True)
    (folder / "MLmodel").write_text(json.dumps({"flavors": {flavour: {"data": name}}}))
    stem = {"model.xgb": "model.ubj"}.get(name, name)
    made().save_model(str(folder / stem))
    (folder / stem).rename(folder / name)
    return folder


def _wrappers() -> list[ForeignKind]:
    """The libraries' own scikit-learn estimators, fitted to pandas categories and asked about a table of texts."""
    import lightgbm
    import xgboost

    @cache
    def fitted(name: str) -> Any:
        made = {
            "XGBClassifier": lambda: xgboost.XGBClassifier(n_estimators=8, max_depth=3, enable_categorical=True, n_jobs=1),
            "LGBMClassifier": lambda: lightgbm.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1),
        }[name]()
        return made.fit(categories(_data().rows), _granted())

    return [
        ForeignKind(
            f"{name} with categories, from texts",
            partial(_plain, partial(fitted, name)),
            lambda codes, name=name: fitted(name).predict_proba(categories(codes))[:, 1],
        )
        for name in ("XGBClassifier", "LGBMClassifier")
    ]


@cache
def _net() -> Any:
    """A network over codes that is fitted by a few steps; its one output is a logit."""
    import torch

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    with torch.no_grad():
        net[0].weight /= torch.tensor([60.0, 2.0, 1.0, 80.0])
    rows, target = torch.tensor(_data().rows, dtype=torch.float32), torch.tensor(_granted(), dtype=torch.float32)
    steps = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(120):
        steps.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(net(rows)[:, 0], target).backward()
        steps.step()
    return net.eval()


def _says_net(codes: Any) -> Any:
    import torch

    with torch.no_grad():
        return torch.sigmoid(_net()(torch.tensor(codes, dtype=torch.float32))[:, 0]).numpy()


@cache
def _torch_file() -> Path:
    import torch

    torch.save(_net(), _folder() / "net.pt")
    return _folder() / "net.pt"


def _dense_onnx(name: str, last: str) -> Path:
    """The network as an ONNX graph, its end as it is or through a sigmoid."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    arrays = [layer.detach().numpy() for part in (_net()[0], _net()[2]) for layer in (part.weight.T, part.bias)]
    nodes = [
        helper.make_node("Gemm", ["x", "a", "b"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "c", "d"], ["z"]),
        helper.make_node(last, ["z"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "loans",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])],
        [numpy_helper.from_array(np.ascontiguousarray(array), key) for key, array in zip("abcd", arrays, strict=True)],
    )
    file = _folder() / name
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), str(file))
    return file


def _onnx_folder() -> Path:
    folder = _folder() / "mlflow-onnx"
    folder.mkdir(exist_ok=True)
    (folder / "MLmodel").write_text(json.dumps({"flavors": {"onnx": {"data": "model.onnx"}}}))
    (folder / "model.onnx").write_bytes(_dense_onnx("folder.onnx", "Sigmoid").read_bytes())
    return folder


def _networks() -> list[ForeignKind]:
    codes, trusted = (("takes", "codes"),), (("trusted", True),)
    return [
        ForeignKind("torch module", lambda: nullcontext(_net()), _says_net),
        ForeignKind("torch file", lambda: nullcontext(_torch_file()), _says_net, trusted),
        ForeignKind("ONNX file, probability", lambda: nullcontext(_dense_onnx("p.onnx", "Sigmoid")), _says_net, codes),
        ForeignKind("ONNX file, logit", lambda: nullcontext(_dense_onnx("z.onnx", "Identity")), _says_net, codes),
        ForeignKind("ONNX in an MLflow folder", lambda: nullcontext(_onnx_folder()), _says_net, codes),
    ]


@cache
def _pipeline() -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    front = make_column_transformer((OneHotEncoder(), ["job", "sex"]), (StandardScaler(), ["age", "pay"]))
    return make_pipeline(front, LogisticRegression()).fit(frame_of(_data().rows), _data().frame["loan"])


def _says_pipeline(codes: Any) -> Any:
    return _pipeline().predict_proba(frame_of(codes))[:, list(_pipeline().classes_).index("granted")]


@cache
def _skops() -> Path:
    import skops.io

    skops.io.dump(_pipeline(), _folder() / "pipeline.skops")
    return _folder() / "pipeline.skops"


@cache
def _pickle() -> Path:
    import joblib

    joblib.dump(_pipeline(), _folder() / "pipeline.joblib")
    return _folder() / "pipeline.joblib"


def _skops_folder() -> Path:
    folder = _folder() / "mlflow-sklearn"
    folder.mkdir(exist_ok=True)
    (folder / "MLmodel").write_text(json.dumps({"flavors": {"sklearn": {"pickled_model": "model.skops"}}}))
    (folder / "model.skops").write_bytes(_skops().read_bytes())
    return folder


def _pipelines() -> list[ForeignKind]:
    return [
        ForeignKind("pipeline with feature names", lambda: nullcontext(_pipeline()), _says_pipeline),
        ForeignKind("pipeline, .skops file", lambda: nullcontext(_skops()), _says_pipeline),
        ForeignKind("pipeline, .joblib file", lambda: nullcontext(_pickle()), _says_pipeline, (("trusted", True),)),
        ForeignKind("pipeline, MLflow folder", lambda: nullcontext(_skops_folder()), _says_pipeline),
    ]


@contextmanager
def _served(preset: str) -> Iterator[str]:
    with serving(preset, _data().domain.names, _asked) as url:
        yield url


def _asked(frame: Any) -> Any:
    """The pipeline behind a server; numbers that came as text are numbers again."""
    cells = frame.assign(age=frame["age"].astype(int), pay=frame["pay"].astype(int))
    return _pipeline().predict_proba(cells[["sex", "pay", "job", "age"]])[:, list(_pipeline().classes_).index("granted")]


def _endpoints() -> list[ForeignKind]:
    return [ForeignKind(f"endpoint, {name}", partial(_served, name), _says_pipeline, (("preset", name),)) for name in FORMATS]


def foreign_kinds() -> list[ForeignKind]:
    """All of them; nothing is fitted before it is asked for."""
    return [*_boosters(), *_networks(), *_pipelines(), *_endpoints()]
