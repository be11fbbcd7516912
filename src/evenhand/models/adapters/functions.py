"""Python callables: from a frame or a matrix to labels or scores, from pictures or texts to the same, or from a picture to its objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from evenhand.contract import Model
from evenhand.models.adapters.estimators import accepts as is_estimator
from evenhand.models.adapters.torch_modules import is_torch
from evenhand.models.amount_models import answers_amounts, wrap_amounts
from evenhand.models.function import FunctionClassifier, FunctionRecogniser, from_callable
from evenhand.models.model_wishes import ModelWishes
from evenhand.models.native_boosters import is_native
from evenhand.models.picture_tasks import ZeroShot
from evenhand.models.preparation import Preparation
from evenhand.models.shown_amounts import ShownAmounts


def accepts(given: Any) -> bool:
    """Whatever can be called and is nothing more special."""
    return callable(given) and not is_native(given) and not isinstance(given, type) and not is_estimator(given) and not is_torch(given)


def adapt(given: Any, wishes: ModelWishes) -> Model:
    """Asked about what the medium shows."""
    if wishes.asked == "rows" and answers_amounts(given, wishes.domain):
        return wrap_amounts(given, wishes.domain, wishes.amounts)
    if wishes.asked == "rows":
        return from_callable(given, wishes.domain, wishes.classes, wishes.takes, wishes.trial())
    if wishes.asked == "scenes":
        return wishes.behind(_recogniser(given, wishes))
    if answers_amounts(given, wishes.domain):
        return ShownAmounts.behind(wishes.medium, _prepared(given, wishes.prepare))
    wishes = _with_own_classes(given, wishes)
    return wishes.behind(wishes.settled(FunctionClassifier(_prepared(given, wishes.prepare), wishes.names)))


def _with_own_classes(given: Callable[[Any], Any], wishes: ModelWishes) -> ModelWishes:
    """A zero-shot classifier names its classes itself; where these are the label's, nothing about their order is left to find out."""
    label = wishes.domain.label
    if wishes.classes is not None or label is None or not isinstance(given, ZeroShot) or set(given.classes) != set(label.values):
        return wishes
    return replace(wishes, classes=given.classes)


def _recogniser(given: Callable[[Any], Any], wishes: ModelWishes) -> FunctionRecogniser:
    name, told = getattr(given, "__name__", type(given).__name__), wishes.objects
    return FunctionRecogniser(given, name=name, names=tuple(told.names), least=told.least or 0.0, batch=told.batch)


def _prepared(function: Callable[[Any], Any], prepare: Preparation | None) -> Callable[[Any], Any]:
    return function if prepare is None else lambda pictures: function(prepare(pictures))
