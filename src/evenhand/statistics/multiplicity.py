"""Many tests at once: corrections that keep the share, or the chance, of false alarms, and one p-value from several dependent ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arrays import Reals
from evenhand.errors import InvalidArgument
from evenhand.limits import Share, check_every


def _checked(p_values: ArrayLike) -> Reals:
    values = np.asarray(p_values, np.float64).ravel()
    check_every(Share, p_values=values)
    return values


def benjamini_hochberg(p_values: ArrayLike) -> Reals:
    """Adjusted p-values: flag those at most q, and at most the share q of the flags is expected to be false."""
    values = _checked(p_values)
    order = np.argsort(values)
    ranked = values[order] * len(values) / np.arange(1, len(values) + 1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.minimum.accumulate(ranked[::-1])[::-1], 1.0)
    return adjusted


def holm(p_values: ArrayLike) -> Reals:
    """Adjusted p-values: flag those at most alpha, and any false flag has at most the chance alpha."""
    values = _checked(p_values)
    order = np.argsort(values)
    ranked = values[order] * (len(values) - np.arange(len(values)))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(ranked), 1.0)
    return adjusted


def twice_the_median(p_values: ArrayLike) -> float:
    """One valid p-value from several that may depend on each other in any way."""
    values = _checked(p_values)
    if not values.size:
        raise InvalidArgument("p_values is empty; at least one is needed")
    return float(min(1.0, 2.0 * np.median(values)))
