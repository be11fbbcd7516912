"""One column of a chain: the distribution of its cells in every leaf of its tree, told apart further by who is asked about.

Decoding is the inverse of that distribution, so the way back and the probability of a cell are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Reals, Rows
from evenhand.synthesis.cells import Cells

if TYPE_CHECKING:
    from evenhand.synthesis.trends import Trend

Copies = NDArray[np.float32]  # (n, columns): what the trees read

BELOW_ONE = float(np.nextafter(1.0, 0.0))
LARGEST_COPY = float(np.finfo(np.float32).max)
_FEWEST_BINS, _MOST_BINS = 16, 512
_WORTH_A_LOOK = 0.4
"""How often the likeliest cell of a leaf must be drawn, on average, for it to be looked at before the others."""
_WORTH_A_GUIDE = 4096
"""Levels looked up at once from which on a table of bins pays for itself."""


def tree_copy(codes: Reals, lowest: float) -> Reals:
    """Codes as a tree reads them: a missing cell lies below every other."""
    return np.clip(np.where(np.isnan(codes), lowest - 1.0 - abs(lowest) * 1e-3, codes), -LARGEST_COPY, LARGEST_COPY)


def chosen_columns(copies: Copies, places: Index) -> Copies:
    """Some of the columns, in the memory's own order: where each column lies in one piece, so does each chosen one."""
    if copies.flags.f_contiguous:
        return copies.T.take(places, axis=0).T
    return copies.take(places, axis=1)


@dataclass(frozen=True)
class Tilt:
    """How one protected column moves the levels of another column: for each group a rising curve from 0 to 1.

    A tree that does not ask for the protected column treats its groups alike; the curve puts back what is left of their difference.
    """

    place: int  # of the protected column
    borders: Reals  # between the groups, in the tree's copies of the codes
    curve: Rows  # (groups, knots + 1): how much of a group lies below equally spaced levels

    def groups(self, copies: Copies) -> Index:
        """The group of every row."""
        return np.searchsorted(self.borders, copies[:, self.place], side="left")

    def straighten(self, levels: Reals, groups: Index) -> Reals:
        """From levels within the leaf to levels that are uniform within the group."""
        knots = self.curve.shape[1] - 1
        at = np.minimum((levels * knots).astype(np.intp), knots - 1)
        low, high = self.curve[groups, at], self.curve[groups, at + 1]
        straight: Reals = low + (high - low) * (levels * knots - at)
        return straight

    def bend(self, levels: Reals, groups: Index) -> Reals:
        """The way back from `straighten`."""
        knots = self.curve.shape[1] - 1
        at = np.searchsorted(self._ends, levels + groups, side="right") - groups * knots
        at = np.clip(at, 0, knots - 1)
        low, high = self.curve[groups, at], self.curve[groups, at + 1]
        bent: Reals = np.minimum((at + (levels - low) / (high - low)) / knots, BELOW_ONE)
        return bent

    def slope(self, levels: Reals, groups: Index) -> Reals:
        """How densely the group lies around each level."""
        knots = self.curve.shape[1] - 1
        at = np.minimum((levels * knots).astype(np.intp), knots - 1)
        steep: Reals = (self.curve[groups, at + 1] - self.curve[groups, at]) * knots
        return steep

    @cached_property
    def _ends(self) -> Reals:
        """Group + curve after each knot, one ascending array for all groups."""
        return (self.curve[:, 1:] + np.arange(len(self.curve))[:, None]).ravel()


@dataclass(frozen=True)
class GroupBorders:
    """Where one protected column is parted, so that every leaf can have frequencies for each of its groups."""

    place: int  # of the protected column
    borders: Reals  # between the groups, in the tree's copies of the codes

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.borders) + 1

    def of(self, copies: Copies) -> Index:
        """The group of every row."""
        if len(self.borders) == 1:
            above: Index = (copies[:, self.place] > self.borders[0]).astype(np.intp)
            return above
        return np.searchsorted(self.borders, copies[:, self.place], side="left")


@dataclass(frozen=True)
class Link:
    """One column of the chain: its tree, its cells, the frequencies of the cells in every leaf, and the tilts of groups.

    With `groups`, every leaf of the tree stands once for each combination of them, and there are no tilts.
    """

    cells: Cells
    tree: Any  # sklearn's compiled tree; None for a single leaf
    parents: Index  # columns that the tree reads, in its order
    leaf_of_node: Index
    share: Rows  # (leaves, cells)
    before: Rows  # (leaves, cells) probability of all earlier cells
    ends: Reals  # (leaves * cells,) leaf + probability up to and including the cell: one ascending array for all leaves
    tilts: tuple[Tilt, ...] = field(default=())
    trend: Trend | None = None  # with one, the cells are of what is left of the column
    limits: tuple[float, float] | None = None  # with a trend: the first and the last code that are allowed
    groups: tuple[GroupBorders, ...] = ()

    @property
    def reads(self) -> set[int]:
        """The columns that it looks at."""
        trend = self.trend.places.tolist() if self.trend is not None else []
        return {*self.parents.tolist(), *trend, *(tilt.place for tilt in self.tilts), *(each.place for each in self.groups)}

    def leaves(self, copies: Copies) -> Index:
        """The leaf of every row."""
        return self.parted_leaves(self.tree_leaves(copies), copies)

    def tree_leaves(self, copies: Copies) -> Index:
        """The leaf of the tree alone, whatever the groups."""
        if self.tree is None:
            return np.zeros(len(copies), dtype=np.intp)
        leaves: Index = self.leaf_of_node[self.tree.apply(chosen_columns(copies, self.parents))]
        return leaves

    def parted_leaves(self, leaves: Index, copies: Copies) -> Index:
        """Leaves of the tree, told apart by group."""
        for each in self.groups:
            leaves = leaves * each.count + each.of(copies)
        return leaves

    def in_order_of_leaves(self, copies: Copies) -> Index:
        """The rows sorted by their leaves."""
        return np.argsort(self.leaves(copies).astype(np.min_scalar_type(len(self.share))), kind="stable")

    def codes(self, levels: Reals, copies: Copies, leaves: Index | None = None) -> Reals:
        """The inverse distribution function of each row's leaf and groups; `leaves` where they are known already."""
        if self.trend is None:
            return self._inverse(levels, copies, leaves)
        if self.limits is None:
            return self.trend.codes(self._inverse(levels, copies, leaves), self.trend.expected(copies))
        low, high = self._window(copies)
        inside = np.minimum(low + (high - low) * levels, BELOW_ONE)
        return np.clip(self.trend.codes(self._inverse(inside, copies), self.trend.expected(copies)), *self.limits)

    def _window(self, copies: Copies) -> tuple[Reals, Reals]:
        """The levels between which every row's code lies within the limits."""
        assert self.limits is not None
        ends = (np.full(len(copies), end) for end in self.limits)
        first, last = (replace(self, limits=None).stretch(end, copies) for end in ends)
        return first[0], last[1]

    def _inverse(self, levels: Reals, copies: Copies, leaves: Index | None = None) -> Reals:
        leaves = self.leaves(copies) if leaves is None else leaves
        for tilt in reversed(self.tilts):
            levels = tilt.bend(levels, tilt.groups(copies))
        return self.drawn(levels, leaves)[0]

    @property
    def is_plain(self) -> bool:
        """Whether its leaves say all: nothing is tilted, taken off or cut."""
        return not self.tilts and self.trend is None and self.limits is None

    def drawn(self, levels: Reals, leaves: Index) -> tuple[Reals, Index]:
        """What `codes` gives for a plain link, and the place of each drawn cell among all cells of all leaves."""
        count = self.cells.count
        first = leaves * count
        flat = np.minimum(self._place(levels, leaves, first), first + count - 1)
        cells = flat - first
        if self.cells.is_single:
            return self.cells.codes(cells, levels), flat
        with np.errstate(divide="ignore", invalid="ignore"):  # a cut link has cells without any share, which are never drawn
            inner = (levels - self.before.take(flat)) / self.share.take(flat)
        return self.cells.codes(cells, np.clip(inner, 0.0, BELOW_ONE)), flat

    def log_shares_of(self, codes: Reals, copies: Copies) -> NDArray[np.float32]:
        """(n, codes): what `log_share` of a plain link gives for every row and each of these codes."""
        first = self.leaves(copies) * self.cells.count
        shares: NDArray[np.float32] = self.flat_log_shares[first[:, None] + self.cells.locate(codes)[None, :]]
        return shares

    @cached_property
    def flat_log_shares(self) -> NDArray[np.float32]:
        """(leaves * cells,) log-probability of one code of each cell."""
        with np.errstate(divide="ignore"):
            shares = np.log(self.share) - self.cells.log_width()
        return shares.astype(np.float32).ravel()

    @cached_property
    def _guide(self) -> tuple[int, Index]:
        """For every leaf and each of equally wide bins of levels, the cell in which the bin's lower border lies, in as few bytes as do:
        the table is looked into all over, and what does not fit into the processor's cache is slow.

        The borders are as many as a power of two, so that the first one which is not below an end is told without rounding.
        """
        bins = int(np.clip(1 << (2 * self.cells.count - 1).bit_length(), _FEWEST_BINS, _MOST_BINS))
        borders = len(self.share) * bins
        counts = np.bincount(np.minimum(np.ceil(self.ends * bins).astype(np.intp), borders), minlength=borders + 1)
        cells = np.cumsum(counts[:borders]).reshape(-1, bins) - np.arange(len(self.share))[:, None] * self.cells.count
        cells[:, 0] = 0  # the last sum of a leaf may be a hair above one
        return bins, cells.ravel().astype(np.min_scalar_type(self.cells.count))

    def _place(self, levels: Reals, leaves: Index, first: Index) -> Index:
        """What `np.searchsorted(self.ends, levels + leaves, side="right")` gives, faster: the likeliest cell first where it is worth a
        look, then by bins of levels or by halving."""
        wanted = levels + leaves
        if len(levels) < _WORTH_A_GUIDE and "_guide" not in self.__dict__:
            return np.searchsorted(self.ends, wanted, side="right")
        if self._likeliest is None:
            return self._sought(wanted, levels, leaves, first)
        cell, low, high = self._likeliest
        places = cell[leaves]
        others = np.flatnonzero((wanted < low[leaves]) | (wanted >= high[leaves]))
        places[others] = self._sought(wanted[others], levels[others], leaves[others], first[others])
        return places

    def _sought(self, wanted: Reals, levels: Reals, leaves: Index, first: Index) -> Index:
        """Cells by the table of bins once it pays for itself, else by halving."""
        if "_guide" not in self.__dict__ and not self._is_worth_a_guide(len(wanted)):
            return self._halved_to(wanted, first)
        return self._looked_up_place(wanted, levels, leaves)

    def _looked_up_place(self, wanted: Reals, levels: Reals, leaves: Index) -> Index:
        bins, guide = self._guide
        last = (leaves + 1) * self.cells.count - 1
        places = guide.take(leaves * bins + (levels * bins).astype(np.intp)) + (last - self.cells.count + 1)
        behind = np.flatnonzero((self.ends.take(places) <= wanted) & (places < last))
        while behind.size:
            places[behind] += 1
            behind = behind[(self.ends[places[behind]] <= wanted[behind]) & (places[behind] < last[behind])]
        return places

    @cached_property
    def _likeliest(self) -> tuple[Index, Reals, Reals] | None:
        """The likeliest cell of every leaf: its place in `ends`, and between which sums of leaf and level it lies.  None where it is rare.

        These are few numbers, which stay in the processor's cache as the larger table of bins does not.
        """
        cell, every = self.share.argmax(axis=1), np.arange(len(self.share))
        if self.share.max(axis=1).mean() < _WORTH_A_LOOK:
            return None
        places = every * self.cells.count + cell
        return places, np.where(cell > 0, self.ends[places - 1], every), self.ends[places]

    def _halved_to(self, wanted: Reals, first: Index) -> Index:
        """The same by halving the cells of each row's own leaf, which lie beside each other in memory; the whole array does not."""
        places, last = first.copy(), first + self.cells.count - 1
        step = 1 << max(self.cells.count - 1, 0).bit_length()
        while step := step >> 1:
            further = np.minimum(places + step, last)
            places = np.where(self.ends[further - 1] <= wanted, further, places)
        return places

    def _is_worth_a_guide(self, n: int) -> bool:
        """Whether by now more levels were looked up than there are cells to make a table of."""
        looked_up: int = self.__dict__.setdefault("_looked_up", 0) + n
        self.__dict__["_looked_up"] = looked_up
        return looked_up > len(self.ends)

    def stretch(self, codes: Reals, copies: Copies, leaves: Index | None = None, cells: Index | None = None) -> tuple[Reals, Reals]:
        """The lower and the upper end of the levels that decode to each code; `leaves` and `cells` where they are known already."""
        low, high = self._leaf_stretch(codes, copies, leaves, cells)
        for tilt in self.tilts:
            groups = tilt.groups(copies)
            low, high = tilt.straighten(low, groups), tilt.straighten(high, groups)
        if self.limits is None:
            return low, high
        first, last = self._window(copies)
        width = np.maximum(last - first, 1e-300)
        return np.clip((low - first) / width, 0.0, 1.0), np.clip((high - first) / width, 0.0, 1.0)

    def _leaf_stretch(self, codes: Reals, copies: Copies, leaves: Index | None = None, cells: Index | None = None) -> tuple[Reals, Reals]:
        """The same before any tilt."""
        leaves = self.leaves(copies) if leaves is None else leaves
        if self.trend is not None:
            ends = self.trend.ends(codes, self.trend.expected(copies))
            low, high = (self._upto(rests, codes, leaves) for rests in ends)
            missing = np.isnan(codes)
            return low, np.where(missing, 1.0, high)
        cells = self.cells.locate(codes) if cells is None else cells
        low, high = self.cells.inner(codes, cells)
        flat = leaves * self.cells.count + cells
        before, share = self.before.ravel()[flat], self.share.ravel()[flat]
        return before + low * share, before + high * share

    def _upto(self, rests: Reals, codes: Reals, leaves: Index) -> Reals:
        """How much of a leaf lies below each rest; for a missing cell all but the missing ones."""
        inside = np.clip(np.nan_to_num(rests, nan=0.0), self.cells.edges[0], self.cells.edges[-1])
        cells = self.cells.locate(inside)
        low, _ = self.cells.inner(inside, cells)
        upto = self.before[leaves, cells] + low * self.share[leaves, cells]
        return np.where(np.isnan(codes), self.before[leaves, -1], upto)

    def log_share(self, codes: Reals, copies: Copies, leaves: Index | None = None) -> Reals:
        """Log-probability of each code, a density inside real intervals; minus infinity outside the column's range."""
        column = self.cells.column if self.trend is None else self.trend.column
        with np.errstate(divide="ignore"):
            if self.limits is not None:
                low, high = self.stretch(codes, copies, leaves)
                return np.log(np.maximum(high - low, 0.0))
            leaves = self.leaves(copies) if leaves is None else leaves
            found = self._tilted(codes, copies, leaves) if self.tilts or self.trend is not None else self._plain(codes, leaves)
        return np.where(column.inside(codes), found, -np.inf)

    def _plain(self, codes: Reals, leaves: Index) -> Reals:
        cells = self.cells.locate(codes)
        plain: Reals = np.log(self.share[leaves, cells]) - self.cells.log_width()[cells]
        return plain

    def _tilted(self, codes: Reals, copies: Copies, leaves: Index) -> Reals:
        """A code that stands for a stretch of levels has the stretch's length; one inside an interval the tilted density there."""
        low, high = self._leaf_stretch(codes, copies, leaves)
        is_point = high <= low
        log_density = self._plain(codes, leaves) if self.trend is None and is_point.any() else np.zeros(len(codes))
        for tilt in self.tilts:
            groups = tilt.groups(copies)
            log_density += np.log(tilt.slope(low, groups))
            low, high = tilt.straighten(low, groups), tilt.straighten(high, groups)
        return np.where(is_point, log_density, np.log(np.maximum(high - low, 0.0)))


@dataclass(frozen=True, eq=False)
class Asked:
    """The tree of a link: what it reads, the number of the leaf at each of its nodes, and the groups that its leaves are parted by."""

    tree: Any
    parents: Index
    leaf_of_node: Index
    groups: tuple[GroupBorders, ...] = ()


def make_link(cells: Cells, asked: Asked, share: Rows, trend: Trend | None = None) -> Link:
    """A link from the frequencies in its leaves."""
    upto = np.cumsum(share, axis=1)
    before = np.hstack([np.zeros((len(upto), 1)), upto[:, :-1]])
    upto[:, -1] = 1.0
    ends = (upto + np.arange(len(upto))[:, None]).ravel()
    return Link(cells, asked.tree, asked.parents, asked.leaf_of_node, share, before, ends, trend=trend, groups=asked.groups)


def parted(link: Link, most_cells: int) -> Link:
    """The link with its tilts worked into its leaves, each once for every combination of groups, so that drawing needs no tilt.

    Where that would be more cells than allowed, the link is left as it is.  Inside a cell a tilt bends; a parted leaf is even there.
    """
    sizes = [len(tilt.curve) for tilt in link.tilts]
    count = int(np.prod(sizes))
    if not link.tilts or link.limits is not None or count * link.share.size > most_cells:
        return link
    levels = np.repeat(np.minimum(np.cumsum(link.share, axis=1), BELOW_ONE), count, axis=0)
    for tilt, group in zip(link.tilts, np.unravel_index(np.arange(count), sizes), strict=True):
        levels = tilt.straighten(levels, np.tile(group, len(link.share))[:, None])
    levels[:, -1] = 1.0
    share = np.maximum(np.diff(levels, axis=1, prepend=0.0), np.finfo(np.float64).tiny)
    groups = tuple(GroupBorders(tilt.place, tilt.borders) for tilt in link.tilts)
    return make_link(link.cells, Asked(link.tree, link.parents, link.leaf_of_node, groups), share, link.trend)
