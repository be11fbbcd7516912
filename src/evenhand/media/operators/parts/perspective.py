"""How tall a thing must be at a row of the picture: the size law, fitted robustly from the objects that are already there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.media.scene import Scene
from evenhand.media.vocabulary import Labels

Points = NDArray[np.float64]  # (n, 2): foot row as a share of the picture's height, reference height as such a share
PRIOR_WEIGHT = 1.0
ROUNDS = 12
LEAST_FOR_A_CLASS = 8


@dataclass(frozen=True)
class SizeLaw:
    """Height of the reference object (a car): `height` at the centre row, and `slope` more for each row below it."""

    centre: float
    height: float
    slope: float
    support: int  # objects that it was fitted on

    def at(self, row: float, relative: float) -> float:
        """Pixels of height for an object whose foot stands on this row."""
        return relative * (self.height + self.slope * (row - self.centre))

    def row_of(self, tall: float, relative: float) -> float:
        """The row on which an object of this height stands."""
        return self.centre + (tall / relative - self.height) / self.slope

    @property
    def horizon(self) -> float:
        """The row where everything is a point."""
        return self.centre - self.height / self.slope


def stands(label: str, labels: Labels) -> bool:
    """Whether the class stands on the ground and has a known relative height; a sign's plate hangs, and would bend the law."""
    name = labels.canonical(label)
    return name in labels.relative_height and name in labels.stands_on


def evidence(scene: Scene, labels: Labels) -> Points:
    """Whole, unhidden objects that stand on the ground."""
    tall = scene.shape[0]
    points = [
        (one.foot / tall, one.height / labels.relative_height[labels.canonical(one.label)] / tall)
        for one in scene.instances
        if one.counted and one.visible > 0.9 and not one.touches_border(scene.shape) and stands(one.label, labels) and one.height >= 8
    ]
    return np.array(points, np.float64).reshape(-1, 2)


def pooled_law(scenes: Iterable[Scene], labels: Labels) -> tuple[float, float]:
    """Intercept and slope over a whole data set, in shares of the height: what a picture with few objects falls back on."""
    every = np.concatenate([evidence(scene, labels) for scene in scenes] or [np.zeros((0, 2))])
    start = np.array([[0.46, 0.0], [1.0, 0.5]])  # a camera at eye height above a level road
    return _robust_line(np.concatenate([every, start]), np.concatenate([np.ones(len(every)), np.full(2, 2.0)]))


def fit_law(scene: Scene, labels: Labels, prior: tuple[float, float] = (-0.426, 0.926)) -> SizeLaw:
    """The picture's own law, held by two pseudo-objects of the data set's law."""
    own = evidence(scene, labels)
    rows = np.array([0.6, 0.95])
    held = np.stack([rows, prior[0] + prior[1] * rows], axis=1)
    weights = np.concatenate([np.ones(len(own)), np.full(2, PRIOR_WEIGHT)])
    intercept, slope = _robust_line(np.concatenate([own, held]), weights)
    if slope < 0.25 * prior[1] or slope > 4 * prior[1]:  # objects on stairs, shelves or in the air: trust the data set
        intercept, slope = prior
    tall = scene.shape[0]
    centre = tall / 2
    return SizeLaw(centre, (intercept + slope * 0.5) * tall, slope, len(own))


def _robust_line(points: Points, weights: NDArray[np.float64]) -> tuple[float, float]:
    """Least absolute deviations, relative to size, by repeated weighting."""
    design = np.stack([np.ones(len(points)), points[:, 0]], axis=1)
    trust = weights / np.maximum(points[:, 1], 0.02)
    solution: NDArray[np.floating[Any]] = np.zeros(2)
    for _ in range(ROUNDS):
        solution, *_ = np.linalg.lstsq(design * trust[:, None] ** 0.5, points[:, 1] * trust**0.5, rcond=None)
        miss = np.abs(points[:, 1] - design @ solution) / np.maximum(points[:, 1], 0.02)
        trust = weights / np.maximum(points[:, 1], 0.02) / np.maximum(miss, 0.05)
    return float(solution[0]), float(solution[1])


def calibrated(scenes: Sequence[Scene], labels: Labels) -> Labels:
    """The vocabulary with relative heights as this data set draws its masks: class by class, the median against the common law."""
    heights = dict(labels.relative_height)
    for _ in range(2):
        current = replace(labels, relative_height=dict(heights))
        intercept, slope = pooled_law(scenes, current)
        ratios: dict[str, list[float]] = {}
        for scene in scenes:
            tall = scene.shape[0]
            for one in scene.instances:
                name = labels.canonical(one.label)
                expected = heights.get(name, 0.0) * (intercept + slope * one.foot / tall) * tall
                if (
                    stands(name, labels)
                    and one.counted
                    and one.visible > 0.9
                    and one.height >= 12
                    and expected > 6
                    and not one.touches_border(scene.shape)
                ):
                    ratios.setdefault(name, []).append(one.height / expected)
        for name, values in ratios.items():
            if len(values) >= LEAST_FOR_A_CLASS:
                heights[name] = labels.relative_height[name] * float(
                    np.clip(heights[name] / labels.relative_height[name] * np.median(values), 0.6, 1.6)
                )
    return replace(labels, relative_height=heights)
