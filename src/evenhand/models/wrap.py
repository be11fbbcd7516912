"""The one door for models: an object, a file, a folder or a URL becomes a model of the package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.contract import Model
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.models.inputs import Takes, check_takes

if TYPE_CHECKING:
    from evenhand.models.torch import TorchSettings


@dataclass(frozen=True)
class _Wishes:
    """What the caller said about the model."""

    domain: TabularDomain
    classes: Sequence[Any] | None
    takes: Takes | None
    returns: str | None
    trusted: bool
    torch: TorchSettings | None


def wrap(
    model: Any,
    domain: TabularDomain,
    *,
    classes: Sequence[Any] | None = None,
    takes: str | None = None,
    returns: str | None = None,
    trusted: bool = False,
    torch: TorchSettings | None = None,
) -> Model:
    """Any model as one that answers rows of codes.

    model: a fitted estimator or pipeline, a torch module, a callable, a path (.onnx .skops .npz .pt .pth .pt2 .pkl .joblib, an MLflow
    folder), a URL, an HttpModel, or a model of this package, which is returned as it is.
    classes: the model's classes in its own order, when it does not say them itself.
    takes: 'frame', 'matrix', 'codes' or 'codes_frame'.  returns: 'labels', 'favourable' or 'scores'.
    trusted: allows pickles, which run code when loaded.  torch: how a torch module is used.
    """
    if not isinstance(domain, TabularDomain):
        raise InvalidArgument(f"domain={type(domain).__name__} must be a TabularDomain; make one with evenhand.infer(frame) or from YAML")
    if classes is not None and (isinstance(classes, str) or len(classes) < 2):
        raise InvalidArgument(f"classes={classes!r} must be a list of at least two labels in the model's own order")
    return _dispatch(model, _Wishes(domain, classes, check_takes(takes), returns, trusted, torch))


def _dispatch(model: Any, wishes: _Wishes) -> Model:
    from evenhand.models.http import HttpModel

    if isinstance(model, type):
        raise InvalidArgument(f"model={model.__name__} is a class; pass a fitted object of it")
    if isinstance(model, HttpModel) or (isinstance(model, str) and model.startswith(("http://", "https://"))):
        return _from_url(model, wishes)
    if isinstance(model, str | Path):
        return _from_path(Path(model), wishes)
    if isinstance(model, Model):
        return model
    if _is_torch(model):
        from evenhand.models.torch import from_module

        return from_module(model, wishes.domain, wishes.classes, wishes.torch)
    return _from_object(model, wishes)


def _from_url(model: Any, wishes: _Wishes) -> Model:
    from evenhand.models.http import Endpoint, HttpModel

    return Endpoint(model if isinstance(model, HttpModel) else HttpModel(model, returns=wishes.returns), wishes.domain, wishes.classes)


def _from_object(model: Any, wishes: _Wishes) -> Model:
    from evenhand.models.estimator import from_estimator
    from evenhand.models.function import from_callable

    if hasattr(model, "predict"):
        return from_estimator(model, wishes.domain, wishes.classes, wishes.takes)
    if callable(model):
        return from_callable(model, wishes.domain, wishes.classes, wishes.takes, wishes.returns)
    raise InvalidArgument(
        f"model is a {type(model).__module__}.{type(model).__name__}; expected a fitted estimator, a torch module, a callable, "
        "a path to a model file, a URL or an HttpModel"
    )


def _from_path(path: Path, wishes: _Wishes) -> Model:
    from evenhand.models import mlflow, model_files

    if mlflow.is_folder(path):
        found = mlflow.load_folder(path, wishes.trusted)
        return _dispatch(found, wishes)
    if (path / "evenhand-model.json").is_file():
        from evenhand.models.saving import load

        return load(path, wishes.domain, trusted=wishes.trusted)
    if not path.is_file():
        what = "is a folder without an MLmodel file" if path.is_dir() else "is not there"
        raise InvalidArgument(f"model={str(path)!r} {what}; expected a model file, an MLflow folder or a URL")
    suffix = path.suffix.lower()
    if suffix == ".onnx":
        from evenhand.models.onnx import from_onnx

        return from_onnx(path, wishes.domain, wishes.classes, wishes.takes, wishes.returns)
    if suffix == ".npz":
        return _from_npz(path, wishes)
    loaders = (
        {".skops": model_files.load_skops}
        | dict.fromkeys(model_files.PICKLES, model_files.load_pickle)
        | dict.fromkeys(model_files.TORCH, model_files.load_torch)
    )
    if suffix not in loaders:
        raise InvalidArgument(
            f"model={path.name!r} has the ending {suffix!r}; known are .onnx .npz {' '.join(loaders)}, MLflow folders and URLs"
        )
    return _dispatch(loaders[suffix](path, wishes.trusted), wishes)


def _from_npz(path: Path, wishes: _Wishes) -> Model:
    from evenhand.models.dense import DenseNet

    net = DenseNet.from_npz(path)
    if len(net.kernels[0]) != len(wishes.domain.columns):
        raise InvalidArgument(f"{path.name} takes {len(net.kernels[0])} columns, the domain has {len(wishes.domain.columns)}")
    return net.named(wishes.classes if wishes.classes is not None else net.classes, wishes.domain)


def _is_torch(model: Any) -> bool:
    """Whether this is a torch module, without importing torch for models that are not."""
    return any(kind.__module__.startswith("torch.nn") or kind.__module__.startswith("torch.jit") for kind in type(model).__mro__)
