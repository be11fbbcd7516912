"""A function from pictures or texts to one number each, such as an age in years, as a model of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from evenhand.arrays import Rows, Scores
from evenhand.contract import Medium
from evenhand.errors import WrongAnswer
from evenhand.media.picture_batches import PICTURES_AT_ONCE, pictures_at_once
from evenhand.models.changed_pictures import ChangedPictures, shows_people
from evenhand.models.inputs import fingerprint_by_answers, guarded


@dataclass(frozen=True, eq=False)
class ShownAmounts:
    """A regression behind a medium: the medium shows, the function says a number."""

    medium: Medium
    function: Callable[[Any], Any]
    batch_rows: int = PICTURES_AT_ONCE

    classes: ClassVar[tuple[str, ...]] = ("amount",)
    is_hard: ClassVar[bool] = False
    is_costly: ClassVar[bool] = True

    @classmethod
    def behind(cls, medium: Medium, function: Callable[[Any], Any]) -> ShownAmounts:
        """Asked about as many pictures at once as their size allows."""
        return cls(medium, function, pictures_at_once(getattr(medium, "picture_bytes", 0)))

    @property
    def reading(self) -> str:
        """How its answers are read."""
        label = self.medium.domain.label
        return f"it says an amount{f' in {label.unit}' if label is not None and label.unit else ''}"

    def scores(self, rows: Rows) -> Scores:
        """One number per row, (n, 1)."""
        shown = self.medium.show(rows)
        answer = np.asarray(guarded(lambda: self.function(shown), "the regression"))
        if answer.size != len(rows) or answer.dtype.kind not in "fiub":
            raise WrongAnswer(
                f"the regression answered {len(rows)} pictures with {answer.dtype} of shape {answer.shape}; expected one number for each.  "
                "Of several, as of one score for every year, wrap a function that makes one number"
            )
        return answer.reshape(len(rows), 1).astype(np.float64)

    def seen_otherwise(self, change: Callable[[Any], Any]) -> ShownAmounts | None:
        """The same function, for which pictures are changed first; None where it is shown something else."""
        return replace(self, medium=ChangedPictures(self.medium, change)) if shows_people(self.medium) else None

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint_by_answers("amounts", self.scores, self.medium.domain)

    def fingerprint(self) -> str:
        """A digest of the answers to fixed rows."""
        return self._fingerprint
