"""A chain of trees walked by its levels: uniform numbers, one for each column, of which some are drawn again.

A row is what its levels decode to, so drawing levels again leaves the population as it is; only the columns that may depend on a changed
one are decoded again.  Every state carries the log-probability of its cells, and by how much that is above what each cell has by itself:
low where cells that are common by themselves do not go together.  Protected columns come last in the chain, so that a person's
probability under another protected value costs one more look into the last leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Reals, Rows
from evenhand.deadline import NEVER, Deadline
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.cells import Cells, cut
from evenhand.synthesis.chained_trees import ChainedTrees, exact_levels, tree_copies
from evenhand.synthesis.guides import Guided
from evenhand.synthesis.links import BELOW_ONE, Copies, Link, tree_copy
from evenhand.synthesis.tree_settings import TreeSettings

NOT_SCORED: NDArray[np.float32] = np.empty(0, dtype=np.float32)


@dataclass
class LevelStates:
    """Rows with what they are decoded from; `levels` and `shares` are in the order of the chain."""

    levels: Reals  # (n, columns), uniform
    rows: Rows
    copies: Copies
    shares: NDArray[np.float32]  # (n, columns): log-probability of each cell given the earlier ones
    lifts: NDArray[np.float32]  # (n, columns): the same, less the log-probability of the cell by itself

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: Any) -> LevelStates:
        return LevelStates(self.levels[chosen], self.rows[chosen], self.copies[chosen], self.shares[chosen], self.lifts[chosen])

    def put(self, places: Index, others: LevelStates, chosen: Index) -> None:
        """Replace the states at these places by others."""
        self.levels[places], self.rows[places] = others.levels[chosen], others.rows[chosen]
        self.copies[places], self.shares[places], self.lifts[places] = others.copies[chosen], others.shares[chosen], others.lifts[chosen]

    @property
    def likelihood(self) -> Likelihood:
        """Of every row, its own protected values included."""
        return Likelihood(self.shares.sum(axis=1), self.lifts.sum(axis=1))

    @classmethod
    def join(cls, parts: Sequence[LevelStates]) -> LevelStates:
        """All parts as one."""
        return cls(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls)))


class ReadableStates(Protocol):
    """What a column is decoded from."""

    rows: Rows
    copies: Copies


@dataclass(frozen=True)
class Likelihood:
    """Log-probabilities of rows, and how far these are above those of the same cells drawn each by itself."""

    density: NDArray[np.float32]
    lift: NDArray[np.float32]


@dataclass(frozen=True)
class LevelMove:
    """Levels to be drawn again: the one at a position of the chain, or all from there on.

    reach: how far the level at the position may go, around a circle: 1 is anywhere
    """

    position: int
    is_suffix: bool
    reach: float = 1.0


@dataclass(frozen=True)
class LevelChain:
    """A fitted chain, with which columns each position may change."""

    trees: ChainedTrees
    alone: tuple[Marginal, ...]  # every column by itself, in the order of the chain
    is_scored: bool = True  # whether states carry how likely their cells are
    free: int = field(init=False)  # so many positions come before the protected ones
    after: tuple[tuple[int, ...], ...] = field(init=False)  # for every position, the later ones that depend on it

    def __post_init__(self) -> None:
        protected = set(self.trees.domain.protected_places)
        free = len(self.trees.order) - len(protected)
        assert set(self.trees.order[free:]) == protected, "protected columns come last"
        object.__setattr__(self, "free", free)
        object.__setattr__(self, "after", tuple(self._dependants(position) for position in range(len(self.trees.order))))

    @classmethod
    def fit(cls, rows: Rows, domain: TabularDomain, rng: np.random.Generator, until: Deadline = NEVER) -> LevelChain:
        """Learn the chain, quiet columns first: a move in a lively column at the end changes that column alone."""
        settings = TreeSettings(rarer_copies=False, doubts_protected=True, until=until)
        quiet = sorted(domain.free_places, key=lambda at: entropy(rows[:, at]))
        order = [domain.names[at] for at in (*quiet, *domain.protected_places)]
        trees = ChainedTrees.fit(rows, domain, rng, settings, order=order)
        is_last = set(trees.order[len(quiet) :]) == set(domain.protected_places)
        trees = trees if is_last else ChainedTrees.fit(rows, domain, rng, settings, first=order)
        return cls(trees, tuple(Marginal.of(rows[:, at], domain.columns[at]) for at in trees.order))

    @property
    def domain(self) -> TabularDomain:
        """What its rows live in."""
        return self.trees.domain

    @property
    def unscored(self) -> LevelChain:
        """The same chain for who only wants people: its states do not carry how likely they are, and are made in half the time."""
        return LevelChain(self.trees, self.alone, is_scored=False)

    def decoded(self, move: LevelMove) -> int:
        """How many columns a move decodes; one that follows from others counts with those that are read for it."""
        guides = (self.trees.guides.get(self.trees.order[position]) for position in self.positions(move))
        return sum(1 if guide is None else 1 + len(guide.reads) for guide in guides)

    def drawn(self, n: int, rng: np.random.Generator) -> LevelStates:
        """Fresh people of the population; constraints are not looked at."""
        states = self._empty(n)
        states.levels = np.minimum(rng.random((n, len(self.trees.order))), BELOW_ONE)
        for position in range(len(self.trees.order)):
            self._decode(states, position)
        return states

    def encoded(self, rows: Rows, rng: np.random.Generator) -> LevelStates:
        """Given people, with levels that decode to them."""
        states = self._empty(len(rows))
        states.rows[:] = rows
        states.copies[:] = tree_copies(rows, self.domain)
        for position, at in enumerate(self.trees.order):
            bound = self._bound(position, states.rows)
            states.levels[:, position] = exact_levels(bound, rows[:, at], states.copies, rng)
            self._score(states, position, bound.log_share(rows[:, at], states.copies))
        return states

    def moved(self, states: LevelStates, move: LevelMove, rng: np.random.Generator) -> tuple[Index, LevelStates]:
        """The states that a move changes, by place, and what they change into.  Protected levels are always drawn again."""
        begin, at = move.position, self.trees.order[move.position]
        fresh = self.stepped(states.levels[:, begin], move.reach, rng)
        drawn = self.step(states, begin, fresh)
        with np.errstate(invalid="ignore"):
            changed = np.arange(len(states)) if move.is_suffix else np.flatnonzero(~same_codes(drawn.codes, states.rows[:, at]))
        there = states[changed]
        self._redraw(there.levels, move, rng)
        there.levels[:, begin] = fresh[changed]
        self._write(there, begin, drawn[changed])
        for position in self.positions(move)[1:]:
            self._decode(there, position)
        return changed, there

    def base(self, states: LevelStates) -> Likelihood:
        """Of every row without its protected columns."""
        return Likelihood(states.shares[:, : self.free].sum(axis=1), states.lifts[:, : self.free].sum(axis=1))

    @property
    def twins_are_plain(self) -> bool:
        """Whether one look at copies tells how likely everybody is under every protected value."""
        return self._is_one and self.is_plain(self.free) and not self.domain.implied

    def others_by_copies(self, copies: Copies, base: Likelihood) -> Likelihood:
        """What `others` gives, where twins are plain."""
        codes = self.domain.combinations[:, 0]
        shares = self.trees.links[-1].log_shares_of(codes, copies)
        lifts = shares - self.alone[-1](codes).astype(np.float32)[None, :]
        return Likelihood(shares + base.density[:, None], lifts + base.lift[:, None])

    def others(self, states: LevelStates) -> Likelihood:
        """(n, combinations): the same for every person under every protected combination, with what that implies."""
        base = self.base(states)
        if self.twins_are_plain:
            return self.others_by_copies(states.copies, base)
        shares, lifts = self._of_one(states) if self._is_one else self._of_several(states)
        shares += base.density[:, None]
        lifts += base.lift[:, None]
        for which in range(shares.shape[1] if self.domain.implied else 0):
            self._imply(states, which, Likelihood(shares[:, which], lifts[:, which]))
        return Likelihood(shares, lifts)

    def _imply(self, states: LevelStates, which: int, found: Likelihood) -> None:
        """Where a protected combination changes other columns too, the twin's own likelihood is put in."""
        changing = [self.domain.place(name) for rule in self.domain.implied for name in rule.changes]
        twins = self.domain.twin(states.rows, np.full(len(states), which))
        differs = np.flatnonzero(~same_codes(twins[:, changing], states.rows[:, changing]).all(axis=1))
        if not differs.size:
            return
        there, positions = states[differs], [self.trees.order.index(at) for at in changing]
        there.rows[:], there.copies[:] = twins[differs], tree_copies(twins[differs], self.domain)
        again = {*positions, *(later for each in positions for later in self.after[each])}
        for position in sorted(again):
            codes = there.rows[:, self.trees.order[position]]
            self._score(there, position, self._bound(position, there.rows).log_share(codes, there.copies))
        found.density[differs], found.lift[differs] = there.likelihood.density, there.likelihood.lift

    @property
    def _is_one(self) -> bool:
        return len(self.trees.order) - self.free == 1

    def _of_one(self, states: LevelStates) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Of the compared values of the one protected column."""
        codes, bound = self.domain.combinations[:, 0], self._bound(self.free, states.rows)
        told = [bound.log_share(np.full(len(states), code), states.copies) for code in codes]
        shares = np.stack(told, axis=1).astype(np.float32)
        return shares, shares - self.alone[-1](codes).astype(np.float32)[None, :]

    def _of_several(self, states: LevelStates) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The same for several protected columns, one after the other."""
        there = states[:]
        there.rows, there.copies = there.rows.copy(), there.copies.copy()
        shares, lifts = np.zeros((2, len(states), len(self.domain.combinations)), dtype=np.float32)
        place_of = {at: place for place, at in enumerate(self.domain.protected_places)}
        for which, codes in enumerate(self.domain.combinations):
            for position in range(self.free, len(self.trees.order)):
                at = self.trees.order[position]
                code = np.full(len(states), codes[place_of[at]])
                share = self._bound(position, there.rows).log_share(code, there.copies)
                shares[:, which] += share
                lifts[:, which] += share - self.alone[position](code)
                there.rows[:, at], there.copies[:, at] = code, code
        return shares, lifts

    def _bound(self, position: int, rows: Rows) -> Link | Guided:
        """The link of a position, under its guide where it has one."""
        at, link = self.trees.order[position], self.trees.links[position]
        return self.trees.guides[at].bound(link, rows) if at in self.trees.guides else link

    def _empty(self, n: int) -> LevelStates:
        width, scored = len(self.trees.order), len(self.trees.order) if self.is_scored else 0
        copies, shares, lifts = (np.zeros((n, each), dtype=np.float32) for each in (width, scored, scored))
        return LevelStates(np.empty((n, width)), np.empty((n, width)), copies, shares, lifts)

    def positions(self, move: LevelMove) -> tuple[int, ...]:
        """What a move decodes, in the order of the chain."""
        if move.is_suffix:
            return tuple(range(move.position, len(self.trees.order)))
        return (move.position, *self.after[move.position])

    def stepped(self, levels: Reals, reach: float, rng: np.random.Generator) -> Reals:
        """Levels moved around a circle, which leaves uniform ones uniform."""
        if reach >= 1.0:
            return np.minimum(rng.random(len(levels)), BELOW_ONE)
        return np.minimum((levels + reach * (rng.random(len(levels)) - 0.5)) % 1.0, BELOW_ONE)

    def _redraw(self, levels: Reals, move: LevelMove, rng: np.random.Generator) -> None:
        first = move.position + 1 if move.is_suffix else self.free
        levels[:, first:] = np.minimum(rng.random((len(levels), levels.shape[1] - first)), BELOW_ONE)

    def _decode(self, states: LevelStates, position: int) -> None:
        self._write(states, position, self.step(states, position, states.levels[:, position]))

    def is_plain(self, position: int) -> bool:
        """Whether the leaves of a column's tree say all about it."""
        return self.trees.order[position] not in self.trees.guides and self.trees.links[position].is_plain

    def step(self, states: ReadableStates, position: int, levels: Reals, leaves: Index | None = None) -> DrawnCells:
        """Codes of one column, and how likely they are; `leaves` where they are known already."""
        link, levels = self.trees.links[position], np.minimum(levels, BELOW_ONE)
        if self.is_plain(position):
            leaves = link.leaves(states.copies) if leaves is None else leaves
            codes, flat = link.drawn(levels, leaves)
            if not self.is_scored:
                return DrawnCells(codes, NOT_SCORED, NOT_SCORED, leaves)
            return DrawnCells(codes, link.flat_log_shares[flat], self._flat_lifts[position][flat], leaves)
        bound = self._bound(position, states.rows)
        codes = bound.codes(levels, states.copies)
        if not self.is_scored:
            return DrawnCells(codes, NOT_SCORED, NOT_SCORED)
        shares = bound.log_share(codes, states.copies)
        return DrawnCells(codes, shares, shares - self.alone[position](codes))

    @cached_property
    def _flat_lifts(self) -> tuple[NDArray[np.float32], ...]:
        """For every plain link, the lift of every cell of every leaf."""
        return tuple(
            (link.flat_log_shares.reshape(link.share.shape) - alone.of_cells(link.cells)[None, :]).astype(np.float32).ravel()
            if link.is_plain
            else np.empty(0, dtype=np.float32)
            for link, alone in zip(self.trees.links, self.alone, strict=True)
        )

    def _write(self, states: LevelStates, position: int, drawn: DrawnCells) -> None:
        at = self.trees.order[position]
        states.rows[:, at] = drawn.codes
        states.copies[:, at] = tree_copy(drawn.codes, self.domain.columns[at].lowest) if self.domain.missing[at] > 0 else drawn.codes
        if self.is_scored:
            states.shares[:, position], states.lifts[:, position] = drawn.shares, drawn.lifts

    def _score(self, states: LevelStates, position: int, shares: Reals) -> None:
        if not self.is_scored:
            return
        states.shares[:, position] = shares
        states.lifts[:, position] = shares - self.alone[position](states.rows[:, self.trees.order[position]])

    def _dependants(self, position: int) -> tuple[int, ...]:
        """Later positions whose cell may change with this one's: through their trees, their relations, or each other.  Protected ones
        always count, since their levels are drawn again."""
        changed = {self.trees.order[position]}
        found = []
        for later in range(position + 1, len(self.trees.order)):
            at, link = self.trees.order[later], self.trees.links[later]
            guide = self.trees.guides.get(at)
            if later >= self.free or (link.reads | (guide.reads if guide is not None else set())) & changed:
                changed.add(at)
                found.append(later)
        return tuple(found)


@dataclass(frozen=True)
class DrawnCells:
    """Cells of one column, and how likely each is given the columns before it."""

    codes: Reals
    shares: NDArray[np.floating]
    lifts: NDArray[np.floating]
    leaves: Index | None = None  # where the rows stand in the column's tree, if that says all

    def __getitem__(self, chosen: Any) -> DrawnCells:
        leaves = None if self.leaves is None else self.leaves[chosen]
        if not len(self.shares):
            return DrawnCells(self.codes[chosen], NOT_SCORED, NOT_SCORED, leaves)
        return DrawnCells(self.codes[chosen], self.shares[chosen], self.lifts[chosen], leaves)


@dataclass(frozen=True)
class Marginal:
    """One column by itself: the log-probability of its codes, as often as the data has them."""

    cells: Cells
    log_shares: Reals  # (cells,)

    @classmethod
    def of(cls, codes: Reals, column: Column) -> Marginal:
        """Counted; a cell that no row has counts as half a row."""
        cells = cut(column, codes, TreeSettings().cells)
        counts = np.maximum(np.bincount(cells.locate(codes), minlength=cells.count), 0.5)
        return cls(cells, np.log(counts / counts.sum()) - cells.log_width())

    def __call__(self, codes: Reals) -> Reals:
        """Of every code."""
        shares: Reals = self.log_shares[self.cells.locate(codes)]
        return shares

    def of_cells(self, cells: Cells) -> Reals:
        """Of the first code of every cell, the missing one included."""
        return self(np.append(cells.start, np.nan) if cells.has_missing else cells.start)


def same_codes(first: Reals, second: Reals) -> NDArray[np.bool_]:
    """Where two codes are equal; missing ones are."""
    return np.asarray((first == second) | (np.isnan(first) & np.isnan(second)))


def entropy(codes: Reals) -> float:
    """Of the values of a column, in nats."""
    shares = np.unique(codes, return_counts=True)[1] / len(codes)
    return float(-(shares * np.log(shares)).sum())
