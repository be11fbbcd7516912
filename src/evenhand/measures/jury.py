"""Independent classifiers of attributes: trained on pictures that neither the editor nor the classifier under test has seen.

Imported only by code that has torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evenhand.errors import DataError
from evenhand.media.album import Album
from evenhand.models.picture_training import Course, train
from evenhand.models.torch import TorchClassifier

USUAL = Course(epochs=4)


def train_jury(album: Album, attributes: Sequence[str], rng: np.random.Generator, course: Course = USUAL) -> dict[str, TorchClassifier]:
    """One classifier per attribute, trained on the pictures whose attribute is known."""
    return {name: train("vgg", _labelled(album, name), rng, course) for name in attributes}


def _labelled(album: Album, name: str) -> Album:
    known = album[np.flatnonzero(album.attribute(name).codes >= 0)]
    if len(np.unique(known.attribute(name).codes)) < 2:
        raise DataError(f"attribute {name!r} of album {album.name!r} has fewer than two known values: no classifier can learn it")
    return replace(known, label=known.attribute(name))
