"""Changes of a scene that keep it believable: one file for each operator, found by its name.  `parts` is what several of them share."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.contract import Operator
from evenhand.registry import Registry

OPERATORS: Registry[Operator] = Registry("scene operator", __name__, Operator)
PAPER = "paper"
"""Stands for the paper's operators, with their controls, where names of operators are given."""
PAPER_OPERATORS = ("insert", "delete", "rotate", "put_back", "empty_patch")


def chosen_operators(chosen: Sequence[str | Operator] = ()) -> dict[str, Operator]:
    """These operators by name, those given by name with their usual parameters; every usual one of the registry when none is given."""
    if not chosen:
        made = {name: OPERATORS.make(name) for name in OPERATORS.entries()}
        return {name: one for name, one in made.items() if one.is_usual}
    wanted = [each for one in chosen for each in (PAPER_OPERATORS if one == PAPER else (one,))]
    return {_name(one): OPERATORS.make(one) if isinstance(one, str) else one for one in wanted}


def _name(one: str | Operator) -> str:
    return one if isinstance(one, str) else type(one).__module__.rpartition(".")[2]
