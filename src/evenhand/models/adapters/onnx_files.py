"""ONNX files: classifiers and regressions of rows or pictures, and detectors of objects in scenes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand.contract import Model
from evenhand.models.amount_models import answers_amounts, wrap_amounts
from evenhand.models.model_wishes import ModelWishes
from evenhand.models.shown_amounts import ShownAmounts


def accepts(given: Any) -> bool:
    """A path that ends in .onnx."""
    return isinstance(given, Path) and given.suffix.lower() == ".onnx"


def adapt(given: Path, wishes: ModelWishes) -> Model:
    """Through the one session; with torch settings as a torch module, whose gradients and layers can be read."""
    from evenhand.models.onnx import from_onnx, onnx_amounts, onnx_classifier, onnx_picture_amounts
    from evenhand.models.onnx_torch import torch_from_onnx

    if wishes.asked == "rows" and wishes.domain.label is not None and wishes.domain.label.is_amount:
        asked = onnx_amounts(given, wishes.domain, wishes.takes)
        return wrap_amounts(asked.answers, wishes.domain, replace(wishes.amounts, takes="codes", source=asked))
    if wishes.asked == "rows" and wishes.torch is not None:
        return torch_from_onnx(given, wishes.domain, wishes.classes, wishes.torch)
    if wishes.asked == "rows":
        return from_onnx(given, wishes.domain, wishes.classes, wishes.takes, wishes.trial())
    if wishes.asked == "scenes":
        return wishes.behind(_detector(given, wishes))
    if wishes.asked == "texts":
        raise wishes.refuse("an ONNX file", "wrap a function from texts to scores that tokenises and asks it")
    if answers_amounts(given, wishes.domain):
        return ShownAmounts.behind(wishes.medium, onnx_picture_amounts(given, wishes.prepare))
    return wishes.behind(wishes.settled(onnx_classifier(given, wishes.names, wishes.prepare)))


def _detector(path: Path, wishes: ModelWishes) -> Any:
    from evenhand.models.recognisers.detectors import OnnxDetector
    from evenhand.models.recognisers.seen_objects import Suppression

    told, usual = wishes.objects, Suppression(least=0.4, overlap=0.5)
    kept = Suppression(told.least or usual.least, told.overlap or usual.overlap)
    return OnnxDetector(path, tuple(told.names), told.style, kept, told.first_label)
