"""What every loader promises, as checks that anyone can run on their own: each takes a loader and a source that is for it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from evenhand.contract import DataWishes, Loader, Medium

LoaderCheck = Callable[[Loader, Any, DataWishes], None]


def for_loader() -> tuple[LoaderCheck, ...]:
    """Every check, in the order in which a new loader usually fails them."""
    return (check_loader_is_a_dataclass, check_claims_only_its_own, check_loads_rows_inside_their_domain, check_loads_the_same_twice)


def check_loader_is_a_dataclass(loader: Loader, _: Any, __: DataWishes) -> None:
    """Settings are fields; the kind is one word."""
    assert isinstance(loader, Loader), f"{type(loader).__name__} must have kind, claims and load"
    assert is_dataclass(type(loader)), f"{type(loader).__name__} must be a dataclass"
    assert loader.kind.isidentifier(), f"kind={loader.kind!r} must be one word"


def check_claims_only_its_own(loader: Loader, source: Any, _: DataWishes) -> None:
    """It is sure of its own source, and claims nothing that is none."""
    assert loader.claims(source) > 0, f"{type(loader).__name__} does not claim a source of its own"
    for stranger in (object(), 17, "no such thing anywhere"):
        assert loader.claims(stranger) == 0, f"{type(loader).__name__} claims {stranger!r}"


def check_loads_rows_inside_their_domain(loader: Loader, source: Any, wishes: DataWishes) -> None:
    """Rows of the domain, with something protected, and a medium that shows them."""
    data = loader.load(source, wishes)
    assert len(data.rows), "no rows were loaded"
    assert data.domain.inside(data.rows).all(), "a loaded row lies outside its domain"
    assert data.domain.protected, "nothing is protected"
    assert isinstance(data.medium, Medium), f"{type(data.medium).__name__} is not a medium"
    assert len(data.medium.show(data.rows[:2])) == len(data.rows[:2]), "the medium does not show the loaded rows"


def check_loads_the_same_twice(loader: Loader, source: Any, wishes: DataWishes) -> None:
    """The same source and the same generator give the same data."""
    first, second = (loader.load(source, deepcopy(wishes)) for _ in range(2))  # each with the generator as it was
    assert np.array_equal(first.rows, second.rows, equal_nan=True), "one source was loaded in two ways"
    assert first.medium.digest() == second.medium.digest(), "one source was loaded with two media"
