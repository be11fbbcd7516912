"""Which findings a model learns from, with which labels, alone or with all their twins.  Trains nothing itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Labels, Mask, Reals, Rows
from evenhand.contract import KnowsOrigins, Pairs, labels_of
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.limits import Count, SharesUpToTen, check_limits
from evenhand.models.composed import Marginalised
from evenhand.repairs.parts.case import Case
from evenhand.repairs.parts.labelling import LabelVote, fit_ensemble
from evenhand.repairs.parts.pair_selection import by_chance, k_multisection

Selection: TypeAlias = Literal["random", "km_st"]
Spread: TypeAlias = Literal["alone", "twins"]

MOST_TWINS = 16
"""Twins of one finding that are learned from at most: chosen by chance where there are more."""


@dataclass(frozen=True)
class Choice:
    """How many findings, as a share of the training rows, and how they are chosen.

    "km_st" is DeepFAIT's k-multisection: equally many from every section of the range of the score gaps.
    """

    share: SharesUpToTen = 0.3
    select: Selection = "random"
    sections: Count = 10

    def __post_init__(self) -> None:
        check_limits(self)
        if self.select not in get_args(Selection):
            raise InvalidArgument(f"select={self.select!r} must be 'random' or 'km_st'")

    def of(self, case: Case, rng: np.random.Generator) -> Index:
        """Positions among the findings; all of them where there are fewer than asked for."""
        if not len(case.findings):
            raise InvalidArgument("there are no findings to learn from; search with another method or a larger budget")
        count = min(len(case.findings), max(1, round(self.share * len(case.rows))))
        if self.select == "km_st":
            return k_multisection(case.gaps, count, self.sections, rng)
        return by_chance(case.gaps, count, rng)


@dataclass(frozen=True, eq=False)
class Lesson:
    """Rows to add to the training data, with the labels of the vote, or with amounts."""

    rows: Rows
    labels: NDArray[Any]
    people: int  # findings behind them

    def joined(self, case: Case) -> tuple[Rows, NDArray[Any]]:
        """The training data with the lesson behind it."""
        return np.concatenate([case.rows, self.rows]), np.concatenate([case.labels, self.labels])

    def facts(self, case: Case) -> dict[str, object]:
        """For the reader: how many, and how the vote went."""
        if case.is_amount:
            return {"findings_used": self.people, "rows_added": len(self.rows), "amounts": "the mean over each person's twins"}
        counts = np.bincount(self.labels, minlength=len(case.model.classes))
        by_class = {str(name): int(count) for name, count in zip(case.model.classes, counts, strict=True)}
        told: dict[str, object] = {"findings_used": self.people, "rows_added": len(self.rows), "labels_by_vote": by_class}
        if np.count_nonzero(counts) == 1:
            told["note"] = "the vote gave all of them the same label"
        return told


def lesson(case: Case, people: Rows, spread: Spread, rng: np.random.Generator, ensemble: LabelVote | None = None) -> Lesson:
    """These people, labelled by the vote, alone or as all of their possible twins; `ensemble` saves fitting the voters again.

    Amounts cannot be voted on: every person gets the mean of what the model says of its twins.
    """
    labels = _mean_amounts(case, people) if case.is_amount else _labels(case, people, rng, ensemble)
    if spread == "alone":
        return Lesson(people, labels, len(people))
    rows, person = all_twins(people, case.domain, rng)
    return Lesson(rows, labels[person], len(people))


def _mean_amounts(case: Case, people: Rows) -> Reals:
    """The mean of the model's amounts over the possible twins of each person, all alike."""
    said = Marginalised(case.model, case.domain, np.ones(len(case.domain.combinations))).scores(people)
    return said[:, 0].astype(np.float64)


def _labels(case: Case, people: Rows, rng: np.random.Generator, ensemble: LabelVote | None) -> Labels:
    """The vote's labels; a picture that was made from another has that one's label (DeepFAIT), one of its own what the model says."""
    if not isinstance(case.medium, KnowsOrigins):
        ensemble = ensemble or fit_ensemble(case.rows, case.labels, case.domain, len(case.model.classes), rng)
        return ensemble.label(people)
    known = dict(zip(case.medium.origins(case.rows).tolist(), case.labels.tolist(), strict=True))
    origins = case.medium.origins(people)
    said = labels_of(case.model.scores(people))
    return np.array([known.get(origin, own) for origin, own in zip(origins.tolist(), said.tolist(), strict=True)], dtype=np.intp)


def all_twins(people: Rows, domain: TabularDomain, rng: np.random.Generator) -> tuple[Rows, Index]:
    """Every possible twin of each person, itself included, and whose it is; a chance few where there are very many."""
    twins = domain.twins(people)
    wanted = np.array(twins.valid)
    if len(wanted) > MOST_TWINS:
        wanted &= _few(wanted, MOST_TWINS, rng)
    combination, person = np.nonzero(wanted)
    return twins.rows[combination, person], person.astype(np.intp)


def _few(valid: Mask, most: int, rng: np.random.Generator) -> Mask:
    """For every column of the mask, at most so many of its true entries."""
    rank = np.where(valid, rng.random(valid.shape), 2.0)
    limit = np.sort(rank, axis=0)[most - 1]
    few: Mask = rank <= limit
    return few


def twin_pairs(people: Rows, domain: TabularDomain, weight: float, rng: np.random.Generator) -> Pairs:
    """Every person beside possible twins with another protected value: all of them, or a chance few where there are many."""
    twins, own = domain.twins(people), domain.own_combination(people)
    wanted = twins.valid & (np.arange(len(twins.valid))[:, None] != own)
    if len(wanted) > MOST_TWINS // 4:
        wanted = wanted & _few(wanted, MOST_TWINS // 4, rng)
    combination, person = np.nonzero(wanted)
    return Pairs(people[person], twins.rows[combination, person], weight)
