"""What a recogniser usually sees: clusters of similar scenes, and for each class in a cluster the orientations, least and most count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.media.scene import Instance, Scene, Stencil

BIN_DEGREES = 10.0
MOST_CLUSTERS = 8


@dataclass(frozen=True)
class Clusters:
    """The cluster of each scene, how many there are, and the silhouette of every number that was tried."""

    of: NDArray[np.intp]
    count: int
    silhouettes: Mapping[int, float]


def cluster(scenes: Sequence[Scene], rng: np.random.Generator, count: int | None = None) -> Clusters:
    """K-Means on the object counts; the number with the best silhouette unless one is given."""
    names = sorted({name for scene in scenes for name in scene.truth})
    table = np.array([[scene.truth.get(name, 0) for name in names] for scene in scenes], np.float64).reshape(len(scenes), -1)
    different = len(np.unique(table, axis=0))
    if count is None and (different < 4 or len(scenes) < 6):
        return Clusters(np.zeros(len(scenes), np.intp), 1, {})
    tried = [count] if count is not None else range(2, min(MOST_CLUSTERS, different - 1, len(scenes) // 3) + 1)
    fits = {k: _fit(table, int(k), rng) for k in tried}
    if not fits:
        return Clusters(np.zeros(len(scenes), np.intp), 1, {})
    best = max(fits, key=lambda k: fits[k][1])
    return Clusters(fits[best][0], int(best), {int(k): score for k, (_, score) in fits.items()})


def _fit(table: NDArray[np.float64], count: int, rng: np.random.Generator) -> tuple[NDArray[np.intp], float]:
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    found = KMeans(count, n_init=10, random_state=int(rng.integers(2**31))).fit_predict(table)
    score = float(silhouette_score(table, found)) if 1 < len(set(found.tolist())) < len(table) else -1.0
    return np.asarray(found, np.intp), score


@dataclass(frozen=True)
class Range:
    """One class in one cluster: orientation bins, and the least and most objects in a picture."""

    orientations: frozenset[int]
    least: int
    most: int


NO_RANGE = Range(frozenset(), 0, 0)
"""For a change that is of no class."""
Distribution = Mapping[str, Range]


def distribution(scenes: Sequence[Scene], seen: Sequence[Counter[str]], labels: Sequence[str]) -> dict[str, Range]:
    """The ranges of these classes over the scenes of one cluster, counted as the recogniser sees them."""
    ranges = {}
    for label in labels:
        numbers = [one[label] for one in seen]
        bins = {orientation_bin(one) for scene in scenes for one in scene.instances if one.label == label and one.height >= 20}
        ranges[label] = Range(frozenset(value for value in bins if value is not None), min(numbers, default=0), max(numbers, default=0))
    return ranges


def orientation(stencil: Stencil) -> float | None:
    """The tilt of the long axis in degrees, 0 to 180; None for a shape without one."""
    rows, columns = np.nonzero(stencil)
    if len(rows) < 10:
        return None
    spread = np.cov(np.stack([columns, rows]).astype(np.float64))
    values, vectors = np.linalg.eigh(spread)
    if values[1] < 1.3 * max(values[0], 1e-9):
        return None
    return float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])) % 180.0)


def orientation_bin(one: Instance) -> int | None:
    """The bin of ten degrees that the object's long axis falls in."""
    angle = orientation(one.stencil)
    return None if angle is None else round(angle / BIN_DEGREES) % int(180 / BIN_DEGREES)
