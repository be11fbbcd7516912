"""The AS curve of one layer: for every threshold the share of its neurons that react more strongly than that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Reals
from evenhand.errors import InvalidArgument
from evenhand.limits import ConfidenceLevel, check_argument

INTERVAL = 0.005


@dataclass(frozen=True, eq=False)
class Curve:
    """Thresholds on the normalised activation difference, the share of neurons above each, and the area under it."""

    thresholds: Reals
    shares: Reals
    area: float
    crossing: float  # where the curve meets y = x: NeuronFair's adaptive threshold T_d


def as_curve(reactions: Reals, interval: float = INTERVAL) -> Curve:
    """NeuronFair's Algorithm 1 for the normalised activation differences of one layer."""
    check_argument(ConfidenceLevel, interval=interval)
    if not len(reactions):
        raise InvalidArgument("reactions is empty; a layer needs at least one neuron")
    most = float(reactions.max())
    thresholds = np.arange(0.0, most, interval) if most > 0 else np.zeros(1)
    above = len(reactions) - np.searchsorted(np.sort(reactions), thresholds, side="right")
    shares = above / len(reactions)
    met = np.flatnonzero(shares <= thresholds)
    # Where every threshold leaves more neurons than its own size, the curve falls to zero at the largest reaction.
    crossing = float(thresholds[met[0]]) if met.size else most
    return Curve(thresholds, shares, float(shares.sum() * interval), crossing)
