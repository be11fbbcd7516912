"""Bounds of the unfair share of a box that hold for certain: trees are taken apart into what each axis adds by itself and a rest.

Axes are independent of each other, so that what they add by themselves is distributed like a sum of independent numbers: it is counted
on a lattice, with its rounding on the safe side.  Only the rest, in which axes act together, is bounded by its worst, and it shrinks
much faster than the trees' own ranges do when a box is halved.  A tree that asks about one open axis of a box has no rest.

Plain loops over arrays, for `compiled`: one box after the other, nothing is allocated inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals
from evenhand.measures.proofs.compiled import compiled
from evenhand.measures.proofs.flat_trees import MOST_SEGMENTS, FlatTrees, Sets, Whole

ROUNDING = 1e-9
"""How far sums of a few hundred numbers of the usual size may be off, with much room."""
BINS = 512
FINENESS = 64.0
"""The lattice is so much finer than what is uncertain anyway."""
FAIR, UNFAIR, OPEN = 0, 1, 2
Cells = NDArray[np.uint8]


class Scratch(NamedTuple):
    """Numbers about the box at hand."""

    present_first: Whole  # (axes + 1,): of `present`
    present: Whole  # (cells,): the box's cells, axis after axis
    shares: Reals  # (cells,): of each within its axis
    effects: Reals  # (twins, cells): what each adds by itself
    part_set: Sets  # of the tree at hand: the segments that the box meets
    part_count: Reals
    part_effects: Reals  # (parts, segments)
    part_range: Reals  # (parts, 2)
    leaf_shares: Reals
    limit_count: Reals  # for every limit of a leaf, how many segments of the box it leaves
    base: Reals  # (twins,): what all trees add in the middle
    rest: Reals  # (twins, 2): lowest and highest sum of what axes add together
    gap: Reals  # (twins, 2): lowest and highest margin above the first twin's
    sure: Reals  # (twins, 2): lowest and highest margin
    above: Reals  # (twins, 2): bounds of the share with a margin above zero
    axis_votes: Reals  # (axes,): how much of the rest there is in trees that ask about it
    cut_votes: Reals  # (cells,): in trees that ask first whether this cell is among some of its axis, the last of which it is
    cut_part: Whole  # (cells,): which part asks so
    cut_node: Whole
    lattice: Reals  # (2, bins)
    apart: Whole  # (1,): how many trees can tell twins apart


class ToldBoxes(NamedTuple):
    """What is said of every box: bounds of its unfair share, whether it is decided, and where to halve it."""

    low: Reals
    high: Reals
    verdict: Whole  # FAIR, UNFAIR or OPEN
    part: Whole  # -1 where no tree can be opened
    node: Whole


def scratch(flat: FlatTrees) -> Scratch:
    """Room for one box."""
    cells, twins, axes = len(flat.weights), flat.values.shape[1], len(flat.axis_first) - 1
    parts = int(np.diff(flat.part_first).max(initial=1))
    leaves = int(np.diff(flat.leaf_first).max(initial=1))
    limits = int(np.diff(flat.limit_first[flat.leaf_first]).max(initial=1))
    base, rest, gap, sure, above = np.zeros(twins), *(np.zeros((twins, 2)) for _ in range(4))
    return Scratch(
        present_first=np.zeros(len(flat.axis_first), dtype=np.int64),
        present=np.zeros(cells, dtype=np.int64),
        shares=np.zeros(cells),
        effects=np.zeros((twins, cells)),
        part_set=np.zeros(parts, dtype=np.uint64),
        part_count=np.zeros(parts),
        part_effects=np.zeros((parts, MOST_SEGMENTS)),
        part_range=np.zeros((parts, 2)),
        leaf_shares=np.zeros(leaves),
        limit_count=np.zeros(limits),
        base=base,
        rest=rest,
        gap=gap,
        sure=sure,
        above=above,
        axis_votes=np.zeros(axes),
        cut_votes=np.zeros(cells),
        cut_part=np.zeros(cells, dtype=np.int64),
        cut_node=np.zeros(cells, dtype=np.int64),
        lattice=np.zeros((2, BINS)),
        apart=np.zeros(1, dtype=np.int64),
    )


def told(n: int) -> ToldBoxes:
    """Room for what is said of so many boxes."""
    return ToldBoxes(np.zeros(n), np.zeros(n), *(np.zeros(n, dtype=np.int64) for _ in range(3)))


def said_of(said: ToldBoxes, chosen: Any) -> ToldBoxes:
    """What is said of some of them."""
    return ToldBoxes(said.low[chosen], said.high[chosen], said.verdict[chosen], said.part[chosen], said.node[chosen])


def said_together(parts: Sequence[ToldBoxes]) -> ToldBoxes:
    """What is said of all of them."""
    low, high, verdict, part, node = (np.concatenate(each) for each in zip(*parts, strict=True))
    return ToldBoxes(low, high, verdict, part, node)


@compiled
def judge_boxes(cells: Cells, allowed: NDArray[np.bool_], flat: FlatTrees, work: Scratch, said: ToldBoxes) -> None:
    """Judge every box (n, cells); `allowed` (n, twins) says which twins there can be."""
    for box in range(len(cells)):
        said.part[box] = said.node[box] = -1
        _look(cells[box], flat, work)
        said.verdict[box] = _verdict(allowed[box], flat, work)
        if said.verdict[box] != OPEN:
            said.low[box] = said.high[box] = said.verdict[box]
            continue
        said.low[box], said.high[box] = _unfair_share(allowed[box], flat, work)
        said.part[box], said.node[box] = _where_to_halve(flat, work)


@compiled
def _meet(cells: Cells, flat: FlatTrees, work: Scratch) -> None:
    """The cells that the box meets, and their shares."""
    count = 0
    for axis in range(len(flat.axis_first) - 1):
        work.present_first[axis] = count
        total = 0.0
        for cell in range(flat.axis_first[axis], flat.axis_first[axis + 1]):
            if cells[cell]:
                work.present[count] = cell
                count += 1
                total += flat.weights[cell]
        for at in range(work.present_first[axis], count):
            work.shares[work.present[at]] = flat.weights[work.present[at]] / total
    work.present_first[len(flat.axis_first) - 1] = count


@compiled
def _meet_parts(tree: int, flat: FlatTrees, work: Scratch) -> int:
    """The segments of a tree's axes that the box meets; how many axes are open."""
    opened = 0
    for part in range(flat.part_first[tree + 1] - flat.part_first[tree]):
        axis = flat.part_axis[flat.part_first[tree] + part]
        first = flat.segment_first[flat.part_first[tree] + part] - flat.axis_first[axis]
        met = np.uint64(0)
        for at in range(work.present_first[axis], work.present_first[axis + 1]):
            met |= np.uint64(1) << np.uint64(flat.segment[first + work.present[at]])
        count, bits = 0, met
        while bits:
            bits &= bits - np.uint64(1)
            count += 1
        work.part_set[part], work.part_count[part] = met, count
        opened += count > 1
    return opened


@compiled
def _look(cells: Cells, flat: FlatTrees, work: Scratch) -> None:
    """Everything that the trees say of a box.

    Nearly all the time is spent here, so that it is one long loop: calls that hand on all these arrays would cost more than what they do.
    """
    _meet(cells, flat, work)
    twins = len(work.base)
    work.effects[:] = 0.0
    work.base[:] = flat.offset
    work.sure[:] = flat.offset
    work.rest[:] = 0.0
    work.gap[:] = 0.0
    work.apart[0] = 0
    work.axis_votes[:] = 0.0
    work.cut_votes[:] = 0.0
    for tree in range(len(flat.part_first) - 1):
        opened = _meet_parts(tree, flat, work)
        part_first, parts = flat.part_first[tree], flat.part_first[tree + 1] - flat.part_first[tree]
        leaf_first, leaf_end = flat.leaf_first[tree], flat.leaf_first[tree + 1]
        limit_begin = flat.limit_first[leaf_first]

        # The share of segments that leads to each leaf.  All segments count alike: any way of taking a tree apart is right, and this one
        # leaves less to the rest than the true shares do.
        reached, apart = 0, False
        for leaf in range(leaf_first, leaf_end):
            share = 1.0
            for at in range(flat.limit_first[leaf], flat.limit_first[leaf + 1]):
                part = flat.limit_part[at]
                inside, count = flat.limit_set[at] & work.part_set[part], 0
                while inside:
                    inside &= inside - np.uint64(1)
                    count += 1
                work.limit_count[at - limit_begin] = count
                share *= count / work.part_count[part]
                if count == 0:
                    break
            work.leaf_shares[leaf - leaf_first] = share
            if share > 0.0:
                reached += 1
                for twin in range(1, twins):
                    apart |= flat.values[leaf, twin] != flat.values[leaf, 0]
        work.apart[0] += apart

        widest = middle = lowest = highest = low = high = 0.0
        for twin in range(twins):
            if twin == 0 or apart:
                # What each segment adds by itself to the middle of the tree, and the range of its values and gaps.
                lowest, highest, middle, nearest, furthest = np.inf, -np.inf, 0.0, np.inf, -np.inf
                work.part_effects[:parts] = 0.0
                for leaf in range(leaf_first, leaf_end):
                    share, value = work.leaf_shares[leaf - leaf_first], flat.values[leaf, twin]
                    if share > 0.0:
                        lowest, highest = min(lowest, value), max(highest, value)
                        above = value - flat.values[leaf, 0]
                        nearest, furthest = min(nearest, above), max(furthest, above)
                        middle += value * share
                        for at in range(flat.limit_first[leaf], flat.limit_first[leaf + 1]):
                            part, count = flat.limit_part[at], work.limit_count[at - limit_begin]
                            if count < work.part_count[part]:
                                weighed = value * share
                                within = weighed * work.part_count[part] / count
                                for segment in range(flat.part_segments[part_first + part]):
                                    is_inside = (flat.limit_set[at] >> np.uint64(segment)) & np.uint64(1)
                                    work.part_effects[part, segment] += within - weighed if is_inside else -weighed
                work.gap[twin, 0] += nearest
                work.gap[twin, 1] += furthest
                if reached == 1:
                    middle = lowest  # exactly
                low = high = 0.0
                if opened > 1 and reached > 1:
                    # The rest: how far the tree can be from the sum of what its parts add.
                    least_sum = most_sum = 0.0
                    for part in range(parts):
                        least, most = np.inf, -np.inf
                        for segment in range(flat.part_segments[part_first + part]):
                            if (work.part_set[part] >> np.uint64(segment)) & np.uint64(1):
                                effect = work.part_effects[part, segment]
                                least, most = min(least, effect), max(most, effect)
                        work.part_range[part, 0], work.part_range[part, 1] = least, most
                        least_sum += least
                        most_sum += most
                    low, high = np.inf, -np.inf
                    for leaf in range(leaf_first, leaf_end):
                        if work.leaf_shares[leaf - leaf_first] > 0.0:
                            leaf_least, leaf_most = least_sum, most_sum
                            for at in range(flat.limit_first[leaf], flat.limit_first[leaf + 1]):
                                part = flat.limit_part[at]
                                if work.limit_count[at - limit_begin] < work.part_count[part]:
                                    inside = flat.limit_set[at] & work.part_set[part]
                                    least, most = np.inf, -np.inf
                                    for segment in range(flat.part_segments[part_first + part]):
                                        if (inside >> np.uint64(segment)) & np.uint64(1):
                                            effect = work.part_effects[part, segment]
                                            least, most = min(least, effect), max(most, effect)
                                    leaf_least += least - work.part_range[part, 0]
                                    leaf_most += most - work.part_range[part, 1]
                            above = flat.values[leaf, twin] - middle
                            low, high = min(low, above - leaf_most), max(high, above - leaf_least)
            work.base[twin] += middle
            work.sure[twin, 0] += lowest
            work.sure[twin, 1] += highest
            work.rest[twin, 0] += low
            work.rest[twin, 1] += high
            if reached > 1:
                widest = max(widest, high - low + 1e-6 * (highest - lowest))
                for part in range(parts):
                    if work.part_count[part] > 1:
                        axis = flat.part_axis[part_first + part]
                        first = flat.segment_first[part_first + part] - flat.axis_first[axis]
                        for at in range(work.present_first[axis], work.present_first[axis + 1]):
                            cell = work.present[at]
                            work.effects[twin, cell] += work.part_effects[part, flat.segment[first + cell]]
        if widest > 0.0:
            _vote(tree, widest, flat, work)


@compiled
def _verdict(allowed: NDArray[np.bool_], flat: FlatTrees, work: Scratch) -> int:
    """Whether a box is decided by the ranges of the margins alone."""
    margin = flat.tolerance + ROUNDING
    count = above = below = 0
    for twin in range(len(work.base)):
        low, high = work.base[twin] + work.rest[twin, 0], work.base[twin] + work.rest[twin, 1]
        for axis in range(len(work.present_first) - 1):
            least, most = np.inf, -np.inf
            for at in range(work.present_first[axis], work.present_first[axis + 1]):
                effect = work.effects[twin, work.present[at]]
                least, most = min(least, effect), max(most, effect)
            low += least
            high += most
        work.sure[twin, 0], work.sure[twin, 1] = max(low, work.sure[twin, 0]), min(high, work.sure[twin, 1])
        if allowed[twin]:
            count += 1
            above += work.sure[twin, 0] > margin
            below += work.sure[twin, 1] < -margin
    if count < 2 or work.apart[0] == 0 or above == count or below == count:
        return FAIR
    return UNFAIR if above > 0 and below > 0 else OPEN


@compiled
def _unfair_share(allowed: NDArray[np.bool_], flat: FlatTrees, work: Scratch) -> tuple[float, float]:
    """Bounds of the share of an open box whose twins are on both sides of zero.

    At least: the difference between the twin that is most often above zero and the one that is so least often.  At most: whose first
    twin is so near to zero that another can be on the other side; or, where two twins are surely the highest and the lowest, the
    difference between these two.
    """
    margin, twins = flat.tolerance + ROUNDING, len(work.base)
    highest, lowest = _outermost(allowed, work)
    uncertain = max(work.gap[highest, 1], 0.0) - min(work.gap[lowest, 0], 0.0)
    for twin in range(twins):
        uncertain = max(uncertain, work.rest[twin, 1] - work.rest[twin, 0])
    most_low = 0.0
    least_high = band = 1.0
    for twin in range(twins):
        if allowed[twin] or twin == 0:
            rows = _count_sums(twin, uncertain / FINENESS, flat, work)
            work.above[twin, 0] = _share_above(margin - work.rest[twin, 0], True, rows, work)
            work.above[twin, 1] = _share_above(-margin - work.rest[twin, 1], False, rows, work)
            if twin == 0:
                can = _share_above(-margin - work.rest[0, 1] - max(work.gap[highest, 1], 0.0), False, rows, work)
                must = _share_above(margin - work.rest[0, 0] - min(work.gap[lowest, 0], 0.0), True, rows, work)
                band = can - must
        if allowed[twin]:
            most_low, least_high = max(most_low, work.above[twin, 0]), min(least_high, work.above[twin, 1])
    low = max(0.0, most_low - least_high - 1e-12)
    if _is_outermost(highest, lowest, allowed, work):
        band = min(band, work.above[highest, 1] - work.above[lowest, 0])
    return low, min(1.0, max(low, band + 1e-12))


@compiled
def _outermost(allowed: NDArray[np.bool_], work: Scratch) -> tuple[int, int]:
    """The twins that can be the furthest above and below the first."""
    highest = lowest = -1
    for twin in range(len(work.base)):
        if allowed[twin]:
            if highest < 0 or work.gap[twin, 1] > work.gap[highest, 1]:
                highest = twin
            if lowest < 0 or work.gap[twin, 0] < work.gap[lowest, 0]:
                lowest = twin
    return highest, lowest


@compiled
def _is_outermost(highest: int, lowest: int, allowed: NDArray[np.bool_], work: Scratch) -> bool:
    """Whether no other twin can be above the one or below the other."""
    sure = highest != lowest
    for twin in range(len(work.base)):
        if allowed[twin]:
            sure &= twin == highest or work.gap[highest, 0] >= work.gap[twin, 1]
            sure &= twin == lowest or work.gap[lowest, 1] <= work.gap[twin, 0]
    return sure


class CountedSums(NamedTuple):
    """Sums on a lattice: which row of it, how many points, how far apart, where the first is, and how far rounding may have moved one."""

    row: int
    size: int
    step: float
    first: float
    error: float


@compiled
def _count_sums(twin: int, finest: float, flat: FlatTrees, work: Scratch) -> CountedSums:
    """The shares of the sums of what all axes add by themselves, summed from the top."""
    first, length, opened = work.base[twin], 0.0, 0
    axes = len(flat.axis_first) - 1
    for axis in range(axes):
        low, high = _axis_range(twin, axis, work)
        first += low
        length += high - low
        opened += high > low
    step = max(finest, length / (work.lattice.shape[1] - opened - 2), 1e-12)
    row, size, error = 0, 1, ROUNDING
    work.lattice[0, 0] = 1.0
    for axis in range(axes):
        low, high = _axis_range(twin, axis, work)
        if high > low:
            error += _convolve(_Axis(twin, axis, low, step), row, size, work)
            row, size = 1 - row, size + int(0.5 + (high - low) / step)
    for at in range(size - 2, -1, -1):
        work.lattice[row, at] += work.lattice[row, at + 1]
    return CountedSums(row, size, step, first, error)


@compiled
def _axis_range(twin: int, axis: int, work: Scratch) -> tuple[float, float]:
    low, high = np.inf, -np.inf
    for at in range(work.present_first[axis], work.present_first[axis + 1]):
        effect = work.effects[twin, work.present[at]]
        low, high = min(low, effect), max(high, effect)
    return low, high


class _Axis(NamedTuple):
    """An axis of a twin, the lowest that it adds, and the step of the lattice."""

    twin: int
    axis: int
    low: float
    step: float


@compiled
def _convolve(given: _Axis, row: int, size: int, work: Scratch) -> float:
    """Add an independent axis to the sums so far; how far its numbers are from the lattice at most."""
    error, begin, end = 0.0, work.present_first[given.axis], work.present_first[given.axis + 1]
    last = 0
    for at in range(begin, end):
        last = max(last, int(0.5 + (work.effects[given.twin, work.present[at]] - given.low) / given.step))
    work.lattice[1 - row, : size + last] = 0.0
    for at in range(begin, end):
        above = work.effects[given.twin, work.present[at]] - given.low
        moved, share = int(0.5 + above / given.step), work.shares[work.present[at]]
        error = max(error, abs(above - moved * given.step))
        target = work.lattice[1 - row, moved : moved + size]
        for point in range(size):
            target[point] += share * work.lattice[row, point]
    return error


@compiled
def _share_above(level: float, is_least: bool, sums: CountedSums, work: Scratch) -> float:
    """A bound of the share of sums that are not below a level: at least, or at most."""
    safe = level + sums.error if is_least else level - sums.error
    at = int(np.ceil((safe - sums.first) / sums.step))
    if at <= 0:
        return 1.0
    return 0.0 if at >= sums.size else min(1.0, work.lattice[sums.row, at])


@compiled
def _vote(tree: int, widest: float, flat: FlatTrees, work: Scratch) -> None:
    """Where a tree would have the box halved: on every open axis it asks about, most on that of its first open question, and there."""
    part_first, node = flat.part_first[tree], 0
    for part in range(flat.part_first[tree + 1] - part_first):
        if work.part_count[part] > 1:
            work.axis_votes[flat.part_axis[part_first + part]] += widest
    while True:
        at = flat.node_first[tree] + node
        part = flat.node_part[at]
        inside = work.part_set[part] & flat.node_inside[at]
        if inside and inside != work.part_set[part]:
            break
        node = flat.node_children[at, 0 if inside else 1]
    axis = flat.part_axis[part_first + part]
    first, last = flat.segment_first[part_first + part] - flat.axis_first[axis], 0
    for place in range(work.present_first[axis], work.present_first[axis + 1]):
        cell = work.present[place]
        if (inside >> np.uint64(flat.segment[first + cell])) & np.uint64(1):
            last = cell
    work.axis_votes[axis] += widest
    work.cut_votes[last] += widest
    work.cut_part[last], work.cut_node[last] = part_first + part, at


@compiled
def _where_to_halve(flat: FlatTrees, work: Scratch) -> tuple[int, int]:
    """The part and the node with most votes, on the axis with most of those on which any tree first opens; -1 where no tree is open."""
    best, chosen = -1, 0.0
    for axis in range(len(work.axis_votes)):
        most = flat.axis_first[axis]
        for cell in range(most + 1, flat.axis_first[axis + 1]):
            if work.cut_votes[cell] > work.cut_votes[most]:
                most = cell
        if work.cut_votes[most] > 0.0 and work.axis_votes[axis] > chosen:
            best, chosen = most, work.axis_votes[axis]
    return (-1, -1) if best < 0 else (work.cut_part[best], work.cut_node[best])


@compiled
def halve_boxes(cells: Cells, said: ToldBoxes, flat: FlatTrees, halves: Cells, shares: Reals) -> None:
    """Both halves of every box (2 n, cells), one after the other, and their shares of it."""
    for box in range(len(cells)):
        part, inside = said.part[box], flat.node_inside[said.node[box]]
        axis, first = flat.part_axis[part], flat.segment_first[part]
        halves[2 * box] = cells[box]
        halves[2 * box + 1] = cells[box]
        shares[2 * box] = shares[2 * box + 1] = 0.0
        for cell in range(flat.axis_first[axis], flat.axis_first[axis + 1]):
            if cells[box, cell]:
                segment = flat.segment[first + cell - flat.axis_first[axis]]
                half = 2 * box + (0 if (inside >> np.uint64(segment)) & np.uint64(1) else 1)
                shares[half] += flat.weights[cell]
                halves[4 * box + 1 - half, cell] = 0
        total = shares[2 * box] + shares[2 * box + 1]
        shares[2 * box] /= total
        shares[2 * box + 1] /= total
