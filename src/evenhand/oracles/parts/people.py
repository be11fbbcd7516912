"""The people that a candidate is compared with, what the model says about them, and the pair that shows a difference best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Orbit, Reals, Rows, Scores
from evenhand.contract import Model, ShownPairs, Verdict, labels_of
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument

IMPOSSIBLE = -1
"""The label of a person who cannot exist, or about whom nobody was asked."""


class Apart(Protocol):
    """When two numbers that a model answered are too far apart."""

    def exceeds(self, high: Reals, low: Reals) -> Mask:
        """Which pairs are."""


@dataclass(frozen=True)
class Tolerance:
    """Further apart than an amount, and further than a share of the larger of the two."""

    amount: float = 0.0
    share: float = 0.0

    def exceeds(self, high: Reals, low: Reals) -> Mask:
        """Which pairs exceed both."""
        larger = np.maximum(np.abs(high), np.abs(low))
        # Equal amounts that were computed in another order differ by a few units in the last place.
        limit = np.maximum(np.maximum(self.amount, self.share * larger), 1e-12 * larger)
        return np.asarray(high - low > limit)


@dataclass(frozen=True)
class People:
    """Every candidate's people, the candidate among them where it is one of those compared."""

    rows: Orbit  # (people, n, columns)
    possible: Mask  # (people, n)
    own: Index  # (n,): which of them is the candidate itself, -1 for none
    origin: Rows  # (n, columns): the candidates

    def ask(self, model: Model) -> Answers:
        """What the model says about all of them in one go; in place of an impossible person the candidate is asked again."""
        count, n, width = self.rows.shape
        asked = self.rows if self.possible.all() else np.where(self.possible[:, :, None], self.rows, self.origin[None])
        scores = model.scores(np.ascontiguousarray(asked).reshape(count * n, width)) if n else np.empty((0, len(model.classes)))
        labels = labels_of(scores).astype(np.int16).reshape(count, n)
        labels[~self.possible] = IMPOSSIBLE
        return Answers(self, scores.reshape(count, n, scores.shape[1]), labels)


@dataclass(frozen=True)
class Answers:
    """What the model said about people."""

    people: People
    scores: Scores  # (people, n, outputs)
    labels: NDArray[np.int16]  # (people, n), -1 for impossible ones

    def judge(self, apart: Apart | None) -> Verdict:
        """Unfair where labels differ, or with `apart` where numbers do; the labels of the verdict are (n, people)."""
        watched = self.scores[:, :, 1:] if self.scores.shape[2] == 2 else self.scores
        values, gap = _widest(watched, self.people.possible)
        if apart is None:
            unfair = labels_differ(self.labels.T)
            first, second = self._by_label(unfair)
        else:
            high, low = _extremes(values, self.people.possible)
            line = np.arange(values.shape[1])
            unfair = apart.exceeds(values[high, line], values[low, line]) & self.people.possible.any(axis=0)
            first, second = self._by_number(values[:, unfair], unfair, apart)
        pairs = self._pairs(unfair, first, second, None if apart is None else values[:, unfair])
        return Verdict(unfair, gap, self.labels.T, pairs)

    def furthest(self) -> ShownPairs:
        """Of every candidate the two people whose numbers are furthest apart, the higher one first."""
        watched = self.scores[:, :, 1:] if self.scores.shape[2] == 2 else self.scores
        values, _ = _widest(watched, self.people.possible)
        high, low = _extremes(values, self.people.possible)
        return self._pairs(np.ones(values.shape[1], dtype=bool), high, low, values)

    def _pairs(self, unfair: Mask, first: Index, second: Index, values: Reals | None) -> ShownPairs:
        chosen, line = np.flatnonzero(unfair), np.arange(len(first))
        labels = np.stack([self.labels[which, chosen] for which in (first, second)], axis=1)
        answers = np.full((len(first), 2), np.nan) if values is None else np.stack([values[first, line], values[second, line]], axis=1)
        return ShownPairs(self.people.rows[first, chosen], self.people.rows[second, chosen], labels, answers.astype(np.float64))

    def _by_label(self, unfair: Mask) -> tuple[Index, Index]:
        """The candidate itself where it is possible, and the first one with another label."""
        labels, possible, line = self.labels[:, unfair], self.people.possible[:, unfair], np.arange(int(unfair.sum()))
        first = self._own(unfair, possible)
        other = possible & (labels != labels[first, line])
        return first, np.argmax(other, axis=0)

    def _by_number(self, values: Reals, unfair: Mask, apart: Apart) -> tuple[Index, Index]:
        """The candidate itself and whoever is furthest from it, where that is too far; else the two extremes."""
        possible, line = self.people.possible[:, unfair], np.arange(values.shape[1])
        high, low = _extremes(values, possible)
        own = self._own(unfair, possible)
        far = np.argmax(np.where(possible, np.abs(values - values[own, line]), -1.0), axis=0)
        mine, theirs = values[own, line], values[far, line]
        is_shown = apart.exceeds(np.maximum(mine, theirs), np.minimum(mine, theirs))
        return np.where(is_shown, own, low), np.where(is_shown, far, high)

    def _own(self, unfair: Mask, possible: Mask) -> Index:
        own = self.people.own[unfair]
        is_there = (own >= 0) & possible[own, np.arange(len(own))]
        return np.where(is_there, own, np.argmax(possible, axis=0)).astype(np.intp)


def twins_of(rows: Rows, domain: TabularDomain) -> People:
    """The domain's twins: every row under every protected combination."""
    twins = domain.twins(rows)
    return People(twins.rows, twins.valid, domain.own_combination(rows), rows)


def given_pairs(first: Rows, second: Rows) -> People:
    """Two people each, whatever makes them a pair."""
    return People(np.stack([first, second]), np.ones((2, len(first)), dtype=bool), np.zeros(len(first), dtype=np.intp), first)


def check_labels(model: Model, oracle: str, cure: str) -> None:
    """Raise for a regression, whose labels never differ."""
    if len(model.classes) == 1:
        raise InvalidArgument(f"oracle {oracle} compares labels, but this model answers amounts; {cure}")


def labels_differ(labels: NDArray[np.int16]) -> Mask:
    """Which inputs have two possible people with different labels; `labels` is (n, people)."""
    possible = labels != IMPOSSIBLE
    if possible.all():
        # With two people, which is the usual case, one comparison of two columns: a reduction over so short an axis is all overhead.
        flips: Mask = labels[:, 0] != labels[:, 1] if labels.shape[1] == 2 else (labels != labels[:, :1]).any(axis=1)
        return flips
    highest = np.where(possible, labels, np.iinfo(np.int16).min).max(axis=1)
    lowest = np.where(possible, labels, np.iinfo(np.int16).max).min(axis=1)
    apart: Mask = highest > lowest
    return apart


def score_gap(scores: Scores, possible: Mask | None) -> Reals:
    """The largest difference of any class's score between two possible people, (n,); `scores` is (people, n, outputs)."""
    watched = scores[:, :, 1:] if scores.shape[2] == 2 else scores
    if possible is None:
        spread = watched.max(axis=0) - watched.min(axis=0)
    else:
        high = np.where(possible[:, :, None], watched, -np.inf).max(axis=0)
        low = np.where(possible[:, :, None], watched, np.inf).min(axis=0)
        spread = np.maximum(high - low, 0.0)
    largest: Reals = spread[:, 0] if spread.shape[1] == 1 else spread.max(axis=1)
    return largest


def _widest(watched: Scores, possible: Mask) -> tuple[Reals, Reals]:
    """For every candidate the output whose values spread widest, (people, n), and that spread, (n,)."""
    high = np.where(possible[:, :, None], watched, -np.inf).max(axis=0)
    low = np.where(possible[:, :, None], watched, np.inf).min(axis=0)
    spread = np.maximum(high - low, 0.0)
    output = spread.argmax(axis=1)
    line = np.arange(spread.shape[0])
    values, widest = watched[:, line, output].astype(np.float64), spread[line, output].astype(np.float64)
    return values, widest


def _extremes(values: Reals, possible: Mask) -> tuple[Index, Index]:
    """Who has the largest and who the smallest value."""
    return np.where(possible, values, -np.inf).argmax(axis=0), np.where(possible, values, np.inf).argmin(axis=0)
