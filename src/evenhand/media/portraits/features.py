"""Eyes, brows, nose and mouth."""

from __future__ import annotations

import numpy as np

from evenhand.media.portraits import palette
from evenhand.media.portraits.anatomy import Anatomy
from evenhand.media.portraits.palette import Each
from evenhand.media.portraits.pixels import Arc, Canvas, column

WHITE = np.array([0.95, 0.94, 0.92], np.float32)


def eye_centre(body: Anatomy, sign: int) -> Each:
    """Where an eye sits across the face."""
    return np.asarray(body.shift(0.105) + np.float32(sign) * np.float32(0.185) * body.side(sign), dtype=np.float32)


def _half(canvas: Canvas, sign: int, top: float, bottom: float) -> Canvas:
    left, right = (-0.62, 0.16) if sign < 0 else (-0.16, 0.62)
    return canvas.window(left, right, top, bottom)


def paint_eyes(canvas: Canvas, body: Anatomy) -> None:
    """Socket, white, iris, pupil, glint, lids and lashes."""
    for sign in (-1, 1):
        _paint_eye(_half(canvas, sign, -0.40, 0.28), body, sign)


def _paint_eye(part: Canvas, body: Anatomy, sign: int) -> None:
    x, y = eye_centre(body, sign), np.float32(-0.02)
    size = 1.0 + 0.13 * body.get("eye_size") + 0.06 * body.feminine - 0.05 * body.years
    reach = (0.096 * size * body.side(sign)).astype(np.float32)
    squint = 1.0 - 0.22 * np.clip(body.get("smile"), 0, 1) - 0.18 * body.years
    upper, lower = (0.062 * size * squint).astype(np.float32), (0.040 * size * squint).astype(np.float32)
    part.shade(part.blob((x, y - np.float32(0.03)), (0.17, 0.12)), 0.20)
    along = (part.x - column(x)) / column(reach)
    bend = np.minimum(along * along, 1.0)
    tilt = 0.010 * along * sign
    top = part.y - (y - tilt - column(upper) * (1 - bend))
    bottom = (y - tilt + column(lower) * (1 - bend)) - part.y
    inside = part.cover(np.minimum(top, bottom)) * (np.abs(along) < 1.0)
    part.paint(np.broadcast_to(WHITE, (len(x), 3)), inside)
    gaze = (x + body.shift(0.012)).astype(np.float32)
    iris = palette.EYES[body.get("eye_colour").astype(np.intp)]
    part.paint(iris, part.ellipse((gaze, y - 0.008), (0.047, 0.049)) * inside)
    part.paint(iris * 0.22, part.ellipse((gaze, y - 0.008), (0.023, 0.024)) * inside)
    part.shade(inside * np.clip(1.0 - top / 0.035, 0, 1), 0.45)
    glint = part.ellipse((gaze + 0.018 * np.sign(body.get("light_side")), y - 0.026), (0.012, 0.012), 1.4)
    part.glow(glint * inside, 0.85)
    lash = (0.010 + 0.007 * body.feminine).astype(np.float32)
    lid = part.arc(
        Arc(x, (y - upper).astype(np.float32), reach * np.float32(1.16), upper * np.float32(1.1), lash, np.float32(-0.012 * sign))
    )
    part.paint(np.full((len(x), 3), 0.07, np.float32), lid * column(0.72 + 0.25 * body.feminine))
    part.shade(part.arc(Arc(x, (y - upper - 0.034).astype(np.float32), reach * np.float32(1.05), upper * np.float32(0.9), 0.007)), 0.42)
    part.shade(part.arc(Arc(x, (y + lower).astype(np.float32), reach, -lower, 0.006)), 0.34)


def paint_brows(canvas: Canvas, body: Anatomy) -> None:
    """Thicker and straighter with masculine cues, thinner and arched with feminine ones."""
    for sign in (-1, 1):
        part = _half(canvas, sign, -0.50, 0.10)
        x = (eye_centre(body, sign) + np.float32(sign * 0.008)).astype(np.float32)
        lift = (0.155 + 0.018 * body.feminine - 0.010 * body.years + 0.012 * body.get("smile")).astype(np.float32)
        width = (0.030 - 0.013 * body.feminine).astype(np.float32)
        rise = (0.024 + 0.030 * body.feminine).astype(np.float32)
        slope = np.float32(sign) * (0.012 - 0.012 * body.feminine).astype(np.float32)
        stroke = part.arc(Arc(x, -lift, (0.150 * body.side(sign)).astype(np.float32), rise, width, slope), 1.6)
        part.paint(body.brow, stroke * 0.88)


def paint_nose(canvas: Canvas, body: Anatomy) -> None:
    """Shadow along the bridge on the dark side, a lit ridge, the tip and two nostrils."""
    part = canvas.window(-0.34, 0.34, -0.3, 0.42)
    size = 1.0 + 0.22 * body.get("nose_size") - 0.10 * body.feminine + 0.10 * body.years
    tip, root = body.shift(0.155), body.shift(0.115)
    drop = np.clip((part.y + 0.10) / 0.28, 0.0, 1.0)
    ridge = column(root) + (column(tip) - column(root)) * drop
    span = (part.y > -0.10) & (part.y < 0.19)
    wide = column((0.026 * size).astype(np.float32)) * (1.0 + 0.9 * drop)
    dark = -np.sign(body.get("light_side") + 0.01).astype(np.float32)
    flank = np.clip(1.0 - np.abs(part.x - ridge - column(dark) * wide * 1.25) / (wide * 1.1), 0, 1) * span
    part.shade(flank, 0.30)
    part.glow(np.clip(1.0 - np.abs(part.x - ridge) / (wide * 0.8), 0, 1) * span, 0.16)
    reach = (0.072 * size).astype(np.float32)
    part.glow(part.blob((tip, 0.165), (0.055, 0.045)), 0.20)
    part.shade(part.blob((tip, 0.225), (reach * np.float32(1.5), 0.045)), 0.34)
    for sign in (-1, 1):
        wing = (tip + sign * reach * body.side(sign)).astype(np.float32)
        part.shade(part.blob((wing + np.float32(sign * 0.010), 0.19), (0.030, 0.045)), 0.32)
        part.shade(part.ellipse((tip + sign * reach * 0.52, 0.205), (0.024, 0.013), 1.6), 0.62)


def paint_mouth(canvas: Canvas, body: Anatomy) -> None:
    """Two lips that follow the smile; parted lips show teeth when smiling, else the dark of the mouth."""
    part = canvas.window(-0.42, 0.42, 0.12, 0.68)
    x, y = body.shift(0.115), np.float32(0.355)
    smile, parted = body.get("smile"), body.get("mouth_open")
    reach = (0.135 + 0.032 * np.clip(smile, 0, 1) - 0.008 * body.feminine).astype(np.float32)
    rise = (-0.052 * smile).astype(np.float32)
    full = (0.036 * (1 + 0.30 * body.get("lip_size")) * (1 + 0.28 * body.feminine - 0.28 * body.years)).astype(np.float32)
    gape = (0.052 * np.maximum(parted - 0.35, 0) / 0.65).astype(np.float32)
    along = (part.x - column(x)) / column(reach)
    bend = np.minimum(along * along, 1.0)
    open_up = np.asarray(1.0 - bend, dtype=np.float32)
    middle = y + column(rise) * (bend - 0.35)
    notch = 0.30 * np.exp(-((along / 0.22) ** 2))
    high = middle - column(gape) * 0.35 * open_up
    low = middle + column(gape) * open_up
    width = np.abs(along) < 1.0
    tint = palette.mix(
        palette.mix(body.skin * 0.80, palette.LIP_TINT, 0.42), np.array([0.66, 0.16, 0.20], np.float32), 0.30 * body.feminine[:, None]
    )
    upper = part.cover(np.minimum(part.y - (high - column(full) * open_up * (0.78 - notch)), low - part.y)) * width
    lower = part.cover(np.minimum(part.y - high, low + column(full) * open_up * 1.05 - part.y)) * width
    part.paint(np.asarray(tint * 0.90, np.float32), upper)
    part.paint(np.asarray(tint, np.float32), lower)
    part.glow(part.blob((x, y + gape + full * np.float32(0.5)), (0.06, 0.02)) * lower, 0.24)
    gap = part.cover(np.minimum(part.y - high, low - part.y)) * width * column(np.clip(gape / 0.01, 0, 1))
    teeth = np.clip(0.35 + smile, 0.0, 1.0)[:, None] * np.array([0.93, 0.91, 0.87], np.float32) + (1 - np.clip(0.35 + smile, 0, 1))[
        :, None
    ] * np.array([0.22, 0.07, 0.07], np.float32)
    part.paint(teeth.astype(np.float32), gap)
    line = part.cover(0.006 - np.abs(part.y - np.where(column(gape) > 0.004, high, middle))) * width
    part.shade(line, 0.62)
    part.shade(part.arc(Arc(x, (y + full + gape + 0.050).astype(np.float32), 0.085, 0.0, 0.012), 3.0), 0.22)
