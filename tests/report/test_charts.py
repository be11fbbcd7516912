"""Promises of the charts' axes."""

from __future__ import annotations

import pytest

from evenhand.report.charts.canvas import Axis


@pytest.mark.parametrize("ends", [(0, 1), (-8.6, 17.9), (-3.6, 7.1), (0, 3.3), (0, 9.9), (0, 128), (0.013, 0.037), (-1e6, -1e3)])
def test_an_axis_has_four_to_eight_round_ticks_inside_its_range(ends):
    ticks = [tick.value for tick in Axis(*ends).ticks()]
    assert 4 <= len(ticks) <= 8
    assert all(ends[0] - 1e-9 <= each <= ends[1] + 1e-9 for each in ticks)
    assert all(float(f"{each:.3g}") == pytest.approx(each) for each in ticks)
    assert "-0" not in [f"{each:.3g}" for each in ticks]


def test_an_axis_without_extent_has_its_one_value():
    assert [tick.value for tick in Axis(0.0, 0.0).ticks()] == [0.0]


def test_many_ticks_of_a_strip_are_halved_around_zero():
    from evenhand.report.charts.canvas import Tick
    from evenhand.report.charts.tolerances import few

    ticks = [Tick(value, "") for value in (-0.125, -0.1, -0.075, -0.05, -0.025, 0.0)]
    assert [tick.value for tick in few(ticks)] == [-0.1, -0.05, 0.0]
    assert few(ticks[:5]) == ticks[:5]
