"""Torch modules: asked about rows of codes or about pictures, or, where they answer with boxes, about scenes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evenhand.contract import Model
from evenhand.models.amount_models import answers_amounts, wrap_amounts
from evenhand.models.model_wishes import ModelWishes
from evenhand.models.preparation import Preparation
from evenhand.models.shown_amounts import ShownAmounts


def is_torch(given: Any) -> bool:
    """Whether this is a torch module, without importing torch for models that are not."""
    return any(kind.__module__.startswith(("torch.nn", "torch.jit")) for kind in type(given).__mro__)


def accepts(given: Any) -> bool:
    """A module, scripted ones too."""
    return is_torch(given)


def _settings(wishes: ModelWishes) -> Any:
    """The caller's settings; what `returns` says decides where they leave the outputs open."""
    from evenhand.models.torch_adapter import TorchSettings

    settings = wishes.torch or TorchSettings()
    if settings.outputs != "auto" or wishes.returns not in ("logit", "probability"):
        return settings
    return replace(settings, outputs="logits" if wishes.returns == "logit" else "probabilities")


def adapt(given: Any, wishes: ModelWishes) -> Model:
    """With the front that the medium calls for."""
    from evenhand.models.recognisers.detectors import COCO_80
    from evenhand.models.torch import from_module, torch_amounts, torch_picture_amounts
    from evenhand.models.torch_detector import torch_detector
    from evenhand.models.torch_inputs import PictureFront
    from evenhand.models.torch_pictures import picture_module

    if wishes.asked == "rows" and wishes.domain.label is not None and wishes.domain.label.is_amount:
        asked = torch_amounts(given, wishes.domain, wishes.torch)
        return wrap_amounts(asked, wishes.domain, replace(wishes.amounts, takes="codes", source=asked))
    if wishes.asked == "rows":
        return from_module(given, wishes.domain, wishes.classes, _settings(wishes), wishes.trial())
    if wishes.asked == "texts":
        raise wishes.refuse("a torch module", "wrap a function from texts to scores that tokenises and calls it")
    if wishes.asked == "scenes":
        objects = wishes.objects
        return wishes.behind(torch_detector(given, objects.names or COCO_80, first_label=objects.first_label))
    front = PictureFront(wishes.prepare or Preparation(), sides=wishes.sides)  # values from 0 to 1 unless something else is said
    if answers_amounts(given, wishes.domain):
        return ShownAmounts.behind(wishes.medium, torch_picture_amounts(given, front))
    return wishes.behind(picture_module(given, wishes.names, front, _settings(wishes).outputs))
