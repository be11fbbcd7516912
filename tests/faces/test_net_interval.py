"""Promises of the exact interval of a net movement."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.errors import InvalidArgument
from evenhand.statistics.intervals import clopper_pearson
from evenhand.statistics.net import net_interval


@pytest.mark.parametrize(("up", "down"), [(0.3, 0.1), (0.05, 0.0), (0.2, 0.2)])
def test_the_chance_of_missing_the_truth_is_kept_exactly(up, down):
    """Every outcome of sixteen trials, weighted by its chance."""
    from scipy.stats import multinomial

    n, missed = 16, 0.0
    for ups in range(n + 1):
        for downs in range(n + 1 - ups):
            chance = multinomial.pmf([ups, downs, n - ups - downs], n, [up, down, 1 - up - down])
            if chance > 1e-5:
                found = net_interval(ups, downs, n, 0.9)
                missed += chance * (up - down < found.low - 1e-9 or up - down > found.high + 1e-9)
    assert missed <= 0.1


def test_it_is_sharper_than_the_difference_of_two_exact_intervals():
    found = net_interval(80, 24, 400)
    one, other = clopper_pearson(80, 400, 0.975), clopper_pearson(24, 400, 0.975)
    assert one.low - other.high < found.low - 0.01
    assert found.low < found.estimate < found.high
    assert found.estimate == pytest.approx(0.14)


def test_it_turns_with_its_sample():
    one, other = net_interval(7, 2, 50), net_interval(2, 7, 50)
    assert np.allclose([one.low, one.high], [-other.high, -other.low])


def test_edges():
    assert net_interval(0, 0, 0).low == -1.0
    assert net_interval(40, 0, 40).high == 1.0
    assert abs(net_interval(0, 0, 1000).high) < 0.01
    with pytest.raises(InvalidArgument, match="down=6 must lie between 0 and 4"):
        net_interval(6, 6, 10)
