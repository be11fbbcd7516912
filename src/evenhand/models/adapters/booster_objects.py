"""The own boosters of XGBoost, LightGBM and CatBoost, as objects; asked about rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evenhand.contract import Model
from evenhand.errors import InvalidArgument
from evenhand.models.amount_models import answers_amounts, wrap_amounts
from evenhand.models.estimator import from_estimator
from evenhand.models.inputs import guarded
from evenhand.models.model_wishes import ModelWishes
from evenhand.models.native_boosters import BoosterClassifier, NativeBooster, from_booster, is_native
from evenhand.models.trial_rows import TrialRows


def accepts(given: Any) -> bool:
    """xgboost.Booster, lightgbm.Booster and catboost.CatBoost."""
    return is_native(given)


def adapt(given: Any, wishes: ModelWishes) -> Model:
    """By its probabilities, or by the one number that its objective makes."""
    booster = guarded(lambda: from_booster(given), "reading the booster's objective and columns")
    if wishes.asked != "rows":
        raise wishes.refuse(f"a {booster.library} booster", "it takes rows of a table")
    if not answers_amounts(booster, wishes.domain):
        return from_estimator(booster, wishes.domain, wishes.classes, wishes.takes, _trial(booster, wishes))
    if isinstance(booster, BoosterClassifier):
        raise InvalidArgument(
            f"the booster's objective {booster.objective!r} makes it say classes, but the label is an amount; name the label that it was "
            "trained on, or wrap a booster with an objective of amounts"
        )
    return wrap_amounts(booster, wishes.domain, wishes.amounts)


def _trial(booster: NativeBooster, wishes: ModelWishes) -> TrialRows:
    """A margin is known to be a logit, and a rank to be a score that needs a threshold, unless something else is declared."""
    trial, known = wishes.trial(), {"logit": "logit", "rank": "score"}.get(booster.says)
    return trial if known is None or trial.declared.returns is not None else replace(trial, declared=replace(trial.declared, returns=known))
