"""Whether one group meets an event more often than the others, adjusted for what is not the group, with events that come in clusters.

A logistic regression without the groups says what is expected of each entry; a group's score is what it met beyond that, with the part
that the covariates explain of the group taken out.  Scores are summed by cluster, and only the sums count as independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals

RIDGE = 1e-3
STEPS = 30


@dataclass(frozen=True, eq=False)
class ExpectedEvents:
    """A regression of events on covariates alone."""

    design: Reals  # (n, columns), the constant among them
    events: Reals
    chance: Reals  # fitted
    clusters: NDArray[np.intp]


@dataclass(frozen=True)
class AdjustedGroup:
    """One group beside the others.

    observed, expected: its events.  ratio: how many times more often than others that are alike.  p_value: one-sided.
    power: the chance with which this test, at the given level, finds events that are so many times as frequent as those of the others.
    clusters: in how many the group occurs, counted by weight.
    """

    entries: int
    observed: int
    expected: float
    ratio: float
    p_value: float
    power: float
    clusters: float


def expected_events(events: Mask, design: Reals, clusters: NDArray[np.intp]) -> ExpectedEvents:
    """What the covariates alone lead to expect."""
    outcome = events.astype(float)
    return ExpectedEvents(design, outcome, _logistic(design @ _fitted(outcome, design)), clusters)


def _fitted(outcome: Reals, design: Reals) -> Reals:
    """By Newton's method with a little ridge, so that a rare bin cannot run away."""
    weights = np.zeros(design.shape[1])
    penalty = RIDGE * len(outcome) * np.r_[0.0, np.ones(design.shape[1] - 1)] / 10
    share = np.clip(outcome.mean() if len(outcome) else 0.5, 1e-4, 1 - 1e-4)
    weights[0] = np.log(share / (1 - share))
    for _ in range(STEPS):
        chance = _logistic(design @ weights)
        slope = design.T @ (outcome - chance) - penalty * weights
        bend = (design * (chance * (1 - chance))[:, None]).T @ design + np.diag(penalty + 1e-9)
        step = np.linalg.solve(bend, slope)
        weights += np.clip(step, -3.0, 3.0)
        if np.abs(step).max() < 1e-4:
            break
    return weights


def _logistic(value: Reals) -> Reals:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(value, -30, 30))))


def adjusted_group(fit: ExpectedEvents, group: Mask, level: float, factor: float = 2.0) -> AdjustedGroup:
    """The score test of one group with a variance by clusters; `level` is for the power only."""
    from scipy.stats import t

    weight = fit.chance * (1 - fit.chance)
    own = _beyond(group.astype(float), fit.design, weight)
    sums = np.bincount(fit.clusters, (fit.events - fit.chance) * own)
    count = _effective(np.bincount(fit.clusters, weight * own**2).astype(float))
    spread = float(np.sqrt(max((sums**2).sum(), (weight * own**2).sum()) * count / max(count - 1.0, 1e-9)))
    chance = _by_others(fit, group)
    observed, expected, freedom = float(fit.events[group].sum()), float(chance[group].sum()), max(count - 1.0, 1.0)
    p_value = float(t.sf(sums.sum() / spread, freedom)) if count >= 2 and spread > 0 else 1.0
    shift = (factor - 1) * float((chance * own)[group].sum())  # what such a difference adds to the score
    wider = spread * np.sqrt((1 + factor) / 2)  # more events vary more
    power = float(t.sf(t.isf(level, freedom) - shift / wider, freedom)) if count >= 2 and spread > 0 else 0.0
    return AdjustedGroup(
        int(group.sum()), int(observed), expected, observed / expected if expected else float("nan"), p_value, power, count
    )


def _by_others(fit: ExpectedEvents, group: Mask) -> Reals:
    """The chance of each entry if its group were treated as the others are."""
    weights = _fitted(fit.events, np.hstack([fit.design, group.astype(float)[:, None]]))
    return _logistic(fit.design @ weights[:-1])


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
