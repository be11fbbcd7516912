"""Rows of which only some cells are known, completed as a chain would: each unknown cell given all known ones, before and after it.

A chain draws a column given the columns before it.  Known cells after it count too: several completions of every row are drawn, and one
is taken in proportion to how likely it makes the known cells (sampling, importance resampling).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import Mask, Reals, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import ConstraintError, InvalidArgument, UnknownName
from evenhand.synthesis.box import Box
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.linear_sums import LinearSum, linear_sums, solved_first
from evenhand.synthesis.links import BELOW_ONE, tree_copy

if TYPE_CHECKING:
    import pandas as pd

TRIES = 64
"""Completions drawn for every row; more come nearer to the exact distribution."""
_ROWS_AT_ONCE = 50_000


@dataclass(frozen=True, eq=False)
class PartialRows:
    """Codes, and which of them are given."""

    rows: Rows
    known: Mask


def partial_rows(frame: pd.DataFrame, domain: TabularDomain) -> PartialRows:
    """A table of some of the columns; an empty cell, or a column that is not there, is open."""
    if unknown := [str(name) for name in frame.columns if name not in domain.names]:
        raise UnknownName("column", unknown[0], domain.names)
    rows, known = np.full((len(frame), len(domain.columns)), np.nan), np.zeros((len(frame), len(domain.columns)), dtype=bool)
    for at, column in enumerate(domain.columns):
        if column.name in frame.columns:
            given = frame[column.name].notna().to_numpy(dtype=bool)
            known[:, at] = given
            may_lack = replace(column, missing=max(column.missing, 0.5))  # whole columns are read, so that an error names the row
            rows[given, at] = may_lack.encode(frame[column.name].reset_index(drop=True))[given]
    return PartialRows(rows, known)


def completed(chain: ChainedTrees, rows: Rows, known: Mask, rng: np.random.Generator, tries: int = TRIES) -> Rows:
    """One completion of every row; `known` (n, columns) says which cells are given, a missing cell among them where it is known to be one.

    >>> import numpy as np
    >>> from evenhand import datasets
    >>> from evenhand.synthesis.chained_trees import ChainedTrees
    >>> from evenhand.synthesis.completion import completed
    >>> data = datasets.load("credit")
    >>> trees = ChainedTrees.fit(data.rows, data.domain, np.random.default_rng(0))
    >>> known = np.zeros((3, data.rows.shape[1]), dtype=bool)
    >>> known[:, :4] = True
    >>> full = completed(trees, data.rows[:3], known, np.random.default_rng(1))
    >>> bool((full[:, :4] == data.rows[:3, :4]).all() and data.domain.contains(full).all())
    True
    """
    if rows.shape != known.shape or rows.shape[1] != len(chain.domain.columns):
        raise InvalidArgument(f"rows and known must both have {len(chain.domain.columns)} columns, got {rows.shape} and {known.shape}")
    for at, column in enumerate(chain.domain.columns):
        if not column.inside(rows[known[:, at], at]).all():
            raise InvalidArgument(f"a known cell of {column.name!r} lies outside of the column; correct it, or leave it open")
    sums = linear_sums(chain)
    rows, known = solved_first(sums, rows, known)
    traced = _traced(chain, rows, known)
    made = np.empty(rows.shape)
    step = max(1, _ROWS_AT_ONCE // tries)
    for kind in np.unique(traced, axis=0):
        mine = np.flatnonzero((traced == kind).all(axis=1))
        drawing = _Drawing(chain, _cut(chain, kind), sums, tries)
        for begin in range(0, len(mine), step):
            part = mine[begin : begin + step]
            drawn = drawing.chosen(np.repeat(rows[part], tries, axis=0), np.repeat(known[part], tries, axis=0), rng)
            if (impossible := part[np.isnan(drawn).all(axis=1)]).size:
                raise ConstraintError(
                    f"row {int(impossible[0])} and {len(impossible) - 1} others cannot be completed: what is known of it breaks a rule, "
                    f"or never occurs together; leave more of its cells open"
                )
            made[part] = drawn
    return made


def _traced(chain: ChainedTrees, rows: Rows, known: Mask) -> Rows:
    """(n, columns): the known values that follow from values which are open, and -1 elsewhere.

    Categories are traced back to what they follow from (a country leaves its cities), sums are solved for one of their parts.  Another
    number that is computed can be known only where what it is computed from is: the chain cannot be run backwards.
    """
    traced, columns = np.full(rows.shape, -1.0), chain.domain.columns
    computed = [at for at, guide in chain.guides.items() if guide.is_total]
    solvable = {each.target: ~np.isin(each.last_open(known), computed) for each in linear_sums(chain)}
    for at, guide in chain.guides.items():
        inputs = sorted({place for each in guide.derivations for place in each.inputs})
        open_ = known[:, at] & ~known[:, inputs].all(axis=1) & guide.is_total & ~solvable.get(at, np.zeros(len(rows), dtype=bool))
        if open_.any() and not all(columns[place].is_listed for place in (at, *inputs)):
            names = ", ".join(columns[place].name for place in inputs)
            raise InvalidArgument(f"{columns[at].name!r} follows from {names}; give these instead, or leave it open")
        traced[open_, at] = np.where(np.isnan(rows[open_, at]), -1.0, rows[open_, at])
    return traced


def _cut(chain: ChainedTrees, values: Reals) -> ChainedTrees:
    """The chain cut to these values and to what they follow from; -1 asks for nothing."""
    asked = {int(at): np.arange(len(chain.domain.columns[at].values)) == values[at] for at in np.flatnonzero(values >= 0)}
    return chain.within(Box(asked)) if asked else chain


@dataclass(frozen=True, eq=False)
class _Drawing:
    """The chain, the one that open categories are drawn from, and how many completions of every row there are."""

    chain: ChainedTrees
    cut: ChainedTrees
    sums: tuple[LinearSum, ...]
    tries: int

    def chosen(self, rows: Rows, known: Mask, rng: np.random.Generator) -> Rows:
        """One of the completions of every row; all of it is missing where none is possible."""
        drawn, weight = self._drawn(rows, known, rng)
        kept = self.chain.domain.contains(drawn)
        for relation in self.chain.relations:
            kept &= relation.rule.holds(drawn) if relation.support == 1.0 else True
        weight = np.where(np.isnan(weight) | ~kept, -np.inf, weight).reshape(-1, self.tries)
        chosen: Rows = drawn.reshape(len(weight), self.tries, -1)[np.arange(len(weight)), weight.argmax(axis=1)]
        chosen[~np.isfinite(weight).any(axis=1)] = np.nan
        return chosen

    def _drawn(self, rows: Rows, known: Mask, rng: np.random.Generator) -> tuple[Rows, Reals]:
        """All completions, and how likely each is by the chain beside how likely it was to be drawn, with noise that makes a draw of it."""
        drawn, copies = np.empty(rows.shape), np.empty(rows.shape, dtype=np.float32)
        weight = rng.gumbel(size=len(rows))  # the largest of log-weight + Gumbel noise is a draw by weight
        columns = self.chain.domain.columns
        for at, link, narrow in zip(self.chain.order, self.chain.links, self.cut.links, strict=True):
            for each in self.sums:
                rows, known = each.solved(at, rows, known, drawn)
            bound, given = self.chain.bound(at, link, drawn), known[:, at]
            is_cut = narrow is not link and columns[at].is_listed
            source = self.cut.bound(at, narrow, drawn) if is_cut else bound
            drawn[:, at] = np.where(given, rows[:, at], source.codes(np.minimum(rng.random(len(rows)), BELOW_ONE), copies)) + 0.0
            if given.any() or is_cut:
                likely = bound.log_share(drawn[:, at], copies)
                weight += likely if is_cut else np.where(given, likely, 0.0)
            if is_cut:
                weight -= np.where(given, 0.0, source.log_share(drawn[:, at], copies))
            copies[:, at] = tree_copy(drawn[:, at], columns[at].lowest)
        return drawn, weight
