"""The factors that a portrait is drawn from: their names, ranges and how they are drawn.  Knows nothing of pixels.

All factors are drawn independently of each other, so that whatever a classifier ties together it did not learn from the portraits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Mask, Reals, Rows
from evenhand.errors import InvalidArgument, UnknownName
from evenhand.limits import Count, check_argument


@dataclass(frozen=True)
class Factor:
    """One way in which portraits differ: a listed one has names for its whole numbers, a graded one has a range."""

    name: str
    low: float
    high: float
    values: tuple[str, ...] = ()
    chances: tuple[float, ...] = ()
    meaning: str = ""

    @property
    def is_listed(self) -> bool:
        """Whether the factor takes named values rather than a range."""
        return bool(self.values)

    def draw(self, n: int, rng: np.random.Generator) -> Reals:
        """Independent values for n portraits."""
        if not self.is_listed:
            return rng.uniform(self.low, self.high, n)
        chances = self.chances or (1.0 / len(self.values),) * len(self.values)
        return rng.choice(len(self.values), size=n, p=chances).astype(np.float64)

    def contains(self, values: Reals) -> Mask:
        """Which values the factor may take."""
        inside = (values >= self.low) & (values <= self.high)
        return inside & (values == np.round(values)) if self.is_listed else inside


def _listed(name: str, values: tuple[str, ...], meaning: str, chances: tuple[float, ...] = ()) -> Factor:
    return Factor(name, 0.0, len(values) - 1.0, values, chances, meaning)


TONES = tuple(f"monk {step}" for step in range(1, 11))
CUES = ("masculine", "feminine")
HAIR_STYLES = ("shaved", "cropped", "side part", "curls", "bob", "long", "waves", "bun")
HAIR_COLOURS = ("black", "dark brown", "brown", "auburn", "blond")
EYE_COLOURS = ("dark brown", "brown", "hazel", "green", "blue")
GLASSES = ("none", "round", "square")
FACIAL_HAIR = ("none", "stubble", "moustache", "beard")

FACTORS: tuple[Factor, ...] = (
    _listed("tone", TONES, "skin tone, the ten steps of the Monk scale"),
    _listed("gender_cue", CUES, "jaw, brows, lips and lashes drawn in a masculine or a feminine convention"),
    Factor("age", 18.0, 80.0, meaning="years: lines, folds, grey hair, receding hair"),
    Factor("smile", -0.6, 1.0, meaning="corners of the mouth, from down to up"),
    Factor("mouth_open", 0.0, 1.0, meaning="how far the lips part"),
    _listed("glasses", GLASSES, "frames", (0.7, 0.15, 0.15)),
    _listed("hair_style", HAIR_STYLES, "how the hair is worn"),
    _listed("hair_colour", HAIR_COLOURS, "colour before it turns grey with age", (0.35, 0.25, 0.18, 0.1, 0.12)),
    _listed("facial_hair", FACIAL_HAIR, "drawn with masculine cues only", (0.55, 0.15, 0.12, 0.18)),
    Factor("yaw", -1.0, 1.0, meaning="head turned to the left or right"),
    Factor("roll", -0.14, 0.14, meaning="head tilted, in radians"),
    Factor("zoom", 1.02, 1.18, meaning="distance from the camera"),
    Factor("face_width", -1.0, 1.0, meaning="narrow to wide"),
    Factor("eye_size", -1.0, 1.0, meaning="small to large"),
    Factor("nose_size", -1.0, 1.0, meaning="narrow to broad"),
    Factor("lip_size", -1.0, 1.0, meaning="thin to full"),
    _listed("eye_colour", EYE_COLOURS, "iris", (0.4, 0.25, 0.12, 0.1, 0.13)),
    Factor("light_side", -1.0, 1.0, meaning="light from the left or right"),
    Factor("light_level", -1.0, 1.0, meaning="dim to bright"),
    Factor("light_warmth", -1.0, 1.0, meaning="cool to warm"),
    Factor("backdrop", 0.0, 1.0, meaning="hue of the background"),
    Factor("backdrop_shade", 0.0, 1.0, meaning="dark to light background"),
    Factor("clothes", 0.0, 1.0, meaning="hue of the clothes"),
    _listed("earrings", ("no", "yes"), "small round earrings", (0.75, 0.25)),
)
PLACES = {each.name: position for position, each in enumerate(FACTORS)}


def factor(name: str) -> Factor:
    """The factor of this name."""
    return FACTORS[place(name)]


def place(name: str) -> int:
    """The column of a factor."""
    if name not in PLACES:
        raise UnknownName("factor", name, PLACES)
    return PLACES[name]


def draw_factors(n: int, rng: np.random.Generator) -> Rows:
    """Factors of n portraits, (n, factors)."""
    check_argument(Count, n=n)
    return np.stack([each.draw(n, rng) for each in FACTORS], axis=1)


def changed(rows: Rows, name: str, values: Reals | float) -> Rows:
    """The same portraits with one factor set to other values."""
    column, new = place(name), np.broadcast_to(np.asarray(values, dtype=np.float64), (len(rows),))
    if not FACTORS[column].contains(new).all():
        wrong = new[~FACTORS[column].contains(new)][0]
        raise InvalidArgument(f"values of factor {name!r}: {wrong!r} is outside {FACTORS[column].low} to {FACTORS[column].high}")
    twins = np.array(rows, dtype=np.float64)
    twins[:, column] = new
    return twins


def mirrored(factors: Rows, name: str) -> Rows:
    """Every portrait with a listed factor at the opposite end: the first value becomes the last, the middle the first."""
    known = factor(name)
    if not known.is_listed:
        raise InvalidArgument(f"name={name!r} must be a listed factor, such as 'tone' or 'gender_cue'")
    opposite = known.high - factors[:, place(name)]
    return changed(factors, name, np.where(opposite == factors[:, place(name)], known.low, opposite))


def check_factors(rows: Rows) -> None:
    """Refuse rows that are not factors of portraits, naming the first wrong one."""
    if rows.ndim != 2 or rows.shape[1] != len(FACTORS):
        raise InvalidArgument(f"rows of shape {rows.shape} must have one column for each of the {len(FACTORS)} factors")
    for column, each in enumerate(FACTORS):
        outside = ~each.contains(rows[:, column])
        if outside.any():
            line = int(np.flatnonzero(outside)[0])
            raise InvalidArgument(f"row {line}, factor {each.name!r}: {rows[line, column]!r} is outside {each.low} to {each.high}")
