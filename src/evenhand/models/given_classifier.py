"""The classifier that a user names: an ONNX file, a torch file, or `package.module:name` for a module, a classifier or a function.

Imported only by code that has torch, except for `Given`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.contract import PictureModel
from evenhand.errors import InvalidArgument, ModelFailed
from evenhand.models.function import FunctionClassifier
from evenhand.models.onnx import onnx_classifier
from evenhand.models.preparation import Preparation


@dataclass(frozen=True)
class GivenClassifier:
    """What the user said about the classifier."""

    model: str
    classes: tuple[str, ...]
    prepare: Preparation | None = None  # without it: what an ONNX file's shape says; values from 0 to 1 for torch
    size: int = 64
    trusted: bool = False


def classifier_of(given: GivenClassifier) -> PictureModel:
    """The classifier, ready to be asked."""
    if given.model.endswith(".onnx"):
        return onnx_classifier(given.model, given.classes, given.prepare)
    return _wrapped(_loaded(given), given)


def _loaded(given: GivenClassifier) -> Any:
    if Path(given.model).exists():
        from evenhand.models.model_files import TORCH, load_torch

        if Path(given.model).suffix not in TORCH:
            raise InvalidArgument(f"model={given.model!r} must be an .onnx file, a torch file ({', '.join(TORCH)}) or package.module:name")
        return load_torch(Path(given.model), given.trusted)
    place, _, name = given.model.partition(":")
    if not name:
        raise InvalidArgument(f"model={given.model!r} is no file; a Python object is named as package.module:name")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return getattr(importlib.import_module(place), name)
    except (ImportError, AttributeError) as fault:
        raise InvalidArgument(f"model={given.model!r} cannot be imported: {fault}") from fault
    except Exception as fault:  # the module is foreign code
        raise ModelFailed(f"importing {place} raised {type(fault).__name__}: {fault}") from fault


def _wrapped(found: Any, given: GivenClassifier) -> PictureModel:
    from torch import nn

    from evenhand.models.torch import TorchClassifier, torch_classifier

    if isinstance(found, TorchClassifier | FunctionClassifier):
        return found
    if isinstance(found, nn.Module):
        return torch_classifier(found, given.classes, prepare=given.prepare or Preparation(given.size))
    if not callable(found):
        raise InvalidArgument(f"model={given.model!r} is a {type(found).__name__}; expected a torch module or a function of pictures")
    return FunctionClassifier(_with(found, given.prepare), given.classes)


def _with(function: Callable[[Any], Any], prepare: Preparation | None) -> Callable[[Any], Any]:
    return function if prepare is None else lambda pictures: function(prepare(pictures))
