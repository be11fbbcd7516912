"""Objects of this package that are asked about shown things: classifiers of pictures or texts, and recognisers."""

from __future__ import annotations

from typing import Any

from evenhand.contract import Model, PictureModel, Recogniser, SeesScenes
from evenhand.models.adapters.estimators import accepts as is_estimator
from evenhand.models.adapters.torch_modules import is_torch
from evenhand.models.model_wishes import ModelWishes


def accepts(given: Any) -> bool:
    """What scores or recognises what it is shown, and takes no rows."""
    is_reader = isinstance(given, PictureModel | Recogniser | SeesScenes) and not callable(given) and not isinstance(given, type)
    return is_reader and not is_torch(given) and not is_estimator(given)


def adapt(given: PictureModel | Recogniser | SeesScenes, wishes: ModelWishes) -> Model:
    """Behind the medium."""
    if wishes.asked == "rows":
        raise wishes.refuse(f"{type(given).__name__}", "give data that shows something: an album, portraits, scenes or texts")
    return wishes.behind(given)
