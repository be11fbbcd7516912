"""Hair behind the head, hair in front of it, and facial hair."""

from __future__ import annotations

import numpy as np

from evenhand.media.portraits.anatomy import CROWN, Anatomy, head_depth
from evenhand.media.portraits.palette import Each, Picture, Plane
from evenhand.media.portraits.pixels import Canvas, column

VOLUME = np.array([0.004, 0.016, 0.050, 0.105, 0.060, 0.050, 0.075, 0.036], np.float32)
"""How far the hair stands off the head, by style: shaved, cropped, side part, curls, bob, long, waves, bun."""
LENGTH = np.array([-9.0, -9.0, -9.0, 0.12, 0.42, 0.98, 0.86, -9.0], np.float32)
"""How far down it falls behind the head."""
FALL = np.array([0.34, 0.42, 0.40, 0.42, 0.95, 1.10, 1.05, 0.36], np.float32)
"""How far down it comes at the temples."""
SPREAD = np.array([0.0, 0.0, 0.0, 0.075, 0.075, 0.055, 0.095, 0.0], np.float32)
CURLY = np.array([0.0, 0.3, 0.15, 1.0, 0.0, 0.0, 0.45, 0.0], np.float32)


def _style(body: Anatomy, table: Plane) -> Each:
    return np.asarray(table[body.get("hair_style").astype(np.intp)], dtype=np.float32)


def _strands(part: Canvas, body: Anatomy) -> Picture:
    """Hair colour with strands or curls in it, and a soft sheen on the lit side."""
    curly, dark = _style(body, CURLY), body.hair.mean(axis=1)
    straight = np.sin(70.0 * part.x + 9.0 * part.y * part.x)
    curled = np.sin(37.0 * part.x + 2.6 * np.sin(23.0 * part.y + 1.0)) + np.sin(33.0 * part.y + 2.8 * np.sin(27.0 * part.x))
    grain = straight + (0.9 * curled - straight) * column(curly)
    lamp = part.x * column(body.get("light_side")) * 0.55 - 0.35 * (part.y + 0.3)
    light = 0.92 + 0.09 * grain + 0.42 * np.clip(lamp, -0.5, 0.8)
    sheen = np.exp(-(((part.y + 0.44 + 0.35 * part.x**2) / 0.07) ** 2)) * column((0.10 + 0.10 * dark) * (1.0 - 0.75 * curly))
    return np.asarray(np.clip(body.hair[:, :, None, None] * light[:, None] + sheen[:, None], 0.0, 1.0), dtype=np.float32)


def paint_back_hair(canvas: Canvas, body: Anatomy) -> None:
    """What is seen around and below the head: long styles, the bob, curls, the bun on top."""
    part = canvas.window(-0.85, 0.85, -1, 1)
    length, spread = _style(body, LENGTH), _style(body, SPREAD)
    x = np.abs(part.x - column(body.shift(0.0)))
    wave = 0.018 * np.sin(26.0 * part.y) * column(_style(body, CURLY))
    half = column(body.half_width + spread) + wave + 0.03 * np.clip(part.y, 0, 1)
    fallen = part.cover(np.minimum(np.minimum(half - x, column(length) - part.y - 0.25 * x), part.y + 0.12))
    outline = part.cover(head_depth(part, body, 0.10)[0]) * column((length > -1).astype(np.float32))
    bun = part.ellipse((body.shift(-0.05), CROWN - 0.06), (0.165, 0.135)) * column(body.is_value("hair_style", 7))
    alpha = np.maximum(np.maximum(fallen, outline * (part.y < column(length))), bun)
    part.paint(_strands(part, body) * np.float32(0.80), alpha)


def _hairline(part: Canvas, body: Anatomy) -> Plane:
    """The lower border of the hair in front: forehead, temples, sides; recedes with age, more with masculine cues."""
    across = np.clip((part.x - column(body.shift(0.03))) / column(body.half_width + 0.05), -1.2, 1.2)
    recede = np.clip(body.years - 0.25, 0, 1) * (0.16 - 0.13 * body.feminine)
    temples = np.clip(body.years - 0.20, 0, 1) * (0.20 - 0.17 * body.feminine)
    high = -0.395 - recede
    away = np.abs(across)
    edge = column(high.astype(np.float32)) - column(temples.astype(np.float32)) * np.exp(-(((away - 0.5) / 0.22) ** 2))
    steep = away**2
    edge = edge + column(_style(body, FALL)) * steep * steep * steep
    sweep = column(body.is_value("hair_style", 2)) * (0.085 * across + 0.02)
    parted = column(body.is_value("hair_style", 4, 5, 6)) * (0.05 - 0.19 * np.exp(-(((across - 0.08) / 0.34) ** 2)) + 0.10 * steep)
    curls = column(body.is_value("hair_style", 3)) * 0.016 * np.sin(30.0 * part.x)
    return np.asarray(edge + sweep + parted + curls, dtype=np.float32)


def paint_front_hair(canvas: Canvas, body: Anatomy) -> None:
    """The cap of hair over the skull, open at the face."""
    part = canvas.window(-0.85, 0.85, -1, 1)
    volume, style = _style(body, VOLUME), body.get("hair_style")
    alpha = np.zeros_like(part.x)
    for stand_off in np.unique(volume):
        chosen = np.flatnonzero(volume == stand_off)
        alpha[chosen] = part_of(part, chosen).cover(head_depth(part_of(part, chosen), subset(body, chosen), float(stand_off))[0])
    ripple = 0.5 * column(_style(body, CURLY)) * 0.03 * np.sin(40.0 * part.x) * np.sin(36.0 * part.y)
    edge = _hairline(part, body)
    alpha *= part.cover(edge + ripple - part.y, 1.5)
    low = np.where(_style(body, LENGTH) > -1, _style(body, LENGTH), np.float32(0.0))
    alpha *= part.cover(column(low) - part.y, 3.0)
    strength = np.where(style == 0, 0.20, np.where(style == 1, 0.82, 1.0)).astype(np.float32)
    part.paint(_strands(part, body), alpha * column(strength))
    part.shade(_under(part, edge) * column(np.where(style > 1, 0.16, 0.0).astype(np.float32)), 1.0)


def _under(part: Canvas, edge: Plane) -> Plane:
    """The shadow that hair throws on the forehead."""
    below = part.y - edge
    return np.asarray(np.clip(1.0 - below / 0.07, 0, 1) * (below > 0) * part.head, dtype=np.float32)


def paint_facial_hair(canvas: Canvas, body: Anatomy) -> None:
    """Stubble, moustache or beard; worn with masculine cues only."""
    worn = 1.0 - body.feminine
    if not (worn * body.get("facial_hair")).any():
        return
    part = canvas.window(-0.62, 0.62, -0.05, 0.85)
    depth, across, _ = head_depth(part, body, 0.012)
    inside = part.cover(depth)
    x = part.x - column(body.shift(0.115))
    cheek = 0.30 - 0.42 * np.clip(np.abs(across) - 0.45, 0, 1) - 0.02 * np.cos(7 * x)
    jaw = part.cover(part.y - cheek, 5.0) * inside
    lips = np.clip(1.0 - np.sqrt((x / 0.175) ** 2 + ((part.y - 0.375) / 0.075) ** 2), 0, 1) > 0
    jaw = jaw * np.where(lips, 0.0, 1.0)
    lip_line = 0.282 + 0.9 * x * x
    tache = part.cover(0.030 - np.abs(part.y - lip_line), 1.5) * part.cover(0.175 - np.abs(x), 2.0)
    grain = 0.92 + 0.08 * np.sin(74.0 * x + 18.0 * part.y * np.sign(x))
    colour = (body.brow * 0.9)[:, :, None, None] * grain[:, None]
    alpha = jaw * column(worn * (0.26 * body.is_value("facial_hair", 1) + 0.93 * body.is_value("facial_hair", 3)))
    alpha = np.maximum(alpha, tache * column(worn * 0.93 * body.is_value("facial_hair", 2, 3)))
    part.paint(colour.astype(np.float32), alpha.astype(np.float32))


def part_of(canvas: Canvas, chosen: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Canvas:
    """Copies of some of the pictures, for shapes that depend on the style."""
    return Canvas(canvas.picture[chosen], canvas.x[chosen], canvas.y[chosen], canvas.head[chosen], canvas.soft)


def subset(body: Anatomy, chosen: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Anatomy:
    """The anatomy of some of the heads."""
    return Anatomy(**{name: value[chosen] for name, value in vars(body).items()})
