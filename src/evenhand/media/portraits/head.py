"""Background, shoulders, neck, ears and the head itself, lit from one side."""

from __future__ import annotations

import numpy as np

from evenhand.media.portraits import palette
from evenhand.media.portraits.anatomy import Anatomy, head_depth
from evenhand.media.portraits.pixels import Arc, Canvas, column


def paint_backdrop(canvas: Canvas, body: Anatomy) -> None:
    """A studio wall: one muted hue, lighter around the head, darker in the corners."""
    tint = palette.hue(body.get("backdrop"), 0.38, 0.42 + 0.42 * body.get("backdrop_shade"))
    size = canvas.x.shape[2]
    line = np.linspace(-1.0, 1.0, size, dtype=np.float32)
    fall = 1.10 - 0.28 * (line[None, :] ** 2 + (line[:, None] + 0.2) ** 2) / 1.6
    canvas.picture[...] = tint[:, :, None, None] * fall
    canvas.glow(canvas.blob((0.45 * body.get("light_side"), -0.3), (1.0, 1.0)), 0.16)


def paint_shoulders(canvas: Canvas, body: Anatomy) -> None:
    """Clothes with a neckline, then the neck with the chin's shadow."""
    cloth = palette.hue(body.get("clothes"), 0.6, 0.62)
    part = canvas.window(-1, 1, 0.3, 1)
    broad = (0.80 - 0.10 * body.feminine).astype(np.float32)
    torso = part.ellipse((0.0, 1.28), (broad, 0.56))
    part.paint(cloth, torso)
    part.shade(torso * np.clip(0.5 - 0.6 * part.x * column(body.get("light_side")), 0, 1), 0.35)
    part.shade(part.arc(Arc(0.0, 0.93, 0.34, -0.12, 0.035)) * torso, 0.30)
    neck_width = (0.20 - 0.035 * body.feminine).astype(np.float32)
    flare = 0.9 * np.maximum(part.y - 0.66, 0.0) ** 2
    inside = part.cover(column(neck_width) + flare - np.abs(part.x - column(body.shift(0.01)))) * part.cover(part.y - 0.3)
    neckline = part.cover(0.87 - 0.10 * (part.x / 0.3) ** 2 - part.y)
    neck = inside * neckline
    part.paint(body.skin * 0.90, neck)
    part.shade(neck * np.clip(0.5 - 1.6 * part.x * column(body.get("light_side")), 0, 1), 0.28)
    part.shade(neck * part.blob((body.shift(0.04), body.chin + 0.02), (0.32, 0.19)), 0.55)
    part.shade(part.arc(Arc(0.0, 0.74, 0.16, 0.02, 0.010)) * neck, 0.22 * body.years)


def paint_ears(canvas: Canvas, body: Anatomy) -> None:
    """Ears at eye height; the one turned away slides behind the head."""
    for sign in (-1, 1):
        part = canvas.window(min(0.75 * sign, 0.12 * sign), max(0.75 * sign, 0.12 * sign), -0.45, 0.5)
        centre = (sign * (body.half_width + 0.012) - body.shift(0.05)).astype(np.float32)
        ear = part.ellipse((centre, 0.05), (0.062, 0.12))
        part.paint(body.skin * 0.93, ear)
        part.shade(part.ellipse((centre + np.float32(0.008 * sign), 0.05), (0.030, 0.075), 2.0) * ear, 0.30)


def paint_head(canvas: Canvas, body: Anatomy) -> None:
    """Skin over the whole head, modelled as a rounded body under one lamp."""
    part = canvas.window(-0.72, 0.72, -0.85, 0.9)
    depth, across, down = head_depth(part, body)
    front = np.sqrt(np.maximum(1.0 - np.minimum(across * across + down * down, 1.0), 0.0))
    lamp = across * column(0.55 * body.get("light_side") + 0.25 * body.yaw) - 0.28 * down + 0.80 * front
    light = 0.56 + 0.52 * np.clip(lamp, -0.2, 1.1)
    colour = body.skin[:, :, None, None] * light[:, None]
    colour[:, 1] *= 0.94 + 0.06 * np.clip(light, 0, 1)
    colour[:, 2] *= 0.90 + 0.10 * np.clip(light, 0, 1)
    part.head[...] = part.cover(depth)
    part.paint(np.minimum(colour, 1.0), part.head)


def paint_flush(canvas: Canvas, body: Anatomy) -> None:
    """Cheeks, the light on forehead, cheekbones and chin."""
    part = canvas.window(-0.6, 0.6, -0.75, 0.75)
    inside = part.head
    middle = body.shift(0.10)
    for sign in (-1, 1):
        cheek = part.blob((middle + np.float32(sign * 0.235), 0.17), (0.17, 0.13)) * inside
        part.paint(
            palette.mix(body.skin, palette.LIP_TINT, 0.45),
            cheek * column((0.12 + 0.12 * body.feminine - 0.06 * body.years) * (0.35 + 0.65 * body.skin.mean(axis=1))),
        )
        lit = np.clip(0.5 + 0.6 * sign * body.get("light_side"), 0.0, 1.0)
        part.glow(part.blob((middle + np.float32(sign * 0.21), 0.10), (0.12, 0.08)) * inside, 0.20 * lit)
    part.glow(part.blob((middle + 0.10 * body.get("light_side"), -0.33), (0.27, 0.16)) * inside, 0.17)
    part.glow(part.blob((middle, body.chin - 0.085), (0.10, 0.05)) * inside, 0.12)
    part.shade(part.blob((middle, body.chin - 0.155), (0.16, 0.035)) * inside, 0.22)
