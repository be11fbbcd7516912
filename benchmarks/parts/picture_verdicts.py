"""Fair and leaning classifiers of drawn portraits, and how often the verdict on pictures blames the one and finds the other.

A fair classifier learns age groups, whether the wall is dark or light, or the colour of a badge in a corner, from portraits and their
exact twins in tone.  A leaning one adds to the score of the last class where the middle of the face is dark, so much that its share
changes by the wished number of points between exact twins.  Age is what editors of a face disturb most; the wall behind it is what they
should leave alone, and a badge, which is in neither, what they can be hoped to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from evenhand.arrays import Index
from evenhand.campaign.opened_project import editor_tools
from evenhand.contract import StudyCase
from evenhand.datasets.album_data import from_album
from evenhand.datasets.dataset import Dataset
from evenhand.engine.gate import Gate, Ruling
from evenhand.measures.studies.leaning import LeaningStudy
from evenhand.media.album import Album, Attribute
from evenhand.media.editors import editor_for
from evenhand.media.portraits.factors import place
from evenhand.models.function import FunctionClassifier
from evenhand.models.meter import Meter
from evenhand.models.wrap import wrap
from evenhand.planted.portraits import AGE_GROUPS, synthetic_faces

SIZE = 32
TRAINED_ON = 1500
LEARNT_FROM = 300
TOLERANCE = 0.05
CLASSES = {"age_group": AGE_GROUPS, "wall": ("dark", "light"), "badge": ("blue", "green")}
BADGES = np.array([[40, 90, 200], [40, 160, 80]], dtype=np.uint8)
"""Colours that no skin has."""
STEEPEST = 60.0


def linear(seed: int) -> Any:
    """Logistic regression on principal components."""
    from sklearn.linear_model import LogisticRegression

    return _on_components(60, LogisticRegression(max_iter=1000), seed)


def perceptron(seed: int) -> Any:
    """A net with one hidden layer."""
    from sklearn.neural_network import MLPClassifier

    return _on_components(60, MLPClassifier((48,), max_iter=60, random_state=seed), seed)


def forest(seed: int) -> Any:
    """Trees on principal components."""
    from sklearn.ensemble import RandomForestClassifier

    return _on_components(30, RandomForestClassifier(80, min_samples_leaf=3, random_state=seed), seed)


def _on_components(components: int, last: Any, seed: int) -> Any:
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(PCA(components, random_state=seed), StandardScaler(), last)


ARCHITECTURES: dict[str, Callable[[int], Any]] = {"linear": linear, "perceptron": perceptron, "forest": forest}


@dataclass(frozen=True, eq=False)
class PortraitClassifier:
    """Classes from pixels; `slope` is added to the logarithm of the last one's probability where the face is dark.

    least: what a probability is at least.  Nets are so sure that many would be alike with a larger one, and lean all at once.
    """

    fitted: Any
    threshold: float = 0.0
    slope: float = 0.0
    least: float = 1e-6

    def __call__(self, pictures: np.ndarray) -> np.ndarray:
        """Probabilities of the classes."""
        shares = np.clip(self.fitted.predict_proba(_flat(pictures)), self.least, 1.0)
        return tilted(shares, self.slope * (_light(pictures) < self.threshold))


def tilted(shares: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Probabilities with so much added to the logarithm of the last class's."""
    changed = np.column_stack([shares[:, :-1], shares[:, -1] * np.exp(slopes)])
    return changed / changed.sum(axis=1, keepdims=True)


def _flat(pictures: np.ndarray) -> np.ndarray:
    return np.asarray(pictures, dtype=np.float32).reshape(len(pictures), -1) / 255.0


def _light(pictures: np.ndarray) -> np.ndarray:
    """Mean light of the middle of the face."""
    side = pictures.shape[1]
    part = slice(int(side * 0.45), int(side * 0.6))
    return np.asarray(pictures[:, part, part], dtype=np.float32).mean(axis=(1, 2, 3))


def labelled(album: Album, label: str) -> Album:
    """Drawn portraits with this label."""
    if label == "age_group":
        return album
    if label == "badge":
        badge = Attribute(CLASSES["badge"], _badge_codes(len(album)))
        shown = badged(album.pictures, badge.codes)
        return replace(album, pictures=shown, label=badge, attributes={**album.attributes, "badge": badge}, factors=None)
    assert album.factors is not None
    is_light = album.factors[:, place("backdrop_shade")] > 0.5
    wall = Attribute(CLASSES["wall"], is_light.astype(np.intp))
    return replace(album, label=wall, attributes={**album.attributes, "wall": wall})


def _badge_codes(count: int) -> np.ndarray:
    """Who wears which: by lot, alike whenever so many are asked for."""
    return np.random.default_rng([count, 6]).integers(0, len(BADGES), count).astype(np.intp)


def badged(pictures: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Pictures with a badge in the upper corner, a fifth of the side wide."""
    side = pictures.shape[1] // 5
    shown = np.asarray(pictures, dtype=np.uint8).copy()
    shown[:, 1 : 1 + side, 1 : 1 + side] = BADGES[codes][:, None, None]
    return shown


@cache
def lessons(seed: int, label: str = "age_group") -> Album:
    """What fair classifiers learn from: portraits and their exact twins, so that tone says nothing about the label."""
    drawn = synthetic_faces(TRAINED_ON, np.random.default_rng([seed, 1]), SIZE)
    return with_exact_twins(drawn, label, seed)


def with_exact_twins(drawn: Album, label: str, seed: int) -> Album:
    """Portraits, and their exact twins in tone with the same label."""
    album = labelled(drawn, label)
    twins = editor_for("rerender", drawn, "tone", editor_tools(seed)).twins(drawn).astype(np.uint8)
    shown = badged(twins, album.label.codes) if label == "badge" else twins
    double = np.tile(np.arange(len(album)), 2)
    return replace(album[double], pictures=np.concatenate([album.pictures, shown]), factors=None)


def fair(architecture: str, seed: int, label: str = "age_group") -> PortraitClassifier:
    """Trained on portraits whose tone says nothing about the label."""
    album = lessons(seed, label)
    return PortraitClassifier(ARCHITECTURES[architecture](seed).fit(_flat(album.pictures), album.label.codes))


@dataclass(frozen=True, eq=False)
class ExactPairs:
    """The same portraits in light and in dark."""

    light: np.ndarray
    dark: np.ndarray

    @classmethod
    def drawn(cls, count: int, seed: int, label: str = "age_group") -> ExactPairs:
        """So many portraits, each drawn twice."""
        album = synthetic_faces(count, np.random.default_rng([seed, 2]), SIZE)
        own, twins = np.split(with_exact_twins(album, label, seed).pictures, 2)
        is_dark = (album.attribute("tone").codes == 1)[:, None, None, None]
        return cls(np.where(is_dark, twins, own), np.where(is_dark, own, twins))

    def nets(self, classifier: PortraitClassifier) -> np.ndarray:
        """How much more often each class is said in the dark."""
        light, dark = (_shares(classifier(pictures)) for pictures in (self.light, self.dark))
        return dark - light


def _shares(scores: np.ndarray) -> np.ndarray:
    """How often each class is said."""
    return np.bincount(scores.argmax(axis=1), minlength=scores.shape[1]) / len(scores)


@cache
def _planting_pairs(seed: int, label: str) -> ExactPairs:
    return ExactPairs.drawn(1500, seed, label)


def leaning(start: PortraitClassifier, points: float, seed: int, label: str = "age_group") -> PortraitClassifier:
    """The same classifier with a slope under which exact twins differ by so many points in the last class."""
    pairs = _planting_pairs(seed, label)
    threshold = float((np.median(_light(pairs.light)) + np.median(_light(pairs.dark))) / 2)
    said = [(start(pictures), _light(pictures) < threshold) for pictures in (pairs.light, pairs.dark)]
    low, high = 0.0, STEEPEST
    for _ in range(16):
        slope = (low + high) / 2
        light, dark = (tilted(shares, slope * is_dark).argmax(axis=1) == shares.shape[1] - 1 for shares, is_dark in said)
        low, high = (slope, high) if dark.mean() - light.mean() < points else (low, slope)
    return replace(start, threshold=threshold, slope=high)


def drawn_portraits(count: int, seed: int, correlated: bool, label: str) -> tuple[Album, Index]:
    """Portraits, and which of them are tested.

    Where label and tone go together, people of the last class are dark three times as often as light.
    """
    rng = np.random.default_rng([seed, 3])
    drawn = synthetic_faces(2 * count if correlated else count, rng, SIZE)
    if not correlated:
        return drawn, np.arange(count)
    album = labelled(drawn, label)
    last, dark = album.label.codes == len(album.label.values) - 1, album.attribute("tone").codes == 1
    kept = rng.random(len(album)) < np.where(last == dark, 0.9, 0.3)
    return drawn, np.flatnonzero(kept)[:count]


def portraits(count: int, seed: int, correlated: bool, label: str = "age_group") -> Album:
    """Portraits to test on."""
    drawn, kept = drawn_portraits(count, seed, correlated, label)
    return labelled(drawn, label)[kept]


def opened(editor: str, count: int, seed: int, correlated: bool = False) -> Dataset:
    """The portraits under an editor of tone that has learnt from others."""
    learnt = synthetic_faces(LEARNT_FROM, np.random.default_rng([seed, 4]), SIZE)
    album = portraits(count, seed, correlated)
    made = editor_for(editor, album if editor == "rerender" else learnt, "tone", editor_tools(seed))
    return from_album(album, [made], (), "age_group")


def verdict(classifier: PortraitClassifier, data: Dataset, seed: int) -> Ruling:
    """What the leaning study says, as `measure` takes it up."""
    meter = Meter(wrap(FunctionClassifier(classifier, AGE_GROUPS), data))
    case = StudyCase(data.domain, meter, data.medium, data.rows, data.labels, data.frame, TOLERANCE)
    rulings = [Gate.rule(claim) for claim in LeaningStudy().study(case, np.random.default_rng([seed, 5])).claims]
    return next((ruling for ruling in rulings if ruling.outcome == "violation"), rulings[0])
