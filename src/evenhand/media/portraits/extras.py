"""Glasses, earrings, and the light of the room over everything."""

from __future__ import annotations

import numpy as np

from evenhand.media.portraits.anatomy import Anatomy
from evenhand.media.portraits.features import eye_centre
from evenhand.media.portraits.pixels import Canvas, column

FRAME = np.array([0.10, 0.09, 0.10], np.float32)


def paint_glasses(canvas: Canvas, body: Anatomy) -> None:
    """Round or square frames with a bridge and temples, and a faint reflection."""
    worn = (body.get("glasses") > 0).astype(np.float32)
    if not worn.any():
        return
    part = canvas.window(-0.72, 0.72, -0.42, 0.36)
    square = column(body.is_value("glasses", 2))
    frame = np.zeros_like(part.x)
    for sign in (-1, 1):
        across = (part.x - column(eye_centre(body, sign))) / column((0.148 * body.side(sign)).astype(np.float32))
        down = part.y / (0.135 - 0.018 * square)
        circle = np.sqrt(across * across + down * down)
        box = np.sqrt(np.sqrt(across**4 + down**4))
        depth = (1.0 - (circle + (box - circle) * square)) * 0.135
        frame = np.maximum(frame, part.cover(0.013 - np.abs(depth)))
        part.glow(part.cover(depth) * np.clip(1 - np.abs(across + down + 0.5) / 0.25, 0, 1), 0.16 * worn)
        outer = column((sign * body.half_width).astype(np.float32)) - part.x
        temple = part.cover(0.011 - np.abs(part.y + 0.03)) * (outer * sign > -0.02) * (across * sign > 0.98)
        frame = np.maximum(frame, temple)
    bridge = part.cover(0.010 - np.abs(part.y + 0.02 - 2.2 * (part.x - column(body.shift(0.115))) ** 2))
    bridge = bridge * (np.abs(part.x - column(body.shift(0.105))) < 0.05)
    part.paint(np.broadcast_to(FRAME, (len(worn), 3)), np.maximum(frame, bridge) * column(worn) * 0.92)


def paint_earrings(canvas: Canvas, body: Anatomy) -> None:
    """Small golden dots under the ears."""
    worn = body.get("earrings")
    if not worn.any():
        return
    gold = np.broadcast_to(np.array([0.93, 0.78, 0.36], np.float32), (len(worn), 3))
    for sign in (-1, 1):
        part = canvas.window(min(0.75 * sign, 0.12 * sign), max(0.75 * sign, 0.12 * sign), -0.1, 0.5)
        centre = (sign * (body.half_width + 0.022) - body.shift(0.05)).astype(np.float32)
        part.paint(gold, part.ellipse((centre, 0.19), (0.026, 0.030)) * column(worn))
        part.glow(part.ellipse((centre - np.float32(0.006), 0.182), (0.009, 0.009)) * column(worn), 0.7)


def light_room(canvas: Canvas, body: Anatomy) -> None:
    """Brightness and warmth of the whole picture."""
    level = 1.0 + 0.16 * body.get("light_level")
    warm = body.get("light_warmth")
    gains = np.stack([level * (1 + 0.05 * warm), level, level * (1 - 0.08 * warm)], axis=1).astype(np.float32)
    canvas.picture[...] *= gains[:, :, None, None]
    np.clip(canvas.picture, 0.0, 1.0, out=canvas.picture)
