"""The skin in another tone, and nothing else.

Nothing is drawn again: pixels of face and neck that have the face's own colour are made lighter or darker, so that hair, eyes, clothes,
surroundings, lines and the play of light stay what they are.  What skin is like on either side of the attribute is learnt from the
pictures: a skin of middle lightness on its own side becomes one of middle lightness on the other.  It is for attributes whose sides differ
in skin tone, written down or read from the pixels; of an ethnicity it changes the colour alone, and the jury says what that is worth.
Hands, and surroundings of the face's colour, are not told apart, so its twins are weighed as a learned editor's are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Pictures
from evenhand.errors import DataError
from evenhand.media.album import Album, as_bytes
from evenhand.media.aligned_face import Oval, places_of
from evenhand.media.picture_batches import batches
from evenhand.media.skin_tone import NEAR, FaceSkin, FaceZones, Unlit, from_lab, to_lab

if TYPE_CHECKING:
    from evenhand.contract import EditorTools

FEWEST = 8
"""Pictures of each side whose skin is found."""
QUANTILES = np.linspace(0.0, 1.0, 41)
LIGHTER_BY = 5.0
"""How much lighter in L* the skin of one side must be in the middle: two steps of the Monk scale lie as far apart."""
_MIDDLE = (0.25, 0.75)
"""Where among the other side's skins a twin may lie: at their edges it would hardly be told from its own side."""
_WIDER = np.array([2.0, 1.2, 1.2], np.float32)
"""Shadows and lit edges of a face are further from its middle than what is surely skin, in lightness above all."""
_RICHER = (0.5, 2.0)
"""How much paler and how much richer colours may become."""
_FADES = 0.4
"""From the border of skin to here, in multiples of the distance, a pixel counts less and less."""


@dataclass(frozen=True, eq=False)
class SkinShade:
    """Moves the colour of skin from one side of an attribute to the other.

    shades: for either side, the skins from the darkest to the lightest as L*, a* and b* in one brightness of light, (2, quantiles, 3).
    """

    attribute: str
    shades: NDArray[np.float64]

    learns: ClassVar[bool] = True

    @classmethod
    def made(cls, album: Album, attribute: str, tools: EditorTools) -> SkinShade:  # noqa: ARG003 - colours need no tools
        """From the colours of the skins on both sides."""
        sides = album.sides(attribute)
        colours = np.concatenate([_colours(album.pictures[part]) for part in batches(len(album), 16 * album.pictures[:1].nbytes)])
        shades = []
        for side, name in enumerate(album.attribute(attribute).values):
            found = colours[(sides == side) & ~np.isnan(colours[:, 0])]
            if len(found) < FEWEST:
                raise DataError(
                    f"skin was found in {len(found)} pictures with {attribute} {name!r}; editor skin_shade needs {FEWEST} of each"
                )
            shades.append(_by_lightness(found))
        middle = [shade[len(QUANTILES) // 2, 0] for shade in shades]
        if abs(middle[0] - middle[1]) < LIGHTER_BY:
            raise DataError(f"skin is as light on both sides of {attribute!r}: editor skin_shade changes nothing else; use another one")
        return cls(attribute, np.stack(shades))

    @property
    def flip(self) -> str:
        """Of skin alone."""
        return "skin in another shade"

    def twins(self, album: Album) -> Pictures:
        """The same pictures with skin as on the other side; as they are where no skin is found."""
        sides = album.sides(self.attribute)
        twins = np.array(album.pictures, dtype=np.uint8)
        for part in batches(len(album), 16 * album.pictures[:1].nbytes):
            twins[part] = self._shaded(np.asarray(album.pictures[part], np.float32), sides[part])
        return twins

    def _shaded(self, pictures: NDArray[np.float32], sides: NDArray[np.intp]) -> NDArray[np.uint8]:
        unlit = Unlit.of(pictures, has_tint=False)
        zones, area, shaded = FaceZones.of(pictures.shape[1]), _area(pictures.shape[1]), np.array(pictures)
        for place in np.flatnonzero(sides >= 0):
            lab = to_lab(unlit.pictures[place])
            skin = FaceSkin.of(lab, zones)
            if not skin.is_found:
                continue
            own = np.median(lab[skin.where], axis=0)
            moved = from_lab(self._moved(lab, float(own[0]), int(sides[place])))
            change = (moved - unlit.pictures[place]) / unlit.gains[place]
            shaded[place] += _skin_share(lab, own, area)[..., None] * change
        return as_bytes(shaded)

    def _moved(self, lab: NDArray[np.float32], lightness: float, side: int) -> NDArray[np.floating]:
        """Every colour moved as a skin of this lightness is: to its place among the skins of the other side, those at the border left out.

        Lightness goes by a power, so that black and white stay and nothing is cut off; colours become richer or paler, and keep their hue.
        """
        rank = float(np.interp(lightness, self.shades[side][:, 0], QUANTILES))
        own, other = _shade_at(self.shades[side], rank), _shade_at(self.shades[1 - side], float(np.clip(rank, *_MIDDLE)))
        bend = np.log(np.clip(other[0], 2, 98) / 100) / np.log(np.clip(lightness, 2, 98) / 100)
        bent = 100 * (np.clip(lab[..., 0], 0, 100) / 100) ** bend
        richer = np.clip(np.hypot(other[1], other[2]) / max(np.hypot(own[1], own[2]), 1.0), *_RICHER)
        return np.stack([bent, lab[..., 1] * richer, lab[..., 2] * richer], axis=-1)


def _shade_at(shades: NDArray[np.float64], rank: float) -> NDArray[np.float64]:
    """The colour at this place from the darkest to the lightest."""
    return np.array([np.interp(rank, QUANTILES, shades[:, channel]) for channel in range(3)])


def _by_lightness(colours: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quantiles of L*, and the a* and b* that go with each on a straight line, (quantiles, 3)."""
    lightness = np.quantile(colours[:, 0], QUANTILES)
    lines = [np.polyfit(colours[:, 0], colours[:, channel], 1) for channel in (1, 2)]
    return np.column_stack([lightness, *(np.polyval(line, lightness) for line in lines)])


def _colours(pictures: Pictures) -> NDArray[np.float64]:
    """The middle colour of each face's skin as L*, a* and b* in one brightness; not a number where no skin is found, (n, 3)."""
    unlit = Unlit.of(np.asarray(pictures, np.float32), has_tint=False).pictures
    zones = FaceZones.of(unlit.shape[1])
    found = np.full((len(unlit), 3), np.nan)
    for place, lab in enumerate(to_lab(unlit)):
        skin = FaceSkin.of(lab, zones)
        if skin.is_found:
            found[place] = np.median(lab[skin.where], axis=0)
    return found


def _area(side: int) -> NDArray[np.float32]:
    """Where a face and its neck may be: 1 inside, fading to 0 outside."""
    down, right = places_of(side)
    head = Oval(0.52, 0.5, 0.56, 0.44).far(side)
    neck = np.maximum(np.abs(right - 0.5) / 0.32, (0.75 - down) / 0.05 + 1)
    return np.clip((1.15 - np.minimum(head, neck)) / 0.15, 0, 1).astype(np.float32)


def _skin_share(lab: NDArray[np.float32], own: NDArray[np.float32], area: NDArray[np.float32]) -> NDArray[np.float32]:
    """How much of every pixel is skin, from 0 to 1: near to the skin's colour, and nearer than to what is at the picture's edges."""
    from scipy import ndimage

    reach = NEAR * _WIDER
    far = np.abs((lab - own) / reach).max(axis=2)
    share = np.clip((1 + _FADES - far) / _FADES, 0, 1)
    near = np.linalg.norm((lab - own) / reach, axis=2)
    for edge in _edges(lab):
        if (np.abs(edge - own) > NEAR).any():
            beside = np.linalg.norm((lab - edge) / reach, axis=2)
            share *= np.clip(2 * beside / (near + beside + 1e-6) - 0.2, 0, 1)
    closed = ndimage.grey_closing(share * area, size=max(3, lab.shape[0] // 20))  # brows and nostrils stay; single pixels are filled
    soft = ndimage.gaussian_filter(closed, lab.shape[0] / 80)
    return np.asarray(soft, np.float32)


def _edges(lab: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """The middle colours of the upper left and right edges: surroundings, or hair."""
    side = lab.shape[0]
    upper, strip = slice(0, int(0.6 * side)), max(1, side // 12)
    return [np.median(lab[upper, part].reshape(-1, 3), axis=0) for part in (slice(0, strip), slice(-strip, None))]
