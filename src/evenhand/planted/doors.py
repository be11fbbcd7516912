"""Door cameras: classifiers of drawn portraits that open or stay shut, one of them by the colour of a nose.

Both read the backdrop: in a dim room the door stays shut.  The unfair one also keeps darker people out in rooms of middling light.
Light and pose are held still, so that one patch of skin tells the two halves of the Monk scale apart in every portrait; a mirrored tone
crosses over, and so the unfair portraits are those with a backdrop of middling light, counted without looking at any skin.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from evenhand.arrays import Mask, Reals, Rows, Scores
from evenhand.contract import Pictures
from evenhand.datasets.album_data import from_album
from evenhand.media.album import Album, Attribute
from evenhand.media.portraits.factors import changed, draw_factors
from evenhand.media.portraits.painting import render
from evenhand.models.shown import ShownModel
from evenhand.planted.portraits import attributes_of
from evenhand.planted.subjects import PlantedSubject

ANSWERS = ("shut", "open")
STILL = {"light_side": 0.0, "light_level": 0.0, "light_warmth": 0.0, "yaw": 0.0, "roll": 0.0, "glasses": 0.0, "facial_hair": 0.0}
DIM, BRIGHT = 0.34, 0.44
"""Backdrops between these brightnesses are where the unfair door looks at skin."""
DARKER_BELOW = 0.57


@dataclass(frozen=True)
class DoorCamera:
    """Opens where the backdrop is bright enough; an unfair one asks for more light where it sees darker skin."""

    is_unfair: bool = True

    @property
    def classes(self) -> tuple[str, ...]:
        """What a door does."""
        return ANSWERS

    def scores(self, pictures: Pictures) -> Scores:
        """Between 0 and 1, steep at the brightness from which the door opens."""
        needed = np.where(reads_darker_skin(pictures), BRIGHT, DIM) if self.is_unfair else DIM
        opens = 1.0 / (1.0 + np.exp(-60.0 * (backdrop_light(pictures) - needed)))
        return np.stack([1.0 - opens, opens], axis=1)

    def fingerprint(self) -> str:
        """There are two of them."""
        return f"door-camera-{'unfair' if self.is_unfair else 'fair'}"


def backdrop_light(pictures: Pictures) -> Reals:
    """The brightness of the upper left corner, from 0 to 1."""
    return np.asarray(pictures[:, :2, :2].reshape(len(pictures), -1).mean(axis=1) / 255.0, dtype=np.float64)


def reads_darker_skin(pictures: Pictures) -> Mask:
    """Whether the bridge of the nose has a tone of the darker half."""
    size = pictures.shape[1]
    patch = pictures[:, int(0.46 * size) : int(0.5 * size) + 1, int(0.48 * size) : int(0.52 * size) + 1]
    return np.asarray(patch.reshape(len(pictures), -1).mean(axis=1) / 255.0 < DARKER_BELOW)


def door_camera(n: int, rng: np.random.Generator, size: int = 32, is_unfair: bool = True) -> PlantedSubject:
    """An album of n portraits before such a door; tone is protected."""
    factors = still_factors(n, rng)
    pictures = render(factors, size)
    light = backdrop_light(pictures)
    label = Attribute(ANSWERS, (light > DIM).astype(np.intp))
    album = Album("portraits before a door", pictures, attributes_of(factors), label, factors)
    data = from_album(album, ["tone"], favourable=("open",), label="door")
    middling = int(((light > DIM) & (light <= BRIGHT)).sum()) if is_unfair else 0
    story = "keeps darker people out where the backdrop is of middling light" if is_unfair else "looks at nothing but the backdrop"
    name = f"{'unfair' if is_unfair else 'fair'} door"
    return PlantedSubject(name, data, ShownModel(data.medium, DoorCamera(is_unfair)), Fraction(middling, n), story)


def still_factors(n: int, rng: np.random.Generator) -> Rows:
    """Portraits in one light and pose, without glasses and facial hair."""
    factors = draw_factors(n, rng)
    for name, value in STILL.items():
        factors = changed(factors, name, value)
    return factors
