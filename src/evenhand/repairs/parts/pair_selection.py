"""Which generated pairs to train on: k-multisection selection (KM-ST) on a layer measure, or chance.

Paper: P. Zhang et al., DeepFAIT, 2021, section 3.4.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Index, Reals
from evenhand.limits import Count, Limit, check_argument


def k_multisection(values: Reals, count: int, sections: int, rng: np.random.Generator) -> Index:
    """Equally many pairs, drawn by chance, from each of equal sections of a measure's range.

    Where the sections do not divide the count, some give one more; one with too few pairs gives all it has, and the others make up for it
    evenly, so that `count` pairs are chosen.
    """
    Limit(least=1, most=len(values), whole=True).check("count", count, hint=": there are no more pairs")
    check_argument(Count, sections=sections)
    low, high = float(values.min()), float(values.max())
    section = np.zeros(len(values), np.intp)
    if high > low:
        section = np.minimum(((values - low) / (high - low) * sections).astype(np.intp), sections - 1)
    wanted = _shared_out(np.bincount(section, minlength=sections), count, rng)
    return np.concatenate([rng.choice(np.flatnonzero(section == place), wanted[place], replace=False) for place in range(sections)])


def _shared_out(available: Index, count: int, rng: np.random.Generator) -> Index:
    """How many each section gives: as equal as what they have allows."""
    wanted = np.zeros_like(available)
    while (left := count - int(wanted.sum())) > 0:
        open_ones = np.flatnonzero(wanted < available)
        each = left // len(open_ones)
        if each == 0:
            wanted[rng.permutation(open_ones)[:left]] += 1
        else:
            wanted[open_ones] += np.minimum(each, available[open_ones] - wanted[open_ones])
    return wanted


def by_chance(values: Reals, count: int, rng: np.random.Generator) -> Index:
    """The control: any pairs."""
    return rng.choice(len(values), count, replace=False)
