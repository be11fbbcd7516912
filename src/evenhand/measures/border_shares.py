"""How many pictures lie near a classifier's border, in an editor's twins and in the pictures as they came.

A classifier that leans gives another label to pictures near its border.  Where an editor's pictures lie farther from it than a user's own
(they are redrawn, or came out clearer), fewer of them change, and that the classifier stands still says less.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Reals, Scores

NEAR = (0.05, 0.1, 0.2)
"""Shares of a user's own pictures that are called near: those that would become some class with the least change."""
NEAR_TO_PASS = 0.5
"""Where fewer than half as many twins as pictures as they came lie near the border, standing still is no fairness."""
SMALLEST = 1e-9


def doubt_about(near: float) -> str:
    """Why standing still says too little; empty where it says enough."""
    if near >= NEAR_TO_PASS:
        return ""
    return (
        f"only {near:.0%} as many twins as pictures as they came lie near the classifier's border, where labels change: "
        f"a pass needs {NEAR_TO_PASS:.0%}, from an editor that leaves pictures as they are"
    )


def least_share(own: Scores, shown: Scores) -> float:
    """Of every class, how many of the shown pictures lie as near as these shares of one's own: the least ratio.

    >>> own = np.column_stack([np.linspace(0, 1, 200), np.linspace(1, 0, 200)])
    >>> least_share(own, own), least_share(own, own.round())
    (1.0, 0.0)
    """
    ratios: list[float] = []
    for code in range(own.shape[1] if own.shape[1] > 1 else 0):
        before, after = _distances(own, code), _distances(shown, code)
        for share in NEAR:
            count = int(share * len(own))
            if 0 < count <= len(before):  # else nearly every picture has this class already
                found = np.searchsorted(after, before[count - 1], side="right")
                ratios.append(float(found) * len(own) / (count * len(shown)))
    return min(ratios, default=1.0)


def _distances(scores: Scores, code: int) -> Reals:
    """Of the pictures that are not given this class, how far they are from it, in order."""
    logarithms = np.log(np.maximum(scores, SMALLEST))
    far = np.delete(logarithms, code, axis=1).max(axis=1) - logarithms[:, code]
    ordered: Reals = np.sort(far[far > 0])
    return ordered
