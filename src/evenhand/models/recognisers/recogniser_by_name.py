"""A recogniser by what a user calls it: a detector's file, a Python function, or the name of an embedded recogniser or a service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evenhand.contract import Recogniser
from evenhand.errors import InvalidArgument, UnknownName
from evenhand.models.function import FunctionRecogniser
from evenhand.models.model_wishes import ObjectSettings
from evenhand.models.python_objects import imported, is_python_name
from evenhand.models.recognisers import RECOGNISERS
from evenhand.models.recognisers.detectors import OnnxDetector


def named_recogniser(name: str) -> Recogniser:
    """From an .onnx file, as `module:function`, or by name, with the usual settings."""
    if name.endswith(".onnx"):
        return OnnxDetector(Path(name))
    if is_python_name(name):
        return _imported(name)
    entries = RECOGNISERS.entries()
    if name.replace("-", "_") not in entries:
        raise UnknownName("recogniser", name, [*entries, "a file ending in .onnx", "module:function"])
    make: Any = entries[name.replace("-", "_")].make
    made = make.named(ObjectSettings())
    if not isinstance(made, Recogniser):
        raise InvalidArgument(f"recogniser={name!r} does not look at pictures; give an ONNX detector")
    return made


def _imported(name: str) -> Recogniser:
    """A recogniser of the user's, or a function that looks at one picture."""
    found = imported(name, "recogniser")
    if isinstance(found, Recogniser):
        return found
    if not callable(found):
        raise InvalidArgument(f"recogniser={name!r} must be a function of one picture, got {type(found).__name__}")
    return FunctionRecogniser(found, name=getattr(found, "__name__", type(found).__name__))
