"""Treelite's own models, as objects and as files that `serialize` wrote (.tl); asked about rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand.contract import Model
from evenhand.errors import InvalidArgument
from evenhand.models.amount_models import answers_amounts, wrap_amounts
from evenhand.models.estimator import from_estimator
from evenhand.models.model_wishes import ModelWishes
from evenhand.models.treelite_trees import ENDINGS, TreeliteClassifier, TreeliteRegressor, from_treelite, is_treelite, load_treelite


def accepts(given: Any) -> bool:
    """treelite.Model, or a path with its ending."""
    return is_treelite(given) or (isinstance(given, Path) and given.suffix.lower() in ENDINGS and given.is_file())


def adapt(given: Any, wishes: ModelWishes) -> Model:
    """By its probabilities, its amounts or its ranks; a file needs no trust, since it is opened in quarantine first."""
    trees = from_treelite(load_treelite(given) if isinstance(given, Path) else given)
    if wishes.asked != "rows":
        raise wishes.refuse("a Treelite model", "it takes rows of a table")
    if not answers_amounts(trees, wishes.domain):
        trial = wishes.trial()
        if not isinstance(trees, (TreeliteClassifier, TreeliteRegressor)) and trial.declared.returns is None:
            trial = replace(trial, declared=replace(trial.declared, returns="score"))  # a rank needs a threshold
        return from_estimator(trees, wishes.domain, wishes.classes, wishes.takes, trial)
    if isinstance(trees, TreeliteClassifier):
        raise InvalidArgument("the Treelite model says classes, but the label is an amount; name the label that it was trained on")
    return wrap_amounts(trees, wishes.domain, wishes.amounts)
