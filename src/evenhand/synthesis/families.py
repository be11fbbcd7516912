"""The five distributions of AITEST as arrays: many fitted distributions are evaluated, inverted and drawn from at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Reals, Rows
from evenhand.errors import InvalidArgument, UnknownName

FAMILIES = ("uniform", "normal", "exponential", "gamma", "beta")
NONE = -1
"""The family of a column or group that no distribution fits."""

Parameters: TypeAlias = NDArray[np.float64]  # (..., 4): loc, scale, first shape, second shape


def cdf(family: int, parameters: Parameters, x: Rows) -> Rows:
    """P(X <= x); parameters broadcast against x without their last axis."""
    from scipy import special

    loc, scale, first, second = (parameters[..., i] for i in range(4))
    with np.errstate(over="ignore"):  # a group of nearly equal values has hardly any scale
        z = (x - loc) / scale
    name = FAMILIES[family]
    if name == "normal":
        found = special.ndtr(z)
    elif name == "uniform":
        found = np.clip(z, 0.0, 1.0)
    elif name == "exponential":
        found = -np.expm1(-np.maximum(z, 0.0))
    elif name == "gamma":
        found = special.gammainc(first, np.maximum(z, 0.0))
    else:
        found = special.betainc(first, second, np.clip(z, 0.0, 1.0))
    return np.asarray(found)


def density(family: int, parameters: Parameters, x: Rows) -> Rows:
    """The derivative of `cdf` for gamma and beta."""
    from scipy import special

    loc, scale, first, second = (parameters[..., i] for i in range(4))
    z = (x - loc) / scale
    outside = (z < 0) if FAMILIES[family] == "gamma" else (z < 0) | (z > 1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if FAMILIES[family] == "gamma":
            log = special.xlogy(first - 1, z) - z - special.gammaln(first)
        else:
            log = special.xlogy(first - 1, z) + special.xlog1py(second - 1, -z) - special.betaln(first, second)
        return np.where(outside, 0.0, np.nan_to_num(np.exp(log) / scale, nan=0.0, posinf=1e12))


def quantile(family: int, parameters: Parameters, levels: Rows) -> Rows:
    """The inverse of `cdf`."""
    from scipy import special

    loc, scale, first, second = (parameters[..., i] for i in range(4))
    name = FAMILIES[family]
    if name == "normal":
        z = special.ndtri(levels)
    elif name == "uniform":
        z = levels
    elif name == "exponential":
        z = -np.log1p(-levels)
    elif name == "gamma":
        z = special.gammaincinv(first, levels)
    else:
        z = special.betaincinv(first, second, levels)
    return np.asarray(loc + scale * z)


def draw(family: int, parameters: Parameters, which: Index, rng: np.random.Generator) -> Reals:
    """One value for every entry of `which`, from the distribution in that row of the parameters."""
    loc, scale, first, second = parameters.T
    name = FAMILIES[family]
    n = len(which)
    if name == "normal":
        z = rng.standard_normal(n)
    elif name == "uniform":
        z = rng.random(n)
    elif name == "exponential":
        z = rng.standard_exponential(n)
    elif name == "gamma":
        z = rng.standard_gamma(first[which])
    else:
        z = rng.beta(first[which], second[which])
    z *= scale[which]
    z += loc[which]
    return z


_SHAPES = {"uniform": (), "normal": (), "exponential": (), "gamma": ("shape",), "beta": ("a", "b")}


def parse(words: Mapping[str, Any]) -> tuple[int, Parameters]:
    """A distribution as a user writes it: {name: normal, loc: 15000, scale: 1500}."""
    name = words.get("name")
    if name not in FAMILIES:
        raise UnknownName("distribution", str(name), FAMILIES)
    expected = ("loc", "scale", *_SHAPES[name])
    if set(words) != {"name", *expected}:
        raise InvalidArgument(f"distribution {name!r} needs {', '.join(expected)}; got {', '.join(k for k in words if k != 'name')}")
    numbers = [words[key] for key in expected]
    if not all(isinstance(v, int | float) and np.isfinite(v) for v in numbers) or any(v <= 0 for v in numbers[1:]):
        raise InvalidArgument(f"distribution {name!r}: {dict(words)} must hold finite numbers, all but loc above 0")
    return FAMILIES.index(name), np.array([*numbers, *[1.0] * (4 - len(numbers))], dtype=np.float64)


def describe(family: int, parameters: Parameters) -> dict[str, float | str]:
    """The way back from `parse`."""
    if family == NONE:
        return {}
    keys = ("loc", "scale", *_SHAPES[FAMILIES[family]])
    return {"name": FAMILIES[family], **{key: float(value) for key, value in zip(keys, parameters, strict=False)}}
