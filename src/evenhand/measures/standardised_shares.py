"""Shares of groups as they would be if strata, such as true labels, were as common in every group as in all of them together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Labels, Mask, Reals
from evenhand.measures.groups import Grouping
from evenhand.statistics.contrasts import Parts
from evenhand.statistics.permutation import Stratum


@dataclass(frozen=True, eq=False)
class Lost:
    """Of some pictures, which are lost, to which change (its name and words), and the stratum of each, such as its true label."""

    change: str
    words: str
    lost: Mask
    truth: Labels

    @property
    def strata(self) -> tuple[int, ...]:
        """The strata that there are."""
        return tuple(int(label) for label in np.unique(self.truth))


def stratum_of(lost: Lost, grouping: Grouping, label: int) -> Stratum:
    """Lost and all pictures of every group in one stratum."""
    mine, groups = lost.truth == label, len(grouping.names)
    hits = np.bincount(grouping.codes[mine & lost.lost], minlength=groups)
    return Stratum(hits.astype(np.int64), np.bincount(grouping.codes[mine], minlength=groups).astype(np.int64))


def standardised(counted: list[Stratum], weights: Reals, enough: Mask) -> tuple[Reals, Reals]:
    """For every group the share that is lost if its strata were as common as everybody's, and its standard error."""
    shares, variances = np.zeros(len(enough)), np.zeros(len(enough))
    for stratum, weight in zip(counted, weights, strict=True):
        sizes = np.maximum(stratum.sizes, 1)
        share, shrunk = stratum.hits / sizes, (stratum.hits + 0.5) / (sizes + 1)  # the shrunk one is never 0 or 1
        shares += weight * share
        variances += weight**2 * shrunk * (1 - shrunk) / sizes
    return np.where(enough, shares, np.nan), np.sqrt(variances)


def added_parts(lost: Lost, grouping: Grouping, counted: list[Stratum], weights: Reals) -> Parts:
    """What every picture adds to its group's share, around the mean of its group and stratum, (pictures, groups)."""
    added = np.zeros((len(lost.lost), len(grouping.names)), np.float32)
    for label, stratum, weight in zip(lost.strata, counted, weights, strict=True):
        mine = np.flatnonzero((lost.truth == label) & (grouping.codes >= 0))
        codes, sizes = grouping.codes[mine], np.maximum(stratum.sizes, 1)
        added[mine, codes] = weight * (lost.lost[mine] - (stratum.hits / sizes)[codes]) / sizes[codes]
    return added
