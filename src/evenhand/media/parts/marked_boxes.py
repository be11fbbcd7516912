"""Boxes of recognised objects drawn on a picture: what is kept in one line, what is lost in another, told apart by colour and by dashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.errors import require
from evenhand.media.scene import Picture
from evenhand.values import Box

KEPT, LOST = (0, 158, 115), (213, 94, 0)  # told apart by every kind of sight; lost ones are dashed as well
DASH = 6
"""Pixels of a dash, and of the gap behind it."""


@dataclass(frozen=True)
class MarkedBox:
    """One recognised object of a picture, and whether the changed picture lost it."""

    box: Box
    is_lost: bool = False


def with_boxes(picture: Picture, boxes: Sequence[MarkedBox], width: int) -> Picture:
    """The picture, at most so wide, with its boxes; lost ones on top."""
    cv2 = require("cv2", "image")
    scale = min(1.0, width / picture.shape[1])
    size = (max(1, round(picture.shape[1] * scale)), max(1, round(picture.shape[0] * scale)))
    drawn = np.ascontiguousarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA))
    for one in sorted(boxes, key=lambda each: each.is_lost):
        left, top, right, bottom = (round(value * scale) for value in one.box)
        if one.is_lost:
            _dashed(cv2, drawn, ((left, top), (right, top), (right, bottom), (left, bottom)))
        else:
            cv2.rectangle(drawn, (left, top), (right, bottom), KEPT, 1)
    return np.asarray(drawn, np.uint8)


def _dashed(cv2: Any, picture: Picture, corners: Sequence[Sequence[int]]) -> None:
    """A closed line of dashes through the corners, two pixels wide."""
    for first, second in zip(corners, [*corners[1:], corners[0]], strict=True):
        start, end = np.array(first, float), np.array(second, float)
        long = float(np.hypot(*(end - start)))
        step = (end - start) / max(long, 1e-9)
        for at in np.arange(0, max(long, 1), 2 * DASH):
            here, there = start + at * step, start + min(at + DASH, long) * step
            cv2.line(picture, tuple(np.rint(here).astype(int).tolist()), tuple(np.rint(there).astype(int).tolist()), LOST, 2)
