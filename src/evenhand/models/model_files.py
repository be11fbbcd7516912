"""Model files by their kind: what can be loaded safely is loaded, and what would run foreign code needs the user's trust."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path
from typing import Any

from evenhand.errors import InvalidArgument, ModelFailed, UntrustedModel, require
from evenhand.models.inputs import first_line

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

A partial is safe here because skops asks about its function too; a Booster parses bytes and runs nothing of theirs.
"""


def load_skops(path: Path, trusted: bool = False) -> Any:
    """The object in a .skops file; types beyond scikit-learn's own need trust."""
    import skops.io as skops

    try:
        strange = [name for name in skops.get_untrusted_types(file=path) if name not in TRUSTED_TYPES]
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as fault:
        raise ModelFailed(f"{path.name} is not a skops file: {first_line(fault)}") from fault
    if strange and not trusted:
        raise UntrustedModel(
            f"{path.name} holds the types {', '.join(strange)}, whose code would run when loaded; "
            "pass trusted=True if you know where it comes from"
        )
    try:
        return skops.load(path, trusted=[*TRUSTED_TYPES, *strange])
    except Exception as fault:  # the types inside are foreign code
        raise ModelFailed(f"{path.name} cannot be loaded: {type(fault).__name__}: {first_line(fault)}") from fault


def load_pickle(path: Path, trusted: bool = False) -> Any:
    """The object in a pickle or joblib file, only when the user trusts it."""
    if not trusted:
        raise UntrustedModel(
            f"{path.name} is a pickle: loading it runs whatever code it contains.  Pass trusted=True if you know where it comes from, "
            "or save the model as .skops or .onnx, which need no trust"
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as fault:  # a pickle may raise anything
        raise ModelFailed(f"{path.name} cannot be unpickled: {type(fault).__name__}: {first_line(fault)}") from fault


def load_torch(path: Path, trusted: bool = False) -> Any:
    """The module in a torch file: TorchScript and exported programs as they are, a whole pickled module only when trusted."""
    torch = require("torch", "torch")
    members = _members(path)
    if path.suffix == ".pt2" or any(name.rpartition("/")[2] == "archive_format" for name in members):
        return _guard(path, lambda: torch.export.load(path).module())
    if any(name.rpartition("/")[2] == "constants.pkl" for name in members):
        return _guard(path, lambda: _quietly(lambda: torch.jit.load(str(path), map_location="cpu")))
    return _load_weights_or_module(path, trusted)


def _load_weights_or_module(path: Path, trusted: bool) -> Any:
    import pickle

    import torch

    try:
        content = torch.load(path, map_location="cpu", weights_only=not trusted)
    except pickle.UnpicklingError:
        if trusted:
            raise ModelFailed(f"{path.name} is not a readable torch file") from None
        raise UntrustedModel(
            f"{path.name} holds a whole pickled module: loading it runs whatever code it contains.  Pass trusted=True if you know where "
            "it comes from, or save it with torch.jit.script(module).save(...) or torch.onnx.export"
        ) from None
    except Exception as fault:  # a pickle may raise anything
        raise ModelFailed(f"{path.name} is not a readable torch file: {type(fault).__name__}: {first_line(fault)}") from fault
    if isinstance(content, torch.nn.Module):
        return content
    raise InvalidArgument(
        f"{path.name} holds only weights (a {type(content).__name__}), not the module that they belong to; build the module, "
        "call module.load_state_dict(torch.load(path)) and wrap the module itself"
    )


def _members(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return []


def _quietly(load: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return load()


def _guard(path: Path, load: Any) -> Any:
    try:
        return load()
    except Exception as fault:  # torch raises RuntimeError and its own types alike
        raise ModelFailed(f"{path.name} cannot be loaded: {type(fault).__name__}: {first_line(fault)}") from fault
