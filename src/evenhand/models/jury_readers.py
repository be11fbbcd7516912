"""A reader of one attribute that the user brings: anything that `wrap` takes, asked about pictures.

Its answers are in the order of the attribute's values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand.arrays import Labels, Scores
from evenhand.contract import Pictures
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.errors import InvalidArgument, ModelError
from evenhand.media.parts.loose_pictures import LoosePictures
from evenhand.models.shown import ShownModel
from evenhand.models.wrap import wrap

FIRST = 200
"""Pictures that tell how a reader's answers are to be read."""


@dataclass(frozen=True, eq=False)
class ReadPictures:
    """Loose pictures with what is known of them, as `wrap` wants data."""

    medium: LoosePictures
    labels: Labels

    @property
    def domain(self) -> TabularDomain:
        """The numbers of the pictures."""
        return self.medium.domain

    @property
    def rows(self) -> Any:
        """Every picture."""
        return self.medium.rows


@dataclass(frozen=True, eq=False)
class JuryReader:
    """A wrapped reader that is asked about any pictures."""

    attribute: str
    classes: tuple[str, ...]
    wrapped: ShownModel

    def scores(self, pictures: Pictures) -> Scores:
        """One row of scores for each picture, in the order of the values."""
        medium = LoosePictures(pictures, Label(self.attribute, self.classes))
        return replace(self.wrapped, medium=medium).scores(medium.rows) if len(pictures) else np.zeros((0, len(self.classes)))


def jury_reader(
    given: Any, attribute: str, values: Sequence[str], pictures: Pictures, codes: Labels, *, trusted: bool = False
) -> JuryReader:
    """The user's reader of an attribute with these values; some pictures whose value is known tell how its answers are read."""
    some = np.flatnonzero(codes >= 0)[:FIRST]
    data = ReadPictures(LoosePictures(pictures[some], Label(attribute, tuple(values))), codes[some])
    try:
        wrapped = wrap(given, data, trusted=trusted)
    except ModelError as fault:  # told of "the model", which is another one here
        raise type(fault)(f"jury: the reader of {attribute!r} cannot be asked: {fault}") from fault
    if not isinstance(wrapped, ShownModel):
        raise InvalidArgument(f"jury: the reader of {attribute!r} is a {type(wrapped).__name__}, which takes no pictures")
    strange = [name for name in values if name not in wrapped.classes]
    if strange:
        raise InvalidArgument(f"jury: the reader of {attribute!r} knows {', '.join(map(str, wrapped.classes))} and not {strange[0]!r}")
    return JuryReader(attribute, tuple(values), wrapped)
