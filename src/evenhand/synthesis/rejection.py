"""Rows that keep a domain's constraints: drawn again, then moved, and never silently fewer than asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from evenhand.arrays import Index, Rows
from evenhand.domain.constraints import CompiledConstraint
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import ConstraintError
from evenhand.synthesis.decimals import decimals_of
from evenhand.synthesis.derivations import Computation, Following

DRAWS_PER_ROW = 40
FEWEST_DRAWS = 40_000
"""Rows that are drawn again at most, per row that is wanted and in all; after that the nearest valid rows are taken."""
ENOUGH_TO_REPEAT, MOST_PROJECTED = 0.1, 4
"""Where rows may repeat: the part of these draws that is enough, and how many rows are projected where no draw keeps the constraints."""
MOST_TURNED = 5
"""Numbers that are rounded up and down in all ways."""


def keep_constraints(
    draw: Callable[[Index], Rows], n: int, domain: TabularDomain, fixed: Sequence[int] = (), repeats: bool = False
) -> Rows:
    """n rows of `draw` that keep every constraint, or a ConstraintError that names the rules in the way.

    `draw` makes one row for each of the given places.  What redrawing does not settle is projected, the fixed columns
    being left alone, and what projection cannot mend ends in the error.  Where rows may repeat, a small part of the draws is enough
    as soon as there is one row to repeat, and no more than a few are projected.
    """
    rows = draw(np.arange(n))
    wanting = np.flatnonzero(~domain.keeps_constraints(rows))
    left = most = max(DRAWS_PER_ROW * n, FEWEST_DRAWS)
    enough = (1.0 - ENOUGH_TO_REPEAT) * most if repeats else 0.0
    while wanting.size and left > (enough if wanting.size < n else 0):
        each = int(np.clip(max(n, 2_000) // wanting.size, 1, 200))
        left -= each * wanting.size
        places = np.repeat(wanting, each)
        served = _serve(rows, places, draw(places), domain)
        wanting = np.setdiff1d(wanting, served, assume_unique=True)
    if wanting.size and repeats:
        wanting = _repeat(rows, wanting, fixed)
    if wanting.size and repeats and not fixed:
        _project(rows, few := wanting[:MOST_PROJECTED], domain, ())
        rows[wanting] = rows[np.resize(few, len(wanting))]
    elif wanting.size:
        _project(rows, wanting, domain, fixed)
    return rows


def _repeat(rows: Rows, wanting: Index, fixed: Sequence[int]) -> Index:
    """Give every place a row that keeps the constraints and has the same fixed cells; return the places that got none."""
    valid = np.setdiff1d(np.arange(len(rows)), wanting, assume_unique=True)
    known: dict[bytes, list[int]] = {}
    for at in valid.tolist():
        known.setdefault(rows[at, list(fixed)].tobytes(), []).append(at)
    left = []
    for turn, at in enumerate(wanting.tolist()):
        same = known.get(rows[at, list(fixed)].tobytes())
        if same is None:
            left.append(at)
        else:
            rows[at] = rows[same[turn % len(same)]]
    return np.array(left, dtype=np.intp)


def _serve(rows: Rows, places: Index, drawn: Rows, domain: TabularDomain) -> Index:
    """Give every place its first draw that keeps the constraints; return the places that got one."""
    fits = domain.keeps_constraints(drawn)
    served, first = np.unique(places[fits], return_index=True)
    rows[served] = drawn[fits][first]
    return np.asarray(served, dtype=np.intp)


def _as_fine_as(moved: Rows, drawn: Rows, domain: TabularDomain) -> Rows:
    """Mended rows with as many decimals as drawn ones, where the constraints bear it.

    All numbers are rounded at once, and those computed from others are computed from the rounded ones; where that breaks a rule, the
    numbers that rules speak of are rounded up or down instead, in all ways as long as they are few.
    """
    decimals = {int(at): decimals_of(drawn[~np.isnan(drawn[:, at]), at]) for at in np.flatnonzero(~domain.integral)}
    finer = {at: places for at, places in decimals.items() if places is not None}
    rules = [rule for rule in domain.constraints if isinstance(rule, CompiledConstraint)]
    computed = [each for each in Following.of(domain, drawn).derivations if isinstance(each, Computation)]
    targets = {each.target for each in computed}
    ruled = sorted({at for rule in rules for at in rule.columns if at in finer and at not in targets})[:MOST_TURNED]
    fine, left = moved.copy(), np.arange(len(moved))
    for ways in (None, *product((np.floor, np.ceil), repeat=len(ruled))):
        trial = moved[left]
        turned = dict(zip(ruled, ways or (), strict=False))
        for at, places in finer.items():
            trial[:, at] = turned[at](trial[:, at] * 10.0**places) / 10.0**places if at in turned else np.round(trial[:, at], places)
            trial[:, at] = np.round(trial[:, at], places)
        for each in computed:
            told = each.told(trial)
            trial[told.known, each.target] = told.codes[told.known]
        kept = domain.contains(trial)
        fine[left[kept]] = trial[kept]
        left = left[~kept]
        if not left.size:
            break
    return fine


def _project(rows: Rows, wanting: Index, domain: TabularDomain, fixed: Sequence[int]) -> None:
    moved = _as_fine_as(domain.project(rows[wanting]), rows, domain)
    kept = np.ones(len(moved), dtype=bool)
    for at in fixed:
        kept &= (moved[:, at] == rows[wanting, at]) | (np.isnan(moved[:, at]) & np.isnan(rows[wanting, at]))
    fine = domain.contains(moved) & kept
    rows[wanting[fine]] = moved[fine]
    if fine.all():
        return
    broken = rows[wanting[~fine]]
    shares = {text: share for text, share in domain.broken_shares(broken).items() if share > 0}
    names = ", ".join(domain.names[at] for at in fixed)
    raise ConstraintError(
        f"{len(broken)} of {len(rows)} rows cannot keep the constraints"
        + (f" with the fixed columns {names}" if fixed else "")
        + "; in the way: "
        + "  |  ".join(sorted(shares, key=lambda text: -shares[text]))
    )
