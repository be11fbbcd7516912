"""Rows from a constraint graph, column by column in topological order (AITEST, Algorithm 1).

A pilot of a few thousand rows makes the choices that the algorithm makes (which edge, which errors); any number of rows then
follows the same plan in batches.  Nothing waits for luck: what redrawing does not bring inside a range is drawn inside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.domain.columns import Column
from evenhand.synthesis import families
from evenhand.synthesis.decimals import rounded
from evenhand.synthesis.families import NONE
from evenhand.synthesis.fitting import QUANTILES, Fits
from evenhand.synthesis.graph import Edge, Graph, Scaling, break_cycles, filled_table, joint_key, topological_order
from evenhand.synthesis.inference import JointTable
from evenhand.synthesis.pilot_rows import even_levels

Unfitted = Literal["range", "quantiles"]
"""How numbers without a distribution are drawn: evenly over their range (the paper) or by the data's quantiles."""

PILOT_ROWS = 2_000
BATCH_ROWS = 50_000
REDRAWS = 4
_KL_BINS = 20
_PACKED = 256


@dataclass(frozen=True)
class CategoryStep:
    """A category: its own shares, or a table by its joint sources."""

    place: int
    upto: Rows  # (combinations, values) cumulative shares
    joint: JointTable | None
    wished_by: int | None = None  # the source for whose value a user decided the shares, which are then met to the row


@dataclass(frozen=True)
class NumberStep:
    """A number: the fits of the chosen edge (or its own), and the ranges of all its edges."""

    place: int
    source: int | None
    fits: Fits
    bounds: tuple[tuple[int, Reals, Reals], ...]  # packed source, lowest and highest by its code
    span: tuple[float, float]  # what the values must keep whatever the associations say
    own: Fits
    scaling: Scaling | None
    value_scalings: Mapping[int, Scaling]
    decimals: int | None


@dataclass(frozen=True)
class GenerationPlan:
    """What every batch of rows goes through."""

    columns: tuple[Column, ...]
    steps: tuple[CategoryStep | NumberStep, ...]
    packs: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]  # members and sizes of every packed source
    errors: Mapping[int, float]  # synthesis error of every column
    chosen: Mapping[int, int]  # number -> source of the chosen edge
    unfitted: Unfitted

    def rows(self, n: int, rng: np.random.Generator, fixed: Mapping[int, Reals] | None = None) -> Rows:
        """Any number of rows; `fixed` categories have the given codes, and what depends on them follows."""
        rows = np.empty((n, len(self.columns)))
        for begin in range(0, n, BATCH_ROWS):
            span = slice(begin, begin + BATCH_ROWS)
            self._batch(rows[span], {at: codes[span] for at, codes in (fixed or {}).items()}, rng)
        return rows

    def _batch(self, rows: Rows, fixed: Mapping[int, Reals], rng: np.random.Generator) -> None:
        cells: dict[int, Index] = {}
        packed: dict[int, Index] = {}
        for step in self.steps:
            if isinstance(step, CategoryStep):
                cells[step.place] = self._category(step, cells, rows, fixed, rng)
            else:
                for pack, _, _ in step.bounds:
                    if pack not in packed:
                        packed[pack] = _packed(cells, *self.packs[pack])
                so_far = SoFar(cells, packed, len(rows))
                rows[:, step.place] = draw_number(step, self.columns[step.place], so_far, self.unfitted, rng)

    def _category(
        self, step: CategoryStep, cells: Mapping[int, Index], rows: Rows, fixed: Mapping[int, Reals], rng: np.random.Generator
    ) -> Index:
        last = len(self.columns[step.place].values)
        if step.place in fixed:
            rows[:, step.place] = fixed[step.place]
            return np.where(np.isnan(fixed[step.place]), last, fixed[step.place]).astype(np.intp)
        drawn = draw_category(step, cells, len(rows), rng)
        rows[:, step.place] = np.where(drawn == last, np.nan, drawn)
        return drawn


@dataclass(frozen=True)
class Limits:
    """Extra limits from outside, such as one path of a surrogate tree: allowed values, and intervals."""

    values: Mapping[int, np.ndarray[tuple[int], np.dtype[np.bool_]]]
    intervals: Mapping[int, tuple[float, float]]


NO_LIMITS = Limits({}, {})


def make_plan(
    graph: Graph, columns: Sequence[Column], unfitted: Unfitted, rng: np.random.Generator, limits: Limits = NO_LIMITS
) -> GenerationPlan:
    """Break cycles, order the columns, and let a pilot choose the edges."""
    for place, allowed in limits.values.items():
        if allowed.sum() == 1:
            graph = graph.without_incoming(place)
    return _Planner(break_cycles(graph), tuple(columns), unfitted, limits).plan(rng)


class _Planner:
    """The state of one pilot."""

    def __init__(self, graph: Graph, columns: tuple[Column, ...], unfitted: Unfitted, limits: Limits) -> None:
        self.graph, self.columns, self.unfitted, self.limits = graph, columns, unfitted, limits
        self.cells: dict[int, Index] = {}
        self.errors: dict[int, float] = {}
        self.chosen: dict[int, int] = {}
        self.packs = _pack_sources(graph)

    def plan(self, rng: np.random.Generator) -> GenerationPlan:
        steps: list[CategoryStep | NumberStep] = []
        order = topological_order(len(self.columns), self.graph.edges)
        # Ranges are looked up by several categories together, also by those that a wish has cut off from a number; no number is a source.
        for place in sorted(order, key=lambda place: place not in self.graph.shares):
            if place in self.graph.shares:
                step = self._category(place)
                self.cells[place] = draw_category(step, self.cells, PILOT_ROWS, rng)
                steps.append(step)
            else:
                steps.append(self._number(place, rng))
        packs = tuple((members, tuple(self.graph.data.sizes[m] for m in members)) for members in self.packs)
        return GenerationPlan(self.columns, tuple(steps), packs, self.errors, self.chosen, self.unfitted)

    def _category(self, place: int) -> CategoryStep:
        edges = self.graph.incoming(place)
        shares = self._allowed(place, self.graph.shares[place][None])
        joint = self._joint(place, edges)
        if joint is None:
            self.errors[place] = 0.0
            return CategoryStep(place, np.cumsum(shares, axis=1), None)
        best = min((edge.error + self.errors[edge.source] for edge in edges if edge.source in joint.sources), default=0.0)
        self.errors[place] = best
        wished_by = next((edge.source for edge in edges if edge.by_user and edge.source in joint.sources), None)
        shares = self._allowed(place, filled_table(joint, self.graph.shares[place]))
        return CategoryStep(place, np.cumsum(shares, axis=1), joint, wished_by)

    def _joint(self, place: int, edges: Sequence[Edge]) -> JointTable | None:
        """The joint table over the sources that are still connected; sources whose edge is gone are summed out."""
        joint = self.graph.tables.get(place) or self.graph.data.joints.get(place)
        if joint is None or not edges:
            return None
        kept = [axis for axis, source in enumerate(joint.sources) if any(edge.source == source for edge in edges)]
        if not kept:
            return None
        counts = joint.counts.reshape(*joint.sizes, -1).sum(axis=tuple(a for a in range(len(joint.sizes)) if a not in kept))
        sources, sizes = tuple(joint.sources[a] for a in kept), tuple(joint.sizes[a] for a in kept)
        return JointTable(sources, sizes, counts.reshape(-1, joint.counts.shape[1]))

    def _allowed(self, place: int, shares: Rows) -> Rows:
        """Shares over the allowed values only; where nothing is left, the column's own, else evenly."""
        if place not in self.limits.values:
            return shares
        mask = self.limits.values[place]
        kept = shares * mask
        own = self.graph.shares[place] * mask
        fallback = own / own.sum() if own.sum() > 0 else mask / mask.sum()
        total = kept.sum(axis=1, keepdims=True)
        narrowed: Rows = np.divide(kept, total, out=np.tile(fallback, (len(kept), 1)), where=total > 0)
        return narrowed

    def _number(self, place: int, rng: np.random.Generator) -> NumberStep:
        own = self.graph.numbers[place]
        edges = self.graph.incoming(place)
        edge, divergence = self._choose(place, edges, rng)
        if edge is None:
            self.errors[place] = self.graph.node_error(place)
        else:
            self.chosen[place] = edge.source
            self.errors[place] = edge.error + self.errors[edge.source] + divergence * self.graph.node_error(place)
        fits = own if edge is None or edge.fits is None else _complete(edge.fits, own)
        if edge is not None and edge.by_user and self.unfitted == "range":
            fits = _with_own_family(fits, own)
        if place in self.graph.unbounded:
            fits = replace(fits, low=np.full(len(fits.low), own.low[0]), high=np.full(len(fits.high), own.high[0]))
        return NumberStep(
            place=place,
            source=None if edge is None else edge.source,
            fits=fits,
            bounds=() if place in self.graph.unbounded else self._bounds(edges, own),
            span=self._span(place, own),
            own=own,
            scaling=self.graph.scalings.get(place),
            value_scalings=self.graph.value_scalings.get((edge.source, place), {}) if edge is not None else {},
            decimals=self.graph.data.decimals.get(place),
        )

    def _span(self, place: int, own: Fits) -> tuple[float, float]:
        """The range in which values are drawn, before any rescaling to a range of the user's."""
        column = self.columns[place]
        low, high = float(own.low[0]), float(own.high[0])
        if place in self.graph.unbounded or place in self.graph.dropped:
            low, high = column.lowest, column.highest
        if place in self.limits.intervals:
            wanted = self.limits.intervals[place]
            inside = max(low, wanted[0]), min(high, wanted[1])
            # A path may ask for what the data never show: the column's own range is then all that counts.
            low, high = inside if inside[0] <= inside[1] else (max(column.lowest, wanted[0]), min(column.highest, wanted[1]))
        return low, high

    def _choose(self, place: int, edges: Sequence[Edge], rng: np.random.Generator) -> tuple[Edge | None, float]:
        """The three cases: own constraint, smallest divergence for a GenNode, smallest error for the others.

        Divergences are of drawn values; among edges that chance alone may tell apart, the one with the smallest error is taken.
        """
        if not edges:
            return None, 0.0
        if not self.graph.can_generate(place):
            return min(edges, key=lambda edge: edge.error + self.errors[edge.source]), 0.0
        own = self.graph.numbers[place]
        reference = _draw(own, np.zeros(PILOT_ROWS, dtype=np.intp), self.unfitted, rng)
        divergences = np.array([self._divergence(edge, own, reference, rng) for edge in edges])
        span = float(own.low[0]), float(own.high[0])
        chance = kl_divergence(reference, _draw(own, np.zeros(PILOT_ROWS, dtype=np.intp), self.unfitted, rng), span)
        alike = np.flatnonzero(divergences <= divergences.min() + chance)
        best = min(alike.tolist(), key=lambda at: edges[at].error + self.errors[edges[at].source])
        return edges[best], float(divergences[best])

    def _divergence(self, edge: Edge, own: Fits, reference: Reals, rng: np.random.Generator) -> float:
        assert edge.fits is not None
        values = _draw(_complete(edge.fits, own), self.cells[edge.source], self.unfitted, rng)
        return kl_divergence(reference, values, (float(own.low[0]), float(own.high[0])))

    def _bounds(self, edges: Sequence[Edge], own: Fits) -> tuple[tuple[int, Reals, Reals], ...]:
        """The ranges of every edge, for several sources in one table; edges that allow everything are left out."""
        by_source = {edge.source: _complete(edge.fits, own) for edge in edges if edge.fits is not None}
        bounds = []
        for number, members in enumerate(self.packs):
            low, high = np.full(1, -np.inf), np.full(1, np.inf)
            for member in members:
                size = self.graph.data.sizes[member]
                fits = by_source.get(member)
                lows = fits.low if fits is not None else np.full(size, -np.inf)
                highs = fits.high if fits is not None else np.full(size, np.inf)
                low = np.maximum(low[:, None], lows[None, :]).ravel()
                high = np.minimum(high[:, None], highs[None, :]).ravel()
            if (low > own.low[0]).any() or (high < own.high[0]).any():
                bounds.append((number, low, high))
        return tuple(bounds)


def _pack_sources(graph: Graph) -> list[tuple[int, ...]]:
    """Categories in small teams, so that one look-up gives the range that all of a team allow."""
    packs: list[tuple[int, ...]] = []
    product = _PACKED + 1
    for place in sorted(graph.shares):
        size = graph.data.sizes[place]
        if product * size <= _PACKED:
            packs[-1] = (*packs[-1], place)
            product *= size
        else:
            packs.append((place,))
            product = size
    return packs


def _packed(cells: Mapping[int, Index], members: Sequence[int], sizes: Sequence[int]) -> Index:
    codes = cells[members[0]]
    for member, size in zip(members[1:], sizes[1:], strict=True):
        codes = codes * size + cells[member]
    return codes


def _complete(fits: Fits, own: Fits) -> Fits:
    """Groups that the data lack (or that hold only missing cells) take the column's own constraint."""
    empty = (fits.count == 0) | (fits.missing >= 1.0)
    if not empty.any():
        return fits
    names = ("count", "low", "high", "missing", "family", "parameters", "p_value", "quantiles")
    merged = {}
    for name in names:
        values = getattr(fits, name).copy()
        values[empty] = getattr(own, name)[0]
        merged[name] = values
    return Fits(**merged)


def _with_own_family(fits: Fits, own: Fits) -> Fits:
    """Groups that no distribution fits take the column's own, if it has one.

    The data chose another source for the number, or none, before a user named this one: drawn evenly, its groups would move although
    nobody wished for that.
    """
    if own.family[0] == NONE:
        return fits
    is_bare = fits.family == NONE
    parameters = np.where(is_bare[:, None], own.parameters[0], fits.parameters)
    return replace(fits, family=np.where(is_bare, own.family[0], fits.family), parameters=parameters)


def draw_category(step: CategoryStep, cells: Mapping[int, Index], n: int, rng: np.random.Generator) -> Index:
    """Values of a category: exact proportions for a leaf of the graph, by the table of its sources otherwise."""
    last = step.upto.shape[1] - 1
    if step.joint is None:
        # Evenly spaced levels in random order give every value its share of the rows to within one row.
        levels = (rng.permutation(n) + rng.random()) / n
        return np.asarray(np.minimum(np.searchsorted(step.upto[0] / step.upto[0, -1], levels, side="right"), last))
    key = joint_key(cells, step.joint, n)
    levels = rng.random(n) if step.wished_by is None else even_levels(cells[step.wished_by], rng)
    if last < 64:
        return np.asarray(np.minimum((levels[:, None] >= step.upto[key]).sum(axis=1), last))
    flat = (step.upto / step.upto[:, -1:] + np.arange(len(step.upto))[:, None]).ravel()
    return np.asarray(np.clip(np.searchsorted(flat, levels + key, side="right") - key * (last + 1), 0, last))


def _draw(fits: Fits, groups: Index, unfitted: Unfitted, rng: np.random.Generator) -> Reals:
    """One value per row from the distribution of its group."""
    family = fits.family[groups] if len(fits.family) > 1 else np.full(len(groups), fits.family[0])
    present = np.unique(fits.family)
    if len(present) == 1:
        return _draw_family(int(present[0]), fits, groups, unfitted, rng)
    values = np.empty(len(groups))
    for kind in present:
        mine = np.flatnonzero(family == kind)
        values[mine] = _draw_family(int(kind), fits, groups[mine], unfitted, rng)
    return values


def _draw_family(kind: int, fits: Fits, groups: Index, unfitted: Unfitted, rng: np.random.Generator) -> Reals:
    if kind != NONE:
        return families.draw(kind, fits.parameters, groups, rng)
    levels = rng.random(len(groups))
    if unfitted == "range":
        low = fits.low[groups]
        return low + (fits.high[groups] - low) * levels
    place = levels * (QUANTILES - 1)
    left = place.astype(np.intp)
    flat = fits.quantiles.ravel()
    below = flat[groups * QUANTILES + left]
    values: Reals = below + (flat[groups * QUANTILES + left + 1] - below) * (place - left)
    return values


@dataclass(frozen=True)
class SoFar:
    """The categories of a batch that are already drawn, by column and in packs."""

    cells: Mapping[int, Index]
    packed: Mapping[int, Index]
    n: int


def draw_number(step: NumberStep, column: Column, so_far: SoFar, unfitted: Unfitted, rng: np.random.Generator) -> Reals:
    """Values of a number inside the ranges that all its associations allow."""
    cells, packed, n = so_far.cells, so_far.packed, so_far.n
    groups = cells[step.source] if step.source is not None else np.zeros(n, dtype=np.intp)
    low, high = _ranges(step, groups, packed)
    if column.is_integral:
        low, high = np.ceil(low), np.floor(high)
    values = _draw(step.fits, groups, unfitted, rng)
    values = _settle(step.fits, values, _Room(groups, low, high, column.is_integral), unfitted, rng)
    values = rounded(values, low, high, step.decimals)
    if step.scaling is not None:
        values = rounded(step.scaling.apply(values), *step.scaling.ends, step.decimals)
    for value, scaling in step.value_scalings.items():
        mine = groups == value
        values[mine] = rounded(scaling.apply(values[mine]), *scaling.new, step.decimals)
    if column.is_integral:
        values = np.clip(np.rint(values), column.lowest, column.highest)
    if (step.fits.missing > 0).any():
        values[rng.random(n) < step.fits.missing[groups]] = np.nan
    return values


def _ranges(step: NumberStep, groups: Index, packed: Mapping[int, Index]) -> tuple[Reals, Reals]:
    """The range of every row: its group's, narrowed by the other associations where they agree, and by the column's span."""
    own_low, own_high = np.maximum(step.fits.low, step.span[0]), np.minimum(step.fits.high, step.span[1])
    apart = own_low > own_high
    # Where an association and the demanded span exclude each other, the association is ignored.
    own_low, own_high = np.where(apart, step.span[0], own_low)[groups], np.where(apart, step.span[1], own_high)[groups]
    if not step.bounds:
        return own_low, own_high
    low, high = own_low.copy(), own_high.copy()
    for pack, lows, highs in step.bounds:
        np.maximum(low, lows[packed[pack]], out=low)
        np.minimum(high, highs[packed[pack]], out=high)
    clash = low > high
    if clash.any():
        low[clash], high[clash] = own_low[clash], own_high[clash]
    return low, high


@dataclass(frozen=True, eq=False)
class _Room:
    """The group of every row and the range that its value must stay in."""

    groups: Index
    low: Reals
    high: Reals
    is_integral: bool

    def __getitem__(self, chosen: Index) -> _Room:
        return _Room(self.groups[chosen], self.low[chosen], self.high[chosen], self.is_integral)


def _settle(fits: Fits, values: Reals, room: _Room, unfitted: Unfitted, rng: np.random.Generator) -> Reals:
    """Redraw what lies outside; what stays outside is drawn from the same distribution cut to the range."""
    if room.is_integral:
        np.rint(values, out=values)
    outside = np.flatnonzero((values < room.low) | (values > room.high))
    for _ in range(REDRAWS):
        if not outside.size:
            return values
        fresh = _draw(fits, room.groups[outside], unfitted, rng)
        fresh = np.rint(fresh) if room.is_integral else fresh
        fine = (fresh >= room.low[outside]) & (fresh <= room.high[outside])
        values[outside[fine]] = fresh[fine]
        outside = outside[~fine]
    if outside.size:
        values[outside] = _inside(fits, room[outside], rng)
    return values


def _inside(fits: Fits, room: _Room, rng: np.random.Generator) -> Reals:
    """Values of each group's distribution, cut to the range."""
    groups, low, high, is_integral = room.groups, room.low, room.high, room.is_integral
    levels = rng.random(len(groups))
    spread = np.where(is_integral, 1.0, 0.0)
    values = low + (high - low + spread) * levels
    values = np.minimum(np.floor(values), high) if is_integral else values
    family = fits.family[groups]
    for kind in np.unique(family[family != NONE]):
        mine = np.flatnonzero(family == kind)
        parameters = fits.parameters[groups[mine]]
        start = families.cdf(int(kind), parameters, low[mine] - spread / 2)
        end = families.cdf(int(kind), parameters, high[mine] + spread / 2)
        cut = families.quantile(int(kind), parameters, start + (end - start) * levels[mine])
        # Far in a tail the distribution has no mass left that a float could tell apart: there the even draw stands.
        sound = (end - start > 1e-12) & np.isfinite(cut)
        cut = np.rint(cut) if is_integral else cut
        values[mine[sound]] = np.clip(cut[sound], low[mine[sound]], high[mine[sound]])
    return values


def kl_divergence(own: Reals, other: Reals, span: tuple[float, float]) -> float:
    """The Kullback-Leibler divergence of two samples over equal bins, with half a row added to every bin."""
    edges = np.linspace(*span, _KL_BINS + 1) if span[1] > span[0] else np.array([span[0], span[0] + 1])
    p = np.histogram(np.clip(own, *span), edges)[0] + 0.5
    q = np.histogram(np.clip(other, *span), edges)[0] + 0.5
    p, q = p / p.sum(), q / q.sum()
    return float((p * np.log(p / q)).sum())
