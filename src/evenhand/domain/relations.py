"""Relations that the rows of a table keep: sums and other linear ones, products and ratios, orders, dependencies, one-hot groups, and
columns that are settled where another has a certain value or is beyond some number.

They are looked for on a few thousand rows and then counted over all of them.  Each is a text of the rule language, so that a person can
read it, edit it, and put it into force.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.domain.constraints import CompiledConstraint, compile_constraint
from evenhand.domain.parser import quote_name, quote_value
from evenhand.domain.products import Equation, go_together, linear_equations, product_equations
from evenhand.domain.tabular import TabularDomain
from evenhand.domain.totals import totals_alone

RelationKind = Literal["linear", "product", "dependency", "one of", "order", "settled"]

FEWEST_ROWS = 100
LOOKED_AT_CELLS = 400_000
"""Cells that relations are looked for in; a table of more columns is looked at with fewer rows, at least 1,000."""
SUPPORT = 0.999
"""The share of rows, of those that have all the cells, which a relation must hold in."""
SURPRISE = 30.0
"""How many rows would break a relation if its columns were unrelated, before it is believed."""
COMMONEST = 0.95
FEW_ROWS = 2_000
"""Rows that rule out most dependencies."""
MOST_SETTLING = 12
"""Different values of a column that are tried as a reason for another column's being settled."""
MOST_SETTLED = 8
FEWEST_SHARE = 0.1
"""How common a cell is at least that a column is settled at beyond some number: zero, or the missing cell."""
AT_BORDER, SHARP = 10, 0.7
"""Other cells expected among the rows nearest to a border, and the part of them that must be there."""
OVERLAP = 0.05
"""How often unrelated cells of two columns would be in the other order, at least."""


@dataclass(frozen=True)
class Relation:
    """One relation: its kind, the rule that says it, the column that follows from the others, and how many rows keep it."""

    kind: RelationKind
    rule: CompiledConstraint
    target: int
    support: float

    @property
    def text(self) -> str:
        """For a reader."""
        return self.rule.text


@dataclass(frozen=True)
class Candidate:
    """A relation as it was seen on the rows that were looked at."""

    kind: RelationKind
    text: str
    target: int
    source: int = -1  # of a dependency

    @property
    def pair(self) -> frozenset[int]:
        """The source and the target of a dependency."""
        return frozenset((self.source, self.target))


def find_relations(rows: Rows, domain: TabularDomain, rng: np.random.Generator) -> tuple[Relation, ...]:
    """The relations that the rows keep, equations first."""
    if len(rows) < FEWEST_ROWS:
        return ()
    few = max(1_000, LOOKED_AT_CELLS // rows.shape[1])
    looked = rows if len(rows) <= few else rows[np.sort(rng.permutation(len(rows))[:few])]
    search = _Search(looked, len(rows), domain)
    found = []
    for each in search.candidates():
        rule = compile_constraint(each.text, domain.columns, rows)
        support = float(rule.holds(rows).mean())
        if support >= SUPPORT:
            found.append(Relation(each.kind, rule, each.target, support))
    return tuple(found)


def under_relations(rows: Rows, domain: TabularDomain, rng: np.random.Generator) -> TabularDomain:
    """The domain, in which what relates the columns of every row is a rule, unless it says that no relations are looked for."""
    found = find_relations(rows, domain, rng) if domain.finds_relations else ()
    always = tuple(each.rule for each in found if each.support == 1.0)
    return replace(domain, constraints=(*domain.constraints, *always))


@dataclass(frozen=True)
class _Search:
    """The rows that are looked at, of a table of so many."""

    rows: Rows
    count: int
    domain: TabularDomain

    def candidates(self) -> Iterator[Candidate]:
        equations = totals_alone(list(self._equations()), self.rows)
        yield from (Candidate(_kind(each), self._equation(each), each.target) for each in equations)
        dependencies = list(self._dependencies(equations))
        yield from dependencies
        groups = list(self._one_of({each.target for each in dependencies}))
        yield from (Candidate("one of", f"{' + '.join(map(self.name, group))} == 1", group[-1]) for group in groups)
        yield from self._orders(equations)
        told = {each.target for each in dependencies}.union(*groups)
        yield from self._settled(told, {each.pair for each in dependencies})

    @cached_property
    def numbers(self) -> list[int]:
        """Columns of numbers, dates and times that vary."""
        spread = np.nanmax(self.rows, axis=0, initial=-np.inf) - np.nanmin(self.rows, axis=0, initial=np.inf)
        return [at for at, column in enumerate(self.domain.columns) if not column.is_listed and spread[at] > 0]

    @cached_property
    def flags(self) -> list[int]:
        """Columns of two values, no and yes."""
        return [at for at, column in enumerate(self.domain.columns) if tuple(column.values) == (0, 1) and not self._gaps[at]]

    @cached_property
    def _gaps(self) -> Mask:
        return np.asarray(np.isnan(self.rows).any(axis=0))

    def name(self, at: int) -> str:
        return quote_name(self.domain.names[at])

    def _equations(self) -> Iterator[Equation]:
        taken: list[int] = []
        for each in linear_equations(self.rows, self.numbers):
            taken.append(each.target)
            yield each
        amounts = [at for at in self.numbers if at not in taken and not self.domain.columns[at].is_moment]
        for at in taken:  # a total may be a factor, but for one that goes together with another: their logarithms are the same
            if not self.domain.columns[at].is_moment and not go_together(self.rows, at, amounts):
                amounts.append(at)
        yield from (each for each in product_equations(self.rows, sorted(amounts)) if each.target not in taken)

    def _equation(self, found: Equation) -> str:
        within = f" within {found.slack:.12g}" if found.slack else ""
        return f"{self.name(found.target)} == {found.text(self.name)}{within}"

    def _dependencies(self, equations: Sequence[Equation]) -> Iterator[Candidate]:
        """Columns whose cells another column's always fix, seen on neighbours of the rows sorted by that column."""
        taken = {each.target for each in equations}
        known = {(each.target, place) for each in equations for place in each.places}
        found: set[tuple[int, int]] = set()
        for source in range(self.rows.shape[1]):
            others = [at for at in range(self.rows.shape[1]) if at != source and at not in taken]
            others = [at for at in others if (at, source) not in found and (source, at) not in known]
            for target in self._fixed_by(source, others):
                found.add((source, target))
                yield Candidate("dependency", f"{self.name(source)} determines {self.name(target)}", target, source)

    def _fixed_by(self, source: int, targets: list[int]) -> list[int]:
        """Which targets never differ where the source does not; most are out after a few rows."""
        pairs = np.empty((0, 2), dtype=np.intp)
        for rows in (self.rows[:FEW_ROWS], self.rows):
            pairs = _neighbours(rows[:, source]) if targets else pairs
            targets = [at for at in targets if not _differ(rows[pairs[:, 0], at], rows[pairs[:, 1], at])]
        return [at for at in targets if (1.0 - float((self._shares[at] ** 2).sum())) * len(pairs) >= SURPRISE]

    @cached_property
    def _shares(self) -> list[Reals]:
        """Of every column, how often each of its cells occurs; all missing ones count as one."""
        return [np.unique(self.rows[:, at], return_counts=True)[1] / len(self.rows) for at in range(self.rows.shape[1])]

    def _one_of(self, told: set[int]) -> Iterator[list[int]]:
        """Groups of flags of which every row has exactly one."""
        left = [at for at in self.flags if at not in told]
        while len(left) > 2:
            group = _exclusive_group(self.rows, left)
            if len(group) > 2 and (self.rows[:, group].sum(axis=1) == 1).all():
                yield group
            left = [at for at in left if at not in group]

    def _orders(self, equations: Sequence[Equation]) -> Iterator[Candidate]:
        """Pairs of numbers where the first is never above the second, though it would be if they were unrelated."""
        known = {frozenset((each.target, place)) for each in equations for place in each.places}
        for first in self.numbers:
            with np.errstate(invalid="ignore"):
                above = np.asarray((self.rows[:, [first]] > self.rows[:, self.numbers]).any(axis=0))
            for second in (at for at, is_above in zip(self.numbers, above, strict=True) if not is_above and at != first):
                if frozenset((first, second)) not in known and (sign := self._order(first, second)):
                    yield Candidate("order", f"{self.name(first)} {sign} {self.name(second)}", second)

    def _order(self, first: int, second: int) -> str:
        if self.domain.columns[first].is_moment != self.domain.columns[second].is_moment:
            return ""
        both = self.rows[:, [first, second]]
        both = both[~np.isnan(both).any(axis=1)]
        if len(both) < FEWEST_ROWS or both[:, 0].max() <= both[:, 1].min():
            return ""
        below = np.searchsorted(np.sort(both[:, 1]), both[:, 0], side="left") / len(both)
        if below.mean() < OVERLAP:
            return ""
        return "<=" if (both[:, 0] == both[:, 1]).any() else "<"

    def _settled(self, told: set[int], pairs: set[frozenset[int]]) -> Iterator[Candidate]:
        """Columns not yet told of that have one cell wherever another has a certain value; a few for each, those of most rows first."""
        shares = [float(each.max()) for each in self._shares]
        scored: dict[int, list[tuple[float, str]]] = {}
        valued: set[frozenset[int]] = set()
        for source, column in enumerate(self.domain.columns):
            if column.is_listed and 2 <= len(column.values) <= MOST_SETTLING:
                for surprise, target, text in self._settled_by(source, shares):
                    if target not in told and frozenset((source, target)) not in pairs:
                        scored.setdefault(target, []).append((surprise, text))
                        valued.add(frozenset((source, target)))
        for target in set(range(self.rows.shape[1])) - told:
            sources = [at for at in self._amounts if at != target and frozenset((at, target)) not in pairs | valued]
            scored.setdefault(target, []).extend(self._settled_beyond(target, sources))
        for target, rules in scored.items():
            yield from (Candidate("settled", text, target) for _, text in sorted(rules, reverse=True)[:MOST_SETTLED])

    def _settled_by(self, source: int, shares: Sequence[float]) -> Iterator[tuple[float, int, str]]:
        cells = self.rows[:, source]
        for code, value in enumerate(self.domain.columns[source].values):
            mine = np.flatnonzero(cells == code)
            if len(mine) < SURPRISE or len(mine) > COMMONEST * len(cells):
                continue
            head = self.rows[mine[: int(SURPRISE)]]
            same = ((head == head[0]) | (np.isnan(head) & np.isnan(head[0]))).all(axis=0)
            for target in (int(at) for at in np.flatnonzero(same) if at != source):
                surprise = len(mine) * (1 - shares[target])
                if surprise >= SURPRISE and not _differ(self.rows[mine[1:], target], self.rows[mine[:-1], target]):
                    yield surprise, target, f"{self.name(source)} == {quote_value(value)} => {self._is(target, head[0, target])}"

    @cached_property
    def _amounts(self) -> list[int]:
        """Numbers that can be compared with a number."""
        return [at for at in self.numbers if not self.domain.columns[at].is_moment]

    def _settled_beyond(self, target: int, sources: Sequence[int]) -> Iterator[tuple[float, str]]:
        """The target has its commonest cell wherever a number is below, or above, what it is in all rows with another cell."""
        cells = self.rows[:, target]
        distinct, counts = np.unique(cells, return_counts=True)
        share, code = counts.max() / len(cells), distinct[counts.argmax()]
        other = ~(np.isnan(cells) if np.isnan(code) else cells == code)
        if not share >= FEWEST_SHARE or not sources or other.sum() < SURPRISE:
            return
        numbers = self.rows[:, sources]
        with warnings.catch_warnings(), np.errstate(invalid="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)  # a number may be missing wherever the target has another cell
            lowest, highest = np.nanmin(numbers[other], axis=0), np.nanmax(numbers[other], axis=0)
            outside = {"<": (numbers < lowest).sum(axis=0), ">": (numbers > highest).sum(axis=0)}
        for sign, ends in (("<", lowest), (">", highest)):
            for place in np.flatnonzero(outside[sign] * (1 - share) >= SURPRISE).tolist():
                if not _is_sharp(numbers[:, place], ends[place], sign, other):
                    continue
                when = f"{self.name(sources[place])} {sign} {float(ends[place]):.15g}"
                yield float(outside[sign][place] * (1 - share)), f"{when} => {self._is(target, float(code))}"

    def _is(self, target: int, code: float) -> str:
        if np.isnan(code):
            return f"{self.name(target)} is missing"
        column = self.domain.columns[target]
        value = column.value(code)
        return f"{self.name(target)} == {quote_value(value if column.is_listed else float(code))}"


def _is_sharp(numbers: Reals, end: float, sign: str, other: Mask) -> bool:
    """Whether other cells are as common just inside of the end as anywhere inside: a rare cell that runs out there is no rule."""
    depth = numbers - end if sign == "<" else end - numbers
    with np.errstate(invalid="ignore"):
        inside = np.flatnonzero(depth >= 0)
    share = other[inside].mean()
    count = min(len(inside), int(np.ceil(AT_BORDER / share)))
    near = inside[depth[inside] <= np.sort(depth[inside])[count - 1]]
    return bool(other[near].sum() - 1 >= SHARP * share * len(near))  # one of them made the end


def _kind(found: Equation) -> RelationKind:
    return "product" if found.is_product else "linear"


def _neighbours(cells: Reals) -> Index:
    """Pairs (n, 2) of rows with the same cell, each with the next one."""
    order = np.argsort(cells, kind="stable")
    same = np.flatnonzero(cells[order[1:]] == cells[order[:-1]])
    return np.stack([order[same], order[same + 1]], axis=1)


def _differ(first: Reals, second: Reals) -> bool:
    """Whether any of two columns' cells differ; missing ones are alike."""
    return bool(((first != second) & ~(np.isnan(first) & np.isnan(second))).any())


def _exclusive_group(rows: Rows, left: Sequence[int]) -> list[int]:
    """The first of these flags, and the later ones that never stand together with one of the group."""
    group = [left[0]]
    held = rows[:, left[0]] == 1
    for at in left[1:]:
        flag = rows[:, at] == 1
        if not (held & flag).any():
            group.append(at)
            held |= flag
    return group
