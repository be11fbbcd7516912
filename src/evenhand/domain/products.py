"""Numbers that follow exactly from other numbers: linear equations, and products of whole powers, up to the rounding of their column.

Columns are taken one after the other, and one that those before it explain to the last decimal is an equation (Gram and Schmidt).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.arrays import Mask, Reals, Rows

FEWEST_COMPLETE = 100
UNEXPLAINED = 0.03
"""The share of a column's deviation that may be left before its equation is written down and tried exactly."""
SMALLEST_PART = 0.002
"""A term that moves the result by less than this share of its deviation is left out."""
MOST_TERMS = 8
MOST_DIGITS = 12
LARGEST_POWER = 3
MOST_GAPS = 0.2
RARE_ZEROS = 0.01
"""The share of zeros up to which a number counts as positive: a small ratio may have been rounded to zero."""
COARSE_STEPS = 20
"""Numbers of fewer steps than this are coarse."""
INNER = (0.05, 0.95)
FILLED = 0.2
"""The part of the steps between these quantiles that a rounded number stands on at least, or of its parts' combinations if fewer."""
MOST_DECIMALS = 9
_EXACT = 1e-9


@dataclass(frozen=True)
class Equation:
    """target == constant + sum of weights * columns, or constant * product of columns to the power of their weights."""

    target: int
    places: tuple[int, ...]
    weights: tuple[float, ...]
    constant: float
    is_product: bool = False
    slack: float = 0.0

    def value(self, rows: Rows) -> Reals:
        """What the target should be."""
        cells = rows[:, list(self.places)]
        with np.errstate(all="ignore"):
            found: Reals = (
                self.constant * np.prod(cells ** np.array(self.weights), axis=1)
                if self.is_product
                else _sum(cells, self.weights, self.constant)
            )
        return found

    def text(self, name: Callable[[int], str]) -> str:
        """The right side in the rule language."""
        return _product_text(self, name) if self.is_product else _sum_text(self, name)


def _sum(cells: Rows, weights: Sequence[float], constant: float) -> Reals:
    """Added one after the other, as a person's program would: then the last bit is the same too."""
    total = np.zeros(len(cells))
    for column, weight in zip(cells.T, weights, strict=True):
        total = total + column * weight
    return total + constant


def _sum_text(found: Equation, name: Callable[[int], str]) -> str:
    text = ""
    for place, weight in zip(found.places, found.weights, strict=True):
        factor = "" if abs(weight) == 1 else f"{abs(weight):.15g} * "
        text += f" {'-' if weight < 0 else '+'} {factor}{name(place)}"
    if found.constant:
        text += f" {'-' if found.constant < 0 else '+'} {abs(found.constant):.15g}"
    return text.removeprefix(" + ").replace(" - ", "-", 1) if text.startswith(" - ") else text.removeprefix(" + ")


def _product_text(found: Equation, name: Callable[[int], str]) -> str:
    above = [name(place) for place, power in zip(found.places, found.weights, strict=True) for _ in range(int(power)) if power > 0]
    below = [name(place) for place, power in zip(found.places, found.weights, strict=True) for _ in range(-int(power)) if power < 0]
    start = [] if found.constant == 1 and above else [f"{found.constant:.15g}"]
    return " * ".join([*start, *above]) + "".join(f" / {each}" for each in below)


def linear_equations(rows: Rows, places: Sequence[int]) -> Iterator[Equation]:
    """Equations between numbers; totals, which vary most, follow from their parts."""
    used = _complete(rows, places)
    yield from _equations(used.rows, used.places, is_product=False)


def product_equations(rows: Rows, places: Sequence[int]) -> Iterator[Equation]:
    """Equations between the logarithms of positive numbers with whole weights; of numbers that are zero together, where they are not."""
    with np.errstate(invalid="ignore"):
        above, below = rows[:, list(places)] > 0, rows[:, list(places)] < 0
    positive = [at for at, is_below in zip(places, below.T, strict=True) if not is_below.any() and (rows[:, at] == 0).mean() <= RARE_ZEROS]
    rows = _without_coarse(rows, positive)
    used = _complete(rows, positive)
    yield from _equations(used.rows, used.places, is_product=True)
    for group in _zero_together(places, above, below):
        used = _complete(rows[above[:, places.index(group[0])]], [*positive, *group])
        yield from (each for each in _equations(used.rows, used.places, is_product=True) if {each.target, *each.places} & set(group))


def _without_coarse(rows: Rows, places: Sequence[int]) -> Rows:
    """The rows in which numbers that rounding leaves few digits of are missing, where they are few: their logarithms would be far off."""
    rows = rows.copy()
    for at in places:
        cells = rows[:, at]
        step = _step_of(rows, at)
        with np.errstate(invalid="ignore"):
            coarse = cells < COARSE_STEPS * step if step < 1 else cells == 0
        rows[coarse if coarse.mean() <= MOST_GAPS else cells == 0, at] = np.nan
    return rows


def _zero_together(places: Sequence[int], above: Mask, below: Mask) -> list[list[int]]:
    """Groups of columns that are zero in the very same rows, and positive in the others."""
    groups: dict[bytes, list[int]] = {}
    for at, is_above, is_below in zip(places, above.T, below.T, strict=True):
        if not is_below.any() and FEWEST_COMPLETE <= is_above.sum() < len(is_above):
            groups.setdefault(np.packbits(is_above).tobytes(), []).append(at)
    return [group for group in groups.values() if len(group) > 1]


def go_together(rows: Rows, at: int, others: Sequence[int]) -> bool:
    """Whether the logarithms of a column and of one of the others are nearly the same but for a factor, or it has none."""
    with np.errstate(all="ignore"):
        own, logs = np.log(rows[:, at]), np.log(rows[:, list(others)])
    if np.isinf(own).any() or np.isnan(own).mean() > MOST_GAPS:
        return True
    count, first, second, both = _shared_moments(own, logs)
    with np.errstate(all="ignore"):
        alike = np.abs(both) / np.sqrt(first * second) > 1 - UNEXPLAINED**2 / 2
    return bool((alike & (count >= FEWEST_COMPLETE)).any())


def _shared_moments(own: Reals, others: Rows) -> tuple[Reals, Reals, Reals, Reals]:
    """Of the rows where a column and each of the others are there: how many, the variances of both, and their covariance."""
    here, there = np.isfinite(own).astype(np.float64), np.isfinite(others).astype(np.float64)
    count = np.maximum(here @ there, 1.0)
    first, second = np.where(here > 0, own, 0.0), np.where(there > 0, others, 0.0)
    first, second = (first - first.sum() / here.sum()) * here, (second - second.sum(axis=0) / np.maximum(there.sum(axis=0), 1)) * there
    means = first @ there / count, here @ second / count
    variances = first**2 @ there / count - means[0] ** 2, here @ second**2 / count - means[1] ** 2
    return count, *variances, first @ second / count - means[0] * means[1]


@dataclass(frozen=True)
class _Used:
    rows: Rows
    places: list[int]


def _complete(rows: Rows, places: Sequence[int]) -> _Used:
    """The rows without gaps in these columns, columns with many gaps left out."""
    kept = [at for at in places if np.isnan(rows[:, at]).mean() <= MOST_GAPS]
    whole = rows[~np.isnan(rows[:, kept]).any(axis=1)]
    return _Used(whole, kept) if len(whole) >= max(FEWEST_COMPLETE, 2 * len(kept)) else _Used(whole[:0], [])


def _equations(rows: Rows, places: list[int], is_product: bool) -> Iterator[Equation]:
    if not places:
        return
    cells = np.log(rows[:, places]) if is_product else rows[:, places]
    centred = cells - cells.mean(axis=0)
    deviation = centred.std(axis=0)
    order = _beside_their_likes([int(at) for at in np.argsort(deviation, kind="stable") if deviation[at] > 0], centred / deviation)
    order = order if is_product else _roots_first(order, centred / deviation, rows, places)
    basis = np.empty((len(rows), len(order)))
    members: list[int] = []
    explained: list[int] = []
    for at in order:
        own = centred[:, at] / deviation[at]
        spanned = basis[:, : len(members)]
        rest = own - spanned @ (spanned.T @ own)
        rest -= spanned @ (spanned.T @ rest)  # once more, against rounding
        left = float(np.sqrt((rest**2).mean()))
        if members and left < UNEXPLAINED:
            found = _exact(rows, centred / deviation, _Asked(at, members, places, is_product))
            if explained and (found is None or found.slack):  # their rounding may be what is missing
                also = _exact(rows, centred / deviation, _Asked(at, [*members, *explained], places, is_product))
                found = _fewest_terms(also, rows) if also is not None and (found is None or not also.slack) else found
            if found is not None:
                yield found
                explained.append(places.index(found.target))
                # Where a member follows from this column, this one takes its place: their directions are the same but for rounding.
                members = [at if places[member] == found.target else member for member in members]
                continue
        if left > 1e-7:
            basis[:, len(members)] = rest / np.linalg.norm(rest)
            members.append(at)


def _beside_their_likes(order: list[int], scaled: Rows) -> list[int]:
    """The order in which each column is followed by those that one number alone nearly explains: simple equations are found first."""
    alike = np.abs(scaled.T @ scaled) / len(scaled) > 1 - UNEXPLAINED**2 / 2
    return list(dict.fromkeys(at for first in order for at in (first, *(other for other in order if alike[first, other]))))


def _roots_first(order: list[int], scaled: Rows, rows: Rows, places: list[int]) -> list[int]:
    """The order in which, of three columns or more that go together, the one that tells most of the others alone comes first.

    A net pay follows from the gross pay, and so does a tax; the tax does not follow from the net pay to the last decimal.
    """
    alike = np.abs(scaled.T @ scaled) / len(scaled) > 1 - UNEXPLAINED**2 / 2
    found: dict[int, None] = {}
    for at in order:
        group = [other for other in order if alike[at, other] and other not in found]
        if at not in found and 3 <= len(group) <= MOST_TERMS:
            told = {
                root: sum(_fitted(rows, places[each], [places[root]], False) is not None for each in group if each != root)
                for root in group
            }
            found[max(group, key=lambda root: (told[root], rows[:, places[root]].std()))] = None  # of equals the one that varies most
        found.update(dict.fromkeys(group if at not in found or at in group else [at]))
    return list(found)


@dataclass(frozen=True)
class _Asked:
    """A column that seems to follow from the members: positions among `places`."""

    at: int
    members: list[int]
    places: list[int]
    is_product: bool


def _exact(rows: Rows, scaled: Rows, asked: _Asked) -> Equation | None:
    """The equation of the column, or of one of its parts where only that can be told to the last decimal, or lands on its steps."""
    weights = np.linalg.lstsq(scaled[:, asked.members], scaled[:, asked.at], rcond=1e-10)[0]
    parts = [member for member, weight in zip(asked.members, weights, strict=True) if abs(weight) > SMALLEST_PART]
    if not 1 <= len(parts) <= MOST_TERMS:
        return None
    together = [asked.at, *parts]
    fits = []
    for target in together:
        others = sorted(asked.places[at] for at in together if at != target)
        found = _fitted(rows, asked.places[target], others, asked.is_product)
        if found is not None and not found.slack and lands(found, rows):
            return found
        if found is not None and (not found.slack or fills_its_steps(found, rows)):
            fits.append(found)
    rounded = [each for each in fits if each.slack]
    return min(rounded, key=lambda each: each.slack / rows[:, each.target].std()) if rounded else next(iter(fits), None)


def fills_its_steps(found: Equation, rows: Rows) -> bool:
    """Whether the target stands on a good part of the steps that rounding leaves, as what is computed does.

    Hours of 20, 30 or 40 a week are what a wage divided by a rate is in every row; but they were chosen, and the rate is what was computed.
    """
    cells = rows[:, found.target]
    low, high = np.quantile(cells, INNER)
    steps = (high - low) / (2 * found.slack) + 1
    inner = rows[(cells >= low) & (cells <= high)]
    possible = min(steps, len(np.unique(inner[:, list(found.places)], axis=0)))
    return bool(len(np.unique(inner[:, found.target])) >= FILLED * possible)


def lands(found: Equation, rows: Rows) -> bool:
    """Whether parts in whole steps of their columns always give a target in whole steps of its own."""
    step = _step_of(rows, found.target)
    if found.slack or not step:
        return True
    steps = [_step_of(rows, place) for place in found.places]
    if not found.is_product:
        moves = [*(weight * each for weight, each in zip(found.weights, steps, strict=True)), found.constant]
    else:
        moves = [found.constant * float(np.prod(np.array(steps) ** np.array(found.weights)))] if min(found.weights) > 0 else [0.5 * step]
    return all(steps) and all(abs(move / step - round(move / step)) <= 1e-6 * max(1.0, abs(move / step)) for move in moves)


def _step_of(rows: Rows, place: int) -> float:
    cells = rows[:, place]
    return _step(cells[~np.isnan(cells)])


def _fitted(rows: Rows, target: int, places: list[int], is_product: bool) -> Equation | None:
    cells = rows[:, [*places, target]]
    cells = np.log(cells) if is_product else cells
    means = cells.mean(axis=0)
    weights = np.linalg.lstsq(cells[:, :-1] - means[:-1], cells[:, -1] - means[-1], rcond=None)[0]
    if is_product:
        weights = np.rint(weights)
        if not weights.all() or (np.abs(weights) > LARGEST_POWER).any() or (len(places) == 1 and weights[0] == 1):
            return None
    constant = float(means[-1] - means[:-1] @ weights)
    draft = Equation(target, tuple(places), tuple(map(float, weights)), float(np.exp(constant)) if is_product else constant, is_product)
    return _simplest(draft, rows)


def _fewest_terms(found: Equation, rows: Rows) -> Equation:
    """The same equation without the terms that the others replace: columns that follow from each other have many equations."""
    for place in found.places if len(found.places) > 1 else ():
        others = sorted(set(found.places) - {place})
        fewer = _fitted(rows, found.target, others, found.is_product)
        if fewer is not None and fewer.slack <= found.slack:
            return _fewest_terms(fewer, rows)
    return found


def _simplest(draft: Equation, rows: Rows) -> Equation | None:
    """The equation with as few digits as explain every row; None where none does."""
    wanted = rows[:, draft.target]
    step = _step(wanted)
    for digits in range(1, MOST_DIGITS + 1):
        weights = draft.weights if draft.is_product else tuple(_digits(weight, digits) for weight in draft.weights)
        once = replace(draft, weights=weights, constant=0.0 if not draft.is_product else 1.0)
        with np.errstate(all="ignore"):
            rests = wanted / once.value(rows) if draft.is_product else wanted - once.value(rows)
        for constant in {_digits(float(np.median(rests)), digits), float(np.round(np.median(rests), max(0, digits - 1)))}:
            trial = replace(once, constant=constant)
            far = np.abs(trial.value(rows) - wanted).max()
            exact = _EXACT * np.abs(wanted).max()
            if far <= max(exact, 0.5 * step * (1 + 1e-6)):
                return replace(trial, slack=0.0 if far <= exact else 0.5 * step)
    return None


def _digits(number: float, digits: int) -> float:
    return float(f"{number:.{digits}g}")


def _step(cells: Reals) -> float:
    """The distance of two neighbouring numbers of a column with few decimals; 0 where they lie densely."""
    for decimals in range(MOST_DECIMALS + 1):
        if np.array_equal(np.round(cells, decimals), cells):
            return float(10.0**-decimals)
    return 0.0
