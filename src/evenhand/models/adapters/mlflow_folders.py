"""MLflow model folders: what they hold is wrapped as if it had been given itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evenhand.contract import Model
from evenhand.models.mlflow import is_folder, load_folder
from evenhand.models.model_wishes import ModelWishes


def accepts(given: Any) -> bool:
    """A folder with an MLmodel file."""
    return isinstance(given, Path) and is_folder(given)


def adapt(given: Path, wishes: ModelWishes) -> Model:
    """By the safest flavour that the folder has."""
    return wishes.again(load_folder(given, wishes.trusted), wishes)
