"""Classifiers of attributes that learn from a few hundred pictures: a small convolutional net with torch, else a linear reader.

They serve as an independent jury and as the readers that an editor fools; they are never the subject of a test.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from evenhand.arrays import Labels, Scores
from evenhand.contract import PictureModel, Pictures
from evenhand.errors import DataError
from evenhand.media.picture_batches import batches
from evenhand.models.preparation import resized

FEWEST_EPOCHS, MOST_EPOCHS, PICTURES_TO_SEE = 4, 20, 3_000
"""A reader sees so many pictures in training, the same ones again where there are few."""

MOST_COMPONENTS = 60
LARGEST = 64
"""The side of the pictures that readers see; larger ones are made smaller, some at a time, so that they take no more memory."""


def attribute_reader(pictures: Pictures, codes: Labels, values: tuple[str, ...], rng: np.random.Generator) -> PictureModel:
    """A classifier of these values, trained on the pictures whose code is known."""
    if pictures.shape[1] > LARGEST:
        return ShrunkReader(attribute_reader(_shrunk(pictures), codes, values, rng), LARGEST)
    known = np.flatnonzero(codes >= 0)
    if len(np.unique(codes[known])) < 2:
        raise DataError(f"of the values {', '.join(values)}, fewer than two are known for some picture: no classifier can learn them")
    if find_spec("torch") is None:
        return linear_reader(pictures[known], codes[known], values, rng)
    from evenhand.media.album import Album, Attribute
    from evenhand.models.picture_training import Course, train

    album = Album("attribute", np.asarray(pictures[known], dtype=np.uint8), {}, Attribute(values, codes[known]))
    epochs = min(MOST_EPOCHS, max(FEWEST_EPOCHS, round(PICTURES_TO_SEE / len(known))))
    return train("vgg", album, rng, Course(epochs=epochs))


@dataclass(frozen=True, eq=False)
class ShrunkReader:
    """A reader of smaller pictures, asked about large ones some at a time."""

    reader: PictureModel
    size: int

    @property
    def classes(self) -> tuple[str, ...]:
        """The values that it tells apart."""
        return self.reader.classes

    def scores(self, pictures: Pictures) -> Scores:
        """Of the pictures, made smaller."""
        return self.reader.scores(_shrunk(pictures)) if len(pictures) else np.zeros((0, len(self.classes)))


def _shrunk(pictures: Pictures) -> Pictures:
    """As large as a reader takes them, as bytes."""
    parts = (resized(pictures[part], LARGEST) for part in batches(len(pictures), pictures[:1].nbytes))
    return np.concatenate([np.rint(part).astype(np.uint8) for part in parts])


@dataclass(frozen=True, eq=False)
class LinearReader:
    """Logistic regression on the principal components of pictures."""

    classes: tuple[str, ...]
    fitted: Any  # a scikit-learn pipeline
    seen: tuple[int, ...]  # the codes that it has seen

    def scores(self, pictures: Pictures) -> Scores:
        """Probabilities; 0 for a value that no picture showed."""
        scores = np.zeros((len(pictures), len(self.classes)))
        if len(pictures):
            scores[:, list(self.seen)] = self.fitted.predict_proba(_flat(pictures))
        return scores


def linear_reader(pictures: Pictures, codes: Labels, values: tuple[str, ...], rng: np.random.Generator) -> LinearReader:
    """A linear classifier of these values."""
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    components = max(1, min(MOST_COMPONENTS, len(pictures) // 4))
    seed = int(rng.integers(2**31))
    steps = (PCA(components, random_state=seed), StandardScaler(), LogisticRegression(max_iter=2_000))
    fitted = make_pipeline(*steps).fit(_flat(pictures), codes)
    return LinearReader(values, fitted, tuple(int(code) for code in np.unique(codes)))


def _flat(pictures: Pictures) -> Any:
    return np.asarray(pictures, dtype=np.float64).reshape(len(pictures), -1) / 255.0
