"""Linear equations turned round for reading: a total stands alone, its parts are added up.

What stands on the left is what is computed, so an equation is turned only where each column still follows from one equation
and none from itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evenhand.arrays import Rows
from evenhand.domain.products import Equation, lands


def totals_alone(equations: Sequence[Equation], rows: Rows) -> list[Equation]:
    """The equations with their totals on the left where that is possible, otherwise with what is added before what is taken off."""
    told = list(equations)
    for at, each in enumerate(told):
        turned = _turned(each)
        others = told[:at] + told[at + 1 :]
        told[at] = turned if turned is not None and _fits(turned, others) and lands(turned, rows) else _added_first(each)
    return told


def _turned(found: Equation) -> Equation | None:
    """The equation of the only column that the others are taken from: base == gross - bonus is gross == base + bonus."""
    added = [at for at, weight in enumerate(found.weights) if weight > 0]
    if found.is_product or found.slack or len(found.weights) < 2 or len(added) != 1 or found.weights[added[0]] != 1:
        return None
    total = found.places[added[0]]
    parts = {place: -weight for place, weight in zip(found.places, found.weights, strict=True) if place != total} | {found.target: 1.0}
    places = tuple(sorted(parts))
    return Equation(total, places, tuple(parts[place] for place in places), -found.constant if found.constant else 0.0)


def _fits(turned: Equation, others: Sequence[Equation]) -> bool:
    """Whether nothing else tells the total, and no part of it follows from it."""
    needs = {each.target: each.places for each in others}
    open_, seen = list(turned.places), set[int]()
    while open_:
        at = open_.pop()
        if at not in seen:
            seen.add(at)
            open_.extend(needs.get(at, ()))
    return turned.target not in needs and turned.target not in seen


def _added_first(found: Equation) -> Equation:
    if found.is_product:
        return found
    terms = sorted(zip(found.places, found.weights, strict=True), key=lambda term: term[1] < 0)
    return replace(found, places=tuple(place for place, _ in terms), weights=tuple(weight for _, weight in terms))
