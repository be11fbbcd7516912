"""Findings moved towards real people: as few changed cells as still flip, tried in choices, in blocks and one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from evenhand.arrays import Index, Mask, Rows
from evenhand.contract import Medium, Model, Oracle, Restoring, Verdict
from evenhand.deadline import NEVER, Deadline, TimeOver, stopping, unstopped
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.findings import Findings, findings_of
from evenhand.engine.kept_pairs import CELLS_AT_ONCE

MOST_CHOICES = 10_000
"""Choices of cells of one finding that are tried one by one; a table of some hundred columns has more."""
EXHAUSTIVE = 2
"""Up to this many changed cells every choice is tried; beyond it cells are put back one by one, greedily."""

MANY_CELLS = 64
"""Where a finding differs in more cells than this, they are put back in blocks first."""

NEAREST = 3
"""How many of the nearest real rows are tried for each finding."""

MOST_COMPARED = 40_000
"""Real rows that each finding is compared with at most."""


@dataclass(frozen=True)
class Hearing:
    """Before whom findings are heard again while they are shrunk."""

    domain: TabularDomain
    model: Model
    oracle: Oracle
    medium: Medium | None = None
    deadline: Deadline = NEVER  # what is not shrunk by then stays as it was found


def shrink(findings: Findings, real: Rows | None, hearing: Hearing) -> tuple[Findings, Index, Rows]:
    """Findings moved as close to real rows as still flips; with the real row of each (-1 without data) and that row's cells."""
    if real is None or not len(real) or not len(findings):
        return findings, np.full(len(findings), -1, dtype=np.intp), findings.rows
    if isinstance(hearing.medium, Restoring):
        return _shrink_to_parents(findings, real, hearing, hearing.medium)
    shrunk = _Shrunk(findings, hearing.domain)
    shrunk.recognise(real)
    try:
        with stopping(hearing.deadline):
            for neighbour in nearest(findings.rows, real, hearing.domain).T:
                moved = _shrink_towards(findings, real[neighbour], hearing)
                with unstopped():
                    shrunk.take(moved, neighbour, differing(moved.rows, real[neighbour], hearing.domain).sum(axis=1))
    except TimeOver:
        pass  # what is shrunk so far is as true as what would have been shrunk further
    at = shrunk.real
    return shrunk.best, at, np.where((at >= 0)[:, None], real[at], findings.rows)


class _Shrunk:
    """The fewest changed cells so far of each finding, and the real row that they lead to; -1 before any was tried."""

    def __init__(self, findings: Findings, domain: TabularDomain) -> None:
        self._domain = domain
        self.best, self.real = findings, np.full(len(findings), -1, dtype=np.intp)
        self._fewest = np.full(len(findings), len(domain.columns) + 1)

    def recognise(self, real: Rows) -> None:
        """Findings that are real rows as they stand need no time: nothing of them can be put back."""
        for line, row in enumerate(self.best.rows):
            same = _same(row, real)[:1]
            if len(same):
                self.real[line], self._fewest[line] = same[0], 0

    def take(self, moved: Findings, neighbour: Index, changed: Index) -> None:
        """Keep what has fewer changed cells than before."""
        better = changed < self._fewest
        self.best = self.best.replaced(np.flatnonzero(better), moved[better], self._domain)
        self._fewest, self.real = np.where(better, changed, self._fewest), np.where(better, neighbour, self.real)


def _shrink_to_parents(findings: Findings, real: Rows, hearing: Hearing, medium: Restoring) -> tuple[Findings, Index, Rows]:
    """Numbers of pictures have no neighbours: a picture goes back to its own row or its parent's, where that one flips too."""
    keys, homes = hearing.domain.keys(real), hearing.domain.keys(medium.parents(findings.rows))
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys, homes, sorter=order).clip(0, len(keys) - 1)
    found = np.where(keys[order[at]] == homes, order[at], -1)
    cells = np.where((found >= 0)[:, None], real[found], findings.rows)
    return _shrink_towards(findings, cells, hearing), found, cells


def nearest(rows: Rows, real: Rows, domain: TabularDomain) -> Index:
    """For each row the positions of the real rows that share the most cells with it, nearest first, (n, NEAREST).

    Of a long table, rows spread evenly over it are compared, and the row itself where it is in the data.
    """
    if len(real) > MOST_COMPARED:
        spread = np.linspace(0, len(real) - 1, MOST_COMPARED).astype(np.intp)
        own = [place for row in rows for place in _same(row, real)[:1]]
        among = np.unique(np.concatenate([spread, np.array(own, dtype=np.intp)]))
        return among[_nearest(rows, real[among], domain)]
    return _nearest(rows, real, domain)


def _nearest(rows: Rows, real: Rows, domain: TabularDomain) -> Index:
    free = list(domain.free_places)
    count = min(NEAREST, len(real))
    span = np.where(domain.high > domain.low, domain.high - domain.low, 1.0)[free]
    places = np.empty((len(rows), count), dtype=np.intp)
    cells, has_gaps = np.ascontiguousarray(real[:, free]), bool(np.isnan(real).any() or np.isnan(rows).any())
    for line, row in enumerate(rows[:, free]):  # one pass over the data for each of a few dozen witnesses
        apart = cells - row
        differs = apart != 0
        if has_gaps:
            differs &= ~(np.isnan(cells) & np.isnan(row))
        # Fewest differing cells first, the size of the differences breaking ties.
        np.abs(apart, out=apart)
        apart /= span
        size = (np.nan_to_num(apart, nan=1.0, copy=False) if has_gaps else apart).sum(axis=1)
        distance = differs.sum(axis=1) + size / (len(free) + 1)
        near = np.argpartition(distance, count - 1)[:count]
        places[line] = near[np.argsort(distance[near], kind="stable")]
    return places


def _same(row: Rows, real: Rows) -> Index:
    """Where real rows equal a row, looked for column by column among those that are left."""
    left: Index = np.arange(len(real))
    for at, cell in enumerate(row):
        cells = real[left, at]
        left = left[np.isnan(cells) if np.isnan(cell) else cells == cell]
        if len(left) <= 1:
            break
    equal: Mask = np.array([np.array_equal(real[place], row, equal_nan=True) for place in left], dtype=bool)
    return np.asarray(left[equal], dtype=np.intp)


def _shrink_towards(findings: Findings, target: Rows, hearing: Hearing) -> Findings:
    """First every choice of at most EXHAUSTIVE cells; where none flips, cells are put back while the flip survives."""
    differs = differing(findings.rows, target, hearing.domain)
    best, solved = findings, np.zeros(len(findings), dtype=bool)
    for size in range(EXHAUSTIVE + 1):
        best, solved = _try_choices(best, findings.rows, target, _Choices(differs, solved, size), hearing)
    left = _put_back(findings, target, differs & ~solved[:, None], hearing)
    return left.replaced(np.flatnonzero(solved), best[solved], hearing.domain)


@dataclass(frozen=True)
class _Choices:
    """Which cells differ, for which findings that is settled already, and how many cells are kept at once."""

    differs: Mask
    solved: Mask
    size: int


def _try_choices(best: Findings, rows: Rows, target: Rows, choices: _Choices, hearing: Hearing) -> tuple[Findings, Mask]:
    """Every choice in turn, of as many findings at once as are no burden; the first that is still unfair is taken."""
    solved = choices.solved.copy()
    for trials, owners in _chosen_trials(rows, target, choices):
        judged, hit_owner = _judge(trials, owners, hearing)
        first_hit, at = np.unique(hit_owner, return_index=True)
        solved[first_hit] = True
        best = best.replaced(first_hit, judged[at], hearing.domain)
    return best, solved


def _chosen_trials(rows: Rows, target: Rows, choices: _Choices) -> Iterator[tuple[Rows, Index]]:
    """The trials of some findings and whose they are; of one finding all at once."""
    trials: list[Rows] = []
    owners: list[Any] = []
    for line in np.flatnonzero(~choices.solved):
        differs = choices.differs[line]
        if comb(int(differs.sum()), choices.size) > MOST_CHOICES:
            continue  # too many to try each: its cells are put back one after the other
        for choice in combinations(np.flatnonzero(differs), choices.size):
            trial = _mixed(target[line], rows[line], differs)
            trial[list(choice)] = rows[line, list(choice)]
            trials.append(trial)
            owners.append(line)
        if len(trials) * rows.shape[1] >= CELLS_AT_ONCE:
            yield np.array(trials), np.array(owners)
            trials, owners = [], []
    if trials:
        yield np.array(trials), np.array(owners)


def _mixed(target: Rows, row: Rows, differs: Mask) -> Rows:
    """The real row's cells wherever the two differ, the finding's own elsewhere (protected cells are its own)."""
    return np.where(differs, target, row)


def _put_back(findings: Findings, target: Rows, differs: Mask, hearing: Hearing) -> Findings:
    """Cells are put back while the flip survives: where they are many, first in large blocks, then in smaller ones, then one by one."""
    best, differs = findings, differs.copy()
    size = 1 << max(0, int(differs.sum(axis=1).max(initial=0)).bit_length() - 2)
    while size > 1 and differs.sum(axis=1).max(initial=0) > MANY_CELLS and not hearing.deadline.is_over:
        best = _put_back_blocks(best, target, differs, size, hearing)
        size //= 2
    while differs.any() and not hearing.deadline.is_over:
        owners, cells = np.nonzero(differs)
        one = np.zeros((len(owners), differs.shape[1]), dtype=bool)
        one[np.arange(len(owners)), cells] = True
        judged, hits = _judge_each(best.rows, target, _CellsBack(owners, one), hearing)
        differs[:] = False if not len(hits) else differs
        if not len(hits):
            break
        # One cell per finding and round: of the survivors, the one that keeps the largest gap.
        order = np.lexsort((-judged.gap, owners[hits]))
        winner_of, at = np.unique(owners[hits][order], return_index=True)
        picked = order[at]
        best = best.replaced(winner_of, judged[picked], hearing.domain)
        alive = np.zeros_like(differs)
        alive[owners[hits], cells[hits]] = True
        differs &= alive
        differs[winner_of, cells[hits[picked]]] = False
    return best


def _put_back_blocks(best: Findings, target: Rows, differs: Mask, size: int, hearing: Hearing) -> Findings:
    """Of each finding, as many blocks of so many cells as survive together; `differs` loses what was put back.

    Every block is tried by itself.  Then those that survived are tried together: all, half of them with the widest gaps, a quarter.
    """
    blocks, rows = _blocks_of(differs, size), best.rows
    judged, hits = _judge_each(rows, target, blocks, hearing)
    order = hits[np.lexsort((-judged.gap, blocks.owners[hits]))]
    starts = np.flatnonzero(np.diff(blocks.owners[order], prepend=-1))
    counts = np.diff(np.append(starts, len(order)))
    turn = np.arange(len(order)) - np.repeat(starts, counts)
    most = np.repeat(counts, counts)
    while len(order):
        together = blocks.joined(order[turn < most])
        judged, hits = _judge_each(rows, target, together, hearing)
        differs[together.owners[hits]] &= ~together.cells[hits]
        best = best.replaced(together.owners[hits], judged, hearing.domain)
        left = ~np.isin(blocks.owners[order], together.owners[hits]) & (most > 1)
        order, turn, most = order[left], turn[left], most[left] // 2
    return best


def _blocks_of(differs: Mask, size: int) -> _CellsBack:
    """The differing cells of every finding in blocks of so many."""
    owners, cells = [], []
    for line in np.flatnonzero(differs.any(axis=1)):
        places = np.flatnonzero(differs[line])
        for at in range(0, len(places), size):
            owners.append(line)
            cells.append(np.isin(np.arange(differs.shape[1]), places[at : at + size]))
    return _CellsBack(np.array(owners, dtype=np.intp), np.array(cells, dtype=bool).reshape(-1, differs.shape[1]))


@dataclass(frozen=True)
class _CellsBack:
    """Trials: which finding gets which of its cells back."""

    owners: Index  # (trials,)
    cells: Mask  # (trials, columns)

    def __len__(self) -> int:
        return len(self.owners)

    def joined(self, chosen: Index) -> _CellsBack:
        """Of the chosen trials, those of one finding as one."""
        owners, own = np.unique(self.owners[chosen], return_inverse=True)
        cells = np.zeros((len(owners), self.cells.shape[1]), dtype=bool)
        np.logical_or.at(cells, own, self.cells[chosen])
        return _CellsBack(owners, cells)

    def stretches(self) -> Iterator[slice]:
        """In turn, so few at once that their rows are no burden."""
        step = max(1, CELLS_AT_ONCE // max(1, self.cells.shape[1]))
        return (slice(at, at + step) for at in range(0, len(self), step))


def _judge_each(rows: Rows, target: Rows, back: _CellsBack, hearing: Hearing) -> tuple[Findings, Index]:
    """The trials that are still unfair, and which ones these are."""
    found, hits = [], [np.empty(0, dtype=np.intp)]
    for part in back.stretches():
        owners = back.owners[part]
        judged, hit = _judge(np.where(back.cells[part], target[owners], rows[owners]), np.arange(len(back))[part], hearing)
        found.append(judged)
        hits.append(hit)
    return Findings.join(found, rows.shape[1]), np.concatenate(hits)


def _judge(rows: Rows, owners: Index, hearing: Hearing) -> tuple[Findings, Index]:
    domain, model, oracle = hearing.domain, hearing.model, hearing.oracle
    verdict: Verdict = oracle.judge(rows, domain, model)
    # A witness must be a possible person: rows that break a constraint do not count.
    verdict = verdict.only(domain.contains(rows))
    return findings_of(rows, verdict, domain, owners, "witness"), owners[verdict.unfair]


def differing(rows: Rows, target: Rows, domain: TabularDomain) -> Mask:
    """Which cells beside the protected ones are not those of the other row."""
    differs: Mask = (rows != target) & ~(np.isnan(rows) & np.isnan(target))
    differs[:, list(domain.protected_places)] = False
    return differs
