"""Objects to insert: whole, unhidden and large enough, cut from the same data set, each appearance at most once in a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import require
from evenhand.media.operators.parts.cutout import Cutout, cut
from evenhand.media.operators.parts.perspective import SizeLaw, calibrated, fit_law, pooled_law
from evenhand.media.operators.parts.upright import is_upright
from evenhand.media.scene import Instance, Scene, grown
from evenhand.media.vocabulary import Labels

LEAST_HEIGHT = 26
DARK, FLAT = 45.0, 16.0  # grey levels: what is darker on average and varies less is a silhouette, and looks like a hole elsewhere
SAME = 12.0  # grey levels between thumbnails below which two donors are taken for one object


@dataclass(frozen=True, eq=False)
class Donor:
    """A cutout, where it stood (shares of width and height), and which appearance it has."""

    cutout: Cutout
    height: int
    across: float
    foot: float
    scene: str
    appearance: int
    behind: tuple[float, float]  # lightness and edge strength of what stood around it


@dataclass(frozen=True, eq=False)
class DonorBank:
    """Donors by class, with the data set's size law."""

    donors: dict[str, tuple[Donor, ...]]
    prior: tuple[float, float]
    labels: Labels  # with relative heights as this data set has them
    looks: dict[str, frozenset[int]] = field(default_factory=dict)  # appearances that a scene already shows

    def of(self, label: str) -> tuple[Donor, ...]:
        """This class's donors; none when the data set has no usable one."""
        return self.donors.get(label, ())


def collect(scenes: Iterable[Scene], labels: Labels) -> DonorBank:
    """Every usable object of a data set."""
    scenes = list(scenes)
    labels = calibrated(scenes, labels)
    prior = pooled_law(scenes, labels)
    gathered: dict[str, list[Donor]] = {}
    looks: dict[str, set[int]] = {}
    thumbnails: dict[str, list[NDArray[np.float32]]] = {}
    for scene in scenes:
        law = fit_law(scene, labels, prior)
        for place, one in enumerate(scene.instances):
            if not one.counted or one.height < 12:
                continue
            look = _appearance(_thumbnail(scene, one), thumbnails.setdefault(one.label, []))
            looks.setdefault(scene.name, set()).add(look)
            if is_usable(scene, place, law, labels):
                across = (one.box[0] + one.box[2]) / 2 / scene.shape[1]
                donor = Donor(cut(scene, one), one.height, across, one.foot / scene.shape[0], scene.name, look, _behind(scene, one))
                gathered.setdefault(one.label, []).append(donor)
    return DonorBank(
        {label: tuple(found) for label, found in gathered.items()}, prior, labels, {name: frozenset(seen) for name, seen in looks.items()}
    )


def is_usable(scene: Scene, place: int, law: SizeLaw, labels: Labels) -> bool:
    """Whether an object may be a donor: whole, large enough, and as tall as its class should be where it stands."""
    one = scene.instances[place]
    is_fit = is_upright(one) and is_whole(scene, place) and one.height >= _least(one.label, labels) and _fits(one, law, labels)
    return is_fit and not is_silhouette(scene, one)


def is_silhouette(scene: Scene, one: Instance) -> bool:
    """Whether nothing is to be seen of an object but its outline."""
    left, top, right, bottom = one.box
    grey = scene.picture[top:bottom, left:right].mean(axis=2)[one.stencil]
    return bool(grey.mean() < DARK and grey.std() < FLAT)


def _least(label: str, labels: Labels) -> float:
    return LEAST_HEIGHT * min(1.0, 0.3 + labels.relative_height.get(labels.canonical(label), 1.0))


def is_whole(scene: Scene, place: int) -> bool:
    """Whether neither the picture's edge nor a nearer object cuts it."""
    one = scene.instances[place]
    if one.touches_border(scene.shape) or one.visible < 0.97 or not one.counted:
        return False
    if one.depth is not None:
        return True
    cv2 = require("cv2", "image")
    around = cv2.dilate(one.mask(scene.shape).astype(np.uint8), np.ones((5, 5), np.uint8)).astype(bool)
    rim = max(1, int(around.sum()) - one.area)
    for other in scene.instances:
        if other is not one and other.nearer_than(one.foot) and (other.mask(scene.shape) & around).sum() > 0.04 * rim:
            return False
    return True


def _fits(one: Instance, law: SizeLaw, labels: Labels) -> bool:
    """Whether it is as tall as its class should be there, and in one solid piece; else its mask is probably wrong."""
    cv2 = require("cv2", "image")
    relative = labels.relative_height.get(labels.canonical(one.label))
    if relative is not None and not 0.55 < one.height / max(law.at(one.foot, relative), 1.0) < 1.8:
        return False
    pieces = cv2.connectedComponentsWithStats(one.stencil.astype(np.uint8))[2][1:, cv2.CC_STAT_AREA]
    return bool(pieces.max() > 0.93 * one.area)


def backdrop_layers(scene: Scene) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Lightness, and logarithm of the edge strength, of every pixel."""
    cv2 = require("cv2", "image")
    grey = cv2.cvtColor(scene.picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    slope = np.log1p(np.abs(cv2.Sobel(grey, cv2.CV_32F, 1, 0)) + np.abs(cv2.Sobel(grey, cv2.CV_32F, 0, 1)))
    return grey, np.asarray(slope, np.float32)


def _behind(scene: Scene, one: Instance) -> tuple[float, float]:
    """Means over the box and its margin, without the object itself."""
    left, top, right, bottom = grown(one.box, max(4, one.width // 3), scene.shape)
    free = ~one.mask(scene.shape)[top:bottom, left:right]
    grey, slope = (layer[top:bottom, left:right][free] for layer in backdrop_layers(scene))
    return float(grey.mean()), float(slope.mean())


def _thumbnail(scene: Scene, one: Instance) -> NDArray[np.float32]:
    cv2 = require("cv2", "image")
    left, top, right, bottom = one.box
    crop = scene.picture[top:bottom, left:right].astype(np.float32) * one.stencil[..., None]
    mass = cv2.resize(one.stencil.astype(np.float32), (3, 5), interpolation=cv2.INTER_AREA)
    small = cv2.resize(crop, (3, 5), interpolation=cv2.INTER_AREA) / np.maximum(mass, 0.15)[..., None]
    return np.asarray(small, np.float32)


def _appearance(thumbnail: NDArray[np.float32], known: list[NDArray[np.float32]]) -> int:
    """The number of the first known thumbnail that looks the same; a new number when there is none."""
    if known:
        miss = np.abs(np.stack(known) - thumbnail).mean(axis=(1, 2, 3))
        if miss.min() < SAME:
            return int(miss.argmin())
    known.append(thumbnail)
    return len(known) - 1


def pick(candidates: Sequence[Donor], used: set[int], rng: np.random.Generator) -> list[Donor]:
    """The candidates in random order, without the appearances already used."""
    free = [donor for donor in candidates if donor.appearance not in used]
    return [free[place] for place in rng.permutation(len(free))]
