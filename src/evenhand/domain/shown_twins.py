"""Which findings a reader would believe: those that a plausible person and a plausible twin show.  What is plausible, others say."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask

LEAST_LIKELY = -1e30
"""What an impossible twin's log-likelihood counts as: it may still be the only one with another label.  Minus infinity is less: nobody
would believe in such a twin."""


def is_believable(labels: NDArray[np.int16], likelihood: NDArray[np.floating]) -> Mask:
    """(n, combinations) both: whether two people of a row get different labels, and neither of them is beyond belief.

    >>> is_believable(np.array([[0, 1, 1], [0, 0, 1]]), np.array([[-3.0, -4.0, -np.inf], [-3.0, -4.0, -np.inf]])).tolist()
    [True, False]
    """
    believed = np.isfinite(likelihood) & (labels >= 0)
    highest = np.where(believed, labels, -1).max(axis=1)
    lowest = np.where(believed, labels, np.iinfo(np.int16).max).min(axis=1)
    told: Mask = lowest < highest
    return told
