"""Two pictures as one that shows what differs: every differing pixel marked, all others pale."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MARK = np.array([213.0, 94.0, 0.0])  # vermilion, which is told from grey by every kind of sight
PALEST = 0.72
"""How far pixels that are alike go towards white: they say where on the picture one looks."""
LEAST, FULL = 0.35, 48.0
"""How strongly the smallest difference is marked, and the difference (of 255) from which on the mark is full."""


def marked_difference(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The first picture (height, width, 3) in pale grey, with every pixel marked in which the second is another; stronger where more so.

    >>> black = np.zeros((1, 2, 3), np.uint8)
    >>> other = black.copy()
    >>> other[0, 1] = 255
    >>> marked_difference(black, other)[0].tolist()
    [[184, 184, 184], [213, 94, 0]]
    """
    apart = np.abs(first.astype(np.int16) - second.astype(np.int16)).max(axis=2)
    grey = first.mean(axis=2) // 16 * 16  # few shades make a small file
    pale = np.repeat((255 * PALEST + grey * (1 - PALEST))[:, :, None], 3, axis=2)
    strength = np.where(apart > 0, LEAST + (1 - LEAST) * np.minimum(apart / FULL, 1.0), 0.0)[:, :, None]
    return np.asarray(np.rint(pale * (1 - strength) + MARK * strength), dtype=np.uint8)
