"""The tree, the leaves and the tilts of one column after the other, grown from real rows.

Numbers are split by regression on their ranks, categories by entropy, or by Gini's impurity where many columns are asked: it tells as
much (eight splits of bank and of generated tables) and takes two thirds of the time.  Parents are chosen by association first, so that
the work grows with the columns and not with their square; protected columns are always among them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.arrays import Index, Labels, Reals, Rows
from evenhand.contract import Executor
from evenhand.domain.tabular import TabularDomain
from evenhand.shared_work import Sharing
from evenhand.synthesis.cells import Cells, cut
from evenhand.synthesis.coarse_parents import FEWEST_COARSE, FINE_TOLD, MANY_PARENTS, CoarseColumn, coarse, in_numbers, visible
from evenhand.synthesis.guides import ChainPlan, RelationGuide
from evenhand.synthesis.leaf_sizes import LeafSizes
from evenhand.synthesis.leaves import Branches, NodeShares, node_shares
from evenhand.synthesis.links import BELOW_ONE, Asked, Copies, GroupBorders, Link, Tilt, chosen_columns, make_link, parted, tree_copy
from evenhand.synthesis.pilot_rows import LearntGroups, PilotRows
from evenhand.synthesis.tree_settings import LARGER_LEAVES, TreeSettings
from evenhand.synthesis.trends import Trend, fit_trend, rest_cells
from evenhand.values import tell_watcher

KNOTS = 24
"""Levels at which a group's tilt is known."""
TILTED_GROUPS, TILTED_VALUES = 6, 12
"""Groups of a protected number that has more values, and values of a protected category that are each a group of its own."""
FEWEST_IN_GROUP = 30
STEADY_ROWS = 5.0
"""Rows of no difference that every group's tilt is mixed with, so that a small group's chance is not taken for a difference."""
FEWEST_HELD_OUT = 40
RESTS = 3
"""How many times larger the leaves are where a trend was taken off: what it leaves is mostly chance."""
GAIN = 0.05
"""Nats for each held-out row that a trend must bring, or a tree that is asked whether it tells anything."""
_MOST_CLASSES = 24
LEAF_STEP = 4
"""How many times as large the leaves are that are tried next, where it is asked whether a tree tells anything at all."""
FEWEST_ASKED, LEAST_TOLD = 4, 0.002
"""Columns that a tree asks though they tell next to nothing; and nats that any further one must tell, by itself or beside others, or splits
on it learn chance."""

UNLIKE = 0.001
"""Nats that any two columns count as telling of each other, when parents are compared by how much they repeat each other."""


@dataclass(frozen=True, eq=False)
class Shape:
    """One column as a tree is to learn it: its cells, its codes, and the trend that was taken off."""

    cells: Cells
    codes: Reals
    trend: Trend | None

    @property
    def is_number(self) -> bool:
        """Whether neighbouring cells are alike."""
        return not self.cells.column.is_listed and self.cells.count > 3

    @property
    def codes_in_cells(self) -> Reals:
        """How many codes of the column each cell stands for; where they lie densely, no end of them."""
        width, step = self.cells.width, 1.0
        if self.trend is not None:
            step = 2 * self.trend.half_step
        elif not self.cells.column.is_integral:
            step = 10.0**-self.cells.grid if isinstance(self.cells.grid, int) else 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.append(np.where(width > 0, np.maximum(width / step, 1.0), 1.0), 1.0)


@dataclass(frozen=True, eq=False)
class Grown:
    """A column's tree, and the cell of every row."""

    shape: Shape
    places: Index
    tree: Any
    parents: Index
    copies: Copies
    is_told: bool = False  # whether the column follows from others, so that its cells are no more chance

    @cached_property
    def branches(self) -> Branches:
        """The tree's shape."""
        return Branches.of(self.tree)

    @cached_property
    def nodes(self) -> Index:
        """The node that every row ends in."""
        return self._nodes(slice(None))

    @cached_property
    def shares(self) -> NodeShares:
        """Frequencies of the cells at every node, counted on all rows."""
        return self._shares(self.places, self.nodes)

    def likelihood(self, growth: TreeGrowth) -> float:
        """How likely the tree makes the held-out rows, their cells counted on the rows that it was grown on."""
        shares = self._shares(self.places[growth.structure], self._nodes(growth.structure))
        held = self.places[growth.held]
        return float(np.log(shares.at(self._nodes(growth.held), held) / self.shape.codes_in_cells[held]).sum())

    def link(self) -> Link:
        """Counted on all rows."""
        asked = Asked(self.tree, self.parents, self.branches.leaf_of_node())
        return make_link(self.shape.cells, asked, self.shares.of(self.branches.leaves), self.shape.trend)

    def cut(self, leaf_rows: int) -> Grown:
        """The same without splits of nodes that are too small for two such leaves."""
        ends = self.branches.ends(leaf_rows)
        if ends is None:
            return self
        smaller = replace(self, tree=ends.cut(self.tree))
        # What was counted for the larger tree holds for the smaller one.
        smaller.__dict__["nodes"] = ends.number[ends.stands[self.nodes]]
        smaller.__dict__["shares"] = self.shares.kept(ends.kept)
        return smaller

    def _shares(self, places: Index, nodes: Index) -> NodeShares:
        """Frequencies at every node as rows with these cells at these nodes show them."""
        counts = np.bincount(self.branches.leaf_of_node()[nodes] * self.shape.cells.count + places, minlength=self._table_size)
        table = counts.reshape(-1, self.shape.cells.count).astype(np.float32)
        return node_shares(self.branches, table, self.shape.is_number, self.shape.cells.has_missing)

    @property
    def _table_size(self) -> int:
        return len(self.branches.leaves) * self.shape.cells.count

    def _nodes(self, rows: Index | slice) -> Index:
        seen = self.copies[rows]
        if self.tree is None:
            return np.zeros(len(seen), dtype=np.intp)
        found: Index = self.tree.apply(chosen_columns(seen, self.parents))
        return found


@dataclass(frozen=True)
class ColumnTask:
    """One column of a chain by its step, and the seed of its tree."""

    step: int
    seed: int


@dataclass(frozen=True)
class SentTree:
    """A grown tree on its way from a worker: without the rows, with what was counted on them."""

    grown: Grown
    nodes: Index
    shares: NodeShares

    @classmethod
    def of(cls, grown: Grown) -> SentTree:
        """What is worth sending."""
        bare = replace(grown, copies=grown.copies[:0])
        return cls(bare, grown.nodes, grown.shares)

    def on(self, copies: Copies) -> Grown:
        """The tree as if it had been grown here."""
        whole = replace(self.grown, copies=copies)
        whole.__dict__["nodes"], whole.__dict__["shares"] = self.nodes, self.shares
        return whole


@dataclass(frozen=True)
class GrowthWork:
    """What every worker needs to grow the tree of any column."""

    growth: TreeGrowth
    plan: ChainPlan

    def open(self) -> Callable[[ColumnTask], SentTree]:
        """One column after the other."""
        return self._grow

    def _grow(self, task: ColumnTask) -> SentTree:
        guide = self.plan.guides.get(self.plan.order[task.step])
        return SentTree.of(self.growth.grown(self.plan.order, task.step, np.random.default_rng(task.seed), guide))


@dataclass(frozen=True)
class TreeGrowth:
    """The fit of one link after the other over the same rows."""

    rows: Rows
    domain: TabularDomain
    copies: Copies
    lowest: Reals  # smallest code of every column; a missing cell's copy lies below it
    structure: Index  # rows that the splits are chosen on; leaves are counted on all
    held: Index  # rows that say whether a trend pays
    associations: Rows
    settings: TreeSettings

    def links(self, plan: ChainPlan, rng: np.random.Generator, executor: Executor | None = None) -> tuple[Link, ...]:
        """Every link of the chain, its leaves as large as copies of learnt rows demand, each with the groups where the data have them.

        Trees do not need each other, so that an executor may grow them, each with a seed of its own.
        """
        ahead = self._shared(plan, rng, executor) if executor is not None else {}
        leading = plan.order[: 1 + max((plan.order.index(at) for at in self.domain.protected_places), default=-1)]
        pilot = PilotRows.begun(self.rows, self.copies, leading, self._groups, rng)
        sizes = LeafSizes.of(self.rows, self.settings.leaf_sizes(len(self.structure)), rng)
        waiting: list[Grown] = []
        found: list[Link] = []
        for step, at in enumerate(plan.order):
            tell_watcher("learning the population", step, len(plan.order), self.domain.names[at])
            waiting.append(ahead.pop(step) if ahead else self.grown(plan.order, step, rng, plan.guides.get(at)))
            sizes.hear(waiting[-1])
            if sizes.is_settled or step == len(plan.order) - 1:
                for each in waiting:
                    found.append(self._calibrated(each.cut(sizes.chosen), plan, len(found), pilot, rng))
                waiting.clear()
        tell_watcher("learning the population", len(plan.order), len(plan.order))
        return tuple(found)

    def _shared(self, plan: ChainPlan, rng: np.random.Generator, executor: Executor) -> dict[int, Grown]:
        """The trees of all columns, by their step, grown by whoever works."""
        seeds = rng.integers(2**63, size=len(plan.order)).tolist()
        tasks = [ColumnTask(step, seed) for step, seed in enumerate(seeds)]
        found = Sharing(executor).answers(GrowthWork(self, plan), tasks)
        return {step: each.on(self.copies) for step, each in enumerate(found)}

    def _calibrated(self, grown: Grown, plan: ChainPlan, step: int, pilot: PilotRows, rng: np.random.Generator) -> Link:
        """The link of a grown tree, its groups bent to where the data have them, drawn for the pilot rows as well."""
        at, guide = plan.order[step], plan.guides.get(plan.order[step])
        link = self._tilted(grown, plan.order[:step], rng)
        if not self.settings.tilts or not self.domain.protected:
            return link
        leaves = link.tree_leaves(pilot.copies)
        if guide is None and link.trend is None:
            link = pilot.calibrated(link, leaves, LearntGroups(grown.places, self._groups))
        link = parted(link, self.settings.table_cells)
        if step == len(plan.order) - 1:
            return link  # nothing is drawn after it
        if at in self.domain.protected_places:
            pilot.split(at)
        if any(plan.order.index(place) >= step for place in self.domain.protected_places):
            return link  # the pilot rows have it from learnt rows
        levels = pilot.levels(rng)
        if guide is None:
            pilot.rows[:, at] = link.codes(levels, pilot.copies, link.parted_leaves(leaves, pilot.copies))
        else:
            pilot.rows[:, at] = guide.bound(link, pilot.rows).codes(levels, pilot.copies)
        pilot.copies[:, at] = tree_copy(pilot.rows[:, at], self.domain.columns[at].lowest)
        return link

    def link(self, order: Sequence[int], step: int, rng: np.random.Generator, guide: RelationGuide | None = None) -> Link:
        """Grow the tree of one column on the columns before it, count its leaves, and put back what groups differ in."""
        return parted(self._tilted(self.grown(order, step, rng, guide), order[:step], rng), self.settings.table_cells)

    def grown(self, order: Sequence[int], step: int, rng: np.random.Generator, guide: RelationGuide | None = None) -> Grown:
        """The tree of one column on the columns before it; none where the column always follows from them."""
        at, codes = order[step], self.rows[:, order[step]]
        if guide is not None and guide.is_total and not np.isnan(codes).any():
            alone = self._grown(at, Shape(cut(self.domain.columns[at], codes, self.settings.cells), codes, None), [], rng)
            return replace(alone, is_told=True)
        parents = self._parents(at, order[:step])
        if guide is not None and guide.is_distance:
            codes = guide.rounded(codes - guide.base(self.rows))
            return self._grown(at, Shape(guide.distance_cells(codes, self.settings.cells), codes, None), parents, rng)
        return self._better(at, parents, rng)

    def _better(self, at: int, parents: list[int], rng: np.random.Generator) -> Grown:
        """The column by its cells or by what a trend leaves of it: whichever makes held-out rows likelier."""
        column, codes = self.domain.columns[at], self.rows[:, at]
        shape = Shape(cut(column, codes, self.settings.cells), codes, None)
        numbers = [place for place in parents if not self.domain.columns[place].is_listed or len(self.domain.columns[place].values) == 2]
        trend = fit_trend(codes[self.structure], self._visible, column, numbers, self.lowest) if numbers else None
        doubted = self.settings.doubts_protected and at in self.domain.protected_places
        if trend is None or len(self.held) < FEWEST_HELD_OUT:
            return self._borne_out(self._grown(at, shape, parents, rng)) if doubted else self._on_all._grown(at, shape, parents, rng)
        rests = codes - trend.expected(self.copies)
        trended = self._grown(at, Shape(rest_cells(rests, trend, self.settings.cells, column.missing > 0), rests, trend), parents, rng)
        plain = self._grown(at, shape, parents, rng)
        pays = trended.likelihood(self) > plain.likelihood(self) + GAIN * len(self.held)
        better = trended if pays else plain
        return self._borne_out(better) if doubted else better

    def _borne_out(self, grown: Grown) -> Grown:
        """The tree, where its own leaves or larger ones tell something of held-out rows; else none: a few rows that happen to lack a value
        say nothing about it."""
        alone = replace(grown, tree=None)
        sizes = [LARGER_LEAVES[0] * LEAF_STEP**step for step in range(1 + int(np.log(len(self.structure)) / np.log(LEAF_STEP)))]
        least = alone.likelihood(self) + GAIN * len(self.held)
        return grown if any(grown.cut(size).likelihood(self) > least for size in reversed(sizes)) else alone

    @cached_property
    def _on_all(self) -> TreeGrowth:
        """The same with splits chosen on the held-out rows as well, where nothing is left to be compared on them."""
        return replace(self, structure=np.concatenate([self.held, self.structure]))

    def _grown(self, at: int, shape: Shape, parents: list[int], rng: np.random.Generator) -> Grown:
        places = shape.cells.locate(shape.codes)
        tree = self._tree(parents, places, shape, rng, self.associations[at])
        return Grown(shape, places, tree, np.array(parents, dtype=np.intp), self.copies)

    def _parents(self, at: int, before: Sequence[int]) -> list[int]:
        """The columns that tell most about this one, and the protected ones; a few at least, though they may tell next to nothing."""
        told, most = self.associations[at], self.settings.most_parents(self.rows.shape[1], len(self.structure))
        telling = sorted(before, key=lambda place: -told[place])
        beside = self._told_beside(at, before)
        telling = [*telling[:FEWEST_ASKED], *(place for place in telling[FEWEST_ASKED:] if beside[place] > LEAST_TOLD)]
        if len(telling) > most:
            telling = self._unlike(at, telling[: most // 2], telling[most // 2 :], most)
        return sorted({*telling, *(place for place in self.domain.protected_places if place in before)})

    def _told_beside(self, at: int, before: Sequence[int]) -> Reals:
        """What every column tells about this one, by itself and once the columns before it are known.

        A column that tells nothing by itself may tell what is wrong about another one.  Of normal numbers a small part r of a deviation
        shared tells r * r / 2 nats; one that shares r with a column that shares s with this one tells (r * s) ** 2 / 2 beside it.
        """
        told, among = self.associations[at], np.array(before, dtype=np.intp)
        found: Reals = told + 2.0 * self.associations[:, among] @ told[among]
        return found

    def _unlike(self, at: int, chosen: list[int], others: list[int], most: int) -> list[int]:
        """The chosen columns and further ones up to so many, each telling much for how alike it is to those chosen before it.

        The columns that tell most are often answers to one question, each of which tells the same (Ding and Peng, "Minimum redundancy
        feature selection", 2005, by the quotient).
        """
        chosen, left = list(chosen), np.array(others)
        alike = self.associations[left][:, chosen].sum(axis=1)
        while len(chosen) < most:
            best = int((self.associations[at, left] / (UNLIKE + alike / len(chosen))).argmax())
            chosen.append(int(left[best]))
            alike = np.delete(alike + self.associations[left, left[best]], best)
            left = np.delete(left, best)
        return chosen

    def _tree(self, parents: list[int], places: Index, shape: Shape, rng: np.random.Generator, told: Reals) -> Any:
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        chosen, cells = places[self.structure], shape.cells
        smallest = self.settings.rows_per_leaf(len(chosen), len(parents)) * (1 if shape.trend is None else RESTS)
        most = min(self.settings.table_cells // cells.count, len(chosen) // smallest)
        if not parents or most < 2 or chosen.min() == chosen.max():
            return None
        kind, target = (
            (DecisionTreeRegressor, _ranks(places, cells)) if shape.is_number else (DecisionTreeClassifier, _classes(places, cells))
        )
        extra = {} if shape.is_number else {"criterion": "gini" if len(parents) >= MANY_PARENTS else "entropy"}
        # Growing best first costs more than growing depth first, and is needed only where the leaves are limited.
        limit = most if most * smallest < len(chosen) // 2 else None
        tree = kind(min_samples_leaf=smallest, max_leaf_nodes=limit, random_state=int(rng.integers(2**31)), **extra)
        few = self._coarse_among(parents, told)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a few rows with as many cells are no mistake here
            grown = tree.fit(visible(self._visible, parents, few), target[self.structure], check_input=False).tree_
        return in_numbers(grown, few) if few else grown

    def _coarse_among(self, parents: list[int], told: Reals) -> dict[int, CoarseColumn]:
        """By their turn among many parents, the columns of many numbers that tell little."""
        if len(parents) < MANY_PARENTS:
            return {}
        found = {turn: self._coarse(place) for turn, place in enumerate(parents) if told[place] < FINE_TOLD}
        many = {turn: column for turn, column in found.items() if column is not None}
        return many if len(many) >= FEWEST_COARSE else {}

    def _coarse(self, place: int) -> CoarseColumn | None:
        if place not in self._coarse_columns:
            self._coarse_columns[place] = coarse(self._visible[:, place])
        return self._coarse_columns[place]

    @cached_property
    def _coarse_columns(self) -> dict[int, CoarseColumn | None]:
        """Filled as they are asked for."""
        return {}

    def _tilted(self, grown: Grown, before: Sequence[int], rng: np.random.Generator) -> Link:
        """The link with one tilt for each protected column before it, each for what those before it leave."""
        link = grown.link()
        protected = [place for place in self.domain.protected_places if place in before and len(self._borders[place])]
        if not protected or grown.is_told or not self.settings.tilts:
            return link
        low, high = link.stretch(self._stretched(grown.shape), self.copies, link.leaf_of_node[grown.nodes], grown.places)
        levels = low + (high - low) * rng.random(len(low))
        # The levels of missing cells lie beyond those of the largest numbers, of which smoothing leaves too many: curves that set
        # all levels right would take that for too many missing cells.
        is_mixed = grown.shape.is_number and grown.shape.cells.has_missing
        tilts: list[Tilt] = []
        for place in protected:
            tilts.append(self._tilt(place, levels, is_mixed))
            levels = np.minimum(tilts[-1].straighten(levels, self._groups[place]), BELOW_ONE)
        return replace(link, tilts=tuple(tilts))

    def _stretched(self, shape: Shape) -> Reals:
        """The codes that a link of this shape is asked about: with a trend the column's own, which the trend is taken off again."""
        return shape.codes if shape.trend is None else self.rows[:, self.domain.place(shape.trend.column.name)]

    def _tilt(self, place: int, levels: Reals, is_beside_all: bool) -> Tilt:
        """The curve of levels in each group; `is_beside_all` takes off what all rows together show."""
        borders = self._borders[place]
        bins = np.minimum((levels * KNOTS).astype(np.intp), KNOTS - 1)
        counts = np.bincount(self._groups[place] * KNOTS + bins, minlength=(len(borders) + 1) * KNOTS)
        steady = counts.reshape(-1, KNOTS).astype(np.float64) + STEADY_ROWS / KNOTS
        if is_beside_all:
            steady /= steady.sum(axis=0) / steady.sum() * KNOTS
        steadied = _beyond_chance(steady)
        curve = np.hstack([np.zeros((len(steadied), 1)), np.cumsum(steadied, axis=1) / steadied.sum(axis=1, keepdims=True)])
        curve[:, -1] = 1.0
        return Tilt(place, borders, curve)

    @cached_property
    def _visible(self) -> Copies:
        """The rows that splits are chosen on."""
        return self.copies[self.structure]

    @cached_property
    def _borders(self) -> dict[int, Reals]:
        """Between the groups of every protected column: its values where they are few, else quantiles; thin groups join a neighbour."""
        columns = self.domain.columns
        return {place: _group_borders(self.copies[:, place], columns[place].is_listed) for place in self.domain.protected_places}

    @cached_property
    def _groups(self) -> dict[int, Index]:
        """The group of every row, by protected column."""
        return {place: GroupBorders(place, borders).of(self.copies) for place, borders in self._borders.items()}


def _group_borders(codes: Copies, is_listed: bool) -> Reals:
    distinct, counts = np.unique(codes, return_counts=True)
    if not is_listed and len(distinct) > TILTED_GROUPS:
        quantiles = np.quantile(codes, np.linspace(0, 1, TILTED_GROUPS // 2 + 2)[1:-1], method="lower")
        borders: Reals = np.unique(quantiles[quantiles < distinct[-1]]).astype(np.float64)
        return borders
    lasts, sizes = distinct.astype(np.float64).tolist(), counts.tolist()
    while len(sizes) > 1 and (min(sizes) < FEWEST_IN_GROUP or len(sizes) > TILTED_VALUES):
        first = _thinnest_pair(sizes)
        sizes[first : first + 2] = [sizes[first] + sizes[first + 1]]
        del lasts[first]
    return np.array(lasts[:-1])


def _thinnest_pair(sizes: Sequence[int]) -> int:
    """The first of two neighbours: the smallest of all and the smaller one beside it."""
    at = int(np.argmin(sizes))
    beside = [place for place in (at - 1, at + 1) if 0 <= place < len(sizes)]
    return min(at, min(beside, key=sizes.__getitem__))


def _beyond_chance(counts: Rows) -> Rows:
    """Counts drawn towards equal ones by as much as chance alone would set them apart (James and Stein)."""
    even = counts.mean(axis=1, keepdims=True)
    apart = ((counts - even) ** 2 / even).sum(axis=1, keepdims=True)
    kept = np.maximum(1.0 - (counts.shape[1] - 1) / np.maximum(apart, 1e-300), 0.0)
    drawn: Rows = even + kept * (counts - even)
    return drawn


def _ranks(places: Index, cells: Cells) -> Rows:
    """What a regression tree learns of a number: where it stands among all, how far from the middle, and whether it is missing."""
    counts = np.bincount(places, minlength=cells.count).astype(np.float64)
    missing = places == len(cells.start)
    if cells.has_missing:
        counts[-1] = 0.0
    rank = ((np.cumsum(counts) - counts / 2) / max(counts.sum(), 1.0))[places]
    rank = np.where(missing, 0.5, rank)
    parts = [rank, np.abs(rank - 0.5)] + ([missing.astype(np.float64)] if cells.has_missing else [])
    return np.stack(parts, axis=1)


def _classes(places: Index, cells: Cells) -> Labels:
    """What a tree tells apart: the cells themselves, or groups of about equal weight where there are many."""
    counts = np.bincount(places, minlength=cells.count)
    if cells.count <= _MOST_CLASSES:
        return places
    rank = np.empty(cells.count, dtype=np.intp)
    rank[np.argsort(-counts, kind="stable")] = np.arange(cells.count)
    return np.unique(np.minimum(rank, _MOST_CLASSES - 1)[places], return_inverse=True)[1]
