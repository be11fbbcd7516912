"""How well mutated regions hide: marks of seam and grain, a classifier that tries to tell them apart, and a Frechet distance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import DataError, require
from evenhand.media.operators.parts.cutout import MARGIN, cut
from evenhand.media.operators.parts.donors import is_whole
from evenhand.media.operators.parts.mutated import DELETE, Mutation
from evenhand.media.operators.parts.seams import noise_ratio, seam_ratio
from evenhand.media.scene import Picture, Scene, Stencil, box_of

Features = NDArray[np.float64]  # (n, features)
FOLDS = 5
TRIES = 120
RING = 12  # pixels around a region that are looked at
SIZE_TOLERANCE = 0.5  # natural logarithm of the area
LEAST_AREA = 60  # pixels of an object that is compared
DRAWS = 400  # of scenes, for an interval


@dataclass(frozen=True, eq=False)
class Region:
    """A part of a picture that is looked at, and the scene that it comes from."""

    picture: Picture
    mask: Stencil
    scene: str
    label: str


@dataclass(frozen=True)
class SceneRealism:
    """Marks of one operator's regions beside those of untouched ones."""

    regions: int
    seam: float  # median seam ratio of mutated regions over that of untouched ones
    grain: float  # the same for the noise ratio
    auc: float  # of the better of two classifiers, across scenes; 0.5 cannot be told
    auc_with_surroundings: float  # the same, when the classifier also sees what is around the region
    frechet: float | None  # on a net's features; None without a net
    auc_by_net: float | None = None  # by a net's features of the crop with its surroundings
    auc_of_real: float | None = None  # of untouched regions in the part of the mutated ones: what a perfect operator would get
    interval_by_net: tuple[float, float] | None = None  # of 95 %, drawing scenes again


def described(region: Region, surroundings: bool = False) -> Features:
    """Colour, edges, grain and local patterns inside a region, its seam, and its grain against its surroundings; not its place or size.

    With `surroundings`, also colour and edges of the ring around it: then a place that is unusual for the object counts against it too.
    """
    cv2 = require("cv2", "image")
    box = box_of(region.mask)
    if box is None:
        raise DataError(f"a region of scene {region.scene!r} is empty")
    left, top, right, bottom = box.grown(12, (region.mask.shape[0], region.mask.shape[1]))
    crop, mask = region.picture[top:bottom, left:right], region.mask[top:bottom, left:right]
    lab = cv2.cvtColor(crop, cv2.COLOR_RGB2LAB).astype(np.float64)
    grey = crop.mean(axis=2).astype(np.float32)
    slope = np.hypot(cv2.Sobel(grey, cv2.CV_32F, 1, 0), cv2.Sobel(grey, cv2.CV_32F, 0, 1))
    fine = np.abs(grey - cv2.GaussianBlur(grey, (0, 0), 1.0))
    inside = lab[mask]
    edges = np.histogram(np.log1p(slope[mask]), bins=8, range=(0, 6.5))[0] / max(1, mask.sum())
    levels = [np.percentile(fine[mask], q) for q in (25, 50, 75, 95)]
    sharp = [np.percentile(slope[mask], q) for q in (50, 90)]
    rim = [seam_ratio(region.picture, region.mask), noise_ratio(region.picture, region.mask)]
    parts = [inside.mean(axis=0), inside.std(axis=0), edges, levels, sharp, rim, _patterns(grey, mask)]
    if surroundings:
        parts.append(_surroundings(region.picture, region.mask))
    return np.concatenate([np.asarray(part, np.float64).ravel() for part in parts])


def _patterns(grey: NDArray[np.float32], mask: Stencil) -> Features:
    """Shares of the local binary patterns by how many neighbours are brighter."""
    centre = grey[1:-1, 1:-1]
    brighter = sum(
        (grey[1 + dy : grey.shape[0] - 1 + dy, 1 + dx : grey.shape[1] - 1 + dx] > centre).astype(int)
        for dy in (-1, 0, 1)
        for dx in (-1, 0, 1)
        if dx or dy
    )
    counts = np.bincount(np.asarray(brighter)[mask[1:-1, 1:-1]], minlength=9)[:9]
    return np.asarray(counts / max(1, counts.sum()), np.float64)


def mutated_regions(mutations: Iterable[Mutation]) -> Iterator[Region]:
    """Every inserted, turned or emptied place."""
    cv2 = require("cv2", "image")
    for made in mutations:
        if made.operator == DELETE:
            gone = [one for one, share in zip(made.before.instances, made.kept, strict=True) if share == 0.0 and one.label == made.label]
            for one in gone:
                mask = (
                    cv2.dilate(one.mask(made.before.shape).astype(np.uint8), np.ones((5, 5), np.uint8)).astype(bool) & ~made.after.occupied
                )
                if mask.sum() >= 60:
                    yield Region(made.after.picture, mask, made.before.name, made.label)
            continue
        for one in made.after.instances[-len(made.boxes) :]:
            if one.area >= 60:
                yield Region(made.after.picture, one.mask(made.after.shape), made.before.name, made.label)


def matched_regions(
    changed: Sequence[Region], scenes: Sequence[Scene], operator: str, rng: np.random.Generator
) -> list[tuple[Region, Region]]:
    """Pairs of a mutated region and an untouched one like it; mutated regions without a match are left out.

    For insertion and rotation, a whole object in its own place, of the same class and about the same size.  For
    deletion, the same shape on free background about as high in some picture, where the surroundings look most alike.
    """
    if operator == DELETE:
        layers = [_layers(scene.picture) for scene in scenes]
        pairs = [(one, _laid(scenes, layers, one, rng)) for one in changed]
        return [(one, other) for one, other in pairs if other is not None]
    pool = _real_objects(scenes)
    sizes = np.log([max(1, int(one.mask.sum())) for one in pool])
    free = np.ones(len(pool), bool)
    found = []
    for place in rng.permutation(len(changed)):
        one = changed[place]
        fits = free & np.array([other.label == one.label and other.scene != one.scene for other in pool], bool)
        miss = np.where(fits, np.abs(sizes - np.log(max(1, int(one.mask.sum())))), np.inf)
        best = int(miss.argmin())
        if miss[best] < SIZE_TOLERANCE:
            free[best] = False
            found.append((one, pool[best]))
    return found


def untouched_instead(changed: Sequence[Region], scenes: Sequence[Scene], operator: str, rng: np.random.Generator) -> list[Region]:
    """Real regions to take the mutated ones' part: for deletion the same place in another picture where it is free, else real objects."""
    if operator == DELETE:
        found = [_elsewhere(one, scenes) for one in changed]
        return [one for one in found if one is not None]
    pool = _real_objects(scenes)
    return [pool[k] for k in rng.permutation(len(pool))[: max(2 * FOLDS, len(pool) // 2)]]


def _elsewhere(region: Region, scenes: Sequence[Scene]) -> Region | None:
    wanted = _surroundings(region.picture, region.mask)
    free = [one for one in scenes if one.name != region.scene and one.shape == region.mask.shape and not (one.occupied & region.mask).any()]
    misses = [(float(np.abs(_surroundings(one.picture, region.mask) - wanted).sum()), k) for k, one in enumerate(free)]
    return Region(free[min(misses)[1]].picture, region.mask, free[min(misses)[1]].name, region.label) if misses else None


def cut_mask(scene: Scene, place: int) -> Stencil:
    """The pixels that an operator would take of this object: its mask with the eroded and feathered edge of a cutout."""
    one = scene.instances[place]
    left, top, right, bottom = one.box.grown(MARGIN, scene.shape)
    mask = np.zeros(scene.shape, bool)
    mask[top:bottom, left:right] = cut(scene, one).cover > 0.5
    return mask


def _real_objects(scenes: Sequence[Scene]) -> list[Region]:
    """Every whole object of every scene: also those that may not be a donor, or there would hardly be any to compare with."""
    return [
        Region(scene.picture, cut_mask(scene, k), scene.name, one.label)
        for scene in scenes
        for k, one in enumerate(scene.instances)
        if one.area >= LEAST_AREA and is_whole(scene, k)
    ]


def _laid(scenes: Sequence[Scene], layers: Sequence[NDArray[np.float32]], region: Region, rng: np.random.Generator) -> Region | None:
    """The same shape about as high in some picture where nothing stands, with the most similar surroundings of many tries."""
    box = box_of(region.mask)
    if box is None:
        return None
    left, top, right, bottom = box
    shape, wanted = region.mask[top:bottom, left:right], _surroundings(region.picture, region.mask)
    tall, wide, parts = bottom - top, right - left, _ring(shape)
    best: tuple[float, int, int, int] | None = None
    for place in rng.integers(0, len(scenes), TRIES):
        scene = scenes[place]
        y = int(np.clip(top + rng.integers(-8, 9), 0, max(0, scene.shape[0] - tall)))
        x = int(rng.integers(0, max(1, scene.shape[1] - wide)))
        if scene.name == region.scene or y + tall > scene.shape[0] or x + wide > scene.shape[1]:
            continue
        if (shape & scene.occupied[y : y + tall, x : x + wide]).any():
            continue
        miss = float(np.abs(_means(layers[place], parts, (x, y)) - wanted).sum())
        if best is None or miss < best[0]:
            best = miss, int(place), x, y
    if best is None:
        return None
    _, place, x, y = best
    mask = np.zeros(scenes[place].shape, bool)
    mask[y : y + tall, x : x + wide] = shape
    return Region(scenes[place].picture, mask, scenes[place].name, region.label)


def _surroundings(picture: Picture, mask: Stencil) -> Features:
    """Mean colour and edge strength of four parts of the ring around a region: what stays real in either case."""
    box = box_of(mask)
    assert box is not None
    left, top, right, bottom = box
    x, y, far, low = box.grown(RING + 1, (mask.shape[0], mask.shape[1]))
    return _means(_layers(picture[y:low, x:far]), _ring(mask[top:bottom, left:right]), (left - x, top - y))


def _layers(picture: Picture) -> NDArray[np.float32]:
    """(rows, columns, 4): colour and edge strength of every pixel."""
    cv2 = require("cv2", "image")
    grey = picture.mean(axis=2).astype(np.float32)
    slope = np.log1p(np.hypot(cv2.Sobel(grey, cv2.CV_32F, 1, 0), cv2.Sobel(grey, cv2.CV_32F, 0, 1)))
    return np.concatenate([cv2.cvtColor(picture, cv2.COLOR_RGB2LAB).astype(np.float32), 12 * slope[..., None]], axis=2)


def _ring(shape: Stencil) -> NDArray[np.float32]:
    """(4, rows, columns): the quarters of the ring around a shape, with a margin on every side."""
    cv2 = require("cv2", "image")
    inner = np.pad(shape, RING).astype(np.uint8)
    ring = (cv2.dilate(inner, np.ones((21, 21), np.uint8)) > 0) & (cv2.dilate(inner, np.ones((7, 7), np.uint8)) == 0)
    below, far = (np.arange(size) >= size / 2 for size in ring.shape)
    quarters = [ring & (below == a)[:, None] & (far == b) for a in (True, False) for b in (True, False)]
    return np.stack(quarters).astype(np.float32)


def _means(layers: NDArray[np.float32], parts: NDArray[np.float32], corner: tuple[int, int]) -> Features:
    """Means of the layers over each part of a ring, whose shape has its left upper corner here; zero where the picture ends before it."""
    left, top = corner[0] - RING, corner[1] - RING
    y0, x0 = max(0, -top), max(0, -left)
    window = layers[max(0, top) : top + parts.shape[1], max(0, left) : left + parts.shape[2]]
    inside = parts[:, y0 : y0 + window.shape[0], x0 : x0 + window.shape[1]].reshape(4, -1)
    sums = inside @ window.reshape(-1, 4)
    return np.asarray(sums / np.maximum(inside.sum(axis=1), 1)[:, None], np.float64).ravel()


@dataclass(frozen=True, eq=False)
class ToldApart:
    """How sure the better of two classifiers is, on scenes that it was not trained on, that each region is a changed one."""

    is_changed: NDArray[np.bool_]
    sure: NDArray[np.float64]
    owners: NDArray[np.str_]

    @property
    def auc(self) -> float:
        """0.5 cannot be told."""
        from sklearn.metrics import roc_auc_score

        return float(roc_auc_score(self.is_changed, self.sure))

    def interval(self, rng: np.random.Generator) -> tuple[float, float]:
        """Of 95 %, drawing scenes again."""
        members = [np.flatnonzero(self.owners == name) for name in np.unique(self.owners)]
        drawn = (np.concatenate([members[k] for k in rng.integers(0, len(members), len(members))]) for _ in range(DRAWS))
        samples = [replace(self, is_changed=self.is_changed[rows], sure=self.sure[rows]) for rows in drawn]
        aucs = [one.auc for one in samples if one.is_changed.any() and not one.is_changed.all()]
        low, high = np.percentile(aucs, (2.5, 97.5))
        return float(low), float(high)


def two_sample_auc(first: Features, second: Features, groups: tuple[Sequence[str], Sequence[str]], rng: np.random.Generator) -> float:
    """How well the better of a linear model and a forest tells two samples apart, on scenes that it was not trained on."""
    return told_apart(first, second, groups, rng).auc


def told_apart(first: Features, second: Features, groups: tuple[Sequence[str], Sequence[str]], rng: np.random.Generator) -> ToldApart:
    """What the better of a linear model and a forest says of two samples, scene by scene held out."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = np.concatenate([first, second])
    labels = np.repeat([0, 1], [len(first), len(second)])
    owners = np.array([*groups[0], *groups[1]])
    folds = GroupKFold(min(FOLDS, len(set(owners.tolist()))))
    seed = int(rng.integers(2**31))
    models: tuple[Any, ...] = (
        make_pipeline(StandardScaler(), LogisticRegression(C=0.3, max_iter=2000, class_weight="balanced")),
        RandomForestClassifier(200, min_samples_leaf=2, class_weight="balanced", random_state=seed),
    )
    chances = [cross_val_predict(model, rows, labels, cv=folds, groups=owners, method="predict_proba")[:, 1] for model in models]
    return max((ToldApart(labels > 0, chance, owners) for chance in chances), key=lambda one: one.auc)


@dataclass(frozen=True)
class NetFeatures:
    """Features of a region from one layer of a local ONNX net, averaged over the region's box."""

    path: Path
    layer: str | None = None  # None: the last layer with spatial extent before the output
    size: tuple[int, int] = (96, 96)
    largest: float = 1.0  # what the net takes for white: 1 or 255
    around: float = 0.5  # of the box's longer side, that is seen on each side of it

    @cached_property
    def _net(self) -> Any:
        return require("cv2", "image").dnn.readNetFromONNX(str(self.path))

    def __call__(self, regions: Sequence[Region]) -> Features:
        """(n, channels)."""
        cv2 = require("cv2", "image")
        rows = []
        for region in regions:
            box = box_of(region.mask)
            assert box is not None
            around = round(self.around * max(box.width, box.height))
            left, top, right, bottom = box.grown(max(RING, around), (region.mask.shape[0], region.mask.shape[1]))
            crop = cv2.resize(region.picture[top:bottom, left:right], self.size[::-1], interpolation=cv2.INTER_LINEAR)
            self._net.setInput(np.ascontiguousarray((crop.astype(np.float32) * (self.largest / 255)).transpose(2, 0, 1)[None]))
            rows.append(self._net.forward(self.layer or self._last()).mean(axis=(2, 3))[0])
        return np.asarray(rows, np.float64)

    def _last(self) -> str:
        convolutions = [name for name in self._net.getLayerNames() if "Relu" in name or "relu" in name]
        return str(convolutions[-1] if convolutions else self._net.getLayerNames()[-2])


FEATURE_LAYERS: dict[str, Callable[[Path], NetFeatures]] = {
    "yolox_nano.onnx": lambda path: NetFeatures(path, "onnx_node!Mul_161", (416, 416), 255.0)
}
"""Nets whose features of a crop tell regions apart, by the name of their file."""


def frechet_distance(first: Features, second: Features, ridge: float = 1e-6) -> float:
    """Between the normal distributions with the samples' means and covariances."""
    mean = first.mean(axis=0) - second.mean(axis=0)
    one, two = (np.cov(sample.T) + ridge * np.eye(sample.shape[1]) for sample in (first, second))
    values, vectors = np.linalg.eigh(one)
    root = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
    cross = np.sqrt(np.clip(np.linalg.eigvalsh(root @ two @ root), 0, None)).sum()
    return float(max(0.0, mean @ mean + np.trace(one) + np.trace(two) - 2 * cross))


def region_auc(mutations: Sequence[Mutation], scenes: Sequence[Scene], rng: np.random.Generator) -> float:
    """The two-sample AUC alone: how well a classifier tells one operator's regions from untouched ones."""
    changed, real = _paired(list(mutated_regions(mutations)), scenes, _operator_of(mutations), rng)
    return _told_apart(real, changed, False, rng)


def _operator_of(mutations: Sequence[Mutation]) -> str:
    operators = {made.operator for made in mutations}
    if len(operators) != 1:
        raise DataError(f"mutations are of the operators {sorted(operators)}; give those of one operator")
    return operators.pop()


def realism(
    mutations: Sequence[Mutation], scenes: Sequence[Scene], rng: np.random.Generator, net: NetFeatures | None = None, anchor: bool = False
) -> SceneRealism:
    """All marks of one operator's mutations; with `anchor` also what untouched regions get in their part."""
    operator, regions = _operator_of(mutations), list(mutated_regions(mutations))
    changed, real = _paired(regions, scenes, operator, rng)
    aucs = [_told_apart(real, changed, surroundings, rng) for surroundings in (False, True)]
    seams = [np.median([seam_ratio(one.picture, one.mask) for one in part]) for part in (changed, real)]
    grains = [np.median([noise_ratio(one.picture, one.mask) for one in part]) for part in (changed, real)]
    marks = SceneRealism(len(changed), float(seams[0] / seams[1]), float(grains[0] / grains[1]), aucs[0], aucs[1], None)
    if net is not None:
        distance, by_net = _seen_by(net, real, changed, rng)
        marks = replace(marks, frechet=distance, auc_by_net=by_net.auc, interval_by_net=by_net.interval(rng))
    if not anchor:
        return marks
    posing, others = _paired(untouched_instead(regions, scenes, operator, rng), scenes, operator, rng)
    return replace(marks, auc_of_real=_told_apart(others, posing, False, rng))


def _paired(
    regions: Sequence[Region], scenes: Sequence[Scene], operator: str, rng: np.random.Generator
) -> tuple[list[Region], list[Region]]:
    pairs = matched_regions(regions, scenes, operator, rng)
    if len(pairs) < 2 * FOLDS:
        raise DataError(f"only {len(pairs)} regions have an untouched one like them; at least {2 * FOLDS} are needed")
    return [one for one, _ in pairs], [other for _, other in pairs]


def _seen_by(net: NetFeatures, real: Sequence[Region], changed: Sequence[Region], rng: np.random.Generator) -> tuple[float, ToldApart]:
    """Frechet distance of a net's features, and how well a classifier on them tells the two apart."""
    first, second = net(real), net(changed)
    return frechet_distance(first, second), told_apart(first, second, ([one.scene for one in real], [one.scene for one in changed]), rng)


def _told_apart(real: Sequence[Region], changed: Sequence[Region], surroundings: bool, rng: np.random.Generator) -> float:
    first, second = (np.stack([described(one, surroundings) for one in part]) for part in (real, changed))
    return two_sample_auc(first, second, ([one.scene for one in real], [one.scene for one in changed]), rng)
