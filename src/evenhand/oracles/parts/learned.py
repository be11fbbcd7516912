"""An oracle together with what it learned: it makes people that are not the domain's twins, and judges the answers about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from evenhand.arrays import Orbit, Rows
from evenhand.contract import Model, Verdict
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.oracles.parts.people import People, given_pairs
from evenhand.oracles.parts.tolerated import Tolerated


class Counterparts(Protocol):
    """What makes other people of rows, the same ones for the same row every time."""

    def under(self, rows: Rows, domain: TabularDomain) -> Orbit:
        """(combinations, n, columns): every row's person of every protected combination; NaN everywhere for nobody."""


@dataclass(frozen=True, repr=False)
class LearnedOracle:
    """An oracle's parameters and the people that it learned to make."""

    settings: Tolerated
    counterparts: Counterparts = field(compare=False)

    shows_pairs: ClassVar[bool] = True

    def __repr__(self) -> str:
        return repr(self.settings)

    @property
    def words(self) -> str:
        """For a sentence."""
        return self.settings.words

    def judge(self, rows: Rows, domain: TabularDomain, model: Model) -> Verdict:
        """One entry per input, over every protected combination; the row itself stands for its own."""
        return self.people(rows, domain).ask(model).judge(self.settings.apart)

    def judge_pairs(self, first: Rows, second: Rows, _domain: TabularDomain, model: Model) -> Verdict:
        """One entry per pair."""
        return given_pairs(first, second).ask(model).judge(self.settings.apart)

    def people(self, rows: Rows, domain: TabularDomain) -> People:
        """The row and its counterparts; one outside the domain does not exist."""
        own = domain.own_combination(rows)
        made = self.counterparts.under(rows, domain) if len(rows) else np.empty((len(domain.combinations), *rows.shape))
        mine = np.flatnonzero(own >= 0)
        made[own[mine], mine] = rows[mine]
        possible = domain.contains(made.reshape(-1, rows.shape[1])).reshape(made.shape[:2])
        return People(made, possible & ~np.isnan(made).all(axis=2), own, rows)

    def rows_per_candidate(self, domain: TabularDomain) -> int:
        """One row for every protected combination."""
        return len(domain.combinations)


def real_rows(rows: Rows | None, name: str, most: int, seed: Sequence[int]) -> Rows:
    """The rows to learn from, a random choice where there are more than needed."""
    if rows is None or not len(rows):
        raise InvalidArgument(f"oracle {name} learns from real rows, and there are none; give data")
    if len(rows) <= most:
        return rows
    return rows[np.sort(np.random.default_rng(seed).choice(len(rows), most, replace=False))]


def not_learned(name: str) -> InvalidArgument:
    """What is wrong when an oracle judges before it has seen real rows."""
    return InvalidArgument(f"oracle {name} has not seen real rows yet; call oracle.learned(rows, domain, model) first, as scan does")
