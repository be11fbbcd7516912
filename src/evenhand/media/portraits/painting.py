"""render(): factors in, portraits out.  The order of the painters is the order of what lies in front."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Rows
from evenhand.limits import PortraitSize, check_argument
from evenhand.media.portraits import extras, features, hair, head, years
from evenhand.media.portraits.anatomy import Anatomy, anatomy
from evenhand.media.portraits.factors import check_factors
from evenhand.media.portraits.palette import Picture
from evenhand.media.portraits.pixels import Canvas

PIXELS_AT_ONCE = 1 << 17
"""Small enough that the planes of one batch stay in the cache."""

PAINTERS: tuple[Callable[[Canvas, Anatomy], None], ...] = (
    head.paint_backdrop,
    hair.paint_back_hair,
    head.paint_shoulders,
    head.paint_ears,
    head.paint_head,
    head.paint_flush,
    years.paint_years,
    features.paint_nose,
    features.paint_eyes,
    features.paint_mouth,
    hair.paint_facial_hair,
    features.paint_brows,
    extras.paint_earrings,
    hair.paint_front_hair,
    extras.paint_glasses,
    extras.light_room,
)


def render(factors: Rows, size: int = 64) -> NDArray[np.uint8]:
    """Portraits (n, size, size, 3).  Equal factors give equal pixels; nothing is random."""
    check_factors(factors)
    check_argument(PortraitSize, size=size)
    pictures = np.empty((len(factors), size, size, 3), np.uint8)
    for part, painted in _in_parts(factors, size):
        pictures[part] = np.moveaxis((painted * 255.0 + 0.5).astype(np.uint8), 1, 3)
    return pictures


def _in_parts(factors: Rows, size: int) -> Iterator[tuple[slice, Picture]]:
    step = max(1, PIXELS_AT_ONCE // (size * size))
    for start in range(0, len(factors), step):
        part = slice(start, min(start + step, len(factors)))
        yield part, _painted(factors[part], size)


def _painted(factors: Rows, size: int) -> Picture:
    body = anatomy(factors)
    canvas = Canvas.blank(len(factors), size, body.get("roll"), body.get("zoom"))
    for paint in PAINTERS:
        paint(canvas, body)
    return canvas.picture
