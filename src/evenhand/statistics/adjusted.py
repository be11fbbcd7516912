"""Whether one group meets an event more often than the others, adjusted for what is not the group, with events that come in clusters.

A logistic regression without the groups says what is expected of each entry; a group's score is what it met beyond that, with the part
that the covariates explain of the group taken out.  Scores are summed by cluster, and only the sums count as independent.  Entries that
are repeats of one thing say less than fresh ones: each is weighted by what it adds, at the correlation that the repeats show.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals

RIDGE = 1e-3
STEPS = 30
MOST_ALIKE = 0.95


@dataclass(frozen=True, eq=False)
class ExpectedEvents:
    """A regression of events on covariates alone."""

    design: Reals  # (n, columns), the constant among them
    events: Reals
    chance: Reals  # fitted
    clusters: NDArray[np.intp]
    weight: Reals  # of each entry, 1 for one that is no repeat
    slopes: Reals  # of the design's columns


@dataclass(frozen=True)
class AdjustedGroup:
    """One group beside the others.

    observed, expected: its events.  ratio: how many times more often than others that are alike.  p_value: one-sided.
    clusters: in how many the group occurs, counted by weight.
    shift: by how many standard errors the given factor would move the score.  wider: how much more the score varies then.
    excess: by how much the ratio lies above 1 by the score alone, which is near `ratio`.  error: its standard error.
    """

    entries: int
    observed: int
    expected: float
    ratio: float
    p_value: float
    clusters: float
    shift: float
    wider: float
    excess: float = 0.0
    error: float = float("inf")

    def bounds(self, level: float) -> tuple[float, float]:
        """A lower and an upper bound of the ratio, each missed with this chance.

        The lower one is above 1 where the test finds a difference at this level, and only there.  More events vary more, so the upper
        one is taken further out.
        """
        from scipy.stats import t

        if self.clusters < 2 or not np.isfinite(self.error):
            return 0.0, float("inf")
        reach = float(t.isf(level, max(self.clusters - 1.0, 1.0))) * self.error
        spread = float(np.sqrt((1 + max(1 + self.excess, 1.0)) / 2))
        return max(0.0, 1 + self.excess - reach), max(0.0, 1 + self.excess + spread * reach)

    def with_power_of(self, other: AdjustedGroup) -> AdjustedGroup:
        """The same group, whose power is that of another test of it."""
        return replace(self, clusters=min(self.clusters, other.clusters), shift=other.shift, wider=other.wider)

    def power(self, level: float) -> float:
        """The chance with which the test, at this level, finds events that are so many times as frequent as those of the others."""
        from scipy.stats import t

        if self.clusters < 2:
            return 0.0
        freedom = max(self.clusters - 1.0, 1.0)
        return float(t.sf((t.isf(level, freedom) - self.shift) / self.wider, freedom))


def expected_events(events: Mask, design: Reals, clusters: NDArray[np.intp], things: NDArray[np.intp] | None = None) -> ExpectedEvents:
    """What the covariates alone lead to expect; `things` numbers what is repeated, nothing without."""
    outcome: Reals = events.astype(float)
    weight: Reals = np.ones(len(events))
    slopes = _fitted(outcome, design, weight)
    chance = _logistic(design @ slopes)
    if things is not None and len(events):
        alike = _correlation((outcome - chance) / np.sqrt(chance * (1 - chance)), things)
        weight = np.asarray(1.0 / (1.0 + (np.bincount(things)[things] - 1) * alike), float)
        slopes = _fitted(outcome, design, weight, slopes)
        chance = _logistic(design @ slopes)
    return ExpectedEvents(design, outcome, chance, clusters, weight, slopes)


def _correlation(residual: Reals, things: NDArray[np.intp]) -> float:
    """Of the residuals of one thing, over all pairs of its entries; 0 where nothing is repeated."""
    many, sums, squares = np.bincount(things), np.bincount(things, residual), np.bincount(things, residual**2)
    pairs = float((many * (many - 1)).sum())
    return float(np.clip((sums**2 - squares).sum() / pairs / max((residual**2).mean(), 1e-9), 0.0, MOST_ALIKE)) if pairs else 0.0


def _fitted(outcome: Reals, design: Reals, weight: Reals, start: Reals | None = None) -> Reals:
    """By Newton's method with a little ridge, so that a rare bin cannot run away; from a solution nearby where there is one."""
    found = np.zeros(design.shape[1]) if start is None else np.array(start)
    penalty = RIDGE * len(outcome) * np.r_[0.0, np.ones(design.shape[1] - 1)] / 10
    if start is None:
        share = np.clip(np.average(outcome, weights=weight) if len(outcome) else 0.5, 1e-4, 1 - 1e-4)
        found[0] = np.log(share / (1 - share))
    for _ in range(STEPS):
        chance = _logistic(design @ found)
        slope = design.T @ (weight * (outcome - chance)) - penalty * found
        bend = (design * (weight * chance * (1 - chance))[:, None]).T @ design + np.diag(penalty + 1e-9)
        step = np.linalg.solve(bend, slope)
        found += np.clip(step, -3.0, 3.0)
        if np.abs(step).max() < 1e-4:
            break
    return found


def _logistic(value: Reals) -> Reals:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(value, -30, 30))))


def adjusted_group(fit: ExpectedEvents, group: Mask, factor: float = 2.0) -> AdjustedGroup:
    """The score test of one group with a variance by clusters."""
    from scipy.stats import t

    vary = fit.chance * (1 - fit.chance)
    own = _beyond(group.astype(float), fit.design, fit.weight * vary)
    sums = np.bincount(fit.clusters, fit.weight * (fit.events - fit.chance) * own)
    told = np.bincount(fit.clusters, fit.weight * vary * own**2).astype(float)
    count = _effective(np.bincount(fit.clusters[group], (fit.weight * vary * own**2)[group]).astype(float))
    # Each cluster's sum is compared with what all others lead to expect of it (a jackknife), so that a true difference does not count as
    # spread, and one large cluster cannot vouch for itself.
    share = np.minimum(told / max(told.sum(), 1e-12), 0.5)
    spread = ((sums - sums.sum() * share) / (1 - share)) ** 2
    least = float((fit.weight**2 * vary * own**2).sum())
    error = float(np.sqrt(max(float(spread.sum()), least)))
    chance = _by_others(fit, group)
    observed, expected = float(fit.events[group].sum()), float(chance[group].sum())
    is_told = count >= 2 and error > 0
    p_value = float(t.sf(sums.sum() / error, max(count - 1.0, 1.0))) if is_told else 1.0
    unit = float((fit.weight * chance * own)[group].sum())  # what a ratio that is higher by 1 adds to the score
    ratio = observed / expected if expected else float("nan")
    wider = float(np.sqrt((1 + factor) / 2))  # more events vary more
    shift = (factor - 1) * unit / error if is_told else 0.0
    by_score = (float(sums.sum()) / unit, error / unit) if is_told and unit > 0 else (0.0, float("inf"))
    return AdjustedGroup(int(group.sum()), int(observed), expected, ratio, p_value, count, shift, wider, *by_score)


def _by_others(fit: ExpectedEvents, group: Mask) -> Reals:
    """The chance of each entry if its group were treated as the others are."""
    found = _fitted(fit.events, np.hstack([fit.design, group.astype(float)[:, None]]), fit.weight, np.r_[fit.slopes, 0.0])
    return _logistic(fit.design @ found[:-1])


def _beyond(values: Reals, design: Reals, weight: Reals) -> Reals:
    """What the covariates do not explain of the values, by weighted least squares."""
    root = np.sqrt(weight)[:, None]
    bend = (design * root).T @ (design * root) + 1e-8 * np.eye(design.shape[1])
    return np.asarray(values - design @ np.linalg.solve(bend, design.T @ (weight * values)))


def _effective(weights: Reals) -> float:
    """How many equal clusters would say as much."""
    return float(weights.sum() ** 2 / (weights**2).sum()) if weights.any() else 0.0


def bent(values: Reals, bends: int = 3) -> Reals:
    """Columns of a broken line with this many bends, at equal shares of the values; constant columns are left out."""
    spread = values.std()
    if not spread > 1e-9:
        return np.zeros((len(values), 0))
    scaled = (values - values.mean()) / spread
    knots = np.unique(np.quantile(scaled, np.linspace(0, 1, bends + 2)[1:-1]))
    columns = np.column_stack([scaled, *(np.maximum(scaled - knot, 0.0) for knot in knots)])
    return columns[:, columns.std(axis=0) > 1e-6]
