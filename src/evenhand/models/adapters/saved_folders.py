"""Folders with evenhand-model.json: mended models that Evenhand wrote itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evenhand.contract import Model
from evenhand.models.model_wishes import ModelWishes


def accepts(given: Any) -> bool:
    """A folder with the description of a model."""
    return isinstance(given, Path) and (given / "evenhand-model.json").is_file()


def adapt(given: Path, wishes: ModelWishes) -> Model:
    """The model around the models in it."""
    from evenhand.models.saving import load

    if wishes.asked not in ("rows", "pictures"):
        raise wishes.refuse(f"the saved model {given.name}", "it takes rows of a table, or pictures")
    return load(given, wishes.domain if wishes.asked == "rows" else wishes.medium, trusted=wishes.trusted)
