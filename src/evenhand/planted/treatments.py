"""One subject for each oracle on rows, whose share of unfair inputs is known exactly, and a fair one beside it.

Every model is a formula over ten-valued digits f1 to f3 and a group a or b, so that shares are counted and not sampled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from evenhand.arrays import Mask, Reals, Rows, Scores
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.domain.twins import Implied

DIGITS = ("f1", "f2", "f3")
GROUP, DISTRICT = "group", "district"


@dataclass(frozen=True)
class FormulaModel:
    """A model that is a formula over codes."""

    name: str
    formula: Callable[[Rows], Reals]
    classes: tuple[Any, ...] = ("refused", "granted")
    is_hard: bool = False
    batch_rows: int = 65_536

    def scores(self, rows: Rows) -> Scores:
        """The chance to be granted and its opposite, or the amount."""
        value = np.asarray(self.formula(rows), dtype=np.float64)
        return value[:, None] if len(self.classes) == 1 else np.stack([1.0 - value, value], axis=1)

    def fingerprint(self) -> str:
        """The formula's name."""
        return f"formula-{self.name}"


@dataclass(frozen=True)
class Treatment:
    """A model in its domain, the oracle that it was made for, real rows, and the exact share of those rows that are unfair."""

    oracle: str
    domain: TabularDomain
    model: FormulaModel
    rows: Rows
    rate: Fraction
    story: str

    @property
    def name(self) -> str:
        """What the formula is called."""
        return self.model.name


def treatments() -> dict[str, Treatment]:
    """Every subject by name, unfair ones and fair ones."""
    made = [flipped(), scored(), paid(), paid_by_share(), moved_house(), drawn_again(), alike(), wavering()]
    fair = [_fair(each) for each in made]
    return {each.name: each for each in (*made, *fair)}


def flipped() -> Treatment:
    """Where f1 is 9, only group b is granted."""
    formula = lambda rows: np.where(_is(rows, 1, 9), rows[:, 0], rows[:, 2] >= 5)  # noqa: E731
    return _made("flip", "flipped", formula, Fraction(1, 10), "where f1 is 9, the group alone decides")


def scored() -> Treatment:
    """Where f1 is at least 5, group b scores 0.3 more, and nobody is ever granted."""
    formula = lambda rows: 0.1 + 0.3 * rows[:, 0] * (rows[:, 1] >= 5)  # noqa: E731
    return _made("gap:threshold=0.2", "scored", formula, Fraction(1, 2), "half of the people score 0.3 more in group b; labels never move")


def paid() -> Treatment:
    """Where f1 is at least 7, group b is paid 600 more."""
    formula = lambda rows: 1000 + 100 * rows[:, 2] + 600 * rows[:, 0] * (rows[:, 1] >= 7)  # noqa: E731
    story = "three in ten are paid 600 EUR more in group b"
    return _made("amounts", "paid", formula, Fraction(3, 10), story, Label("pay", unit="EUR", tolerance=500))


def paid_by_share() -> Treatment:
    """Group b is paid 100 more, which is much for those who are paid little."""
    formula = lambda rows: 100.0 * (1 + rows[:, 1]) + 100 * rows[:, 0]  # noqa: E731
    story = "100 EUR more in group b are over a fifth of the larger amount where the smaller one is below 400"
    return _made("amounts:share=0.2", "paid_by_share", formula, Fraction(3, 10), story, Label("pay", unit="EUR"))


def moved_house() -> Treatment:
    """The model reads the group a little and a declared consequence much: `direct` sees only the group itself."""
    formula = lambda rows: np.where(_is(rows, 2, 9), rows[:, 0], np.where(_is(rows, 2, 8), rows[:, 1], rows[:, 3] >= 5))  # noqa: E731
    implied = (Implied(GROUP, "a", "b", {DISTRICT: {"north": "south"}}),)
    domain = TabularDomain((_group(), _district(), *_digits()), (GROUP,), _label(), implied=implied)
    rows = _grid(domain)
    story = "where f1 is 9 the group decides, where it is 8 the district does, which follows from the group"
    return Treatment("direct", domain, FormulaModel("moved_house", formula), rows, Fraction(1, 10), story)


def drawn_again() -> Treatment:
    """Every a lives in the north and every b in the south, and where f1 is 9 the model reads the district."""
    formula = lambda rows: np.where(_is(rows, 2, 9), rows[:, 1], rows[:, 3] >= 5)  # noqa: E731
    domain = TabularDomain((_group(), _district(), *_digits()), (GROUP,), _label())
    rows = _grid(domain)
    rows = rows[rows[:, 0] == rows[:, 1]]
    story = "the district tells the group, and decides where f1 is 9; the model never reads the group"
    return Treatment(
        f"resampled:graph={DISTRICT}<-{GROUP}", domain, FormulaModel("drawn_again", formula), rows, Fraction(1, 10), story
    )  # fmt: skip


def alike() -> Treatment:
    """Everybody has an equal in the other group, and where f1 is 9 the group decides."""
    formula = lambda rows: np.where(_is(rows, 1, 9), rows[:, 0], rows[:, 2] >= 5)  # noqa: E731
    return _made("neighbour", "alike", formula, Fraction(1, 10), "the nearest person of the other group is equal in everything else")


def wavering() -> Treatment:
    """Granted from f1 = 5 on: within one step of it, a small change turns the answer."""
    formula = lambda rows: rows[:, 1] >= 5  # noqa: E731
    story = "f1 of 4 and 5 are one step from another answer; so many neighbours are asked that none is missed"
    return _made("robustness:reach=1,neighbours=256", "wavering", formula, Fraction(1, 5), story)


def _fair(unfair: Treatment) -> Treatment:
    """The same people and a model that reads f2 alone; nothing at all where small changes count."""
    place, is_amount = unfair.domain.place("f2"), len(unfair.model.classes) == 1
    steps = 0.0 if unfair.oracle.startswith("robustness") else 1.0
    formula = lambda rows: 100.0 * rows[:, place] if is_amount else steps * (rows[:, place] >= 5)  # noqa: E731
    model = FormulaModel(f"fair_{unfair.name}", formula, unfair.model.classes)
    return Treatment(unfair.oracle, unfair.domain, model, unfair.rows, Fraction(0), "the group has no effect at all")


def _made(
    oracle: str, name: str, formula: Callable[[Rows], Any], rate: Fraction, story: str, label: Label | None = None
) -> Treatment:  # fmt: skip
    label = label or _label()
    domain = TabularDomain((_group(), *_digits()), (GROUP,), label)
    model = FormulaModel(name, formula, ("amount",) if label.is_amount else ("refused", "granted"))
    return Treatment(oracle, domain, model, _grid(domain), rate, story)


def _grid(domain: TabularDomain) -> Rows:
    """Every input of the domain once."""
    codes = [range(int(column.lowest), int(column.highest) + 1) for column in domain.columns]
    return np.array(list(product(*codes)), dtype=np.float64)


def _is(rows: Rows, place: int, value: int) -> Mask:
    mask: Mask = rows[:, place] == value
    return mask


def _group() -> Column:
    return Column(GROUP, "category", ("a", "b"))


def _district() -> Column:
    return Column(DISTRICT, "category", ("north", "south"))


def _digits() -> tuple[Column, ...]:
    return tuple(Column(name, "integer", low=0, high=9) for name in DIGITS)


def _label() -> Label:
    return Label("decision", ("refused", "granted"), ("granted",))
