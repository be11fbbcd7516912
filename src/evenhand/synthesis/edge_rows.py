"""Rows at the edges of a domain, for tests: valid ones at every boundary, and cells that a model must refuse.

Each row is a realistic one with a single cell changed, and what follows from that cell by the rules: what a model does with it is that
cell's doing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arrays import Rows
from evenhand.domain.columns import Column
from evenhand.domain.constraints import CompiledConstraint
from evenhand.domain.tabular import Constraint, TabularDomain
from evenhand.errors import ConstraintError, InvalidArgument
from evenhand.synthesis.decimals import MOST_DECIMALS, as_written, decimals_of
from evenhand.synthesis.derivations import Following

if TYPE_CHECKING:
    import pandas as pd

CARRIERS = 400
"""Realistic rows that are tried for a cell before it is given up."""
MOVED = 40
"""The same where rows are moved to the nearest that keep the rules, which costs more."""
NO_SUCH_VALUE = "no such value"


@dataclass(frozen=True, eq=False)
class EdgeRows:
    """Rows, what is special about each, and the cells for which no row was found that keeps the rules."""

    rows: Rows
    reasons: tuple[str, ...]
    impossible: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Edge:
    at: int
    code: float
    reason: str


def boundary_rows(domain: TabularDomain, carriers: Rows, rng: np.random.Generator) -> EdgeRows:
    """A valid row for every value of every category, both ends of every range, the steps next to them, zero, and every missing cell.

    >>> import numpy as np
    >>> import evenhand as eh
    >>> from evenhand.synthesis.edge_rows import boundary_rows
    >>> domain = eh.TabularDomain((eh.Column("sex", "category", ("f", "m")), eh.Column("age", "integer", low=18, high=90)))
    >>> rng = np.random.default_rng(0)
    >>> boundary_rows(domain, domain.sample(50, rng), rng).reasons
    ('sex = f', 'sex = m', 'age = 18 (lowest)', 'age = 19', 'age = 89', 'age = 90 (highest)')
    """
    _check(carriers)
    follows = Following.of(domain, carriers)
    made, reasons, impossible = [np.empty((0, len(domain.columns)))], [], []
    for edge in (edge for at, column in enumerate(domain.columns) for edge in _edges(at, column, carriers[:, at])):
        there = carriers[carriers[:, edge.at] == edge.code][:1]  # a row that stands at this edge already, where there is one
        tried = np.vstack([there, carriers[rng.integers(0, len(carriers), CARRIERS)]])
        tried[:, edge.at] = edge.code
        valid = _valid(tried, edge, domain, follows)
        if len(valid):
            made.append(valid[:1])
            reasons.append(edge.reason)
        else:
            impossible.append(edge.reason)
    return EdgeRows(as_written(np.vstack(made), carriers, domain), tuple(reasons), tuple(impossible))


def _valid(tried: Rows, edge: _Edge, domain: TabularDomain, follows: Following) -> Rows:
    """Those of the rows that can be valid with their changed cell: as they are, with what follows from it, or moved by the rules."""
    plain = tried[domain.contains(tried)]
    if len(plain) or not domain.constraints:
        return plain
    told = follows.computed(tried, keep=edge.at)
    valid = told[domain.contains(told)]
    if len(valid):
        return valid
    try:
        moved = _held(domain, edge).project(told[:MOVED])
    except ConstraintError:  # no row at all keeps the rules at this edge
        return tried[:0]
    with np.errstate(invalid="ignore"):
        same = (moved[:, edge.at] == edge.code) | (np.isnan(moved[:, edge.at]) & np.isnan(edge.code))
    found: Rows = moved[domain.contains(moved) & same]
    return found


def _held(domain: TabularDomain, edge: _Edge) -> TabularDomain:
    """The domain whose column has this one number; that of a value or a missing cell stays as it is."""
    column = domain.columns[edge.at]
    if column.is_listed or np.isnan(edge.code):
        return domain
    end = int(edge.code) if column.is_integral else edge.code
    columns = (replace(each, low=end, high=end) if at == edge.at else each for at, each in enumerate(domain.columns))
    return replace(domain, columns=tuple(columns))


def _check(carriers: Rows) -> None:
    if not len(carriers):
        raise InvalidArgument("carriers must have at least one realistic row, got none")


def _edges(at: int, column: Column, cells: Rows) -> Iterator[_Edge]:
    name = column.name
    if column.is_listed:
        for code, value in enumerate(column.values):
            yield _Edge(at, float(code), f"{name} = {value}")
    elif column.missing < 1.0:
        step = _step(column, cells)
        special = {column.lowest: " (lowest)", column.highest: " (highest)"}
        near = {0.0, *special, round(column.lowest + step, 12), round(column.highest - step, 12)}
        for number in sorted(number for number in near if column.lowest <= number <= column.highest):
            yield _Edge(at, number, f"{name} = {column.value(number)}{special.get(number, '')}")
    if column.missing > 0:
        yield _Edge(at, float("nan"), f"{name} is missing")


def _step(column: Column, cells: Rows) -> float:
    """The smallest step between two numbers of a column, as its cells are written."""
    decimals = 0 if column.is_integral else decimals_of(cells[~np.isnan(cells)])
    return 10.0**-decimals if decimals is not None else (column.highest - column.lowest) * 1e-6


def negative_frame(domain: TabularDomain, carriers: Rows, rng: np.random.Generator) -> pd.DataFrame:
    """Rows that must be refused, one fault in each, named in the column `fault`: cells outside of a range, values that do not exist,
    text for a number, missing cells that are not allowed, and rows that break one rule.

    A number outside of its range leaves the rules in force, so that a refusal is about the range: what follows from it is computed, and
    where no row can have it that far out (a total that would leave its own range), it stands one step outside.  Where even that breaks a
    rule, the fault says so.

    >>> import numpy as np
    >>> import evenhand as eh
    >>> from evenhand.synthesis.edge_rows import negative_frame
    >>> domain = eh.TabularDomain((eh.Column("age", "integer", low=18, high=90),))
    >>> rng = np.random.default_rng(0)
    >>> negative_frame(domain, domain.sample(9, rng), rng)["fault"].tolist()
    ['age is below 18', 'age is above 90', 'age is text', 'age is missing']
    """
    import pandas as pd

    _check(carriers)
    lines: list[dict[str, Any]] = []
    follows = Following.of(domain, carriers)
    for at, column in enumerate(domain.columns):
        for wrong, reason in _wrong_cells(column):
            row, cell, fault = carriers[rng.integers(0, len(carriers))], wrong, reason
            if domain.constraints and isinstance(wrong, int | float):
                row, cell, fault = _alone_outside(_Edge(at, wrong, reason), domain, carriers, follows, rng)
            lines.append({**_told(row, domain), column.name: cell, "fault": fault})
    for row, fault in _rule_breakers(domain, carriers, rng):
        lines.append({**_told(row, domain), "fault": fault})
    return pd.DataFrame(lines, columns=[*domain.names, "fault"], dtype=object)


def _alone_outside(
    far: _Edge, domain: TabularDomain, carriers: Rows, follows: Following, rng: np.random.Generator
) -> tuple[Any, float, str]:
    """A row that a number outside of its range may stand in without breaking a rule, the number, and the fault."""
    column = domain.columns[far.at]
    step = _step(column, carriers[:, far.at])
    near = round(column.lowest - step if far.code < column.lowest else column.highest + step, MOST_DECIMALS)
    for code in (round(far.code, MOST_DECIMALS), int(near) if column.is_integral else near):
        edge = replace(far, code=code)
        held = _held(domain, edge)
        tried = carriers[rng.integers(0, len(carriers), CARRIERS)]
        tried[:, far.at] = code
        valid = _valid(tried, edge, held, follows)
        if len(valid):
            row = as_written(valid[:1], carriers, held)[0]
            row[far.at] = column.lowest  # a cell that can be told; the wrong one is written over it
            return row, code, far.reason
    return carriers[rng.integers(0, len(carriers))], round(far.code, MOST_DECIMALS), f"{far.reason}, and no row out there keeps the rules"


def _told(row: Any, domain: TabularDomain) -> dict[str, Any]:
    """The cells of one row by column, as the data write them."""
    cells = domain.decode(row[None]).astype(object).iloc[0]
    return dict(zip(domain.names, cells.tolist(), strict=True))


def _wrong_cells(column: Column) -> Iterator[tuple[Any, str]]:
    name = column.name
    if column.is_listed:
        yield NO_SUCH_VALUE, f"{name} has a value that does not exist"
    elif not column.is_moment:
        reach = max(1.0, column.highest - column.lowest)
        wrong = (column.lowest - reach, column.highest + reach)
        below, above = (int(cell) if column.is_integral else cell for cell in wrong)
        yield below, f"{name} is below {column.value(column.lowest)}"
        yield above, f"{name} is above {column.value(column.highest)}"
        yield "text", f"{name} is text"
    else:
        yield "not a date", f"{name} is no date"
    if column.missing == 0:
        yield None, f"{name} is missing"


def _rule_breakers(domain: TabularDomain, carriers: Rows, rng: np.random.Generator) -> Iterator[tuple[Any, str]]:
    """For every rule a row inside all ranges that breaks it and no other."""
    if not domain.constraints:
        return
    anything = np.vstack(
        [replace(domain, constraints=()).sample(2_000, rng), _shuffled(carriers[rng.integers(0, len(carriers), 2_000)], rng)]
    )
    follows = Following.of(domain, carriers)
    for number, rule in enumerate(domain.constraints):
        tried = np.vstack([*_one_cell_wrong(carriers, rule, follows, rng), anything])
        kept = np.stack([other.holds(tried) for other in domain.constraints], axis=1)
        alone = np.flatnonzero(~kept[:, number] & (kept.sum(axis=1) == kept.shape[1] - 1))
        if alone.size:
            yield tried[alone[0]], f"breaks the rule {rule.text}"


def _one_cell_wrong(carriers: Rows, rule: Constraint, follows: Following, rng: np.random.Generator) -> Iterator[Rows]:
    """Realistic rows with another row's cell in one of the columns that a rule speaks of, as they are and with what follows from it."""
    for at in rule.columns if isinstance(rule, CompiledConstraint) else ():
        tried = carriers[rng.integers(0, len(carriers), CARRIERS)]
        tried[:, at] = carriers[rng.integers(0, len(carriers), CARRIERS), at]
        yield tried
        yield follows.computed(tried, keep=at)


def _shuffled(rows: Rows, rng: np.random.Generator) -> Rows:
    return np.column_stack([rng.permutation(rows[:, at]) for at in range(rows.shape[1])])
