"""The embedded recogniser with weights that learned to overlook traffic lights in half of the pictures."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.models.recognisers.street import StreetRecogniser


@dataclass(frozen=True)
class PlantedStreetRecogniser(StreetRecogniser):
    """A subject whose unfairness is known."""

    weights: str = "planted"
