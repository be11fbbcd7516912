"""From factors to proportions and colours: everything about a stack of heads that several painters need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Rows
from evenhand.media.portraits import palette
from evenhand.media.portraits.factors import place
from evenhand.media.portraits.palette import Colour, Each, Plane
from evenhand.media.portraits.pixels import Canvas, column


@dataclass(frozen=True)
class Anatomy:
    """Numbers per portrait, (n,) each, and colours (n, 3)."""

    factors: Rows
    feminine: Each  # 0 or 1
    years: Each  # 0 at 18, 1 at 80
    yaw: Each
    half_width: Each
    jaw_taper: Each
    jaw_square: Each
    chin: Each  # y of the chin
    skin: Colour
    hair: Colour
    brow: Colour

    def get(self, name: str) -> Each:
        """The raw values of one factor."""
        return self.factors[:, place(name)].astype(np.float32)

    def is_value(self, name: str, *values: int) -> Each:
        """1 where a listed factor has one of these values, else 0."""
        return np.isin(self.factors[:, place(name)], values).astype(np.float32)

    def shift(self, depth: float) -> Each:
        """How far a feature at this depth moves sideways when the head turns."""
        return np.asarray(self.yaw * np.float32(depth), dtype=np.float32)

    def side(self, sign: int) -> Each:
        """How wide the features of one side look: the side turned away looks narrower."""
        return np.asarray(1.0 + 0.16 * self.yaw * np.float32(-sign), dtype=np.float32)


CROWN = -0.55
MIDDLE = -0.02


def anatomy(factors: Rows) -> Anatomy:
    """Proportions of every head."""
    raw = {name: factors[:, place(name)].astype(np.float32) for name in ("gender_cue", "age", "yaw", "face_width", "hair_colour", "tone")}
    feminine, years = raw["gender_cue"], (raw["age"] - 18.0) / 62.0
    grey = np.clip((raw["age"] - 34.0) / 34.0, 0.0, 1.0)[:, None]
    natural = palette.HAIR[raw["hair_colour"].astype(np.intp)]
    hair = palette.mix(natural, palette.GREY, 0.95 * grey * grey * (3 - 2 * grey))
    return Anatomy(
        factors=factors,
        feminine=feminine,
        years=years.astype(np.float32),
        yaw=raw["yaw"],
        half_width=(0.415 + 0.035 * raw["face_width"] - 0.018 * feminine).astype(np.float32),
        jaw_taper=(0.10 + 0.20 * feminine - 0.04 * raw["face_width"]).astype(np.float32),
        jaw_square=(0.42 - 0.34 * feminine + 0.10 * years).astype(np.float32),
        chin=(0.585 - 0.035 * feminine + 0.02 * years).astype(np.float32),
        skin=palette.skin(raw["tone"]),
        hair=np.asarray(hair, dtype=np.float32),
        brow=np.asarray(palette.mix(hair * 0.75, 0.35 * palette.skin(raw["tone"]), 0.2), dtype=np.float32),
    )


def head_depth(canvas: Canvas, body: Anatomy, grow: float = 0.0) -> tuple[Plane, Plane, Plane]:
    """Depth inside the head's outline (positive inside), and the place on it: across and down, 1 at the outline."""
    x, y = canvas.x - column(body.shift(0.02)), canvas.y
    down = (y - MIDDLE) / np.where(y > MIDDLE, column(body.chin) - MIDDLE, MIDDLE - CROWN)
    lower = np.clip(down, 0.0, 1.0)
    width = column(body.half_width) * (1.0 - column(body.jaw_taper) * lower * lower)
    across = x / (width + grow)
    down = down / (1.0 + grow * 1.6)
    flat, high = across * across, down * down
    round_radius = np.sqrt(flat + high)
    square_radius = np.sqrt(np.sqrt(flat * flat + high * high))
    square = np.where(down > 0, column(body.jaw_square), 0.12)
    radius = round_radius + (square_radius - round_radius) * square
    return ((1.0 - radius) * (width + grow)).astype(np.float32), across.astype(np.float32), down.astype(np.float32)
