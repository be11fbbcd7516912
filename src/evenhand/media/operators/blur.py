"""Blur: a camera out of focus, or moved while the shutter was open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import require
from evenhand.media.operators.parts.mutated import Mutation, Skipped
from evenhand.media.operators.parts.order import ChangeOrder
from evenhand.media.operators.parts.whole_picture import seen_through

FOCUS = (0.0022, 0.0045)  # of the height, spread of a picture out of focus
MOVED = (0.009, 0.02)  # of the height, length of the smear


@dataclass(frozen=True)
class Blur:
    """Soft all over, or smeared in one direction."""

    adds: ClassVar[bool] = False
    is_null: ClassVar[bool] = False
    is_random: ClassVar[bool] = True
    is_whole: ClassVar[bool] = True
    is_usual: ClassVar[bool] = True

    def change(self, order: ChangeOrder, rng: np.random.Generator) -> Mutation | Skipped:
        """The scene blurred by one way or the other."""
        cv2 = require("cv2", "image")
        height, picture = order.scene.shape[0], order.scene.picture.astype(np.float32)
        if rng.random() < 0.5:
            spread = max(0.6, float(rng.uniform(*FOCUS)) * height)
            return seen_through("blur", order.scene, cv2.GaussianBlur(picture, (0, 0), spread), f"out of focus by {spread:.1f} pixels")
        long = max(3.0, float(rng.uniform(*MOVED)) * height)
        smeared = cv2.filter2D(picture, -1, _smear(long, float(rng.uniform(0, np.pi))), borderType=cv2.BORDER_REFLECT)
        return seen_through("blur", order.scene, smeared, f"moved by {long:.1f} pixels")


def _smear(long: float, angle: float) -> NDArray[np.float32]:
    """A line of this length through the middle, summing to one."""
    cv2 = require("cv2", "image")
    side = int(np.ceil(long)) | 1
    kernel = np.zeros((side, side), np.float32)
    middle, across, down = side / 2 - 0.5, np.cos(angle) * long / 2, np.sin(angle) * long / 2
    ends = [round(16 * value) for value in (middle - across, middle - down, middle + across, middle + down)]
    cv2.line(kernel, (ends[0], ends[1]), (ends[2], ends[3]), 1.0, 1, cv2.LINE_AA, 4)
    return np.asarray(kernel / kernel.sum(), np.float32)
