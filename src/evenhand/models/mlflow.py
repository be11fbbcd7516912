"""MLflow model folders: flavours with a safe file of their own are read directly, pickled ones only when trusted."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evenhand.domain.yamltext import read_yaml
from evenhand.errors import DomainError, InvalidArgument, MissingExtra, UntrustedModel
from evenhand.models.inputs import first_line
from evenhand.models.model_files import load_pickle, load_skops, load_torch
from evenhand.models.native_boosters import load_booster


def is_folder(path: Path) -> bool:
    """Whether this is an MLflow model folder."""
    return path.is_dir() and (path / "MLmodel").is_file()


def load_folder(path: Path, trusted: bool = False) -> Any:
    """What the folder holds: the path of an ONNX file, an estimator, a module, or a callable on frames."""
    flavours = _flavours(path)
    for flavour, load in _LOADERS.items():
        if flavour in flavours:
            found = load(path, flavours[flavour], trusted)
            if found is not None:
                return found
    return _load_pyfunc(path, sorted(flavours), trusted)


def _flavours(path: Path) -> Mapping[str, Mapping[str, Any]]:
    try:
        described = read_yaml((path / "MLmodel").read_text(encoding="utf-8"), f"{path.name}/MLmodel").value
    except (DomainError, OSError, UnicodeDecodeError, RecursionError) as fault:
        raise InvalidArgument(f"{path.name}/MLmodel is not readable YAML: {first_line(fault)}") from fault
    flavours = described.get("flavors") if isinstance(described, dict) else None
    if not isinstance(flavours, dict) or not flavours:
        raise InvalidArgument(f"{path.name}/MLmodel names no flavors; is the folder a complete MLflow model?")
    return {str(name): settings if isinstance(settings, dict) else {} for name, settings in flavours.items()}


def _inside(path: Path, name: str) -> Path:
    """A file of the folder; a name that points out of it is refused."""
    file = (path / name).resolve()
    if not file.is_relative_to(path.resolve()):
        raise InvalidArgument(f"{path.name}/MLmodel names the file {name!r}, which lies outside the folder")
    if not file.exists():
        raise InvalidArgument(f"{path.name}/MLmodel names the file {name!r}, which is not there")
    return file


def _load_onnx(path: Path, settings: Mapping[str, Any], _trusted: bool) -> Any:
    return _inside(path, str(settings.get("data", "model.onnx")))


def _load_xgboost(path: Path, settings: Mapping[str, Any], _trusted: bool) -> Any:
    return _boosted("xgboost", _inside(path, str(settings.get("data", "model.xgb"))))


def _load_lightgbm(path: Path, settings: Mapping[str, Any], _trusted: bool) -> Any:
    return _boosted("lightgbm", _inside(path, str(settings.get("data", "model.lgb"))))


def _load_catboost(path: Path, settings: Mapping[str, Any], _trusted: bool) -> Any:
    return _boosted("catboost", _inside(path, str(settings.get("data", "model.cb"))))


def _boosted(library: str, file: Path) -> Any:
    """The booster; None for a pickled one."""
    return None if file.suffix in (".pkl", ".pickle") else load_booster(library, file)


def _load_sklearn(path: Path, settings: Mapping[str, Any], trusted: bool) -> Any:
    file = _inside(path, str(settings.get("pickled_model", "model.pkl")))
    return load_skops(file, trusted) if file.suffix == ".skops" else load_pickle(file, trusted)


def _load_pytorch(path: Path, settings: Mapping[str, Any], trusted: bool) -> Any:
    folder = _inside(path, str(settings.get("model_data", "data")))
    file = next((f for f in (folder / "model.pth", folder / "model.pt2", folder / "model.pt") if f.is_file()), None)
    return None if file is None else load_torch(file, trusted)


def _load_pyfunc(path: Path, flavours: list[str], trusted: bool) -> Any:
    if not trusted:
        raise UntrustedModel(
            f"the MLflow model {path.name} (flavors: {', '.join(flavours)}) can only be loaded by running its own code; "
            "pass trusted=True if you know where it comes from"
        )
    if importlib.util.find_spec("mlflow") is None:
        raise MissingExtra(
            f"the MLflow model {path.name} (flavors: {', '.join(flavours)}) needs mlflow; install it with: pip install 'evenhand[mlflow]'"
        )
    return importlib.import_module("mlflow.pyfunc").load_model(str(path)).predict


_LOADERS: dict[str, Callable[[Path, Mapping[str, Any], bool], Any]] = {
    "onnx": _load_onnx,
    "xgboost": _load_xgboost,
    "lightgbm": _load_lightgbm,
    "catboost": _load_catboost,
    "sklearn": _load_sklearn,
    "pytorch": _load_pytorch,
}
