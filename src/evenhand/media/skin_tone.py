"""Skin tone read from the pixels of an aligned face: the individual typology angle, the nearest step of the Monk scale, and the light.

The light is taken out first: each colour is scaled so that the brightest part of the picture is white, and as bright in every picture
(white patch; Land and McCann, 1971).  Skin is what lies around cheeks, nose and forehead and has nearly their colour; of it, the lit half
counts.  ITA is the angle of (L* - 50, b*) in degrees (Chardon et al., 1991).  What regions of one face say differently is the reading's
error: pictures so near to the border between lighter and darker that this decides are left unknown.  A tone that is read is no person's
own word about it, and no ethnicity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals
from evenhand.contract import Pictures
from evenhand.media.album import UNKNOWN, Album, Attribute
from evenhand.media.aligned_face import USUAL_PLACES, FacePlaces, Oval, places_of
from evenhand.media.picture_batches import batches
from evenhand.media.portraits.palette import MONK

TONE, STEP, LIGHT = "skin_tone", "skin_tone_step", "light"
"""The names of what is read."""

BORDER = 30.0
"""Between lighter and darker: half-way between steps 5 and 6 of the Monk scale, 50 and 11 degrees."""
WHITE, BRIGHTEST = 235.0, 0.97
"""What the brightest three hundredths of a picture are scaled to; the darkest that are believed to be white are at an eighth of it."""
LIT = (0.4, 0.9)
"""The part of the skin that counts, from dark to bright: neither shadows nor shine."""
NEAR = np.array([22.0, 9.0, 12.0], np.float32)
"""How far skin may be from the face's own colour in L*, a* and b*."""
FEWEST_PIXELS = 8
NOTHING_KNOWN = 360.0
"""The error of an angle that may be any."""
LEAST_ERROR = 4.0
"""Degrees: how far readings of one drawn portrait under dim, bright, warm and cool light lie apart."""

_TO_XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]], np.float32)
_D65 = np.array([0.95047, 1.0, 1.08883], np.float32)


def to_lab(colours: NDArray[np.floating]) -> NDArray[np.float32]:
    """CIE L*a*b* of red, green and blue from 0 to 255, under daylight; the last axis holds the three.

    >>> to_lab(np.array([255.0, 255.0, 255.0])).round(1) + 0.0
    array([100.,   0.,   0.], dtype=float32)
    """
    values = np.asarray(colours, np.float32) / np.float32(255.0)
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4).astype(np.float32)
    parts = linear @ _TO_XYZ.T / _D65
    bent = np.where(parts > 0.008856, np.cbrt(parts), 7.787 * parts + 16 / 116)
    lab = (116 * bent[..., 1] - 16, 500 * (bent[..., 0] - bent[..., 1]), 200 * (bent[..., 1] - bent[..., 2]))
    return np.stack(lab, axis=-1).astype(np.float32)


def from_lab(lab: NDArray[np.floating]) -> NDArray[np.float32]:
    """Red, green and blue from 0 to 255; colours that no screen shows are the nearest that it does.

    >>> from_lab(to_lab(np.array([200.0, 120.0, 40.0]))).round()
    array([200., 120.,  40.], dtype=float32)
    """
    bright = (np.asarray(lab[..., 0], np.float32) + 16) / 116
    bent = np.stack([bright + lab[..., 1] / 500, bright, bright - lab[..., 2] / 200], axis=-1)
    parts = np.where(bent > 0.206893, bent**3, (bent - 16 / 116) / 7.787) * _D65
    linear = np.clip(parts @ np.linalg.inv(_TO_XYZ).T, 0.0, 1.0)
    values = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return (255.0 * values).astype(np.float32)


def typology_angle(lab: NDArray[np.floating]) -> Reals:
    """ITA in degrees, from 90 (light) to -90 (dark)."""
    angle: Reals = np.degrees(np.arctan2(lab[..., 0] - 50.0, lab[..., 2]))
    return angle


STEPS = typology_angle(to_lab(MONK * 255.0))
"""The angles of the ten steps of the Monk scale as published."""


@dataclass(frozen=True, eq=False)
class SkinTones:
    """What the pixels of every picture say.  angle: ITA.  error: its standard error.  light: how bright the picture is, of 255."""

    angle: Reals
    error: Reals
    light: Reals

    @property
    def steps(self) -> NDArray[np.intp]:
        """The nearest step of the Monk scale, 1 to 10."""
        nearest: NDArray[np.intp] = np.abs(self.angle[:, None] - STEPS).argmin(axis=1) + 1
        return nearest

    @cached_property
    def is_sure(self) -> Mask:
        """Whether it is clear on which side of the border a picture lies."""
        sure: Mask = np.abs(self.angle - BORDER) > 1.96 * self.error
        return sure

    @property
    def misread(self) -> Reals:
        """For the lighter and for the darker that are sure: the expected share that is on the other side in truth."""
        from scipy.special import ndtr

        chance = ndtr(-np.abs(self.angle - BORDER) / self.error)
        darker = self.angle < BORDER
        parts = [chance[self.is_sure & side] for side in (~darker, darker)]
        return np.array([float(part.mean()) if len(part) else 0.0 for part in parts])


@dataclass(frozen=True, eq=False)
class FaceZones:
    """Where skin is looked for in a picture of one size, where it surely is, and regions that are read by themselves."""

    wide: Mask
    sure: Mask
    regions: tuple[Mask, ...]

    @classmethod
    def of(cls, side: int, at: FacePlaces = USUAL_PLACES) -> FaceZones:
        """For pictures with so many pixels at a side."""
        down, right = places_of(side)
        across, eyes, mouth = np.abs(right - 0.5), at.eye_height, at.mouth_height
        middle = (eyes + mouth) / 2
        face = Oval(0.54, 0.5, 0.42 * at.face_height, 0.42 * at.face_width).far(side) < 1
        dark = (np.abs(down - eyes) < 0.08) | ((np.abs(down - at.brow_height - 0.03) < 0.04) & (across < 0.3))
        lips = (np.abs(down - mouth) < 0.08) & (across < 0.16)
        cheeks = (np.abs(down - middle) < 0.08) & (across < 0.24)
        forehead = (np.abs(down - at.brow_height + 0.05) < 0.04) & (across < 0.12)
        wide = face & ~dark & ~lips
        left = right < 0.5
        return cls(wide, cheeks | forehead, (cheeks & left, cheeks & ~left, wide & (down < eyes), wide & (down > mouth - 0.1)))


def skin_tones(pictures: Pictures, places: FacePlaces = USUAL_PLACES) -> SkinTones:
    """Read every picture of an aligned face; a few at a time.

    >>> grey = np.full((1, 32, 32, 3), 200, np.uint8)
    >>> int(skin_tones(grey).light[0])
    200
    """
    zones = FaceZones.of(pictures.shape[1], places)
    found = [_some(np.asarray(pictures[part], np.float32), zones) for part in batches(len(pictures), 4 * pictures[:1].nbytes)]
    return SkinTones(*(np.concatenate([getattr(one, name) for one in found]) for name in ("angle", "error", "light")))


@dataclass(frozen=True, eq=False)
class Unlit:
    """Pictures as they would be in one white light.

    gains: what their colours were multiplied by, (n, 3).  light: how bright each of them was, of 255.
    """

    pictures: NDArray[np.float32]
    gains: NDArray[np.float32]
    light: Reals

    @classmethod
    def of(cls, pictures: NDArray[np.float32], has_tint: bool = True) -> Unlit:
        """By the brightest part of each picture, which is taken to be white, or to be as bright as white but of any colour."""
        flat = pictures.reshape(len(pictures), -1, 3)
        light = np.quantile(flat.max(axis=2), BRIGHTEST, axis=1)
        white = np.maximum(np.quantile(flat, BRIGHTEST, axis=1), 1.0)
        tint = white / white.max(axis=1, keepdims=True)
        tints = tint.mean(axis=1, keepdims=True) / tint if has_tint else np.ones_like(tint)
        gains = tints * (WHITE / np.maximum(light, WHITE / 8))[:, None]
        scaled = np.clip(pictures * gains.astype(np.float32)[:, None, None], 0, 255)
        return cls(scaled, gains.astype(np.float32), light.astype(np.float64))


def _some(pictures: NDArray[np.float32], zones: FaceZones) -> SkinTones:
    unlit = Unlit.of(pictures)
    read = np.array([_one(picture, zones) for picture in to_lab(unlit.pictures)]).reshape(-1, 2)
    return SkinTones(read[:, 0], read[:, 1], unlit.light)


@dataclass(frozen=True, eq=False)
class FaceSkin:
    """Where one face shows its skin for sure, and the colour of it as L*, a* and b*."""

    centre: NDArray[np.float32]
    where: Mask

    @classmethod
    def of(cls, lab: NDArray[np.float32], zones: FaceZones) -> FaceSkin:
        """What has nearly the colour of cheeks and forehead; where too little has, `centre` is theirs."""
        centre = np.median(lab[zones.sure], axis=0)
        is_skin = zones.wide & (np.abs(lab - centre) < NEAR).all(axis=2)
        centre = np.median(lab[is_skin], axis=0) if is_skin.sum() >= FEWEST_PIXELS else centre
        return cls(centre, zones.wide & (np.abs(lab - centre) < NEAR).all(axis=2))

    @property
    def is_found(self) -> bool:
        """Whether enough of it looks like one skin."""
        return int(self.where.sum()) >= FEWEST_PIXELS


def _one(lab: NDArray[np.float32], zones: FaceZones) -> NDArray[np.float64]:
    """The angle of one face and its error."""
    skin = FaceSkin.of(lab, zones)
    is_skin = skin.where
    if not skin.is_found:
        return np.array([float(typology_angle(skin.centre)), NOTHING_KNOWN])  # nothing there looks like one skin: nothing is known
    parts = [float(typology_angle(np.median(lab[is_skin & part], axis=0))) for part in zones.regions if (is_skin & part).any()]
    spread = float(np.std(parts, ddof=1) / np.sqrt(len(parts))) if len(parts) > 1 else NOTHING_KNOWN
    return np.array([float(typology_angle(_lit(lab[is_skin]))), float(np.hypot(spread, LEAST_ERROR))])


def _lit(skin: NDArray[np.float32]) -> NDArray[np.float32]:
    low, high = np.quantile(skin[:, 0], LIT)
    lit: NDArray[np.float32] = np.median(skin[(skin[:, 0] >= low) & (skin[:, 0] <= high)], axis=0)
    return lit


def with_tones(album: Album, tones: SkinTones | None = None) -> Album:
    """The album with what its pixels say beside what was known: lighter or darker (unknown where unsure), the step, and the light."""
    read = skin_tones(album.pictures) if tones is None else tones
    side = np.where(read.is_sure, (read.angle < BORDER).astype(np.intp), UNKNOWN)
    dim = (read.light < np.median(read.light)).astype(np.intp)
    told = {
        TONE: Attribute(("lighter", "darker"), side.astype(np.intp)),
        STEP: Attribute(tuple(f"monk {step}" for step in range(1, 11)), (read.steps - 1).astype(np.intp)),
        LIGHT: Attribute(("brighter", "dimmer"), dim.astype(np.intp)),
    }
    return replace(album, attributes={**album.attributes, **told})
