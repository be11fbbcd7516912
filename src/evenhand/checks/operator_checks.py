"""What every scene operator promises, as checks that anyone can run on their own: each takes an operator and orders to carry out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from evenhand.contract import Operator
from evenhand.media.operators.parts.mutated import Mutation, Skipped
from evenhand.media.operators.parts.order import ChangeOrder

OperatorCheck = Callable[[Operator, Sequence[ChangeOrder]], None]


def for_operator() -> tuple[OperatorCheck, ...]:
    """Every check, in the order in which a new operator usually fails them."""
    return (
        check_says_what_it_does,
        check_changes_a_scene_or_says_why_not,
        check_the_same_seed_makes_the_same_change,
        check_leaves_the_scene_alone,
    )


def _made(operator: Operator, order: ChangeOrder, seed: int = 0) -> Mutation | Skipped:
    return operator.change(order, np.random.default_rng(seed))


def check_says_what_it_does(operator: Operator, _: Sequence[ChangeOrder]) -> None:
    """Whether it adds, whether it is a control, whether chance matters: all three are true or false."""
    assert isinstance(operator, Operator), f"{type(operator).__name__} must have adds, is_null, is_random, is_whole, is_usual and change"
    for name in ("adds", "is_null", "is_random", "is_whole", "is_usual"):
        assert isinstance(getattr(operator, name), bool), f"{name}={getattr(operator, name)!r} must be true or false"


def check_changes_a_scene_or_says_why_not(operator: Operator, orders: Sequence[ChangeOrder]) -> None:
    """A changed scene has a picture of the same size that differs; a refusal has a reason; some order is carried out."""
    results = [_made(operator, order) for order in orders]
    for made in results:
        if isinstance(made, Skipped):
            assert made.reason, "a change that was not made must say why"
            continue
        before, after = made.before.picture, made.after.picture
        assert after.shape == before.shape, f"the picture's shape changed from {before.shape} to {after.shape}"
        assert after.dtype == np.uint8, f"a picture must be of bytes, not {after.dtype}"
        assert made.boxes or np.array_equal(before, after), "the picture changed outside every box that is told"
    assert any(isinstance(made, Mutation) for made in results), f"none of {len(orders)} orders was carried out"


def check_the_same_seed_makes_the_same_change(operator: Operator, orders: Sequence[ChangeOrder]) -> None:
    """Equal seeds, equal pictures."""
    for order in orders:
        first, second = _made(operator, order, 5), _made(operator, order, 5)
        assert type(first) is type(second), "one seed made a change once and refused it once"
        if isinstance(first, Mutation) and isinstance(second, Mutation):
            assert np.array_equal(first.after.picture, second.after.picture), "one seed made two different pictures"


def check_leaves_the_scene_alone(operator: Operator, orders: Sequence[ChangeOrder]) -> None:
    """The original stays as it is."""
    for order in orders:
        kept, instances = order.scene.picture.copy(), len(order.scene.instances)
        _made(operator, order)
        assert np.array_equal(order.scene.picture, kept), "the operator painted into the scene that it was given"
        assert len(order.scene.instances) == instances, "the operator changed what the given scene shows"
