"""Models whose unfairness is known exactly: small ReLU networks over seven integer columns, with the share counted, not sampled.

Six columns f1..f6 take the values 0 to 9; the base score is their sum against a threshold.  Each shape adds an effect of the protected
columns somewhere, so that the share of unfair inputs is a ratio of two whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.domain.twins import Implied
from evenhand.models.dense import DenseNet

DIGITS = 10
FREE = tuple(f"f{i}" for i in range(1, 7))
SOFTNESS = 0.1
"""Logits are scaled by this, so that scores are not saturated and gradients do not vanish."""


@dataclass(frozen=True)
class Planted:
    """A model, its domain, and the exact share of the domain's inputs that it treats unfairly."""

    name: str
    domain: TabularDomain
    model: DenseNet
    rate: Fraction
    story: str


@dataclass(frozen=True)
class Unit:
    """One ReLU unit: relu(sum of weight * input + bias)."""

    weights: Mapping[str, float]
    bias: float = 0.0


@dataclass(frozen=True)
class Circuit:
    """Two layers of named units, and the logit that they add up to."""

    first: Mapping[str, Unit]
    second: Mapping[str, Unit]
    logit: Mapping[str, float]
    bias: float

    def network(self, inputs: Sequence[str]) -> DenseNet:
        """The same function as weight matrices."""
        kernels, biases = [], []
        names = list(inputs)
        for layer in (self.first, self.second):
            kernels.append(np.array([[unit.weights.get(name, 0.0) for unit in layer.values()] for name in names], dtype=np.float32))
            biases.append(np.array([unit.bias for unit in layer.values()], dtype=np.float32))
            names = list(layer)
        half = SOFTNESS / 2 * np.array([self.logit.get(name, 0.0) for name in names], dtype=np.float32)
        kernels.append(np.stack([-half, half], axis=1))
        biases.append(np.array([-SOFTNESS / 2 * self.bias, SOFTNESS / 2 * self.bias], dtype=np.float32))
        return DenseNet(tuple(kernels), tuple(biases), classes=("refused", "granted"))


def sums(ranges: Sequence[tuple[int, int]]) -> list[int]:
    """How many ways digits from the given ranges (ends included) add up to 0, 1, 2, ..."""
    ways = [1]
    for low, high in ranges:
        spread = [0] * (len(ways) + high)
        for total, count in enumerate(ways):
            for digit in range(low, high + 1):
                spread[total + digit] += count
        ways = spread
    return ways


def share(ranges: Sequence[tuple[int, int]], band: range) -> Fraction:
    """The share of all inputs whose six digits lie in the ranges and whose sum lies in the band."""
    ways = sums(ranges)
    return Fraction(sum(ways[s] for s in band if s < len(ways)), DIGITS ** len(ranges))


EVERYWHERE = ((0, DIGITS - 1),) * 6
TOTAL = Unit(dict.fromkeys(FREE, 1.0))


def band(name: str, threshold: int, width: int, story: str) -> Planted:
    """The second group needs `width` points less: unfair where the sum lies within the band below the threshold."""
    circuit = Circuit(
        {"sum": TOTAL, "group": Unit({"group": 1.0})}, _passing("sum", "group"), {"sum": 1.0, "group": float(width)}, 0.5 - threshold
    )
    rate = share(EVERYWHERE, range(threshold - width, threshold))
    return _planted(name, circuit, rate, story)


def pocket(name: str, walls: Mapping[str, tuple[int, int]], story: str) -> Planted:
    """Inside a box the protected group alone decides; elsewhere it has no effect."""
    first = {"sum": TOTAL, "group": Unit({"group": 1.0})}
    outside: dict[str, float] = {}
    for column, (low, high) in walls.items():
        if low > 0:
            first[f"below_{column}"] = Unit({column: -1.0}, low)
            outside[f"below_{column}"] = -1.0
        if high < DIGITS - 1:
            first[f"above_{column}"] = Unit({column: 1.0}, -high)
            outside[f"above_{column}"] = -1.0
    second = _passing("sum") | {"box": Unit(outside, 1.0), "box_and_group": Unit(outside | {"group": 1.0}, 0.0)}
    circuit = Circuit(first, second, {"sum": 1.0, "box": -60.0, "box_and_group": 120.0}, -27.5)
    rate = Fraction(1)
    for low, high in walls.values():
        rate *= Fraction(high - low + 1, DIGITS)
    return _planted(name, circuit, rate, story)


def interaction() -> Planted:
    """Unfair only where f1 is high and f2 is low, and only near the threshold."""
    first = {
        "sum": TOTAL,
        "group": Unit({"group": 1.0}),
        "f1_over_4": Unit({"f1": 1.0}, -4.0),
        "f1_over_5": Unit({"f1": 1.0}, -5.0),
        "f2_under_5": Unit({"f2": -1.0}, 5.0),
        "f2_under_4": Unit({"f2": -1.0}, 4.0),
    }
    all_three = Unit({"f1_over_4": 1.0, "f1_over_5": -1.0, "f2_under_5": 1.0, "f2_under_4": -1.0, "group": 1.0}, -2.0)
    circuit = Circuit(first, _passing("sum") | {"all_three": all_three}, {"sum": 1.0, "all_three": 8.0}, -27.5)
    quadrant = ((5, 9), (0, 4), *EVERYWHERE[2:])
    return _planted("interaction", circuit, share(quadrant, range(20, 28)), "the group counts only where f1 is at least 5 and f2 at most 4")


def proxy() -> Planted:
    """The model never reads the group, but a district that goes with it; the twin moves house along."""
    columns = (_group(), Column("district", "category", ("north", "south")), *_digits())
    circuit = Circuit(
        {"sum": TOTAL, "district": Unit({"district": 1.0})}, _passing("sum", "district"), {"sum": 1.0, "district": 6.0}, -27.5
    )
    implied = (Implied("group", "a", "b", {"district": {"north": "south"}}),)
    domain = TabularDomain(columns, ("group",), _label(), implied=implied)
    # Only a's in the north and b's in the south have a twin elsewhere: half of all inputs.
    rate = share(EVERYWHERE, range(22, 28)) / 2
    return Planted("proxy", domain, circuit.network(domain.names), rate, "the district stands in for the group")


def one_of_nine() -> Planted:
    """Nine age bands, of which only the last is treated differently."""
    columns = (Column("age_band", "integer", low=1, high=9), *_digits())
    circuit = Circuit(
        {"sum": TOTAL, "oldest": Unit({"age_band": 1.0}, -8.0)}, _passing("sum", "oldest"), {"sum": 1.0, "oldest": 3.0}, -30.5
    )
    domain = TabularDomain(columns, ("age_band",), _label())
    return Planted(
        "one_of_nine", domain, circuit.network(domain.names), share(EVERYWHERE, range(28, 31)), "only the ninth age band differs"
    )


def intersection() -> Planted:
    """Two protected columns; only their combination is treated differently."""
    columns = (_group(), Column("sex", "category", ("f", "m")), *_digits())
    both = Unit({"group": 1.0, "sex": 1.0}, -1.0)
    circuit = Circuit({"sum": TOTAL, "both": both}, _passing("sum", "both"), {"sum": 1.0, "both": 4.0}, -34.5)
    domain = TabularDomain(columns, ("group", "sex"), _label())
    return Planted(
        "intersection", domain, circuit.network(domain.names), share(EVERYWHERE, range(31, 35)), "only group b and sex m together differ"
    )


def fair() -> Planted:
    """A model that never looks at the group."""
    circuit = Circuit({"sum": TOTAL}, _passing("sum"), {"sum": 1.0}, -27.5)
    return _planted("fair", circuit, Fraction(0), "the group has no effect at all")


def shapes() -> dict[str, Planted]:
    """Every planted model by name, from wide to narrow."""
    made = [
        band("wide_band", 28, 6, "the second group needs six points less"),
        band("narrow_band", 41, 1, "the second group needs one point less, far from the middle"),
        interaction(),
        one_of_nine(),
        intersection(),
        proxy(),
        pocket("pocket", {"f1": (8, 9), "f2": (8, 9), "f3": (0, 1)}, "inside a box of 0.8 % of all inputs the group alone decides"),
        pocket("needle", {"f1": (9, 9), "f2": (9, 9), "f3": (0, 0), "f4": (0, 0)}, "a box of one input in ten thousand"),
        fair(),
    ]
    return {planted.name: planted for planted in made}


def _planted(name: str, circuit: Circuit, rate: Fraction, story: str) -> Planted:
    domain = TabularDomain((_group(), *_digits()), ("group",), _label())
    return Planted(name, domain, circuit.network(domain.names), rate, story)


def _passing(*names: str) -> dict[str, Unit]:
    """Values that go through a layer unchanged: they are never negative."""
    return {name: Unit({name: 1.0}) for name in names}


def _group() -> Column:
    return Column("group", "category", ("a", "b"))


def _digits() -> tuple[Column, ...]:
    return tuple(Column(name, "integer", low=0, high=DIGITS - 1) for name in FREE)


def _label() -> Label:
    return Label("decision", ("refused", "granted"), ("granted",))
