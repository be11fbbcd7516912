"""Model files by their kind: what can be loaded safely is loaded, and what would run foreign code needs the user's trust."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path
from typing import Any

from evenhand.errors import InvalidArgument, ModelFailed, UntrustedModel, require
from evenhand.models.archives import check_archive
from evenhand.models.inputs import first_line
from evenhand.models.quarantine import examine

PICKLES = (".pkl", ".pickle", ".joblib")
TORCH = (".pt", ".pth", ".pt2")

TRUSTED_TYPES = (
    "collections.OrderedDict",
    "functools.partial",
    "lightgbm.basic.Booster",
    "lightgbm.sklearn.LGBMClassifier",
    "numpy.dtype",
    "sklearn._loss.link.LogitLink",
    "sklearn._loss.link.MultinomialLogit",
    "sklearn._loss.link.Interval",
    "sklearn._loss.loss.HalfBinomialLoss",
    "sklearn._loss.loss.HalfMultinomialLoss",
    "sklearn._loss._loss.CyHalfBinomialLoss",
    "sklearn._loss._loss.CyHalfMultinomialLoss",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.linear_model._sgd_fast.Hinge",
    "sklearn.linear_model._sgd_fast.ModifiedHuber",
    "sklearn.linear_model._stochastic_gradient._TypeDescription",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
    "sklearn.utils.validation.check_array",
    "xgboost.core.Booster",
    "xgboost.sklearn.XGBClassifier",
)
"""What scikit-learn's own models and the boosting libraries' classifiers hold and skops asks about.

A partial is safe here because skops asks about its function too.  What trees and boosters point to is looked at in quarantine first.
"""


def load_skops(path: Path, trusted: bool = False) -> Any:
    """The object in a .skops file; types beyond scikit-learn's own need trust."""
    import skops.io as skops

    check_archive(path, "a skops file")
    try:
        strange = [name for name in skops.get_untrusted_types(file=path) if name not in TRUSTED_TYPES]
    except Exception as fault:  # a crafted description makes skops raise anything
        raise ModelFailed(f"{path.name} is not a skops file: {first_line(fault)}") from fault
    if strange and not trusted:
        raise UntrustedModel(
            f"{path.name} holds the types {', '.join(strange)}, whose code would run when loaded; "
            "pass trusted=True if you know where it comes from"
        )
    if not strange:
        examine("skops", path)
    try:
        return skops.load(path, trusted=[*TRUSTED_TYPES, *strange])
    except Exception as fault:  # the types inside are foreign code
        raise ModelFailed(f"{path.name} cannot be loaded: {type(fault).__name__}: {first_line(fault)}") from fault


def load_pickle(path: Path, trusted: bool = False) -> Any:
    """The object in a pickle or joblib file, only when the user trusts it."""
    if not trusted:
        raise UntrustedModel(
            f"{path.name} is a pickle: loading it runs whatever code it contains.  Pass trusted=True (`--trusted`, or `model: {{path: "
            f"{path.name}, trusted: true}}` in the project file) if you know where it comes from, or save the model as .skops or "
            ".onnx, which need no trust"
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as fault:  # a pickle may raise anything
        raise ModelFailed(f"{path.name} cannot be unpickled: {type(fault).__name__}: {first_line(fault)}") from fault


def load_torch(path: Path, trusted: bool = False) -> Any:
    """The module in a torch file, only when the user trusts it: every kind of them can run code when it is loaded or asked."""
    if not trusted:
        raise UntrustedModel(
            f"{path.name} is {_torch_kind(path)}.  Pass trusted=True (`--trusted`, or `trusted: true` in the project file) if you know "
            "where it comes from, or save the model with torch.onnx.export as .onnx, which needs no trust"
        )
    torch = require("torch", "torch")
    members = _members(path)
    if _is_program(path, members):
        return _guard(path, lambda: torch.export.load(path).module())
    if "constants.pkl" in members:
        return _guard(path, lambda: _quietly(lambda: torch.jit.load(str(path), map_location="cpu")))
    return _load_module(path)


def _is_program(path: Path, members: set[str]) -> bool:
    return path.suffix == ".pt2" or "archive_format" in members


def _torch_kind(path: Path) -> str:
    members = _members(path)
    if _is_program(path, members):
        return "an exported torch program: it may hold pickles, and its shapes are evaluated as code"
    if "constants.pkl" in members:
        return "a TorchScript program: its forward may read and write files"
    return "a torch file: it may hold a whole pickled module, and loading one runs whatever code it contains"


def _load_module(path: Path) -> Any:
    import torch

    content = _guard(path, lambda: torch.load(path, map_location="cpu", weights_only=False))
    if isinstance(content, torch.nn.Module):
        return content
    raise InvalidArgument(
        f"{path.name} holds only weights (a {type(content).__name__}), not the module that they belong to; build the module, "
        "call module.load_state_dict(torch.load(path)) and wrap the module itself"
    )


def _members(path: Path) -> set[str]:
    """The names in the archive without their folders; none where it is no archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name.rpartition("/")[2] for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return set()


def _quietly(load: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return load()


def _guard(path: Path, load: Any) -> Any:
    try:
        return load()
    except Exception as fault:  # torch raises RuntimeError and its own types alike
        raise ModelFailed(f"{path.name} cannot be loaded: {type(fault).__name__}: {first_line(fault)}") from fault
