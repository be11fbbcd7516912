"""Whether an object has the build of something that stands, and is seen from ahead or from the side."""

from __future__ import annotations

import numpy as np

from evenhand.media.scene import Instance

UPRIGHT = {"person": 1.5}  # least height over width: less is a head, a pair of legs, or somebody lying or falling

MOST_SLOPE, MOST_SLOPE_WIDE = 0.1, 0.04  # of its height, by which the ends of an object's base may differ; wide ones show it more
LEAST_LIKENESS = 0.86  # of a wide object's outline with its mirror image: from the side or from ahead, not at an angle


def is_upright(one: Instance) -> bool:
    """Whether it is as tall for its width as its class is when it stands."""
    return one.height >= UPRIGHT.get(one.label, 0.0) * one.width


def is_at_angle(one: Instance) -> bool:
    """Whether it is seen at an angle, so that it stands askew the other way round or at another place."""
    is_wide = one.width > one.height
    return base_slope(one) > (MOST_SLOPE_WIDE if is_wide else MOST_SLOPE) or (is_wide and likeness(one) < LEAST_LIKENESS)


def base_slope(one: Instance) -> float:
    """By how much of its height the lowest pixels of its left and its right third differ: wheels of a car that is seen at an angle do."""
    rows = np.arange(1, one.stencil.shape[0] + 1)[:, None] * one.stencil
    lowest = rows.max(axis=0)
    third = max(1, len(lowest) // 3)
    return float(abs(int(lowest[:third].max()) - int(lowest[-third:].max()))) / one.height


def likeness(one: Instance) -> float:
    """How much of an object's outline its mirror image shares."""
    mirrored = one.stencil[:, ::-1]
    return float((one.stencil & mirrored).sum()) / float(max(1, (one.stencil | mirrored).sum()))
