"""Recognisers by name: every file of `models/recognisers` that holds one, such as `street`, `rekognition`, `google` and `azure`."""

from __future__ import annotations

from typing import Any

from evenhand.contract import Model
from evenhand.models.recognisers import RECOGNISERS
from evenhand.models.wishes import Wishes


def accepts(given: Any) -> bool:
    """A text that is a recogniser's name; a hyphen does for an underscore."""
    return isinstance(given, str) and given.replace("-", "_") in RECOGNISERS.entries()


def adapt(given: str, wishes: Wishes) -> Model:
    """Made from what the caller said about objects."""
    made: Any = RECOGNISERS.entry(given.replace("-", "_")).make
    return wishes.behind(made.named(wishes.objects))
