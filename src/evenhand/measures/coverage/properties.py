"""The three properties of AITEST (Algorithm 3) on realistic rows: robustness, group fairness, individual fairness, and accuracy.

`measure --study` makes them: prominent_changes, independent_groups, accuracy; individual fairness is the oracle flip.
Each takes rows that any synthesiser drew: from data constraints only, under a user's wishes, or spread over a surrogate's paths.
RS and SS are the paper's scores: shares of *failing* tests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from evenhand.arrays import Index, Labels, Mask, Reals, Rows
from evenhand.contract import Model, labels_of
from evenhand.domain.constraints import compile_constraint
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import DomainError, InvalidArgument
from evenhand.measures.coverage.lime import Lime, top_columns
from evenhand.measures.coverage.neighbourhood import neighbours
from evenhand.statistics.intervals import Interval, clopper_pearson

_RESAMPLES = 2_000


@dataclass(frozen=True)
class Perturbation:
    """Which cells are changed around a row, and how far."""

    share: float = 0.5  # of the columns, by LIME
    reach: float = 3.0  # of numbers
    lime_rows: int = 1_000
    probes: int = 2  # of every number, and all values of a category, so that no column is passed over that matters: LIME looks at quartiles
    data: Rows | None = field(default=None, compare=False)  # what LIME's rows are drawn from; None: the tested rows


@dataclass(frozen=True)
class Robustness:
    """How many rows have a neighbour with another label."""

    score: Interval  # RS: the share of failing rows
    failing: Mask  # (rows,)
    neighbours: int
    failing_neighbours: int


def robustness(model: Model, rows: Rows, domain: TabularDomain, rng: np.random.Generator, how: Perturbation | None = None) -> Robustness:
    """Perturb every row as individual fairness does, and see whether the label holds."""
    how = how or Perturbation()
    labels = labels_of(model.scores(rows))
    lime = Lime.prepare(rows if how.data is None else how.data, how.lime_rows, domain, rng)
    lime = lime.answered(model.scores(lime.rows))
    probed = _probed(model, rows, labels, domain, how)
    prominence = _largest_one(lime.weights(rows, labels)) + 2 * _largest_one(probed) + 3 * (probed > 1)
    chosen = top_columns(prominence, how.share, np.zeros(len(domain.columns), dtype=bool))
    around = neighbours(rows, chosen, domain, how.reach)
    changed = labels_of(model.scores(around.rows)) != labels[around.origin] if len(around.rows) else np.zeros(0, dtype=bool)
    failing = np.zeros(len(rows), dtype=bool)
    failing[around.origin[changed]] = True
    score = clopper_pearson(int(failing.sum()), len(rows))
    return Robustness(score, failing, len(around.rows), int(changed.sum()))


def _largest_one(weights: Rows) -> Rows:
    """Sizes of weights, every row's largest being 1."""
    size = np.abs(weights)
    return np.asarray(size / np.maximum(size.max(axis=1, keepdims=True), 1e-12))


def _probed(model: Model, rows: Rows, labels: Labels, domain: TabularDomain, how: Perturbation) -> Rows:
    """How far the score of a row's label moves, at most, when one cell takes a neighbouring value: (rows, columns); more if it changes."""
    moved = np.zeros(rows.shape)
    own = np.take_along_axis(model.scores(rows), labels[:, None], axis=1)[:, 0]
    for at in range(rows.shape[1]) if how.probes else ():
        around = neighbours(rows, np.arange(rows.shape[1]) == np.full((len(rows), 1), at), domain, how.reach)
        few = np.arange(len(around.rows)) if domain.columns[at].is_listed else _outermost(around.origin, how.probes)
        if few.size:
            origin, scores = around.origin[few], model.scores(around.rows[few])
            change = np.abs(np.take_along_axis(scores, labels[origin][:, None], axis=1)[:, 0] - own[origin])
            np.maximum.at(moved[:, at], origin, change + (labels_of(scores) != labels[origin]))
    return moved


def _outermost(origin: Index, probes: int) -> Index:
    """The outermost neighbours of every row, which lie together in ascending order."""
    step, first = np.arange(len(origin)), np.searchsorted(origin, origin)
    last = np.searchsorted(origin, origin, side="right") - 1
    return np.flatnonzero(2 * np.minimum(step - first, last - step) < probes)


@dataclass(frozen=True)
class IndividualFairness:
    """How many rows get another label under another protected value."""

    score: Interval  # SS: the share of failing rows
    failing: Mask


def individual_fairness(model: Model, rows: Rows, domain: TabularDomain) -> IndividualFairness:
    """Every row under every compared protected combination that the constraints allow."""
    twins = domain.twins(rows)
    combinations, n = twins.rows.shape[:2]
    labels = labels_of(model.scores(twins.rows.reshape(combinations * n, -1))).reshape(combinations, n)
    own = labels_of(model.scores(rows))
    failing = ((labels != own[None]) & twins.valid).any(axis=0)
    return IndividualFairness(clopper_pearson(int(failing.sum()), n), failing)


@dataclass(frozen=True)
class Estimate:
    """A measured figure with the interval of a bootstrap over each group's favourable share."""

    value: float
    low: float
    high: float


def success_score(model: Model, seeds: Rows, domain: TabularDomain, rng: np.random.Generator, how: Perturbation | None = None) -> Interval:
    """The paper's SS: the share of failing tests among the seeds and the neighbours of those that failed, by their prominent cells."""
    how = how or Perturbation()
    unfair = seeds[individual_fairness(model, seeds, domain).failing]
    if not len(unfair):
        return clopper_pearson(0, len(seeds))
    barred = np.isin(np.arange(seeds.shape[1]), domain.protected_places)
    lime = Lime.prepare(seeds if how.data is None else how.data, how.lime_rows, domain, rng)
    lime = lime.answered(model.scores(lime.rows))
    chosen = top_columns(lime.weights(unfair, labels_of(model.scores(unfair))), how.share, barred)
    around = neighbours(unfair, chosen, domain, how.reach).rows
    further = int(individual_fairness(model, around, domain).failing.sum()) if len(around) else 0
    return clopper_pearson(len(unfair) + further, len(seeds) + len(around))


@dataclass(frozen=True)
class GroupFairness:
    """Favourable shares by group, and what Fairlearn makes of them."""

    shares: dict[str, Interval]
    disparate_impact: Estimate  # unprivileged over privileged
    parity_difference: Estimate
    parity_ratio: Estimate
    equalized_odds_difference: float | None  # where a labeller exists

    @property
    def uncovers_bias(self) -> bool:
        """The four-fifths rule of the paper."""
        return self.disparate_impact.value < 0.8


@dataclass(frozen=True)
class Reference:
    """What groups are compared with: a group's name (None: the one with the largest share), and true labels where they are known."""

    privileged: str | None = None
    truth: Labels | None = field(default=None, compare=False)


def group_fairness(
    model: Model, rows: Rows, domain: TabularDomain, rng: np.random.Generator, reference: Reference | None = None
) -> GroupFairness:
    """Favourable shares of the protected groups, and their ratios and differences with intervals."""
    privileged, truth = (reference.privileged, reference.truth) if reference is not None else (None, None)
    favoured, groups, names = _favoured(model, rows, domain), domain.own_combination(rows), _group_names(domain)
    present = [group for group in range(len(names)) if (groups == group).any()]
    if len(present) < 2:
        raise InvalidArgument(f"group fairness needs rows of at least two groups, got {[names[g] for g in present]}")
    if privileged is not None and privileged not in [names[g] for g in present]:
        raise InvalidArgument(f"privileged={privileged!r} must be one of {[names[g] for g in present]}")
    counts = np.array([(groups == group).sum() for group in present])
    hits = np.array([int(favoured[groups == group].sum()) for group in present])
    at = int(np.argmax(hits / counts)) if privileged is None else [names[g] for g in present].index(privileged)
    odds = None if truth is None else _equalized_odds(favoured, truth, groups, domain)
    drawn = rng.binomial(counts, hits / counts, (_RESAMPLES, len(counts))) / counts
    shares = {names[g]: clopper_pearson(int(h), int(c)) for g, h, c in zip(present, hits, counts, strict=True)}
    return GroupFairness(
        shares,
        _estimate(hits / counts, drawn, lambda s: _impact(s, at)),
        _estimate(hits / counts, drawn, lambda s: s.max(axis=1) - s.min(axis=1)),
        _estimate(hits / counts, drawn, lambda s: _ratio(s.min(axis=1), s.max(axis=1))),
        odds,
    )


def privileged_fairness(model: Model, rows: Rows, domain: TabularDomain, rng: np.random.Generator, rule: str) -> GroupFairness:
    """The same for two groups: whoever keeps a rule of the language, such as `sex == 'Male' and age >= 25`, and everybody else."""
    favoured, privileged = _favoured(model, rows, domain), compile_constraint(rule, domain.columns).holds(rows)
    counts = np.array([(privileged == side).sum() for side in (True, False)])
    if not counts.all():
        raise InvalidArgument(f"privileged={rule!r} must hold for some people and not for others; it holds for {counts[0]} of {len(rows)}")
    hits = np.array([int(favoured[privileged == side].sum()) for side in (True, False)])
    drawn = rng.binomial(counts, hits / counts, (_RESAMPLES, 2)) / counts
    shares = {name: clopper_pearson(int(h), int(c)) for name, h, c in zip((rule, f"not ({rule})"), hits, counts, strict=True)}
    return GroupFairness(
        shares,
        _estimate(hits / counts, drawn, lambda s: _impact(s, 0)),
        _estimate(hits / counts, drawn, lambda s: s.max(axis=1) - s.min(axis=1)),
        _estimate(hits / counts, drawn, lambda s: _ratio(s.min(axis=1), s.max(axis=1))),
        None,
    )


def _impact(shares: Rows, privileged: int) -> Reals:
    """The smallest ratio of another group's share to the privileged one's."""
    others = np.delete(shares, privileged, axis=1).min(axis=1)
    return _ratio(others, shares[:, privileged])


def _ratio(part: Reals, whole: Reals) -> Reals:
    """1 where nobody of either group is favoured, infinite where only the first is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > 0, part / whole, np.where(part > 0, np.inf, 1.0))


def _estimate(shares: Reals, drawn: Rows, measure: Callable[[Rows], Reals]) -> Estimate:
    low, high = np.quantile(measure(drawn), [0.025, 0.975], method="nearest")
    return Estimate(float(measure(shares[None])[0]), float(low), float(high))


def _favoured(model: Model, rows: Rows, domain: TabularDomain) -> Mask:
    if domain.label is None:
        raise DomainError("group fairness needs a label with favourable values (label: {column: ..., favourable: ...})")
    favourable = [place for place, value in enumerate(model.classes) if value in domain.label.favourable]
    return np.isin(labels_of(model.scores(rows)), favourable)


def _group_names(domain: TabularDomain) -> list[str]:
    from evenhand.domain.tabular import describe_combination

    return [", ".join(str(value) for value in describe_combination(domain, at).values()) for at in range(len(domain.combinations))]


def _equalized_odds(favoured: Mask, truth: Labels, groups: Labels, domain: TabularDomain) -> float:
    from fairlearn.metrics import equalized_odds_difference

    assert domain.label is not None
    good = [place for place, value in enumerate(domain.label.values) if value in domain.label.favourable]
    known = groups >= 0
    real = np.isin(truth, good)[known]
    return float(equalized_odds_difference(real, favoured[known], sensitive_features=groups[known]))


def accuracy(model: Model, rows: Rows, labeller: Callable[[Rows], Labels]) -> Interval:
    """How often the model agrees with a labeller, on rows that nobody has labelled by hand."""
    right = labels_of(model.scores(rows)) == labeller(rows)
    return clopper_pearson(int(right.sum()), len(rows))
