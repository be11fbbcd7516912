"""Which generated pairs to train on: k-multisection selection (KM-ST) on a layer measure, or chance.

Paper: P. Zhang et al., DeepFAIT, 2021, section 3.4.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Index, Reals
from evenhand.limits import Count, Limit, check_argument


def k_multisection(values: Reals, count: int, sections: int, rng: np.random.Generator) -> Index:
    """About equally many pairs from each of equal sections of a measure's range.

    A section with too few pairs gives all it has; what is missing comes from the others by chance, so that `count` pairs are chosen.
    """
    Limit(least=1, most=len(values), whole=True).check("count", count, hint=": there are no more pairs")
    check_argument(Count, sections=sections)
    low, high = float(values.min()), float(values.max())
    section = np.zeros(len(values), np.intp)
    if high > low:
        section = np.minimum(((values - low) / (high - low) * sections).astype(np.intp), sections - 1)
    shuffled = rng.permutation(len(values))
    by_section = shuffled[np.argsort(section[shuffled], kind="stable")]
    place = np.arange(len(values)) - np.searchsorted(section[by_section], section[by_section])
    early = place < -(-count // sections)
    first = rng.permutation(by_section[early])[:count]
    rest = rng.permutation(np.setdiff1d(np.arange(len(values)), first))[: count - len(first)]
    return np.concatenate([first, rest])


def by_chance(values: Reals, count: int, rng: np.random.Generator) -> Index:
    """The control: any pairs."""
    return rng.choice(len(values), count, replace=False)
