"""Albums of synthetic portraits whose label is the age group, with a bias of known size planted in the labels.

A bias moves the age at which a group of people is called older.  So the share of twins that such labels treat differently is known
before any classifier is trained: it is the share of ages that lie within the shift of a border between two age groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Labels, Mask, Reals, Rows
from evenhand.errors import InvalidArgument
from evenhand.media.album import Album, Attribute
from evenhand.media.portraits.factors import FACTORS, draw_factors, factor, mirrored, place
from evenhand.media.portraits.painting import render

AGE_GROUPS = ("young", "middle", "older")
BORDERS = np.array([36.0, 58.0])
DARK_FROM = 5
"""Steps of the Monk scale from here on (counted from 0) form the darker half."""


@dataclass(frozen=True)
class Bias:
    """People whose factor has one of these values are labelled as if they were `years` older (or younger, if negative)."""

    factor: str
    values: tuple[int, ...]
    years: float

    def __post_init__(self) -> None:
        known = factor(self.factor)
        if not known.is_listed or not all(0 <= value < len(known.values) for value in self.values):
            raise InvalidArgument(f"values={self.values!r} must be codes of the listed factor {self.factor!r}: {known.values}")

    def hits(self, factors: Rows) -> Mask:
        """Who is mislabelled."""
        return np.isin(factors[:, place(self.factor)], self.values)


DARKER_SKIN_LOOKS_OLDER = Bias("tone", (5, 6, 7, 8, 9), 10.0)
FEMININE_CUES_LOOK_YOUNGER = Bias("gender_cue", (1,), -8.0)


def age_groups(factors: Rows, biases: Sequence[Bias] = ()) -> Labels:
    """The age group of every portrait, as the biases would have it labelled."""
    apparent = factors[:, place("age")].copy()
    for bias in biases:
        apparent += bias.years * bias.hits(factors)
    return np.searchsorted(BORDERS, apparent, side="right").astype(np.intp)


def planted_share(factors: Rows, biases: Sequence[Bias], name: str) -> float:
    """The share of portraits whose label changes with a mirrored factor: what a perfect pupil of the labels would show."""
    return float(np.mean(age_groups(factors, biases) != age_groups(mirrored(factors, name), biases)))


def synthetic_faces(n: int, rng: np.random.Generator, size: int = 64, biases: Sequence[Bias] = ()) -> Album:
    """n portraits with age groups as labels.  Plainly synthetic: drawn by arithmetic, nobody's picture."""
    return album_of(draw_factors(n, rng), size, biases)


def album_of(factors: Rows, size: int = 64, biases: Sequence[Bias] = ()) -> Album:
    """The album of these factors."""
    label = Attribute(AGE_GROUPS, age_groups(factors, biases))
    return Album("synthetic faces", render(factors, size), attributes_of(factors), label, factors)


def attributes_of(factors: Rows) -> dict[str, Attribute]:
    """What an onlooker could say about each portrait; graded factors are cut in the middle of their range."""
    found = {each.name: _attribute(each.values, factors[:, place(each.name)]) for each in FACTORS if each.is_listed}
    halves = {"tone": factors[:, place("tone")] >= DARK_FROM, "glasses": factors[:, place("glasses")] > 0}
    names = {"tone": ("lighter", "darker"), "glasses": ("without", "with")}
    found |= {name: _attribute(names[name], half) for name, half in halves.items()}
    found["smile"] = _attribute(("no", "yes"), factors[:, place("smile")] > 0.2)
    found["age_group"] = Attribute(AGE_GROUPS, age_groups(factors))
    return found


def _attribute(values: tuple[str, ...], codes: Reals | Mask) -> Attribute:
    return Attribute(values, np.asarray(codes).astype(np.intp))
