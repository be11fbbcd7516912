"""The rank test agrees with scipy's, with ties and without."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from evenhand.statistics.rank_sum import rank_sum


@pytest.mark.parametrize("decimals", [0, 1, 6])
@pytest.mark.parametrize("shift", [0.0, 0.3, -2.0])
def test_it_says_what_scipy_says(decimals: int, shift: float) -> None:
    rng = np.random.default_rng(decimals)
    first, second = np.round(rng.normal(shift, 1, 90), decimals), np.round(rng.normal(0, 1, 140), decimals)
    known = mannwhitneyu(first, second, method="asymptotic")
    found = rank_sum(first, second)
    assert found.above == known.statistic
    assert found.p_value == pytest.approx(known.pvalue, rel=1e-9)
