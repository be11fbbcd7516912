"""How severe unfair treatment is, and what shape it has: gaps, how many outcomes one person can get, columns that only count together.

Told of a judged sample, and so of the population that it was drawn from; the rate itself is told elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.contract import Verdict
from evenhand.domain.tabular import TabularDomain
from evenhand.statistics.intervals import Interval, clopper_pearson

FEWEST = 20
"""Of fewer affected people no quantile is told, nor where no two values surely lie on either side of it."""
SEVERE = 0.95
"""The gap that the most severe twentieth of the affected people has at least."""


@dataclass(frozen=True)
class Severity:
    """How severe it is among the people of one sample.

    widest: the widest gap between the answers of two twins.  wider_at_most: with the stated confidence, no larger share of the population
    has a wider one; 0 where every row was asked.
    middle, severe: gaps that half of the affected people and one in twenty have at least, with bounds; None where too few are affected.
    outcomes: how many affected people get so many different outcomes over the protected values.
    together: the share of the affected people whom no single protected column changes but several at once do, by which columns these
    are; None where only one column is protected.
    """

    population: str
    judged: int
    affected: int
    widest: float
    wider_at_most: float
    middle: Interval | None
    severe: Interval | None
    outcomes: Mapping[int, int]
    together: Interval | None = None
    columns: Mapping[str, int] = field(default_factory=dict)

    @property
    def sentences(self) -> list[str]:
        """For a reader; none where nobody is affected."""
        if not self.affected:
            return []
        told = [] if self.is_of_labels else [self._gaps()]
        if len(self.outcomes) > 1 or max(self.outcomes, default=2) > 2:
            parts = [f"{count:,} get {number}" for number, count in sorted(self.outcomes.items())]
            told.append(f"Different outcomes over the protected values: {', '.join(parts)}")
        if self.together is not None and self.columns:
            which = ", ".join(f"{name} ({count:,} of them)" for name, count in list(self.columns.items())[:3])
            share = f"{self.together.estimate:.1%} of those affected ({self.together.low:.1%} to {self.together.high:.1%})"
            told.append(f"For {share} no protected column makes a difference by itself, only several together: {which}")
        return told

    @property
    def is_of_labels(self) -> bool:
        """Whether every gap is that of two labels without scores, which says nothing about how severe it is."""
        return self.widest == 1.0 and self.middle is not None and self.middle.low == 1.0

    def _gaps(self) -> str:
        widest = f"the widest gap between two twins is {self.widest:.3g}"
        sure = (
            f"; at most {self.wider_at_most:.2%} of the population has a wider one" if self.wider_at_most else ", and every row was asked"
        )
        parts = [
            f"{who} {see} answers at least {gap.estimate:.3g} apart ({gap.low:.3g} to {gap.high:.3g})"
            for who, see, gap in (("half of them", "see", self.middle), ("one in twenty", "sees", self.severe))
            if gap is not None
        ]
        among = f"Severity among the {self.affected:,} affected: "
        return f"{among}{' and '.join(parts)}; {widest}{sure}" if parts else f"{among}{widest}{sure}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "outcomes": {str(number): count for number, count in self.outcomes.items()}, "sentences": self.sentences}


@dataclass(frozen=True)
class SeveritySample:
    """Judged rows, of which population they are, and whether they are all of it."""

    rows: Rows
    verdict: Verdict
    population: str
    is_whole: bool = False


def severity(sample: SeveritySample, domain: TabularDomain, confidence: float = 0.95) -> Severity:
    """How severe it is among these people.

    >>> from evenhand.planted import shapes
    >>> from evenhand.oracles.flip import LabelFlip
    >>> planted = shapes()["wide_band"]
    >>> rows = planted.domain.sample(500, np.random.default_rng(0))
    >>> told = severity(SeveritySample(rows, LabelFlip().judge(rows, planted.domain, planted.model), "domain"), planted.domain)
    >>> told.affected > 20 and set(told.outcomes) == {2}
    True
    """
    verdict, n = sample.verdict, len(sample.rows)
    unfair = np.flatnonzero(verdict.unfair)
    gaps, labels = verdict.gap[unfair], np.asarray(verdict.labels)[unfair]
    named = _named_together(sample.rows[unfair], labels, domain) if len(domain.protected) > 1 else None
    return Severity(
        population=sample.population,
        judged=n,
        affected=len(unfair),
        widest=float(np.max(verdict.gap, initial=0.0)),
        wider_at_most=0.0 if sample.is_whole or not n else 1.0 - (1.0 - confidence) ** (1.0 / n),
        middle=quantile_interval(gaps, 0.5, confidence),
        severe=quantile_interval(gaps, SEVERE, confidence),
        outcomes=dict(sorted(Counter(_outcomes(labels).tolist()).items())),
        together=None if named is None or not len(unfair) else clopper_pearson(sum(named.values()), len(unfair), confidence),
        columns={} if named is None else dict(named.most_common()),
    )


def quantile_interval(values: Reals, share: float, confidence: float) -> Interval | None:
    """A quantile with bounds that hold whatever the distribution is: two of the sorted values; None of too few."""
    from scipy.stats import binom

    n = len(values)
    if n < FEWEST:
        return None
    ordered, tail = np.sort(values), (1.0 - confidence) / 2.0
    low, high = int(binom.ppf(tail, n, share)) - 1, int(binom.ppf(1.0 - tail, n, share))
    if low < 0 or high >= n:  # no value is surely on that side of it
        return None
    return Interval(float(np.quantile(ordered, share)), float(ordered[low]), float(ordered[high]), n, confidence)


def _outcomes(labels: NDArray[np.int16]) -> Index:
    """How many different labels every row has among its possible twins."""
    ordered = np.sort(labels, axis=1)
    if not ordered.size:
        return np.empty(0, dtype=np.intp)
    starts = np.diff(ordered, axis=1, prepend=-1) > 0  # an impossible twin has -1, which starts nothing
    counted: Index = starts.sum(axis=1)
    return counted


def _named_together(rows: Rows, labels: NDArray[np.int16], domain: TabularDomain) -> Counter[str]:
    """People whom no single protected column changes, by the fewest columns that do so together."""
    own = domain.own_combination(rows)
    known = np.flatnonzero((own >= 0) & (labels[np.arange(len(rows)), own] >= 0))
    own, labels = own[known], labels[known]
    apart = domain.combinations[:, None, :] != domain.combinations[None, :, :]  # (combinations, combinations, columns)
    steps: Index = apart.sum(axis=2)[own]
    flips: Mask = (labels != labels[np.arange(len(own)), own][:, None]) & (labels >= 0)
    fewest = np.where(flips, steps, steps.max(initial=0) + 1).min(axis=1, initial=apart.shape[2] + 1)
    only = np.flatnonzero((fewest > 1) & flips.any(axis=1))
    found: Counter[str] = Counter()
    for row in only.tolist():
        first = int(np.flatnonzero(flips[row] & (steps[row] == fewest[row]))[0])
        changed = apart[own[row], first]
        found[" and ".join(name for name, differs in zip(domain.protected, changed, strict=True) if differs)] += 1
    return found
