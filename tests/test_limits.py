"""Limits are declared beside the parameter: one number, one or none, or several."""

from dataclasses import dataclass

import numpy as np
import pytest

from evenhand.errors import InvalidArgument
from evenhand.limits import Count, Limit, Share, ShareAboveZero, check_every, check_limits


@dataclass(frozen=True)
class Walk:
    steps: Count = 3
    rest: Share | None = None
    reaches: tuple[ShareAboveZero, ...] = (0.5, 1.0)

    def __post_init__(self) -> None:
        check_limits(self)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"steps": 0}, r"steps=0 must be a whole number of at least 1 \(a parameter of Walk\)"),
        ({"steps": True}, "steps=True"),
        ({"rest": 1.5}, "rest=1.5 must lie between 0 and 1 .*or None"),
        ({"reaches": (0.5, 0.0)}, r"reaches=\(0.5, 0.0\) must hold numbers, each of which must be above 0 and at most 1"),
        ({"reaches": ()}, "reaches="),
    ],
)
def test_what_lies_outside_is_named(given, told):
    with pytest.raises(InvalidArgument, match=told):
        Walk(**given)


def test_what_lies_inside_passes():
    assert Walk(1, None, (1.0,)).steps == 1


def test_arrays_are_checked_number_by_number():
    check_every(Share, p_values=np.array([0.0, 0.5, 1.0]))
    check_every(Share, p_values=np.empty(0))
    with pytest.raises(InvalidArgument, match=r"p_values=\(0.5, nan\)"):
        check_every(Share, p_values=np.array([0.5, np.nan]))


def test_a_limit_may_depend_on_the_data():
    with pytest.raises(InvalidArgument, match=r"k=5 must be a whole number of at least 1 and below 5, the number of rows"):
        Limit(least=1, below=5, whole=True).check("k", 5, hint=", the number of rows")
