"""Fitted scikit-learn estimators and pipelines, XGBoost, LightGBM and CatBoost: asked about rows, texts, or pictures as flat numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.contract import Model
from evenhand.errors import InvalidArgument
from evenhand.models.adapters.torch_modules import is_torch
from evenhand.models.amount_models import answers_amounts, wrap_amounts
from evenhand.models.function import FunctionClassifier
from evenhand.models.model_wishes import ModelWishes
from evenhand.models.native_boosters import is_native
from evenhand.models.several_outputs import one_output, says_several_labels


def accepts(given: Any) -> bool:
    """Anything fitted that predicts."""
    return hasattr(given, "predict") and not isinstance(given, type) and not is_torch(given) and not is_native(given)


def adapt(given: Any, wishes: ModelWishes) -> Model:
    """By its probabilities, its decision function or its labels, whichever it has first."""
    from evenhand.models.estimator import from_estimator

    if wishes.asked == "rows" and answers_amounts(given, wishes.domain):
        return wrap_amounts(given, wishes.domain, wishes.amounts)
    if says_several_labels(given):
        given = one_output(given, wishes.output)
    if wishes.asked == "rows":
        return from_estimator(given, wishes.domain, wishes.classes, wishes.takes, wishes.trial())
    if wishes.asked == "scenes":
        raise wishes.refuse(f"the estimator {type(given).__name__}", "give a recogniser, or a function from a picture to its objects")
    return wishes.behind(wishes.settled(FunctionClassifier(_asked(given), _classes(given, wishes))))


def _classes(given: Any, wishes: ModelWishes) -> tuple[Any, ...]:
    own = getattr(given, "classes_", None)
    if wishes.classes is not None or own is None or not isinstance(own[0], str):
        return wishes.names
    return tuple(str(name) for name in own)


def _asked(given: Any) -> Any:
    ask = next((getattr(given, name) for name in ("predict_proba", "decision_function", "predict") if hasattr(given, name)), None)
    if ask is None:
        raise InvalidArgument(f"{type(given).__name__} has neither predict_proba nor predict; wrap a fitted classifier or a callable")
    return lambda shown: ask(_flat(shown))


def _flat(shown: Any) -> Any:
    return shown.reshape(len(shown), -1) if isinstance(shown, np.ndarray) and shown.ndim == 4 else shown
