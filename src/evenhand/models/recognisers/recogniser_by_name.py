"""A recogniser by what a user calls it: the file of a detector, or the name of an embedded recogniser or a service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evenhand.contract import Recogniser
from evenhand.errors import InvalidArgument, UnknownName
from evenhand.models.model_wishes import ObjectSettings
from evenhand.models.recognisers import RECOGNISERS
from evenhand.models.recognisers.detectors import OnnxDetector


def named_recogniser(name: str) -> Recogniser:
    """From an .onnx file, or by name, with the usual settings."""
    if name.endswith(".onnx"):
        return OnnxDetector(Path(name))
    entries = RECOGNISERS.entries()
    if name.replace("-", "_") not in entries:
        raise UnknownName("recogniser", name, [*entries, "a file ending in .onnx"])
    make: Any = entries[name.replace("-", "_")].make
    made = make.named(ObjectSettings())
    if not isinstance(made, Recogniser):
        raise InvalidArgument(f"recogniser={name!r} does not look at pictures; give an ONNX detector")
    return made
