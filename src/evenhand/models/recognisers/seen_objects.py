"""What is done with recognised objects: counting them by class, and keeping the best of boxes that overlap."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenhand.contract import Answer
from evenhand.errors import require
from evenhand.limits import Count, Limit, check_limits
from evenhand.media.vocabulary import Labels

OpenShare: TypeAlias = Annotated[float, Limit(above=0, below=1)]


def seen_counts(answer: Answer, labels: Labels) -> Counter[str]:
    """Objects of each canonical class in an answer."""
    return labels.counts(one.label for one in answer)


@dataclass(frozen=True)
class Suppression:
    """Which boxes are kept: a least score, and how far two boxes of a class may overlap."""

    least: OpenShare = 0.4
    overlap: OpenShare = 0.5
    most: Count = 100

    def __post_init__(self) -> None:
        check_limits(self)

    def keep(self, boxes: NDArray[np.float32], scores: NDArray[np.float32], classes: NDArray[np.intp]) -> list[int]:
        """Positions of the kept boxes (left, top, right, bottom), best first, class by class."""
        cv2 = require("cv2", "image")
        if not len(boxes):
            return []
        flat = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)
        kept = cv2.dnn.NMSBoxesBatched(flat.tolist(), scores.tolist(), classes.tolist(), self.least, self.overlap)
        return [int(place) for place in np.asarray(kept).ravel()[: self.most]]
