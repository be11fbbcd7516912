"""Files of XGBoost (.json, .ubj), LightGBM (.txt) and CatBoost (.cbm); the booster in them is wrapped as if it had been given itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evenhand.contract import Model
from evenhand.models.model_wishes import ModelWishes
from evenhand.models.native_boosters import ENDINGS, library_of_file, load_booster


def accepts(given: Any) -> bool:
    """A path with one of the endings whose beginning is a booster's."""
    return isinstance(given, Path) and given.suffix.lower() in ENDINGS and given.is_file() and bool(library_of_file(given))


def adapt(given: Path, wishes: ModelWishes) -> Model:
    """No trust is needed: the file holds numbers, and it is opened in quarantine first."""
    return wishes.again(load_booster(library_of_file(given), given), wishes)
