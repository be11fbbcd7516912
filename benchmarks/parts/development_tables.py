"""Generated tables that constants of chained trees may be chosen on: nothing that is reported elsewhere stands on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from evenhand.arrays import Labels, Reals, Rows
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain

Made = tuple[Rows, Labels | None, TabularDomain]


def _numbers(cells: Mapping[str, Reals]) -> Made:
    columns = tuple(Column(name, "real", low=float(each.min()), high=float(each.max())) for name, each in cells.items())
    return np.column_stack(list(cells.values())), None, TabularDomain(columns)


def straight(seed: int, n: int = 12_000) -> Made:
    """Ten numbers that nothing but six hidden ones and chance bind, by straight lines."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n, 6))
    return _numbers({f"n{at}": np.round(hidden @ rng.normal(size=6) + rng.standard_normal(n), 2) for at in range(10)})


def bent(seed: int, n: int = 12_000) -> Made:
    """Twelve numbers that waves, squares and powers of four hidden ones bind, some with more chance than others."""
    rng = np.random.default_rng(seed)
    hidden, cells = rng.normal(size=(n, 4)), {}
    for at in range(12):
        one, other = hidden @ rng.normal(size=4), hidden @ rng.normal(size=4)
        bend = (0.5 * other**2, np.exp(0.4 * one), np.zeros(n))[at % 3]
        chance = 0.3 * rng.normal(size=n) * (1 + (at % 2) * np.abs(hidden[:, at % 4]))
        cells[f"n{at}"] = np.round(np.sin(one) + bend + chance, 3)
    return _numbers(cells)


def bounded(seed: int, n: int = 14_000) -> Made:
    """Eleven numbers with heavy tails, ends and values at which they are cut off, extreme together."""
    from scipy import stats

    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(11, 4))
    shared = loadings @ loadings.T + np.diag(rng.uniform(0.2, 1.5, 11))
    spread = np.sqrt(np.diag(shared))
    scores = rng.multivariate_normal(np.zeros(11), shared / np.outer(spread, spread), n) / np.sqrt(rng.chisquare(5, n) / 5)[:, None]
    laws = [stats.beta(0.6, 2), stats.beta(2, 0.5), stats.pareto(2.2), stats.uniform(), stats.lognorm(1.0), stats.gamma(1.5), stats.t(3)]
    laws += [stats.norm(), stats.weibull_min(0.8), stats.beta(4, 4), stats.expon()]
    cells = {f"n{at}": law.ppf(stats.t.cdf(scores[:, at], 5)) for at, law in enumerate(laws)}
    cut = {name: np.minimum(cells[name], np.quantile(cells[name], 0.93)) for name in ("n3", "n5")}
    return _numbers({name: np.round(each, 3) if int(name[1:]) % 2 else each for name, each in (cells | cut).items()})


def detector(seed: int, n: int = 19_000) -> Made:
    """Moments of a detector's pictures: heavy tails, shares of shares, signed numbers that grow with a size."""
    rng = np.random.default_rng(seed)
    kind = rng.random(n) < 0.4
    energy = rng.gamma(2.0, 0.45, n) + rng.normal(0, 0.15, n) + 0.2 * kind
    length = np.exp(2.7 + 0.35 * energy + rng.normal(0, 0.35, n)) + kind * rng.exponential(12, n)
    width = length * rng.beta(5 - 1.5 * kind, 7, n) * np.exp(rng.normal(0, 0.15, n))
    share = 1 / (1 + np.exp(-(2.6 - 0.55 * np.log(length * width + 1) + rng.normal(0, 0.3, n))))
    side = np.where(rng.random(n) < 0.62 - 0.2 * kind, 1, -1)
    angle = np.where(kind, 90 * rng.random(n) ** 1.1, np.minimum(rng.exponential(11, n), 90 * rng.random(n) + 11))
    cells = {
        "length": length,
        "width": width,
        "size": 2 + 0.3 * energy + 0.25 * np.log(width + 1) + rng.normal(0, 0.15, n) ** 2,
        "share": share,
        "first": share * rng.beta(8, 5, n),
        "lean": side * length * rng.gamma(1.2, 0.35, n) - kind * rng.exponential(10, n),
        "along": np.cbrt(rng.normal(0.5 * side, 0.7, n)) * length * 0.55,
        "across": np.cbrt(rng.normal(0, 0.4, n)) * width * 0.8,
        "angle": angle,
        "distance": np.maximum(120 + 30 * energy + rng.normal(0, 65, n) + 0.5 * length, 2.0),
    }
    rows, _, domain = _numbers({name: np.round(each, 4) for name, each in cells.items()})
    label = Label("kind", ("quiet", "loud"), ("loud",))
    return rows, kind.astype(np.intp), TabularDomain(domain.columns, (), label)


def small_groups(seed: int, n: int = 40_000) -> Made:
    """People of eight races, two of them a hundredth, who differ in an outcome by more than their other columns tell."""
    rng = np.random.default_rng(seed)
    race = (rng.choice(8, n, p=[0.62, 0.2, 0.08, 0.04, 0.02, 0.02, 0.01, 0.01]) * 3 + 1) % 8
    sex, age = rng.integers(0, 2, n), np.clip(np.round(rng.gamma(9, 4.5, n)), 17, 90)
    apart = rng.normal(size=8) * 0.5
    grade = np.clip(np.round(rng.normal(9 + apart[race] * 2, 2.5)), 1, 16)
    hours = np.clip(np.round(np.where(rng.random(n) < 0.45, 40, rng.normal(40 - 4 * sex, 11))), 1, 99)
    gain = np.where(rng.random(n) < 0.08, np.round(np.exp(rng.normal(8, 1, n))), 0)
    weight, region = np.round(np.exp(rng.normal(12, 0.5, n))), rng.integers(0, 4, n)
    odds = -2.2 + 0.25 * (grade - 9) + 0.03 * (age - 38) - 0.7 * sex + 0.03 * (hours - 40) + 0.9 * (gain > 5_000) + 1.2 * apart[race]
    numbers = {"age": age, "grade": grade, "hours": hours, "gain": gain, "weight": weight}
    columns = (
        Column("race", "category", tuple("abcdefgh")),
        Column("sex", "category", ("m", "f")),
        *(Column(name, "integer", low=int(each.min()), high=int(each.max())) for name, each in numbers.items()),
        Column("region", "category", ("n", "e", "s", "w")),
    )
    rows = np.column_stack([race, sex, *numbers.values(), region]).astype(np.float64)
    labels = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(np.intp)
    return rows, labels, TabularDomain(columns, ("race", "sex"), Label("granted", ("no", "yes"), ("yes",)))


DEVELOPMENT: dict[str, Callable[[int], Made]] = {
    "straight": straight,
    "bent": bent,
    "bounded": bounded,
    "detector": detector,
    "small groups": small_groups,
}
"""By name; one of them is asked for as `straight 3`, the number being its seed."""
