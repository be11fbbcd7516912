"""Whether pictures that are left out are more often those of some groups: then figures say less of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

UNEQUAL = "UNEQUAL"
MOST_GROUPS, UNEQUAL_BELOW = 12, 0.05
"""Of attributes with at most so many values it is told whose pictures are missing more often; from which p-value on it is said aloud."""


def missing_by_group(words: Mapping[str, Sequence[str]], lost: Sequence[int], kept: Sequence[int]) -> str:
    """The share of every value of every attribute that is lost, with a test for each; places among the words.

    >>> missing_by_group({"tone": ["dark", "dark", "light", "light"]}, lost=[0], kept=[1, 2, 3])
    'tone (no difference shown, p = 1): dark 50.0% of 2, light 0.0% of 2'
    """
    from scipy.stats import chi2_contingency

    told = []
    for name, groups in words.items():
        gone, found = (Counter(groups[place] for place in places) for places in (lost, kept))
        values = sorted((gone + found).keys() - {""}, key=by_number)
        if not 2 <= len(values) <= MOST_GROUPS:
            continue
        counts = np.array([[gone[value], found[value]] for value in values])
        shares = ", ".join(
            f"{value} {missed / total:.1%} of {total}" for value, missed, total in zip(values, counts[:, 0], counts.sum(1), strict=True)
        )
        test = chi2_contingency(counts).pvalue if counts[:, 0].any() else 1.0
        told.append(f"{name} ({UNEQUAL if test < UNEQUAL_BELOW else 'no difference shown'}, p = {test:.2g}): {shares}")
    return "; ".join(told or ["no groups are known"])


def by_number(word: str) -> tuple[int, float, str]:
    """Numbers, and what begins with one, in their order before all other words."""
    start = word.split("-")[0] if word[:1].isdigit() else word
    digits = start.replace("more than ", "")
    return (0, float(digits), word) if digits.replace(".", "", 1).isdigit() else (1, 0.0, word)
