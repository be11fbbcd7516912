"""Colours: the Monk skin tone scale, hair, eyes, and hues, as red, green, blue between 0 and 1."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Plane: TypeAlias = NDArray[np.floating[Any]]  # (n, height, width)
Picture: TypeAlias = NDArray[np.floating[Any]]  # (n, 3, height, width)
Colour: TypeAlias = NDArray[np.floating[Any]]  # (n, 3)
Each: TypeAlias = NDArray[np.floating[Any]]  # (n,): one number per portrait
One: TypeAlias = NDArray[np.floating[Any]] | np.floating[Any] | float  # one number per portrait, or one for all


def _colours(*codes: str) -> Colour:
    return np.array([[int(code[i : i + 2], 16) for i in (0, 2, 4)] for code in codes], dtype=np.float32) / 255.0


MONK = _colours("f6ede4", "f3e7db", "f7ead0", "eadaba", "d7bd96", "a07e56", "825c43", "604134", "3a312a", "292420")
"""The ten steps as published (skintone.google), light to dark."""

HAIR = _colours("17130f", "33231a", "5d3f28", "7d3f22", "c9a261")
GREY = _colours("c9c9cc")[0]
EYES = _colours("2b1a10", "5a3a1e", "7d6a35", "5b7a4e", "5b86a8")
LIP_TINT = _colours("b0504f")[0]


def skin(tone: NDArray[Any]) -> Colour:
    """Skin colours, slightly warmed and lifted so that the darkest steps keep their modelling under studio light."""
    base = MONK[tone.astype(np.intp)]
    lifted = 0.085 + 0.86 * base
    dark = 1.0 - base.mean(axis=1, keepdims=True)
    warm = 1.0 + np.array([0.10, -0.02, -0.14], dtype=np.float32) * dark + np.array([0.0, -0.03, -0.06], dtype=np.float32)
    return np.asarray(lifted * warm, dtype=np.float32)


def mix(first: Colour | Picture, second: Any, share: Any) -> Any:
    """A blend, `share` of the second; shapes must broadcast."""
    return first + (np.asarray(second, dtype=np.float32) - first) * share


def hue(turn: Each, saturation: float, value: Each | float) -> Colour:
    """Muted colours around the wheel; `turn` between 0 and 1."""
    angles = 2 * np.pi * (turn[:, None] + np.array([0.0, -1 / 3, -2 / 3]))
    wheel = 0.5 + 0.5 * np.cos(angles)
    value = np.broadcast_to(np.asarray(value, dtype=np.float32), turn.shape)[:, None]
    return np.asarray(value * (1 - saturation + saturation * wheel), dtype=np.float32)
