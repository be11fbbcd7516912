"""Relations worked into a chain: which columns come first, which are computed, and between which ends the others are drawn.

A guided column follows its relations with all but a very small part of its levels.  That part is left to the plain link, so that every
valid row stays possible, its latent decodes to it, and its probability is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.domain.columns import Column, Kind
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.box import Box
from evenhand.synthesis.cells import Cells, cut, grid_of
from evenhand.synthesis.derivations import Computation, Derivation, InOrder, RulesRead, Told
from evenhand.synthesis.links import BELOW_ONE, Copies, Link

LEAK = 1e-5
"""The part of the levels, the lowest ones, that is left to rows that break a relation: near 0 numbers are told apart most finely."""
FEWEST_TO_COMPARE = 200
COMPARED_GROUPS, COMPARED_CELLS = 32, 64
"""Groups of a neighbour in order, and cells of a column, between which a number and its distance are compared."""


@dataclass(frozen=True)
class RelationGuide:
    """What relations say about one column: derivations, numbers above and below it, and totals that it is a part of."""

    at: int
    column: Column
    step: float  # between neighbouring cells; 0 where they lie densely
    derivations: tuple[Derivation, ...] = ()
    above: tuple[InOrder, ...] = ()  # orders whose second is this column
    below: tuple[InOrder, ...] = ()  # orders whose first is this column
    totals: tuple[tuple[Computation, frozenset[int]], ...] = ()  # with the inputs that come later
    limits: tuple[Reals, Reals] | None = field(default=None, repr=False)  # of all columns
    within: tuple[float, float] | None = None
    allowed: Mask | None = field(default=None, repr=False)  # which listed values, where a box leaves some of them
    middle: float = 0.0  # stands for a missing reference
    fills: bool = False  # whether a cell that follows from others is never missing
    by_distance: bool = True  # whether the distance from its neighbour in order says more than the number itself

    @property
    def is_total(self) -> bool:
        """Whether the column is computed wherever it can be."""
        return any(each.is_total for each in self.derivations)

    @property
    def has_window(self) -> bool:
        """Whether its cells must lie between ends that differ from row to row."""
        return bool(self.above or self.below or self.totals or self.within)

    @property
    def is_distance(self) -> bool:
        """Whether the link holds how far the column is from its neighbour in order."""
        return self._can_be_distance and self.by_distance

    @property
    def _can_be_distance(self) -> bool:
        return bool((self.above or self.below) and self.step and not self.is_total)

    def told_better(self, rows: Rows) -> RelationGuide:
        """The guide that takes its column by the distance, or as it is: by which of them is told better, given the neighbour in order.

        A date follows another by so many days; a score that is cut off at its highest value keeps that value.
        """
        near = replace(self, by_distance=True)
        if not near.is_distance or len(rows) < FEWEST_TO_COMPARE:
            return near
        base, codes = near.base(rows), rows[:, self.at]
        known = ~np.isnan(codes)
        groups = _quantile_groups(base[known])
        bits = [
            _surprise(
                cut(replace(self.column, low=low, high=high, missing=0.0, values=()), cells, COMPARED_CELLS), cells, groups, self.step
            )
            for cells in (codes[known], near.rounded(codes - base)[known])
            for low, high in [(cells.min(), cells.max())]
        ]
        return replace(near, by_distance=bits[1] <= bits[0])

    def cut(self, box: Box, limits: tuple[Reals, Reals]) -> RelationGuide:
        """The guide under which its column, and the totals that it is a part of, stay in a box."""
        totals = tuple(
            (each.between(*box.intervals[each.target]) if each.target in box.intervals else each, later) for each, later in self.totals
        )
        return replace(
            self,
            totals=totals,
            limits=limits if self.limits is not None else None,
            within=box.intervals.get(self.at, self.within),
            allowed=box.values.get(self.at, self.allowed),
        )

    @property
    def reads(self) -> set[int]:
        """The columns that it looks at."""
        ends = {each.first for each in self.above} | {each.second for each in self.below}
        derived = {place for each in self.derivations for place in each.inputs}
        totals = {place for total, _ in self.totals for place in (total.target, *total.inputs)}
        return ends | derived | totals

    def base(self, rows: Rows) -> Reals:
        """What a distance is counted from: the largest number below the column, else the smallest above it."""
        if not self.is_distance:
            return np.zeros(len(rows))
        places = [each.first for each in self.above] or [each.second for each in self.below]
        cells = rows[:, places].astype(np.float64)
        cells = np.where(np.isnan(cells), self.middle, cells)
        found: Reals = cells.max(axis=1) if self.above else cells.min(axis=1)
        return self.rounded(found)

    def rounded(self, codes: Reals) -> Reals:
        """On the grid of the column's cells."""
        if not self.step:
            return codes
        decimals = max(0, round(-np.log10(self.step)))
        on_grid: Reals = np.round(codes, decimals)
        return on_grid

    def told(self, rows: Rows) -> Told:
        """The cells that follow, whichever derivation knows them first."""
        known, codes = np.zeros(len(rows), dtype=bool), np.full(len(rows), np.nan)
        for each in self.derivations:
            found = each.told(rows)
            fresh = found.known & ~known
            if self.within is not None:
                with np.errstate(invalid="ignore"):
                    fresh &= (found.codes >= self.within[0]) & (found.codes <= self.within[1])
            if self.allowed is not None:
                fresh &= ~np.isnan(found.codes)
                fresh[fresh] = self.allowed[found.codes[fresh].astype(np.intp)]
            codes[fresh] = found.codes[fresh]
            known |= fresh
        return Told(known, codes)

    def window(self, rows: Rows) -> tuple[Reals, Reals]:
        """The first and the last cell that relations leave; a missing neighbour leaves everything."""
        low, high = np.full(len(rows), self.column.lowest), np.full(len(rows), self.column.highest)
        for each in self.above:
            low = np.fmax(low, rows[:, each.first] + (self.step if each.is_strict else 0.0))
        for each in self.below:
            high = np.fmin(high, rows[:, each.second] - (self.step if each.is_strict else 0.0))
        for total, later in self.totals:
            assert self.limits is not None
            first, last = total.room(self.at, rows, later, self.limits)
            low, high = np.fmax(low, first), np.fmin(high, last)
        if self.within is not None:
            low, high = np.fmax(low, self.within[0]), np.fmin(high, self.within[1])
        if not self.step:
            return low, high
        first, last = np.ceil(low / self.step - 1e-6) * self.step, np.floor(high / self.step + 1e-6) * self.step
        return self.rounded(first), self.rounded(last)

    def distance_cells(self, distances: Reals, most: int) -> Cells:
        """Cells of the distance, wide enough for every pair of cells."""
        assert self.limits is not None
        places = [each.first for each in self.above] or [each.second for each in self.below]
        low = self.column.lowest - max(*self.limits[1][places], self.middle, -np.inf)
        high = self.column.highest - min(*self.limits[0][places], self.middle, np.inf)
        first, last = (float(self.rounded(np.array(end))) for end in (low, high))
        kind: Kind = "integer" if self.column.is_integral else "real"
        return cut(Column(self.column.name, kind, low=first, high=last, missing=self.column.missing), distances, most)

    def bound(self, link: Link, rows: Rows) -> Guided:
        """The guide for these rows, whose earlier columns are known."""
        return Guided(link, self, rows)


@dataclass(frozen=True)
class Guided:
    """A link under a guide, for given rows; to be used as a link is."""

    link: Link
    guide: RelationGuide
    rows: Rows

    def codes(self, levels: Reals, copies: Copies) -> Reals:
        """The cell of every level: the derived one, one inside the window, or for the smallest part any."""
        if self.link.cells.has_missing or not self.guide.derivations:
            return self._any_codes(levels, copies)
        others = np.flatnonzero(~(self._told.known & (levels >= LEAK)))  # whoever's cell follows needs no look into the tree
        codes = self._told.codes.copy()
        codes[others] = self._of(others)._any_codes(levels[others], copies[others])
        return codes

    def _of(self, chosen: Index) -> Guided:
        """The same for some of the rows."""
        some = Guided(self.link, self.guide, self.rows[chosen])
        some.__dict__["_told"] = Told(self._told.known[chosen], self._told.codes[chosen])
        return some

    def _any_codes(self, levels: Reals, copies: Copies) -> Reals:
        plain = ~self._is_guided(copies)
        is_free = levels < LEAK
        inner = np.where(is_free, levels / LEAK, (levels - LEAK) / (1 - LEAK))
        inner = np.minimum(np.where(plain, levels, inner), BELOW_ONE)
        guided = ~plain & ~is_free
        codes = self._from_link(self._into_window(inner, guided, copies), copies)
        low, high = self._window
        held = guided & self._usable(copies) & ~self._told.known
        codes[held] = np.clip(codes[held], low[held], high[held])
        computed = guided & self._told.known & ((inner < self._top(copies)) | np.isnan(self._told.codes))
        codes[computed] = self._told.codes[computed]
        return codes

    def stretch(self, codes: Reals, copies: Copies) -> tuple[Reals, Reals]:
        """The lower and the upper end of the levels that decode to each code."""
        low, high = self.link.stretch(self._to_link(codes), copies, self._leaves(copies))
        guided, follows = self._is_guided(copies), self._follows(codes, copies)
        inside_low, inside_high = self._guided_stretch(low, high, codes, copies)
        free = LEAK * low, LEAK * high
        held = LEAK + inside_low * (1 - LEAK), LEAK + inside_high * (1 - LEAK)
        first, last = (np.where(follows, mine, other) for mine, other in zip(held, free, strict=True))
        return np.where(guided, first, low), np.where(guided, last, high)

    def log_share(self, codes: Reals, copies: Copies) -> Reals:
        """Log-probability of each code, a density inside real intervals."""
        if self.link.cells.has_missing or not self.guide.derivations:
            return self._any_log_share(codes, copies)
        with np.errstate(invalid="ignore"):
            follows = self._told.known & (codes == self._told.codes)
        others = np.flatnonzero(~follows)
        shares = np.where(self.guide.column.inside(codes), np.log1p(-LEAK), -np.inf)
        shares[others] = self._of(others)._any_log_share(codes[others], copies[others])
        return shares

    def _any_log_share(self, codes: Reals, copies: Copies) -> Reals:
        found = self.link.log_share(self._to_link(codes), copies, self._leaves(copies))
        guided, follows = self._is_guided(copies), self._follows(codes, copies)
        top, told = self._top(copies), self._told.known
        missing = np.isnan(codes)
        with np.errstate(divide="ignore", invalid="ignore"):
            computed = np.where(np.isnan(self._told.codes), 0.0, np.where(missing, found, np.log(top)))
            low, high = self._levels(copies)
            windowed = found + np.where(missing | ~self._usable(copies), 0.0, np.log(top / (high - low)))
        held = np.log1p(-LEAK) + np.where(told, computed, windowed)
        found = np.where(guided, np.where(follows, held, np.log(LEAK) + found), found)
        return np.where(self.guide.column.inside(codes), found, -np.inf)

    @cached_property
    def _base(self) -> Reals:
        return self.guide.base(self.rows)

    @cached_property
    def _told(self) -> Told:
        return self.guide.told(self.rows)

    @cached_property
    def _window(self) -> tuple[Reals, Reals]:
        return (
            self.guide.window(self.rows) if self.guide.has_window else (np.full(len(self.rows), -np.inf), np.full(len(self.rows), np.inf))
        )

    def _to_link(self, codes: Reals) -> Reals:
        return self.guide.rounded(codes - self._base) if self.guide.is_distance else codes

    def _from_link(self, levels: Reals, copies: Copies) -> Reals:
        codes = self.link.codes(levels, copies, self._leaves(copies))
        if not self.guide.is_distance:
            return codes
        return np.clip(self.guide.rounded(codes + self._base), self.guide.column.lowest, self.guide.column.highest)

    def _top(self, copies: Copies) -> Reals:
        """The level from which on a cell is missing."""
        if not self.link.cells.has_missing:
            return np.ones(len(copies))
        top = self.link.stretch(np.full(len(copies), np.nan), copies, self._leaves(copies))[0]
        return np.where(self._told.known, 1.0, top) if self.guide.fills else top

    def _leaves(self, copies: Copies) -> Index:
        """Where the rows stand in the tree: looked up once, since a link never reads the column that it is for."""
        kept: tuple[Copies, Index] | None = self.__dict__.get("_kept_leaves")
        if kept is None or kept[0] is not copies:
            kept = self.__dict__["_kept_leaves"] = (copies, self.link.leaves(copies))
        return kept[1]

    def _levels(self, copies: Copies) -> tuple[Reals, Reals]:
        """The link's levels at the ends of the window; both 0 where there is no room.  Found once for the same rows."""
        kept: tuple[Copies, tuple[Reals, Reals]] | None = self.__dict__.get("_kept_levels")
        if kept is None or kept[0] is not copies:
            kept = self.__dict__["_kept_levels"] = (copies, self._found_levels(copies))
        return kept[1]

    def _found_levels(self, copies: Copies) -> tuple[Reals, Reals]:
        low, high = self._window
        fits = (low <= high) & self.guide.has_window
        ends = (
            np.clip(np.where(fits, end, self.guide.column.lowest), self.guide.column.lowest, self.guide.column.highest)
            for end in (low, high)
        )
        first, last = (self.link.stretch(self._to_link(end), copies, self._leaves(copies)) for end in ends)
        return np.where(fits, first[0], 0.0), np.where(fits, last[1], 0.0)

    def _usable(self, copies: Copies) -> Mask:
        if not self.guide.has_window:
            return np.zeros(len(copies), dtype=bool)
        low, high = self._levels(copies)
        usable: Mask = high > low
        return usable

    def _is_guided(self, copies: Copies) -> Mask:
        return self._told.known | self._usable(copies)

    def _into_window(self, levels: Reals, guided: Mask, copies: Copies) -> Reals:
        if not self.guide.has_window:
            return levels
        low, high = self._levels(copies)
        top = self._top(copies)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.minimum(low + (high - low) * levels / top, BELOW_ONE)
        return np.where(guided & self._usable(copies) & (levels < top), inside, levels)

    def _follows(self, codes: Reals, copies: Copies) -> Mask:
        """Which codes keep the relations."""
        missing, told = np.isnan(codes), self._told
        low, high = self._window
        with np.errstate(invalid="ignore"):
            as_told = np.where(np.isnan(told.codes), missing, (missing & (not self.guide.fills)) | (codes == told.codes))
            inside = missing | ((codes >= low) & (codes <= high))
        return np.where(told.known, as_told, self._usable(copies) & inside)

    def _guided_stretch(self, low: Reals, high: Reals, codes: Reals, copies: Copies) -> tuple[Reals, Reals]:
        """The levels of a code that follows its relations, before the part for others is set aside."""
        missing, told, top = np.isnan(codes), self._told, self._top(copies)
        first, last = self._levels(copies)
        width = np.where(last > first, last - first, 1.0)
        inside = (np.clip((each - first) / width, 0.0, 1.0) * top for each in (low, high))
        within_low, within_high = (np.where(missing, each, scaled) for each, scaled in zip((low, high), inside, strict=True))
        always = np.isnan(told.codes)
        told_low = np.where(always, 0.0, np.where(missing, top, 0.0))
        told_high = np.where(always | missing, 1.0, top)
        return np.where(told.known, told_low, within_low), np.where(told.known, told_high, within_high)


@dataclass(frozen=True)
class ChainPlan:
    """The order of a chain, and the guides of its columns."""

    order: tuple[int, ...]
    guides: Mapping[int, RelationGuide]


def plan_chain(read: RulesRead, domain: TabularDomain, wanted: Iterable[int], rows: Rows, first: Iterable[int] = ()) -> ChainPlan:
    """An order near the wanted one in which every derived column comes after what it follows from, and the guides for it."""
    fixed = tuple(first)
    chosen = _Chosen(domain, fixed)
    for each in sorted(read.derivations, key=lambda one: not one.is_total):
        chosen.consider(each)
    for pair in read.sequences:
        chosen.order(pair)
    order = chosen.sorted([*fixed, *(at for at in wanted if at not in fixed)])
    return ChainPlan(order, dict(_guides(chosen, read.sequences, domain, order, rows)))


@dataclass
class _Chosen:
    """Derivations that fit together, and what they need to come first."""

    domain: TabularDomain
    fixed: tuple[int, ...]
    derivations: dict[int, list[Derivation]] = field(default_factory=dict)
    needs: dict[int, set[int]] = field(default_factory=dict)

    def consider(self, each: Derivation) -> None:
        held = self.derivations.get(each.target, [])
        if any(other.is_total for other in held) or each.target in self.fixed:
            return
        if not each.is_total and each.target in self.domain.protected_places:
            return  # a group is not drawn after what depends on it
        if any(self._reaches(place, each.target) for place in each.inputs):
            return
        self.derivations.setdefault(each.target, []).append(each)
        self.needs.setdefault(each.target, set()).update(each.inputs)

    def order(self, pair: InOrder) -> None:
        """A computed column comes before the one that it is compared with."""
        for computed, other in ((pair.first, pair.second), (pair.second, pair.first)):
            is_computed = any(each.is_total for each in self.derivations.get(computed, []))
            if is_computed and other not in self.fixed and not self._reaches(computed, other):
                self.needs.setdefault(other, set()).add(computed)

    def _reaches(self, begin: int, end: int) -> bool:
        """Whether `begin` needs `end`."""
        open_, seen = [begin], set()
        while open_:
            at = open_.pop()
            if at == end:
                return True
            if at not in seen:
                seen.add(at)
                open_ += self.needs.get(at, ())
        return False

    def sorted(self, wanted: list[int]) -> tuple[int, ...]:
        placed: dict[int, None] = {}
        rank = {at: step for step, at in enumerate(wanted)}
        for start in wanted:
            stack = [start]
            while stack:
                at = stack[-1]
                waiting = [place for place in self.needs.get(at, ()) if place in rank and place not in placed]
                if waiting:
                    stack.append(min(waiting, key=rank.__getitem__))
                else:
                    placed[stack.pop()] = None
        return tuple(placed)


def _guides(
    chosen: _Chosen, pairs: tuple[InOrder, ...], domain: TabularDomain, order: tuple[int, ...], rows: Rows
) -> Iterable[tuple[int, RelationGuide]]:
    rank = {at: step for step, at in enumerate(order)}
    computed = [each for held in chosen.derivations.values() for each in held if isinstance(each, Computation)]
    for at in order:
        column, cells = domain.columns[at], rows[:, at]
        derivations = tuple(chosen.derivations.get(at, ()))
        above = tuple(pair for pair in pairs if pair.second == at and rank[pair.first] < rank[at])
        below = tuple(pair for pair in pairs if pair.first == at and rank[pair.second] < rank[at])
        totals = tuple((each, frozenset(p for p in each.inputs if rank[p] > rank[at])) for each in computed if at in each.inputs)
        if derivations or above or below or totals:
            grid = 0 if column.is_integral else grid_of(np.unique(cells[~np.isnan(cells)]))
            step = 10.0**-grid if isinstance(grid, int) else 0.0
            middle = _middle(rows, [pair.first for pair in above] or [pair.second for pair in below])
            guide = RelationGuide(at, column, step, derivations, above, below, totals, (domain.low, domain.high), middle=middle)
            guide = replace(guide.told_better(rows), fills=_never_missing(guide.told(rows), cells))
            yield at, guide if not guide.is_total else replace(guide, above=(), below=(), totals=())


def _never_missing(told: Told, cells: Reals) -> bool:
    followed = told.known & ~np.isnan(told.codes)
    return bool(followed.any() and not np.isnan(cells[followed]).any())


def _middle(rows: Rows, places: list[int]) -> float:
    if not places or np.isnan(rows[:, places]).all():
        return 0.0
    return float(np.nanmedian(rows[:, places]))


def _quantile_groups(cells: Reals) -> Index:
    borders = np.unique(np.quantile(cells, np.linspace(0, 1, COMPARED_GROUPS + 1)[1:-1], method="lower"))
    groups: Index = np.searchsorted(borders, cells, side="right")
    return groups


def _surprise(cells: Cells, codes: Reals, groups: Index, step: float) -> float:
    """Nats for each row that its cell takes to tell, given its group: less where a group's cells are few and narrow."""
    places = cells.locate(codes)
    counts = np.bincount(groups * cells.count + places, minlength=(groups.max() + 1) * cells.count).reshape(-1, cells.count)
    whole = counts.sum(axis=1, keepdims=True)
    codes_in_cell = np.maximum(np.where(cells.width > 0, cells.width / (1.0 if cells.column.is_integral else step), 1.0), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        told = np.where(counts > 0, counts * np.log(counts / whole / codes_in_cell), 0.0)
    return -float(told.sum()) / len(codes)
