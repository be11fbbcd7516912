"""Compression: the picture stored as a small JPEG, as a phone or a messenger does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.errors import require
from evenhand.media.operators.parts.mutated import Mutation, Skipped
from evenhand.media.operators.parts.order import ChangeOrder
from evenhand.media.operators.parts.whole_picture import seen_through

QUALITY = (12, 32)


@dataclass(frozen=True)
class Compression:
    """A JPEG of low quality."""

    adds: ClassVar[bool] = False
    is_null: ClassVar[bool] = False
    is_random: ClassVar[bool] = True
    is_whole: ClassVar[bool] = True
    is_usual: ClassVar[bool] = True

    def change(self, order: ChangeOrder, rng: np.random.Generator) -> Mutation | Skipped:
        """The scene after being stored and read."""
        cv2 = require("cv2", "image")
        quality = int(rng.integers(*QUALITY))
        _, stored = cv2.imencode(".jpg", order.scene.picture[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
        read = cv2.imdecode(stored, cv2.IMREAD_COLOR)[..., ::-1]
        return seen_through("compression", order.scene, read.astype(np.float32), f"JPEG of quality {quality}")
