"""Recognisers by name: every file of `models/recognisers` that holds one, such as `street`, `rekognition`, `google` and `azure`."""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import Any

from evenhand.contract import Model
from evenhand.models.model_wishes import ModelWishes
from evenhand.models.recognisers import RECOGNISERS
from evenhand.models.recognisers.stand_in import StandIn
from evenhand.models.recognisers.street import StreetRecogniser

STAND_IN = "stand-in"
"""The endpoint of a local server that speaks a service's language and answers as the street recogniser: for trials without a bill."""


def accepts(given: Any) -> bool:
    """A text that is a recogniser's name; a hyphen does for an underscore."""
    return isinstance(given, str) and given.replace("-", "_") in RECOGNISERS.entries()


def adapt(given: str, wishes: ModelWishes) -> Model:
    """Made from what the caller said about objects."""
    made: Any = RECOGNISERS.entry(given.replace("-", "_")).make
    if wishes.objects.endpoint != STAND_IN:
        return wishes.behind(made.named(wishes.objects))
    server = StandIn(StreetRecogniser()).__enter__()
    model = wishes.behind(made.named(replace(wishes.objects, endpoint=server.endpoint, key=STAND_IN)))
    weakref.finalize(model, server.__exit__, None, None, None)
    return model
