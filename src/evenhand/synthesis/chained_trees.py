"""Chained trees: a population of rows, one decision tree per column on the columns before it.

Every leaf holds the frequencies of its column's cells; a row is decoded from a Gaussian latent by their inverse, so that
the way back (a randomised probability integral transform) and the density are exact.  Protected columns come first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Labels, Reals, Rows
from evenhand.domain.columns import Value
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import ConstraintError, DataError, InvalidArgument
from evenhand.limits import Count, Positive, TwoOrMore, check_limits
from evenhand.synthesis.box import Box
from evenhand.synthesis.cells import Cells, cut
from evenhand.synthesis.leaves import leaf_numbers, leaf_shares
from evenhand.synthesis.rejection import keep_constraints

if TYPE_CHECKING:
    from evenhand.synthesis.steered_trees import SteeredTrees
    from evenhand.synthesis.wishes import Wishes

Copies = NDArray[np.float32]  # (n, columns): what the trees read
Latents = NDArray[np.float64]  # (n, columns) standard normal

_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
_BELOW_ONE = float(np.nextafter(1.0, 0.0))
_BATCH_ROWS = 50_000
_MOST_BINS = 512
_WORTH_A_GUIDE = 4096
"""Levels looked up at once from which on a table of bins pays for itself."""


@dataclass(frozen=True)
class TreeSettings:
    """How fine the trees are.

    leaf_rows: rows per leaf on average; None takes rows / 150, between 20 and 200
    smoothing: how many rows' worth of its parent's frequencies a node is mixed with; None lets the data choose
    cells: most cells of one numeric column
    structure_rows: most rows that the splits are chosen on; leaf frequencies always use all rows
    table_cells: most cells of one column's leaves together; columns with many values get fewer leaves
    """

    leaf_rows: Count | None = None
    smoothing: Positive | None = None
    cells: TwoOrMore = 256
    structure_rows: TwoOrMore = 30_000
    table_cells: TwoOrMore = 2_000_000

    def __post_init__(self) -> None:
        check_limits(self)

    def rows_per_leaf(self, rows: int) -> int:
        """The rows of an average leaf for a table of this many rows."""
        return self.leaf_rows if self.leaf_rows is not None else int(np.clip(rows // 150, 20, 200))


@dataclass(frozen=True)
class _Link:
    """One column of the chain: its tree, its cells, and the frequencies of the cells in every leaf."""

    cells: Cells
    tree: Any  # sklearn's compiled tree; None for a single leaf
    leaf_of_node: Index
    share: Rows  # (leaves, cells)
    before: Rows  # (leaves, cells) probability of all earlier cells
    ends: Reals  # (leaves * cells,) leaf + probability up to and including the cell: one ascending array for all leaves

    def leaves(self, copies: Copies) -> Index:
        """The leaf of every row."""
        if self.tree is None:
            return np.zeros(len(copies), dtype=np.intp)
        leaves: Index = self.leaf_of_node[self.tree.apply(copies)]
        return leaves

    def codes(self, levels: Reals, leaves: Index) -> Reals:
        """The inverse distribution function of each row's leaf."""
        count = self.cells.count
        first = leaves * count
        cells = np.clip(self._place(levels, leaves, first) - first, 0, count - 1)
        if self.cells.is_single:
            return self.cells.codes(cells, levels)
        flat = leaves * count + cells
        with np.errstate(divide="ignore", invalid="ignore"):  # a cut link has cells without any share, which are never drawn
            inner = (levels - self.before.ravel()[flat]) / self.share.ravel()[flat]
        return self.cells.codes(cells, np.clip(inner, 0.0, _BELOW_ONE))

    @cached_property
    def _guide(self) -> tuple[int, Index]:
        """For every leaf and each of equally wide bins of levels, the place in `ends` of the bin's lower border."""
        bins = int(np.clip(2 * self.cells.count, 16, _MOST_BINS))
        borders = np.arange(len(self.share))[:, None] + np.arange(bins) / bins
        return bins, np.searchsorted(self.ends, borders.ravel(), side="right")

    def _place(self, levels: Reals, leaves: Index, first: Index) -> Index:
        """What `np.searchsorted(self.ends, levels + leaves, side="right")` gives, faster: looked up by bin, then moved on."""
        if len(levels) < _WORTH_A_GUIDE and "_guide" not in self.__dict__:
            return np.searchsorted(self.ends, levels + leaves, side="right")
        bins, guide = self._guide
        places = guide[leaves * bins + (levels * bins).astype(np.intp)]
        wanted, last = levels + leaves, first + self.cells.count - 1
        behind = np.flatnonzero((self.ends[places] <= wanted) & (places < last))
        while behind.size:
            places[behind] += 1
            behind = behind[(self.ends[places[behind]] <= wanted[behind]) & (places[behind] < last[behind])]
        return places

    def levels(self, codes: Reals, leaves: Index, rng: np.random.Generator) -> tuple[Reals, Reals]:
        """A uniform draw from the levels that decode to each code, and the middle of them."""
        cells = self.cells.locate(codes)
        low, high = self.cells.inner(codes, cells)
        before, share = self.before[leaves, cells], self.share[leaves, cells]
        low, high = before + low * share, before + high * share
        return low + (high - low) * rng.random(len(codes)), (low + high) / 2

    def log_share(self, codes: Reals, leaves: Index) -> Reals:
        """Log-probability of each code in its leaf; minus infinity outside the column's range."""
        cells = self.cells.locate(codes)
        with np.errstate(divide="ignore"):
            found = np.log(self.share[leaves, cells]) - self.cells.log_width()[cells]
        return np.where(cells >= 0, found, -np.inf)


@dataclass(frozen=True)
class ChainedTrees:
    """A population with a latent space: sample, encode, decode and log-density, all over batches of rows."""

    domain: TabularDomain
    order: tuple[int, ...]
    links: tuple[_Link, ...]  # in the order of the chain
    name: str = "chained trees"

    @classmethod
    def fit(
        cls, rows: Rows, domain: TabularDomain, rng: np.random.Generator, settings: TreeSettings | None = None, first: Sequence[str] = ()
    ) -> ChainedTrees:
        """Learn the chain from real rows.  Columns named in `first` lead it, then the protected ones, then the others."""
        settings = settings or TreeSettings()
        _check(rows, domain)
        lead = [domain.place(name) for name in first]
        order = tuple(dict.fromkeys([*lead, *domain.protected_places, *_telling_first(rows, domain)]))
        copies = _copies(rows, domain)
        structure = rng.permutation(len(rows))[: settings.structure_rows]
        maker = _Maker(rows, domain, copies, structure, settings)
        return cls(domain, order, tuple(maker.link(order, step, rng) for step in range(len(order))))

    @classmethod
    def fit_steered(cls, rows: Rows, domain: TabularDomain, wishes: Wishes, rng: np.random.Generator) -> SteeredTrees:
        """Learn a chain whose rows obey a user's wishes."""
        from evenhand.synthesis.steered_trees import SteeredTrees

        return SteeredTrees.of(rows, domain, wishes, rng)

    def within(self, box: Box) -> ChainedTrees:
        """The same chain cut to a box: each column is drawn among its allowed cells, given the columns before it."""
        links = list(self.links)
        for step, at in enumerate(self.order):
            if at in box.values or at in box.intervals:
                links[step] = _cut_link(links[step], box, at)
        return replace(self, links=tuple(links), domain=box.domain(self.domain), name=f"{self.name} where {box.text(self.domain)}")

    @property
    def latent_size(self) -> int:
        """How many numbers stand for one row."""
        return len(self.order)

    def latents(self, n: int, rng: np.random.Generator) -> Latents:
        """Standard normal vectors."""
        return rng.standard_normal((n, self.latent_size))

    def sample(self, n: int, rng: np.random.Generator, fixed: Mapping[str, Value | Reals] | None = None) -> Rows:
        """Rows of the population that keep the domain's constraints; `fixed` columns have the given cell or codes."""
        codes = self._fixed(fixed, n)
        if not self.domain.constraints:
            return self._draw(n, rng, codes)

        def draw(places: Index) -> Rows:
            return self._draw(len(places), rng, {at: cells[places] for at, cells in codes.items()})

        return keep_constraints(draw, n, self.domain, tuple(codes))

    def resample(self, rows: Rows, keep: Sequence[str], rng: np.random.Generator) -> Rows:
        """The same rows with every column drawn anew except those kept, each given the columns before it in the chain."""
        return self.sample(len(rows), rng, {name: rows[:, self.domain.place(name)] for name in keep})

    def decode(self, latents: NDArray[np.floating[Any]], fixed: Mapping[str, Value | Reals] | None = None) -> Rows:
        """The row that every latent stands for; a row that breaks a constraint is moved to the nearest one that keeps it."""
        from scipy.special import ndtr

        codes = self._fixed(fixed, len(latents))
        rows = self._in_batches(len(latents), codes, lambda span: ndtr(latents[span]))
        if not self.domain.constraints:
            return rows
        if (broken := np.flatnonzero(~self.domain.keeps_constraints(rows))).size:
            rows[broken] = self.domain.project(rows[broken])
        return rows

    def redecode(self, latents: Latents, rows: Rows, coordinate: int) -> Rows:
        """What `decode` gives for latents that differ only in this coordinate from those that `rows` were decoded from."""
        from scipy.special import ndtr

        if self.domain.constraints:
            return self.decode(latents)  # a projected row no longer tells what its latent decoded to
        moved = rows.copy()
        copies = _copies(rows, self.domain) if (self.domain.missing > 0).any() else rows.astype(np.float32)
        begin = self.order.index(coordinate)
        for at, link in zip(self.order[begin:], self.links[begin:], strict=True):
            levels = np.minimum(ndtr(latents[:, at]), _BELOW_ONE)
            moved[:, at] = link.codes(levels, link.leaves(copies))
            copies[:, at] = _copy(moved[:, at], self.domain.columns[at].lowest)
        return moved

    def redecode_each(self, latents: Latents, rows: Rows, coordinates: Index) -> Rows:
        """The same where every row has a coordinate of its own, from which on its latents may differ."""
        from scipy.special import ndtr

        if self.domain.constraints:
            return self.decode(latents)
        begins = np.argsort(self.order)[coordinates]
        sequence = np.argsort(begins, kind="stable")
        latents, moved = latents[sequence], rows[sequence]
        copies = _copies(moved, self.domain) if (self.domain.missing > 0).any() else moved.astype(np.float32)
        upto = np.searchsorted(begins[sequence], np.arange(len(self.order)), side="right")
        for at, link, n in zip(self.order, self.links, upto, strict=True):
            levels = np.minimum(ndtr(latents[:n, at]), _BELOW_ONE)
            moved[:n, at] = link.codes(levels, link.leaves(copies[:n]))
            copies[:n, at] = _copy(moved[:n, at], self.domain.columns[at].lowest)
        back = np.empty_like(moved)
        back[sequence] = moved
        return back

    def encode(self, rows: Rows, rng: np.random.Generator) -> Latents:
        """A latent for every row, standard normal if the rows are of this population, that decodes to the very row."""
        latents = np.empty(rows.shape)
        copies = _copies(rows, self.domain)
        for at, link in zip(self.order, self.links, strict=True):
            if (link.cells.locate(rows[:, at]) < 0).any():
                raise DataError(f"column {self.domain.names[at]!r} has codes outside its range; project the rows first")
            latents[:, at] = _exact_latent(link, rows[:, at], link.leaves(copies), rng)
        return latents

    def log_density(self, rows: Rows) -> Reals:
        """Exact log-probability of every row (a density in the real columns); minus infinity outside the ranges."""
        density: Reals = self.log_shares(rows).sum(axis=1)
        return density

    def log_shares(self, rows: Rows) -> Rows:
        """The same, one term for every column given the columns before it: which cells make a row unlikely."""
        copies = _copies(rows, self.domain)
        terms = np.empty(rows.shape)
        for at, link in zip(self.order, self.links, strict=True):
            terms[:, at] = link.log_share(rows[:, at], link.leaves(copies))
        return terms

    def _draw(self, n: int, rng: np.random.Generator, fixed: Mapping[int, Reals]) -> Rows:
        return self._in_batches(n, fixed, lambda span: rng.random((span.stop - span.start, len(self.order))))

    def _in_batches(self, n: int, fixed: Mapping[int, Reals], levels_of: Callable[[slice], Rows]) -> Rows:
        """Decode in pieces that stay in the processor's cache."""
        rows = np.empty((n, len(self.order)))
        for begin in range(0, n, _BATCH_ROWS):
            span = slice(begin, min(n, begin + _BATCH_ROWS))
            self._decode_levels(levels_of(span), rows[span], {at: codes[span] for at, codes in fixed.items()})
        return rows

    def _decode_levels(self, levels: Rows, rows: Rows, fixed: Mapping[int, Reals]) -> None:
        np.minimum(levels, _BELOW_ONE, out=levels)
        copies = np.empty(rows.shape, dtype=np.float32)
        for at, link in zip(self.order, self.links, strict=True):
            rows[:, at] = fixed[at] if at in fixed else link.codes(levels[:, at], link.leaves(copies))
            copies[:, at] = _copy(rows[:, at], self.domain.columns[at].lowest)

    def _fixed(self, fixed: Mapping[str, Value | Reals] | None, n: int) -> dict[int, Reals]:
        codes = {}
        for name, cells in (fixed or {}).items():
            at = self.domain.place(name)
            column = self.domain.columns[at]
            codes[at] = cells.astype(np.float64) if isinstance(cells, np.ndarray) else np.full(n, column.code(cells))
            if len(codes[at]) != n or not column.inside(codes[at]).all():
                raise InvalidArgument(f"fixed column {name!r} needs one cell, or {n} codes, inside its range")
        return codes


@dataclass(frozen=True)
class _Maker:
    """The fit of one link after the other over the same rows."""

    rows: Rows
    domain: TabularDomain
    copies: Copies
    structure: Index
    settings: TreeSettings

    def link(self, order: Sequence[int], step: int, rng: np.random.Generator) -> _Link:
        """Grow the tree of one column on the columns before it, and count its leaves."""
        codes = self.rows[:, order[step]]
        cells = cut(self.domain.columns[order[step]], codes, self.settings.cells)
        places = cells.locate(codes)
        tree = self._tree(sorted(order[:step]), _classes(places, cells), cells.count, rng)
        leaf_of_node = leaf_numbers(tree)
        leaves = leaf_of_node[tree.apply(self.copies)] if tree is not None else np.zeros(len(places), dtype=np.intp)
        count = int(leaf_of_node.max()) + 1
        counts = np.bincount(leaves * cells.count + places, minlength=count * cells.count).reshape(count, -1).astype(np.float64)
        share = leaf_shares(tree, counts, self.settings.smoothing)
        return _make_link(cells, tree, leaf_of_node, share)

    def _tree(self, predictors: list[int], classes: Labels, cells: int, rng: np.random.Generator) -> Any:
        from sklearn.tree import DecisionTreeClassifier

        chosen = classes[self.structure]
        rows_per_leaf = self.settings.rows_per_leaf(len(chosen))
        most = min(self.settings.table_cells // cells, len(chosen) // rows_per_leaf)
        if not predictors or most < 2 or chosen.min() == chosen.max():
            return None
        # Best-first growth with small leaves keeps rare but certain relations, at the same number of leaves.
        smallest = max(1, min(10, rows_per_leaf // 4))
        seed = int(rng.integers(2**31))
        tree = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=smallest, max_leaf_nodes=most, random_state=seed)
        # The others stay in the matrix as a constant, so that the tree can later be asked with whole rows.
        visible = np.zeros((len(self.structure), self.copies.shape[1]), dtype=np.float32)
        visible[:, predictors] = self.copies[self.structure][:, predictors]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a few rows with as many cells are no mistake here
            return tree.fit(visible, chosen).tree_


def _telling_first(rows: Rows, domain: TabularDomain) -> list[int]:
    """All columns, those last whose cells mostly differ from row to row: the others' trees find little but chance in them."""
    mostly_distinct = [2 * len(np.unique(rows[:, at])) > len(rows) for at in range(len(domain.columns))]
    return sorted(range(len(domain.columns)), key=lambda at: mostly_distinct[at])


def _make_link(cells: Cells, tree: Any, leaf_of_node: Index, share: Rows) -> _Link:
    upto = np.cumsum(share, axis=1)
    before = np.hstack([np.zeros((len(upto), 1)), upto[:, :-1]])
    upto[:, -1] = 1.0
    return _Link(cells, tree, leaf_of_node, share, before, (upto + np.arange(len(upto))[:, None]).ravel())


def _cut_link(link: _Link, box: Box, at: int) -> _Link:
    """A link whose leaves hold only the allowed part of their cells; a leaf without any takes all allowed cells evenly."""
    cells, part = link.cells.narrowed(box.values.get(at), box.intervals.get(at))
    if not part.any():
        raise ConstraintError(f"no value of column {cells.column.name!r} lies in the box")
    share = link.share * part
    total = share.sum(axis=1, keepdims=True)
    share = np.divide(share, total, out=np.tile(part / part.sum(), (len(share), 1)), where=total > 0)
    return _make_link(cells, link.tree, link.leaf_of_node, share)


_MOST_CLASSES = 24


def _classes(places: Index, cells: Cells) -> Labels:
    """What a tree tells apart: the cells themselves, or groups of about equal weight where there are many."""
    counts = np.bincount(places, minlength=cells.count)
    if cells.count <= _MOST_CLASSES:
        group = np.arange(cells.count)
    elif cells.column.kind == "category":
        rank = np.empty(cells.count, dtype=np.intp)
        rank[np.argsort(-counts, kind="stable")] = np.arange(cells.count)
        group = np.minimum(rank, _MOST_CLASSES - 1)
    else:
        middle = (np.cumsum(counts) - counts / 2) / max(counts.sum(), 1)
        group = np.minimum((middle * _MOST_CLASSES).astype(np.intp), _MOST_CLASSES - 1)
        if cells.has_missing:
            group[-1] = _MOST_CLASSES
    return np.unique(group[places], return_inverse=True)[1]


def _copies(rows: Rows, domain: TabularDomain) -> Copies:
    copies = np.empty(rows.shape, dtype=np.float32)
    for at, column in enumerate(domain.columns):
        copies[:, at] = _copy(rows[:, at], column.lowest)
    return copies


def _copy(codes: Reals, lowest: float) -> Reals:
    """Codes as a tree reads them: a missing cell lies below every other."""
    return np.clip(np.where(np.isnan(codes), lowest - 1.0 - abs(lowest) * 1e-3, codes), -_LARGEST_FLOAT32, _LARGEST_FLOAT32)


def _exact_latent(link: _Link, codes: Reals, leaves: Index, rng: np.random.Generator) -> Reals:
    """Latents that decode to the codes; where rounding would spoil a draw near a border, the middle is taken."""
    from scipy.special import ndtr, ndtri

    levels, middles = link.levels(codes, leaves, rng)
    latents: Reals = ndtri(np.clip(levels, 1e-300, _BELOW_ONE))
    decoded = link.codes(np.minimum(ndtr(latents), _BELOW_ONE), leaves)
    spoiled = ~((decoded == codes) | (np.isnan(decoded) & np.isnan(codes)))
    latents[spoiled] = ndtri(np.clip(middles[spoiled], 1e-300, _BELOW_ONE))
    return latents


def _check(rows: Rows, domain: TabularDomain) -> None:
    if rows.ndim != 2 or rows.shape[1] != len(domain.columns) or not len(rows):
        raise DataError(f"chained trees need at least one row of {len(domain.columns)} codes, got an array of shape {rows.shape}")
    outside = ~domain.inside(rows)
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        at = next(i for i, column in enumerate(domain.columns) if not column.inside(rows[row : row + 1, i])[0])
        raise DataError(
            f"column {domain.names[at]!r}, row {row}: code {rows[row, at]!r} is outside the column's range "
            f"({int(outside.sum())} such rows); widen the column, or project the rows first"
        )
