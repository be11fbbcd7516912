"""What every model adapter promises, as checks that anyone can run on their own: each takes an adapter, a model of its kind and data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evenhand.checks.model_checks import for_model
from evenhand.contract import Adapter
from evenhand.datasets.dataset import Dataset
from evenhand.models.wrap import wrap

AdapterCheck = Callable[[Adapter, Any, Dataset], None]
ROWS = 20


def for_adapter() -> tuple[AdapterCheck, ...]:
    """Every check, in the order in which a new adapter usually fails them."""
    return (check_accepts_only_its_own, check_wrap_takes_it, check_what_is_wrapped_is_a_model)


def check_accepts_only_its_own(adapter: Adapter, given: Any, _: Dataset) -> None:
    """A model of its kind and nothing that is none."""
    assert adapter.accepts(given), f"a {type(given).__name__} of its own kind is not accepted"
    for stranger in (object(), 17, None):
        assert not adapter.accepts(stranger), f"{stranger!r} is accepted, which is no model"


def check_wrap_takes_it(_: Adapter, given: Any, data: Dataset) -> None:
    """`wrap` hands the model to an adapter without being told which."""
    assert len(wrap(given, data).scores(data.rows[:ROWS])) == len(data.rows[:ROWS]), "wrap does not answer for every row"


def check_what_is_wrapped_is_a_model(_: Adapter, given: Any, data: Dataset) -> None:
    """Every promise of a model is kept by what comes out."""
    model = wrap(given, data)
    for check in for_model():
        check(model, data.rows[:ROWS])
