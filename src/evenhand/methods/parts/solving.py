"""Rows that meet a path's conditions: drawn from their boxes, or solved by z3 together with the domain's constraints."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any, Protocol

import numpy as np

from evenhand.arrays import Rows
from evenhand.domain.conditions import (
    Absent,
    Cell,
    Combination,
    Compare,
    Computed,
    Condition,
    Constant,
    Dependency,
    Joined,
    Listed,
    OneOf,
    Term,
)
from evenhand.domain.constraints import CompiledConstraint
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import MissingExtra, UnknownName, require
from evenhand.methods.parts.fitted_tree import Boxes
from evenhand.methods.parts.path_conditions import PathWishes

SOLVERS = ("auto", "boxes", "z3")
SOLUTIONS = ("nearest", "random")


class Solver(Protocol):
    """Turns wishes into rows."""

    def solve(self, wishes: PathWishes, rows: Rows, rng: np.random.Generator) -> Rows:
        """For every wish its row with the named cells changed; NaN everywhere where there is no such row in the domain."""


def solver_named(name: str, solution: str, domain: TabularDomain) -> Solver:
    """`boxes`, `z3`, or `auto`: boxes, and z3 for what breaks a constraint of the domain."""
    if name not in SOLVERS:
        raise UnknownName("solver", name, SOLVERS)
    if solution not in SOLUTIONS:
        raise UnknownName("solution", solution, SOLUTIONS)
    if name == "z3":
        return SmtSolver(domain)
    boxes = BoxSolver(domain, solution == "nearest")
    return MendedBoxes(boxes) if name == "boxes" else MixedSolver(boxes)


@dataclass(frozen=True)
class BoxSolver:
    """Intervals need no solver: a named cell takes the code of its interval nearest to its own, or any; constraints aside."""

    domain: TabularDomain
    takes_nearest: bool

    def solve(self, wishes: PathWishes, rows: Rows, rng: np.random.Generator) -> Rows:
        """All wishes at once."""
        solved = np.full(wishes.low.shape, np.nan)
        held = wishes.can_hold
        low, high, own = wishes.low[held], wishes.high[held], rows[wishes.origin[held]]
        values = Boxes(low, high, np.zeros(low.shape, dtype=bool)).sample(self.domain, rng)
        if self.takes_nearest:
            values = np.where(np.isnan(own), values, np.clip(own, low, high))
        solved[held] = np.where(wishes.named[held], values, own)
        return solved


@dataclass(frozen=True)
class MendedBoxes:
    """Boxes, and the nearest valid row where a constraint is broken."""

    boxes: BoxSolver

    def solve(self, wishes: PathWishes, rows: Rows, rng: np.random.Generator) -> Rows:
        """All wishes at once; mending may leave the box."""
        solved, held = self.boxes.solve(wishes, rows, rng), wishes.can_hold
        if self.boxes.domain.constraints and held.any():
            solved[held] = self.boxes.domain.project(solved[held])
        return solved


@dataclass
class MixedSolver:
    """Boxes first; z3 only for rows that break a constraint."""

    boxes: BoxSolver
    _smt: SmtSolver | None = None

    def solve(self, wishes: PathWishes, rows: Rows, rng: np.random.Generator) -> Rows:
        """Most wishes at once, the others one by one."""
        domain = self.boxes.domain
        solved = self.boxes.solve(wishes, rows, rng)
        if not domain.constraints:
            return solved
        broken = np.flatnonzero(wishes.can_hold & ~domain.keeps_constraints(solved))
        if broken.size:
            self._smt = self._smt or SmtSolver(domain)
            solved[broken] = self._smt.solve(wishes[broken], rows, rng)
        return solved


@dataclass
class SmtSolver:
    """One z3 problem for every wish: its intervals, the domain's ranges and constraints, all other cells as they are if possible."""

    domain: TabularDomain
    z3: Any = field(init=False)
    _translators: dict[frozenset[int], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            self.z3 = require("z3", "solver")
        except MissingExtra as missing:
            raise MissingExtra(f"{missing}, or choose solver='boxes', which needs none") from missing

    def solve(self, wishes: PathWishes, rows: Rows, rng: np.random.Generator) -> Rows:  # noqa: ARG002 - z3 has a will of its own
        """Each wish by itself; an answer that arithmetic does not bear out is dropped."""
        solved = np.full(wishes.low.shape, np.nan)
        for at in np.flatnonzero(wishes.can_hold):
            solved[at] = self._solve(wishes, int(at), rows[wishes.origin[at]])
        known = ~np.isnan(solved).all(axis=1)
        known[known] = self.domain.contains(solved[known])
        solved[~known] = np.nan
        return solved

    def _solve(self, wishes: PathWishes, at: int, row: Rows) -> Rows:
        wanted = wishes.named[at]
        named: list[int] = np.flatnonzero(wanted).tolist()
        missing = frozenset(np.flatnonzero(np.isnan(row) & ~wanted).tolist())
        solver, variables = self._translator(missing)
        loose = self._loose(wanted) - missing
        solver.push()
        for place in named:
            solver.add(variables[place] >= self._number(wishes.low[at, place]), variables[place] <= self._number(wishes.high[at, place]))
        for place in set(variables) - loose - set(named):
            solver.add(variables[place] == self._number(row[place]))
        kept = [variables[place] == self._number(row[place]) for place in sorted(loose)]
        is_solved = solver.check(*kept) == self.z3.sat or (bool(kept) and solver.check() == self.z3.sat)
        answer = self._read(solver.model(), variables, row) if is_solved else np.full(len(row), np.nan)
        solver.pop()
        return answer

    def _loose(self, named: Any) -> set[int]:
        """Columns that share a constraint with a named one and may change along with it; protected ones may not."""
        parts = [set(part.places) for part in self.domain.parts if named[list(part.places)].any()]
        return set().union(*parts) - set(np.flatnonzero(named).tolist()) - set(self.domain.protected_places)

    def _translator(self, missing: frozenset[int]) -> tuple[Any, dict[int, Any]]:
        """The solver that knows the ranges and constraints of rows with these cells missing, and its variables."""
        if missing not in self._translators:
            solver, variables = self.z3.Solver(), {}
            for place, column in enumerate(self.domain.columns):
                if place not in missing:
                    variables[place] = self.z3.Int(f"c{place}") if column.is_integral else self.z3.Real(f"c{place}")
                    solver.add(variables[place] >= self._number(column.lowest), variables[place] <= self._number(column.highest))
            words = SolverWords(self.z3, variables)
            for constraint in self.domain.constraints:
                if isinstance(constraint, CompiledConstraint):
                    solver.add(self.z3.Not(words.truth(constraint.condition)[1]))
            self._translators[missing] = solver, variables
        found: tuple[Any, dict[int, Any]] = self._translators[missing]
        return found

    def _number(self, value: float) -> Any:
        return exact(self.z3, value)

    def _read(self, model: Any, variables: dict[int, Any], row: Rows) -> Rows:
        answer = row.copy()
        for place, variable in variables.items():
            value = model.eval(variable, model_completion=True)
            answer[place] = float(value.as_long()) if self.domain.integral[place] else float(value.as_fraction())
        return answer


def exact(z3: Any, value: float) -> Any:
    """A floating-point number as the very fraction that it is."""
    fraction = Fraction(float(value))
    return z3.IntVal(fraction.numerator) if fraction.denominator == 1 else z3.Q(fraction.numerator, fraction.denominator)


@dataclass(frozen=True)
class SolverWords:
    """The domain's conditions as z3 terms, in their three-valued logic; a column without a variable is missing."""

    z3: Any
    variables: dict[int, Any]

    def truth(self, condition: Condition) -> tuple[Any, Any]:
        """Where it is surely true, and where surely false."""
        if isinstance(condition, Joined):
            return self._joined(condition)
        if isinstance(condition, Absent):
            is_missing = condition.place not in self.variables
            return self.z3.BoolVal(is_missing), self.z3.BoolVal(not is_missing)
        if not condition.places <= set(self.variables) or not isinstance(condition, Compare | OneOf | Combination | Dependency):
            return self.z3.BoolVal(False), self.z3.BoolVal(False)
        if isinstance(condition, Compare):
            return self._compared(condition)
        if isinstance(condition, OneOf):
            return self._sure(condition.term, self._any(self._term(condition.term) == exact(self.z3, n) for n in condition.numbers))
        if isinstance(condition, Combination):
            found = self._any(self._stands(condition.columns, codes) for codes in condition.lookup.table)
            return (self.z3.Not(found), found) if condition.forbids else (found, self.z3.Not(found))
        return self._determined(condition)

    def _joined(self, condition: Joined) -> tuple[Any, Any]:
        truths = [self.truth(operand) for operand in condition.operands]
        if condition.operator == "not":
            return truths[0][::-1]
        if condition.operator == "=>":
            truths[0] = truths[0][::-1]
        trues, falses = zip(*truths, strict=True)
        if condition.operator == "and":
            return self.z3.And(*trues), self.z3.Or(*falses)
        return self.z3.Or(*trues), self.z3.And(*falses)

    def _compared(self, condition: Compare) -> tuple[Any, Any]:
        left, right = self._term(condition.left), self._term(condition.right)
        held = {
            "==": left == right,
            "!=": left != right,
            "<": left < right,
            "<=": left <= right,
            ">": left > right,
            ">=": left >= right,
        }[condition.operator]
        return self._sure(Computed("+", condition.left, condition.right), held)

    def _sure(self, term: Term, held: Any) -> tuple[Any, Any]:
        """A statement about a term is unknown where one of its divisors is zero."""
        known = self.z3.And(*(self._term(divisor) != 0 for divisor in _divisors(term)))
        return self.z3.And(known, held), self.z3.And(known, self.z3.Not(held))

    def _determined(self, condition: Dependency) -> tuple[Any, Any]:
        target = self.variables[condition.target]
        entries = list(zip(condition.lookup.table, condition.targets, strict=True))
        right = self._any(self.z3.And(self._stands(condition.sources, codes), target == exact(self.z3, code)) for codes, code in entries)
        wrong = self._any(self.z3.And(self._stands(condition.sources, codes), target != exact(self.z3, code)) for codes, code in entries)
        return right, wrong

    def _stands(self, places: tuple[int, ...], codes: tuple[float, ...]) -> Any:
        return self.z3.And(*(self.variables[place] == exact(self.z3, code) for place, code in zip(places, codes, strict=True)))

    def _any(self, statements: Any) -> Any:
        return self.z3.Or(*statements)

    def _term(self, term: Term) -> Any:
        if isinstance(term, Cell):
            return self.z3.ToReal(self.variables[term.place]) if self.variables[term.place].is_int() else self.variables[term.place]
        if isinstance(term, Constant):
            return exact(self.z3, term.number)
        if isinstance(term, Listed):
            code, numbers = self.variables[term.place], [exact(self.z3, number) for number in term.numbers]
            return reduce(lambda rest, at: self.z3.If(code == at, numbers[at], rest), range(len(numbers) - 1), numbers[-1])
        if not isinstance(term, Computed):
            raise TypeError(f"{type(term).__name__} is no term of a constraint")
        left, right = self._term(term.left), self._term(term.right)
        return {"+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right, "/": lambda: left / right}[term.operator]()


def _divisors(term: Term) -> list[Term]:
    if not isinstance(term, Computed):
        return []
    own = [term.right] if term.operator == "/" else []
    return own + _divisors(term.left) + _divisors(term.right)
