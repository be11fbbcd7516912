"""Many walks by the levels of a chain of trees, and the step that a move makes of them.

A step holds only what the move changes, so that it is cheap to look at and to forget; whole rows are put together for those that are asked
about.  Where walks stand in every tree is remembered: a column drawn again needs no look into its tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.synthesis.level_chain import DrawnCells, LevelChain, LevelMove, LevelStates, Likelihood, same_codes
from evenhand.synthesis.links import BELOW_ONE, Copies, tree_copy


@dataclass(frozen=True)
class ChangedColumn:
    """One column of a step: its levels, codes and leaves, and how likely the codes are."""

    levels: Reals
    cells: DrawnCells

    def __getitem__(self, chosen: Any) -> ChangedColumn:
        return ChangedColumn(self.levels[chosen], self.cells[chosen])


@dataclass(frozen=True)
class LevelStep:
    """Where some of the walks would go."""

    walks: LevelWalks = field(repr=False)
    places: Index  # which walks
    copies: Copies
    columns: dict[int, ChangedColumn]  # by position
    base: Likelihood  # of all columns but the protected ones

    def __len__(self) -> int:
        return len(self.places)

    def only(self, wanted: Mask) -> LevelStep:
        """Those that are wanted."""
        return self if wanted.all() else self[np.flatnonzero(wanted)]

    def __getitem__(self, chosen: Any) -> LevelStep:
        columns = {position: column[chosen] for position, column in self.columns.items()}
        base = Likelihood(self.base.density[chosen], self.base.lift[chosen])
        return LevelStep(self.walks, self.places[chosen], self.copies[chosen], columns, base)

    @property
    def rows(self) -> Rows:
        """Whole rows, put together when they are asked for."""
        rows = self.walks.states.rows[self.places]
        for position, column in self.columns.items():
            rows[:, self.walks.chain.trees.order[position]] = column.cells.codes
        return rows

    @property
    def states(self) -> LevelStates:
        """The same as states of their own."""
        states = self.walks.states[self.places]
        states.rows, states.copies = self.rows, self.copies
        for position, column in self.columns.items():
            states.levels[:, position] = column.levels
            states.shares[:, position], states.lifts[:, position] = column.cells.shares, column.cells.lifts
        return states


class LevelWalks:
    """States that move together."""

    def __init__(self, chain: LevelChain, states: LevelStates) -> None:
        self.chain, self.states = chain, states
        self.base = chain.base(states)
        self._leaves = {at: link.leaves(states.copies) for at, link in enumerate(chain.trees.links[: chain.free]) if chain.is_plain(at)}
        self._reads_rows = bool(chain.trees.guides)
        # A constraint may speak of protected columns too: then they must be drawn again with the others.
        self._last = len(chain.trees.order) if chain.domain.constraints else chain.free

    def __len__(self) -> int:
        return len(self.states)

    def step(self, move: LevelMove, rng: np.random.Generator) -> LevelStep:
        """What the move changes, and into what."""
        begin = move.position
        levels = self.chain.stepped(self.states.levels[:, begin], move.reach, rng)
        drawn = self.chain.step(self.states, begin, levels, self._leaves.get(begin))
        changed = np.arange(len(self)) if move.is_suffix else np.flatnonzero(self._differs(begin, drawn))
        there = _Going(self.states.copies[changed], self.states.rows[changed] if self._reads_rows else np.empty((len(changed), 0)))
        columns = {begin: ChangedColumn(levels[changed], drawn[changed])}
        self._write(there, begin, columns[begin].cells)
        for position in self.chain.positions(move)[1:]:
            if position < self._last:
                columns[position] = self._decoded(there, position, self._levels(changed, move, position, rng))
        return LevelStep(self, changed, there.copies, columns, self._likelihood(changed, columns))

    def go(self, step: LevelStep, chosen: Index) -> None:
        """Some walks go where the step leads."""
        places, states, order = step.places[chosen], self.states, self.chain.trees.order
        states.copies[places] = step.copies[chosen]
        for position, column in step.columns.items():
            cells = column.cells[chosen]
            states.rows[places, order[position]], states.levels[places, position] = cells.codes, column.levels[chosen]
            states.shares[places, position], states.lifts[places, position] = cells.shares, cells.lifts
            if position in self._leaves and cells.leaves is not None:
                self._leaves[position][places] = cells.leaves
        self.base.density[places], self.base.lift[places] = step.base.density[chosen], step.base.lift[chosen]

    def _differs(self, position: int, drawn: DrawnCells) -> Mask:
        with np.errstate(invalid="ignore"):
            return ~same_codes(drawn.codes, self.states.rows[:, self.chain.trees.order[position]])

    def _levels(self, changed: Index, move: LevelMove, position: int, rng: np.random.Generator) -> Reals:
        """The levels that a later column is decoded from: its own, or in a suffix and for protected ones new ones."""
        if move.is_suffix or position >= self.chain.free:
            return np.minimum(rng.random(len(changed)), BELOW_ONE)
        kept: Reals = self.states.levels[changed, position]
        return kept

    def _decoded(self, there: _Going, position: int, levels: Reals) -> ChangedColumn:
        cells = self.chain.step(there, position, levels)
        self._write(there, position, cells)
        return ChangedColumn(levels, cells)

    def _write(self, there: _Going, position: int, cells: DrawnCells) -> None:
        at, domain = self.chain.trees.order[position], self.chain.domain
        there.copies[:, at] = tree_copy(cells.codes, domain.columns[at].lowest) if domain.missing[at] > 0 else cells.codes
        if self._reads_rows:
            there.rows[:, at] = cells.codes

    def _likelihood(self, changed: Index, columns: dict[int, ChangedColumn]) -> Likelihood:
        density, lift = self.base.density[changed], self.base.lift[changed]
        for position, column in columns.items():
            if position < self.chain.free:
                density += column.cells.shares - self.states.shares[changed, position]
                lift += column.cells.lifts - self.states.lifts[changed, position]
        return Likelihood(density, lift)


@dataclass
class _Going:
    """What the trees and the guides read while columns are decoded one after the other."""

    copies: Copies
    rows: Rows
