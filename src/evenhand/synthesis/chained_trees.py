"""Chained trees: a population of rows, one decision tree per column on the columns before it.

Every leaf holds the frequencies of its column's cells; a row is decoded from a Gaussian latent by their inverse, so that
the way back (a randomised probability integral transform) and the density are exact.  Protected columns come first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Reals, Rows
from evenhand.contract import Executor
from evenhand.deadline import Deadline, in_time
from evenhand.domain.columns import Value
from evenhand.domain.constraints import CompiledConstraint
from evenhand.domain.relations import Relation, find_relations
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import ConstraintError, DataError, InvalidArgument
from evenhand.synthesis.associations import associations
from evenhand.synthesis.box import Box
from evenhand.synthesis.copy_limit import CopyLimit
from evenhand.synthesis.derivations import Derivation, InOrder, read_rules
from evenhand.synthesis.guides import Guided, RelationGuide, plan_chain
from evenhand.synthesis.implied_boxes import implied_box, limits_in
from evenhand.synthesis.last_column import LastCells, can_be_settled, chances_of, rows_to_draw, settled
from evenhand.synthesis.links import BELOW_ONE, LARGEST_COPY, Asked, Copies, Link, make_link, tree_copy
from evenhand.synthesis.pilot_rows import Chosen
from evenhand.synthesis.rejection import keep_constraints
from evenhand.synthesis.timed_growth import TimedGrowth
from evenhand.synthesis.tree_growth import TreeGrowth
from evenhand.synthesis.tree_settings import TreeSettings

if TYPE_CHECKING:
    from evenhand.synthesis.steered_trees import SteeredTrees
    from evenhand.synthesis.wishes import Wishes

Latents = NDArray[np.float64]  # (n, columns) standard normal

_BATCH_ROWS, _BATCH_CELLS = 100_000, 2_000_000
"""Rows and cells that are decoded at once at most."""
_WORTH_SORTING, _LARGE_TREE = 4096, 500
"""Rows at once, and leaves of a tree, from which on rows are sorted before they go through the trees."""
SECONDS_PER_PAIR = 1e-5
"""What two columns may take to be compared; where time is shorter, trees ask the columns before them in their order."""

CHOSEN_AMONG = 2
"""Drawn beginnings of rows for each of those whose last column is set right: so many have enough people of small groups."""
RELATIONS_SHARE = 0.4
"""Of the time to learn, at most this much goes into looking for relations, where it is limited."""
AGAIN = 4
"""Times that a row which breaks a relation is drawn again at most; fixed cells may leave no other."""


@dataclass(frozen=True)
class _Batch:
    """Rows on their way through the chain.  Column after column is written and read, so each lies in one piece until all are there."""

    levels: _Levels
    made: Rows
    copies: Copies
    fixed: Mapping[int, Reals]

    def taken(self, order: Index, known: Sequence[int]) -> _Batch:
        """The same rows in another order, of which these columns are made already."""
        made, copies = np.empty_like(self.made), np.empty_like(self.copies)
        for at in known:
            made[:, at], copies[:, at] = self.made[order, at], self.copies[order, at]
        return _Batch(self.levels.taken(order), made, copies, {at: codes[order] for at, codes in self.fixed.items()})


@dataclass(frozen=True)
class _Levels:
    """A level of every row for every column, below one."""

    cells: Rows  # (columns, n)
    are_any: bool  # whether they were drawn just now, so that any row may have any of them

    @classmethod
    def drawn(cls, columns: int, n: int, rng: np.random.Generator) -> _Levels:
        return cls(rng.random((columns, n)), True)

    @classmethod
    def of(cls, latents: NDArray[np.floating[Any]]) -> _Levels:
        from scipy.special import ndtr

        return cls(np.minimum(ndtr(latents).T, BELOW_ONE, order="C"), False)

    def taken(self, order: Index) -> _Levels:
        """Those of the rows in another order."""
        return self if self.are_any else _Levels(self.cells.take(order, axis=1), False)


@dataclass(frozen=True)
class ChainedTrees:
    """A population with a latent space: sample, encode, decode and log-density, all over batches of rows."""

    domain: TabularDomain
    order: tuple[int, ...]
    links: tuple[Link, ...]  # in the order of the chain
    name: str = "chained trees"
    guides: Mapping[int, RelationGuide] = field(default_factory=dict, repr=False)  # of the columns that keep a relation
    relations: tuple[Relation, ...] = field(default=(), repr=False)  # found in the rows that it was learnt from
    cut: str = field(default="", repr=False)  # what was learnt more coarsely because time was short
    copies: CopyLimit | None = field(default=None, repr=False)  # how often `sample` may repeat a row that it was learnt from
    repeats: bool = field(default=False, repr=False)  # whether rows may repeat where few keep the constraints, as in a narrow box
    is_shared: ClassVar[bool] = True  # whether an executor can take a part in learning it

    @classmethod
    def fit(
        cls,
        rows: Rows,
        domain: TabularDomain,
        rng: np.random.Generator,
        settings: TreeSettings | None = None,
        first: Sequence[str] = (),
        order: Sequence[str] = (),
        executor: Executor | None = None,
    ) -> ChainedTrees:
        """Learn the chain from real rows.  Columns named in `first` lead it, then the protected ones, then the others.

        `order` is the order wished for after `first`; what follows from other columns comes after them all the same, but nothing
        follows from a protected column then: protected ones may come last.  `executor` grows the trees of the columns, each with a seed
        of its own: the same trees whoever works, and others than without one.
        """
        settings = settings or TreeSettings()
        deadline = settings.until if settings.until.is_set else Deadline.after(settings.seconds)
        _check(rows, domain)
        lead = [domain.place(name) for name in first]
        wished = [domain.place(name) for name in order]
        wanted = dict.fromkeys([*lead, *wished, *domain.protected_places, *_telling_first(rows, domain)])
        relations: tuple[Relation, ...] = ()
        if settings.relations and domain.finds_relations:
            relations = in_time(lambda: find_relations(rows, domain, rng), relations, deadline.part(RELATIONS_SHARE))
        declared = [rule for rule in domain.constraints if isinstance(rule, CompiledConstraint)]
        read = read_rules((*declared, *(each.rule for each in relations)), domain, rows)
        read = read.without_inputs(domain.protected_places) if order else read
        plan = plan_chain(read, domain, wanted, rows, lead)
        chosen = rng.permutation(len(rows))[: settings.rows_for_structure(rows.shape[1])]
        held, structure = np.split(chosen, [int(settings.held_out * len(chosen))])
        hurried = deadline.seconds_left < SECONDS_PER_PAIR * rows.shape[1] ** 2
        told = np.ones((rows.shape[1],) * 2) if hurried else associations(rows, rng)
        growth = TreeGrowth(rows, domain, tree_copies(rows, domain), domain.low, structure, held, told, settings)
        plain = cls(domain, plan.order, (), guides=plan.guides, relations=relations)
        if deadline.is_set:
            timed = TimedGrowth(growth, deadline)
            return replace(plain, links=timed.links(plan, rng), cut=timed.cut)
        found = replace(plain, links=growth.links(plan, rng, executor))
        found = found.thinning(rows, rng) if settings.rarer_copies else found
        return found.settling(rows, rng) if settings.tilts else found

    def thinning(self, rows: Rows, rng: np.random.Generator) -> ChainedTrees:
        """The same chain, whose samples repeat learnt rows no more often than fresh real rows would."""

        def again(drawn: Rows, places: Index, kept: float) -> Rows:
            return self._again(drawn[places], kept, rng, {})

        return replace(self, copies=CopyLimit.of(rows, lambda n: self._draw(n, rng, {}), again, rng))

    def settling(self, rows: Rows, rng: np.random.Generator) -> ChainedTrees:
        """The same chain, in whose samples the groups have an outcome's cells as often as in the learnt rows."""
        steps = [self.order.index(at) for at in (self._outcome, self.order[-1]) if at not in self.guides]
        step = next((step for step in steps if can_be_settled(self.links[step])), None)
        if step is None:
            return self
        at, link = self.order[step], self.links[step]
        n = rows_to_draw(rows.shape[1])
        leading = self.order[: 1 + max(self.order.index(each.place) for each in link.groups)]
        begun = self._begun(CHOSEN_AMONG * n, len(leading), rng)
        people = tree_copies(begun, self.domain)
        chosen = Chosen.by_rarity({each.place: each.of(people) for each in link.groups}, len(begun), n, rng, power=1.0)
        drawn = self._draw(n, rng, {place: begun[chosen.places, place] for place in leading})
        seen, copies = tree_copies(drawn, self.domain), tree_copies(rows, self.domain)
        made = LastCells(chances_of(link, seen, self._kept_with(drawn, at)), seen, chosen.weights)
        learnt = LastCells.of(link.cells.locate(rows[:, at]), link.cells.count, copies)
        return replace(self, links=(*self.links[:step], settled(link, learnt, made), *self.links[step + 1 :]))

    @property
    def _outcome(self) -> int:
        """The place of the label where it is a column, else of the table's last one; mostly distinct numbers may be drawn after it."""
        label, names = self.domain.label, self.domain.names
        return names.index(label.column) if label is not None and label.column in names else len(names) - 1

    def _begun(self, n: int, steps: int, rng: np.random.Generator) -> Rows:
        """Rows of which only the chain's first columns are drawn; the others hold their lowest code."""
        rows = np.tile(self.domain.low, (n, 1))
        known = list(self.order[:steps])
        size = max(_WORTH_SORTING, _BATCH_CELLS // len(self.order))
        for begin in range(0, n, size):
            span = rows[begin : begin + size]
            levels = _Levels.drawn(len(self.order), len(span), rng)
            batch = _Batch(levels, np.empty(span.shape, order="F"), np.empty(span.shape, dtype=np.float32, order="F"), {})
            self._decode_steps(batch, range(steps))
            span[:, known] = batch.made[:, known]
        return rows

    def _kept_with(self, rows: Rows, at: int) -> Rows:
        """How often each row is kept with each cell of a column in its place (rows, cells); always, where copies are not thinned."""
        cells = self.links[self.order.index(at)].cells
        kept = np.ones((len(rows), cells.count))
        if self.copies is None:
            return kept
        for cell in range(cells.count):
            changed = rows.copy()
            changed[:, at] = cells.codes(np.full(len(rows), cell), np.full(len(rows), 0.5))
            kept[:, cell] = self.copies.kept_shares(changed)
        return kept

    @classmethod
    def fit_steered(
        cls, rows: Rows, domain: TabularDomain, wishes: Wishes, rng: np.random.Generator, executor: Executor | None = None
    ) -> SteeredTrees:
        """Learn a chain whose rows obey a user's wishes."""
        from evenhand.synthesis.steered_trees import SteeredTrees

        return SteeredTrees.of(rows, domain, wishes, rng, executor=executor)

    def within(self, box: Box) -> ChainedTrees:
        """The same chain cut to a box: each column is drawn among its allowed cells, given the columns before it.

        What the box asks of the columns that its own follow from is cut as well; relations of every learnt row are rules there.
        """
        cut = implied_box(box, self._derivations, self._orders, self.domain)
        if cut.is_empty:
            raise ConstraintError(f"no row lies in the box {box.text(self.domain)}")
        limits = limits_in(cut, self.domain)
        guides = {at: guide.cut(cut, limits) for at, guide in self.guides.items()}
        links = list(self.links)
        for step, at in enumerate(self.order):
            if (at in cut.values or at in cut.intervals) and not (at in guides and guides[at].is_distance):
                links[step] = _cut_link(links[step], cut, at)
        name = f"{self.name} where {box.text(self.domain)}"
        whole = box.domain(self.under_relations)
        return replace(self, links=tuple(links), guides=guides, domain=whole, relations=(), repeats=True, name=name)

    @property
    def under_relations(self) -> TabularDomain:
        """The domain, in which the relations of every learnt row are rules."""
        declared = {rule.text for rule in self.domain.constraints}
        always = (each.rule for each in self.relations if each.support == 1.0 and each.text not in declared)
        return replace(self.domain, constraints=(*self.domain.constraints, *always))

    @property
    def _derivations(self) -> list[Derivation]:
        return [each for guide in self.guides.values() for each in guide.derivations]

    @property
    def _orders(self) -> list[InOrder]:
        return [each for guide in self.guides.values() for each in (*guide.above, *guide.below)]

    def bound(self, at: int, link: Link, rows: Rows) -> Link | Guided:
        """The link of a column, under its guide where it has one."""
        return self.guides[at].bound(link, rows) if at in self.guides else link

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

        return keep_constraints(draw, n, self.domain, tuple(codes), self.repeats)

    def resample(self, rows: Rows, keep: Sequence[str], rng: np.random.Generator) -> Rows:
        """The same rows with every column drawn again except those kept, each given the columns before it in the chain."""
        return self.sample(len(rows), rng, {name: rows[:, self.domain.place(name)] for name in keep})

    def decode(self, latents: NDArray[np.floating[Any]], fixed: Mapping[str, Value | Reals] | None = None) -> Rows:
        """The row that every latent stands for; a row that breaks a constraint is moved to the nearest one that keeps it."""
        codes = self._fixed(fixed, len(latents))
        rows = self._in_batches(len(latents), codes, lambda span: _Levels.of(latents[span]))
        if not self.domain.constraints:
            return rows
        if (broken := np.flatnonzero(~self.domain.keeps_constraints(rows))).size:
            rows[broken] = self.domain.project(rows[broken])
        return rows

    def redecode(self, latents: Latents, rows: Rows, coordinate: int) -> Rows:
        """What `decode` gives for latents that differ only in this coordinate from those that `rows` were decoded from.

        Where the coordinate's own cell stays as it was, so does the rest of the row; only the other rows are decoded further.
        """
        from scipy.special import ndtr

        if self.domain.constraints:
            return self.decode(latents)  # a projected row no longer tells what its latent decoded to
        moved = rows.copy()
        begin = self.order.index(coordinate)
        copies = tree_copies(rows, self.domain) if (self.domain.missing > 0).any() else rows.astype(np.float32)
        levels = np.minimum(ndtr(latents[:, coordinate]), BELOW_ONE)
        moved[:, coordinate] = self.bound(coordinate, self.links[begin], moved).codes(levels, copies) + 0.0
        with np.errstate(invalid="ignore"):
            stays = (moved[:, coordinate] == rows[:, coordinate]) | (np.isnan(moved[:, coordinate]) & np.isnan(rows[:, coordinate]))
        changed = np.flatnonzero(~stays)
        if changed.size and begin + 1 < len(self.order):
            moved[changed] = self._decoded_on(latents[changed], moved[changed], copies[changed], begin)
        return moved

    def _decoded_on(self, latents: Latents, rows: Rows, copies: Copies, begin: int) -> Rows:
        """The rows with the columns that depend on the one at this step of the chain decoded again."""
        from scipy.special import ndtr

        later = list(self.after[begin])
        levels = np.minimum(ndtr(latents[:, [self.order[step] for step in later]]), BELOW_ONE)
        copies[:, self.order[begin]] = tree_copy(rows[:, self.order[begin]], self.domain.columns[self.order[begin]].lowest)
        for step, level in zip(later, levels.T, strict=True):
            at = self.order[step]
            rows[:, at] = self.bound(at, self.links[step], rows).codes(level, copies) + 0.0
            copies[:, at] = tree_copy(rows[:, at], self.domain.columns[at].lowest)
        return rows

    @cached_property
    def after(self) -> tuple[tuple[int, ...], ...]:
        """For every step of the chain the later ones whose cells may change with its own: through trees, relations, or each other."""
        return tuple(self._dependants(step) for step in range(len(self.order)))

    def _dependants(self, step: int) -> tuple[int, ...]:
        changed, found = {self.order[step]}, []
        for later in range(step + 1, len(self.order)):
            at = self.order[later]
            if (self.links[later].reads | (self.guides[at].reads if at in self.guides else set())) & changed:
                changed.add(at)
                found.append(later)
        return tuple(found)

    def encode(self, rows: Rows, rng: np.random.Generator) -> Latents:
        """A latent for every row, standard normal if the rows are of this population, that decodes to the very row."""
        rows, latents = np.asfortranarray(rows), np.empty(rows.shape, order="F")  # column after column is read and written
        copies = tree_copies(rows, self.domain)
        for at, link in zip(self.order, self.links, strict=True):
            if not self.domain.columns[at].inside(rows[:, at]).all():
                raise DataError(f"column {self.domain.names[at]!r} has codes outside its range; project the rows first")
            latents[:, at] = _exact_latent(self.bound(at, link, rows), rows[:, at], copies, rng)
        return np.ascontiguousarray(latents)

    def log_density(self, rows: Rows) -> Reals:
        """Exact log-probability of every row (a density in the real columns); minus infinity outside the ranges.

        It is that of the chain, which `decode` inverts.  `sample` thins copies of learnt rows beyond it: of those that would be
        too many, `copies.kept_shares` are kept; and it draws the few rows again that break a relation of every learnt row.
        """
        density: Reals = self.log_shares(rows).sum(axis=1)
        return density

    def log_shares(self, rows: Rows) -> Rows:
        """The same, one term for every column given the columns before it: which cells make a row unlikely."""
        rows, terms = np.asfortranarray(rows), np.empty(rows.shape, order="F")
        copies = tree_copies(rows, self.domain)
        for at, link in zip(self.order, self.links, strict=True):
            terms[:, at] = self.bound(at, link, rows).log_share(rows[:, at], copies)
        return terms

    def _draw(self, n: int, rng: np.random.Generator, fixed: Mapping[int, Reals]) -> Rows:
        """Rows as the chain gives them, without the copies of learnt rows that are too many."""

        def draw(places: Index) -> Rows:
            return self._again(np.empty((len(places), 0)), 0.0, rng, {at: codes[places] for at, codes in fixed.items()})

        def again(drawn: Rows, places: Index, kept: float) -> Rows:
            return self._again(drawn[places], kept, rng, {at: codes[places] for at, codes in fixed.items()})

        rows = draw(np.arange(n))
        rows = rows if self.copies is None else self.copies.thinned(rows, again, rng)
        for _ in range(AGAIN if self._unguided else 0):
            broken = np.flatnonzero(~np.logical_and.reduce([rule.holds(rows) for rule in self._unguided]))
            if not broken.size:
                break
            rows[broken] = draw(broken)
        return rows

    def _again(self, rows: Rows, kept: float, rng: np.random.Generator, fixed: Mapping[int, Reals]) -> Rows:
        """Rows that keep a share of the chain's first cells, and what is fixed; the others are drawn."""
        begun = {at: rows[:, at] for at in self.order[: int(kept * len(self.order))]}
        return self._in_batches(len(rows), begun | dict(fixed), lambda span: _Levels.drawn(len(self.order), span.stop - span.start, rng))

    @cached_property
    def _unguided(self) -> tuple[CompiledConstraint, ...]:
        """Relations of every learnt row that no guide keeps always: where the column comes before what it follows from, and equations,
        whose result may lie outside of its column's range."""
        rank = {at: step for step, at in enumerate(self.order)}
        always = [each for each in self.relations if each.support == 1.0]
        follows = [each for each in always if each.kind in ("settled", "dependency")]
        against = [each for each in follows if any(rank[at] > rank[each.target] for at in each.rule.columns)]
        return tuple(each.rule for each in (*against, *(each for each in always if each.kind in ("linear", "product"))))

    def _in_batches(self, n: int, fixed: Mapping[int, Reals], levels_of: Callable[[slice], _Levels]) -> Rows:
        """Decode in pieces that stay in the processor's cache."""
        rows = np.empty((n, len(self.order)))
        size = min(_BATCH_ROWS, max(_WORTH_SORTING, _BATCH_CELLS // len(self.order)))
        for begin in range(0, n, size):
            span = slice(begin, min(n, begin + size))
            self._decode_levels(levels_of(span), rows[span], {at: codes[span] for at, codes in fixed.items()})
        return rows

    def _decode_levels(self, levels: _Levels, rows: Rows, fixed: Mapping[int, Reals]) -> None:
        begun = self._sorted_from if len(rows) >= _WORTH_SORTING else len(self.order)
        batch = _Batch(levels, np.empty(rows.shape, order="F"), np.empty(rows.shape, dtype=np.float32, order="F"), fixed)
        self._decode_steps(batch, range(begun))
        if begun == len(self.order):
            rows[:] = batch.made
            return
        order = self.links[begun].in_order_of_leaves(batch.copies)
        batch = batch.taken(order, self.order[:begun])
        self._decode_steps(batch, range(begun, len(self.order)))
        # A row at once is far faster to move than cell after cell.
        whole = f"V{rows.itemsize * rows.shape[1]}"
        rows.view(whole)[order] = np.ascontiguousarray(batch.made).view(whole)

    def _decode_steps(self, batch: _Batch, steps: range) -> None:
        """Decode some columns after each other."""
        for at, link in zip(self.order[steps.start : steps.stop], self.links[steps.start : steps.stop], strict=True):
            given = batch.fixed.get(at)
            codes = given if given is not None else self.bound(at, link, batch.made).codes(batch.levels.cells[at], batch.copies)
            np.add(codes, 0.0, out=batch.made[:, at])  # a negative zero, which rounding leaves behind, becomes a plain one
            batch.copies[:, at] = self._copy_of(batch.made[:, at], at)

    @cached_property
    def _sorted_from(self) -> int:
        """The first column with a larger tree: from there on rows lie in the order of its leaves, as rows alike take the same ways."""
        large = (step for step, link in enumerate(self.links) if len(link.share) >= _LARGE_TREE and self.order[step] not in self.guides)
        return next(large, len(self.order))

    def _copy_of(self, codes: Reals, at: int) -> Reals:
        """What trees read of one column's codes, which are inside its range."""
        return codes if self._is_copied_plainly[at] else tree_copy(codes, self.domain.columns[at].lowest)

    @cached_property
    def _is_copied_plainly(self) -> tuple[bool, ...]:
        """For every column, whether no cell can be missing and every number is a float32's."""
        return tuple(column.missing == 0 and max(abs(column.lowest), abs(column.highest)) < LARGEST_COPY for column in self.domain.columns)

    def _fixed(self, fixed: Mapping[str, Value | Reals] | None, n: int) -> dict[int, Reals]:
        codes = {}
        for name, cells in (fixed or {}).items():
            at = self.domain.place(name)
            column = self.domain.columns[at]
            codes[at] = cells.astype(np.float64) if isinstance(cells, np.ndarray) else np.full(n, column.code(cells))
            if len(codes[at]) != n or not column.inside(codes[at]).all():
                raise InvalidArgument(f"fixed column {name!r} needs one cell, or {n} codes, inside its range")
        return codes


def _telling_first(rows: Rows, domain: TabularDomain) -> list[int]:
    """All columns, those last whose cells mostly differ from row to row: the others' trees find little but chance in them."""

    def is_mostly_distinct(at: int) -> bool:
        column = domain.columns[at]
        can_be = not column.is_integral or 2 * (column.highest - column.lowest + 2) > len(rows)
        return can_be and 2 * len(np.unique(rows[:, at])) > len(rows)

    return sorted(range(len(domain.columns)), key=is_mostly_distinct)


def _cut_link(link: Link, box: Box, at: int) -> Link:
    """A link whose leaves hold only the allowed part of their cells; a leaf without any takes all allowed cells evenly."""
    if link.trend is not None:
        return replace(link, limits=_whole_steps(link, box.intervals[at]))
    cells, part = link.cells.narrowed(box.values.get(at), box.intervals.get(at))
    if not part.any():
        raise ConstraintError(f"no value of column {cells.column.name!r} lies in the box")
    share = link.share * part
    total = share.sum(axis=1, keepdims=True)
    share = np.divide(share, total, out=np.tile(part / part.sum(), (len(share), 1)), where=total > 0)
    return replace(make_link(cells, Asked(link.tree, link.parents, link.leaf_of_node, link.groups), share, link.trend), tilts=link.tilts)


def _whole_steps(link: Link, interval: tuple[float, float]) -> tuple[float, float]:
    """The first and the last code of a column with a trend that lie in an interval."""
    assert link.trend is not None
    low, high = max(interval[0], link.trend.column.lowest), min(interval[1], link.trend.column.highest)
    step = 2 * link.trend.half_step
    first, last = (np.ceil(low / step - 1e-9) * step, np.floor(high / step + 1e-9) * step) if step else (low, high)
    if first > last:
        raise ConstraintError(f"no value of column {link.trend.column.name!r} lies in the box")
    decimals = link.trend.grid if isinstance(link.trend.grid, int) else 0
    return (round(float(first), decimals), round(float(last), decimals)) if step else (low, high)


def tree_copies(rows: Rows, domain: TabularDomain) -> Copies:
    """Rows as the trees read them, each column in one piece."""
    copies = np.empty(rows.shape, dtype=np.float32, order="F")
    for at, column in enumerate(domain.columns):
        copies[:, at] = tree_copy(rows[:, at], column.lowest)
    return copies


def exact_levels(link: Link | Guided, codes: Reals, copies: Copies, rng: np.random.Generator) -> Reals:
    """Levels that decode to the codes; where rounding would spoil a draw near a border, the middle is taken."""
    low, high = link.stretch(codes, copies)
    levels = np.minimum(low + (high - low) * rng.random(len(codes)), BELOW_ONE)
    decoded = link.codes(levels, copies)
    spoiled = ~((decoded == codes) | (np.isnan(decoded) & np.isnan(codes)))
    levels[spoiled] = np.minimum((low + high)[spoiled] / 2, BELOW_ONE)
    return levels


def _exact_latent(link: Link | Guided, codes: Reals, copies: Copies, rng: np.random.Generator) -> Reals:
    """Latents that decode to the codes; where rounding would spoil a draw near a border, the middle is taken."""
    from scipy.special import ndtr, ndtri

    leaves = link.leaves(copies) if isinstance(link, Link) else None  # looked up once for both ways
    low, high = link.stretch(codes, copies) if isinstance(link, Guided) else link.stretch(codes, copies, leaves)
    levels, middles = low + (high - low) * rng.random(len(codes)), (low + high) / 2
    latents: Reals = ndtri(np.clip(levels, 1e-300, BELOW_ONE))
    again = np.minimum(ndtr(latents), BELOW_ONE)
    decoded = link.codes(again, copies) if isinstance(link, Guided) else link.codes(again, copies, leaves)
    spoiled = ~((decoded == codes) | (np.isnan(decoded) & np.isnan(codes)))
    latents[spoiled] = ndtri(np.clip(middles[spoiled], 1e-300, BELOW_ONE))
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
