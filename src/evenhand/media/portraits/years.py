"""What age draws on a face: lines, folds, bags and spots, darker than the skin with a lit edge beside them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evenhand.media.portraits.anatomy import Anatomy
from evenhand.media.portraits.features import eye_centre
from evenhand.media.portraits.palette import Each
from evenhand.media.portraits.pixels import Arc, Canvas, column


def paint_years(canvas: Canvas, body: Anatomy) -> None:
    """All signs of age; each comes in over its own span of years."""
    _forehead(canvas.window(-0.5, 0.5, -0.75, 0.05), body)
    for sign in (-1, 1):
        left, right = (-0.62, 0.14) if sign < 0 else (-0.14, 0.62)
        _around_eye(canvas.window(left, right, -0.28, 0.34), body, sign)
        _fold(canvas.window(left, right, 0.05, 0.66), body, sign)
    part = canvas.window(-0.55, 0.55, -0.7, 0.4)
    for x, y in ((-0.27, 0.06), (0.25, -0.30), (0.30, 0.16), (-0.20, -0.40)):
        part.shade(part.ellipse((body.shift(0.10) + x, y), (0.020, 0.017), 2.5) * part.head, 0.26 * _since(body, 0.66))


def _forehead(part: Canvas, body: Anatomy) -> None:
    middle = body.shift(0.10)
    for order, y in enumerate((-0.255, -0.315, -0.375)):
        _line(part, Arc(middle, y, 0.235, -0.012, 0.0085), _since(body, 0.24 + 0.10 * order))
    for x in (-0.028, 0.028):
        _line(part, Arc(middle + x, -0.14, 0.010, 0.0, 0.045), 0.7 * _since(body, 0.45))


def _around_eye(part: Canvas, body: Anatomy, sign: int) -> None:
    eye = eye_centre(body, sign)
    _line(part, Arc(eye, 0.062, 0.088, -0.030, 0.010), 0.9 * _since(body, 0.16))
    _line(part, Arc(eye, 0.098, 0.080, -0.028, 0.008), _since(body, 0.52))
    for slope in (-0.022, 0.0, 0.022):
        _line(part, Arc(eye + sign * 0.155, -0.01 + slope * 0.9, 0.042, 0.0, 0.007, slope * sign), _since(body, 0.30))


def _since(body: Anatomy, start: float) -> Each:
    """0 before a share of the life drawn here, then rising to 1."""
    return np.asarray(np.clip((body.years - start) / 0.42, 0.0, 1.0), dtype=np.float32)


def _line(part: Canvas, curve: Arc, amount: Each) -> None:
    beside = replace(curve, y=curve.y + 0.022)
    part.shade(part.arc(curve, 1.8) * part.head, 0.50 * amount)
    part.glow(part.arc(beside, 2.0) * part.head, 0.15 * amount)


def _fold(part: Canvas, body: Anatomy, sign: int) -> None:
    """From the wing of the nose past the corner of the mouth; deeper with a smile."""
    drop = np.clip((part.y - 0.19) / 0.24, 0.0, 1.0)
    path = column(body.shift(0.125)) + sign * (0.105 + 0.085 * np.sqrt(drop))
    span = ((part.y > 0.19) & (part.y < 0.43)).astype(np.float32)
    depth = np.clip(0.55 * _since(body, 0.10) + 0.45 * _since(body, 0.45) + 0.22 * np.clip(body.get("smile"), 0, 1), 0, 1)
    fade = span * np.clip((0.43 - part.y) / 0.10, 0, 1) * part.head
    part.shade(part.cover(0.010 - np.abs(part.x - path), 2.2) * fade, 0.46 * depth)
    part.glow(part.cover(0.012 - np.abs(part.x - path - 0.026 * sign), 2.5) * fade, 0.14 * depth)
