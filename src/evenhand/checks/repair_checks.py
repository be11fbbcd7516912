"""What every repair promises, as checks that anyone can run on their own: each takes a way to make the repair and a case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, get_args

import numpy as np

from evenhand.contract import Model
from evenhand.errors import MissingAbility
from evenhand.repairs.parts.case import Case, Mended, Repair, Role

MakeRepair = Callable[[], Repair]
RepairCheck = Callable[[MakeRepair, Case], None]


def for_repair() -> tuple[RepairCheck, ...]:
    """Every check, in the order in which a new repair usually fails them."""
    return (
        check_repair_is_a_frozen_dataclass,
        check_mends_into_a_working_model,
        check_leaves_the_case_alone,
        check_one_seed_mends_one_way,
    )


def _mended(make: MakeRepair, case: Case, seed: int = 0) -> Mended | None:
    """What comes out; None where the repair says that this model cannot be mended by it."""
    repair = make()
    if not isinstance(case.model, repair.needs):
        return None
    try:
        return repair.mend(case, np.random.default_rng(seed))
    except MissingAbility:
        return None


def check_repair_is_a_frozen_dataclass(make: MakeRepair, _: Case) -> None:
    """Parameters are frozen fields that rebuild it; it says what it needs and whether it is meant to help."""
    repair: Any = make()
    assert is_dataclass(type(repair)), f"{type(repair).__name__} must be a dataclass"
    assert getattr(type(repair), "__dataclass_params__").frozen, f"{type(repair).__name__} must be frozen"  # noqa: B009
    assert type(repair)(**{each.name: getattr(repair, each.name) for each in fields(repair)}) == repair, "its fields must rebuild it"
    assert repair.role in get_args(Role), f"role={repair.role!r} must be one of {', '.join(get_args(Role))}"


def check_mends_into_a_working_model(make: MakeRepair, case: Case) -> None:
    """The new model has the old one's classes and answers with finite numbers."""
    mended = _mended(make, case)
    if mended is None:
        return
    assert isinstance(mended.model, Model), f"{type(mended.model).__name__} is not a model"
    assert tuple(mended.model.classes) == tuple(case.model.classes), f"the mended model has other classes: {mended.model.classes!r}"
    scores = mended.model.scores(case.rows)
    assert scores.shape == (len(case.rows), len(case.model.classes)), f"the mended model answers with the shape {scores.shape}"
    assert np.isfinite(scores).all(), "the mended model answers with a number that is not finite"


def check_leaves_the_case_alone(make: MakeRepair, case: Case) -> None:
    """The old model, its rows and the findings stay as they are."""
    before = case.model.fingerprint(), case.rows.copy(), case.labels.copy(), case.findings.copy()
    _mended(make, case)
    assert case.model.fingerprint() == before[0], "the repair changed the model that it was given"
    for name, kept in zip(("rows", "labels", "findings"), before[1:], strict=True):
        assert np.array_equal(getattr(case, name), kept, equal_nan=name != "labels"), f"the repair changed the case's {name}"


def check_one_seed_mends_one_way(make: MakeRepair, case: Case) -> None:
    """The same seed gives a model that answers the same."""
    first, second = (_mended(make, case, 3) for _ in range(2))
    if first is not None and second is not None:
        answers, again = first.model.scores(case.rows), second.model.scores(case.rows)
        assert np.allclose(answers, again, atol=1e-6), "one seed mended the model in two ways"
