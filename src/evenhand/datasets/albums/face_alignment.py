"""Finding the face in a picture and bringing its eyes to the places where aligned faces have them.

OpenCV brings the finders along (Viola and Jones, 2001: faces from the front, and eyes).  They miss faces from the side, in the dark and
small ones, and may miss some groups more often than others: how many are left out is told by group, and belongs beside every figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import DataError, require
from evenhand.media.aligned_face import USUAL_PLACES

FACES = ("haarcascade_frontalface_alt2.xml", "haarcascade_frontalface_default.xml")
"""Finders of faces, the second one for pictures in which the first finds none."""
EYES = "haarcascade_eye_tree_eyeglasses.xml"
EDGE = 0.3
"""Around each picture its edge is repeated for so much of its side: in a close crop the face would reach over the border, and be missed."""
LARGEST = 640
"""Faces are looked for in pictures of at most this side."""
SMALLEST_FACE = 1 / 8
"""Of the shorter side of a picture."""
EYE_DOWN, EYE_APART = 0.39, 0.40
"""Where eyes usually are in the box of a face, for those that are not found: how far down and apart, in shares of its side."""


@dataclass(frozen=True)
class Eyes:
    """The two eyes in pixels, the one on the left of the picture first."""

    left: tuple[float, float]
    right: tuple[float, float]


def aligned(picture: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """The largest face of a picture (height, width, 3), turned and scaled into a square of this side; DataError where none is found."""
    cv2 = require("cv2", "image")
    eyes = _eyes_of(picture)
    (x1, y1), (x2, y2) = eyes.left, eyes.right
    wanted = USUAL_PLACES.eye_distance * size
    scale = wanted / max(float(np.hypot(x2 - x1, y2 - y1)), 1e-6)
    angle = float(np.degrees(np.arctan2(y2 - y1, x2 - x1)))
    middle = ((x1 + x2) / 2, (y1 + y2) / 2)
    turn = cv2.getRotationMatrix2D(middle, angle, scale)
    turn[:, 2] += (size / 2 - middle[0], USUAL_PLACES.eye_height * size - middle[1])
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    return np.asarray(cv2.warpAffine(picture, turn, (size, size), flags=how, borderMode=cv2.BORDER_REPLICATE), dtype=np.uint8)


def _eyes_of(picture: NDArray[np.uint8]) -> Eyes:
    cv2 = require("cv2", "image")
    shrink = min(1.0, LARGEST / max(picture.shape[:2]))
    small = picture if shrink == 1.0 else cv2.resize(picture, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
    grey = cv2.equalizeHist(cv2.cvtColor(np.ascontiguousarray(small), cv2.COLOR_RGB2GRAY))
    least, edge = max(24, int(min(grey.shape) * SMALLEST_FACE)), int(EDGE * min(grey.shape))
    wider = cv2.copyMakeBorder(grey, edge, edge, edge, edge, cv2.BORDER_REPLICATE)
    tried = (_finder(name).detectMultiScale(wider, 1.1, 4, minSize=(least, least)) for name in FACES)
    found = next((boxes for boxes in tried if len(boxes)), None)
    if found is None:
        raise DataError("no face was found in it (OpenCV's finders of faces from the front)")
    x, y, wide, high = (int(each) for each in max(found, key=lambda box: int(box[2])))
    eyes = _found_eyes(wider[y : y + int(0.6 * high), x : x + wide]) or _usual_eyes(wide, high)
    (x1, y1), (x2, y2) = eyes.left, eyes.right
    return Eyes(((x + x1 - edge) / shrink, (y + y1 - edge) / shrink), ((x + x2 - edge) / shrink, (y + y2 - edge) / shrink))


def _found_eyes(upper: NDArray[np.uint8]) -> Eyes | None:
    """The largest eye in each half of the upper part of a face; None unless both are there, about as high."""
    wide = upper.shape[1]
    boxes = _finder(EYES).detectMultiScale(upper, 1.05, 3, minSize=(max(8, wide // 8), max(8, wide // 8)))
    middles: list[list[tuple[int, float, float]]] = [[], []]
    for x, y, w, h in boxes:
        middles[int(x + w / 2 > wide / 2)].append((int(w), float(x + w / 2), float(y + h / 2)))
    if not (middles[0] and middles[1]):
        return None
    (_, x1, y1), (_, x2, y2) = (max(side) for side in middles)
    is_plausible = 0.25 * wide < x2 - x1 < 0.7 * wide and abs(y2 - y1) < 0.6 * (x2 - x1)
    return Eyes((x1, y1), (x2, y2)) if is_plausible else None


def _usual_eyes(wide: int, high: int) -> Eyes:
    half = EYE_APART * wide / 2
    return Eyes((wide / 2 - half, EYE_DOWN * high), (wide / 2 + half, EYE_DOWN * high))


@cache
def _finder(file: str) -> Any:
    cv2 = require("cv2", "image")
    return cv2.CascadeClassifier(cv2.data.haarcascades + file)
