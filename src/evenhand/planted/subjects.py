"""A subject whose fairness or unfairness is known before anybody looks: data, a model, and the exact share that it treats unfairly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from evenhand.contract import Model
from evenhand.datasets.dataset import Dataset


@dataclass(frozen=True, eq=False)
class PlantedSubject:
    """What is tested, and what a right test must say: the share of the data's rows whose twin gets another answer."""

    name: str
    data: Dataset
    model: Model
    rate: Fraction
    story: str
