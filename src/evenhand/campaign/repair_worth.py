"""What a model is worth after a repair: accuracy, individual, group and worst-case figures on data that no repair has seen."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Mask, Reals, Rows, Scores
from evenhand.contract import Medium, Method, Model, Oracle, labels_of
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.run import Plan, Subject, check_ability, run
from evenhand.errors import BudgetSpent, MethodError, MissingAbility
from evenhand.measures.group import BY_NAME, Outcomes
from evenhand.measures.group_figures import GroupSettings, figure
from evenhand.measures.groups import Grouping, grouping_of, is_continuum
from evenhand.measures.rates import judge_all
from evenhand.models.budget import Budget
from evenhand.models.meter import Meter
from evenhand.oracles.flip import LabelFlip

FEWEST_IN_GROUP = 30
"""Rows of a group from which its own figure counts."""


@dataclass(frozen=True, eq=False)
class Yardstick:
    """What judges: held-out rows, random rows, what another method found before the repair, and that method itself."""

    domain: TabularDomain
    rows: Rows
    labels: NDArray[Any]  # positions of classes, or amounts
    random: Rows
    findings: Rows
    judge: Method | None = None
    candidates: int = 5_000
    seed: int = 0
    medium: Medium | None = None  # what a row shows; None is the table itself
    oracle: Oracle = field(default_factory=LabelFlip)


def measure(model: Model, yardstick: Yardstick) -> dict[str, float]:
    """Every figure by name; NaN where it cannot be measured."""
    meter, domain = Meter(model), yardstick.domain
    scores = meter.scores(yardstick.rows)
    real = judge_all(yardstick.rows, domain, meter, yardstick.oracle)
    figures = {
        "if_o": float(real.unfair.mean()),
        "if_r": _unfair_share(yardstick.random, yardstick, meter),
        "still_found": _unfair_share(yardstick.findings, yardstick, meter),
        "found_anew": _found_anew(model, yardstick),
        "worst_gap": float(real.gap.max()),
    }
    if len(model.classes) == 1:
        return figures | amount_figures(scores[:, 0].astype(np.float64), yardstick)
    answers = labels_of(scores)
    figures |= {
        "accuracy": float((answers == yardstick.labels).mean()),
        "one_answer": float(np.bincount(answers).max() / len(answers)),
    }
    return figures | group_figures(scores, yardstick)


def amount_figures(said: Reals, yardstick: Yardstick) -> dict[str, float]:
    """How near amounts are to the true ones, in all and by group; groups that are too small are left out."""
    truth = np.asarray(yardstick.labels, dtype=np.float64)
    beyond, spread = said - truth, float(((truth - truth.mean()) ** 2).sum())
    grouping = protected_groups(yardstick.rows, yardstick.domain)
    sizes = grouping.sizes
    enough = sizes >= min(FEWEST_IN_GROUP, int(sizes.max(initial=1)))

    def means(values: Reals) -> Reals:
        inside = grouping.codes >= 0
        return (np.bincount(grouping.codes[inside], values[inside], minlength=len(sizes)) / np.maximum(sizes, 1))[enough]

    rounded = np.array([f"{amount:.9g}" for amount in said])
    return {
        "explained": 1.0 - float((beyond**2).sum()) / spread if spread > 0 else math.nan,
        "mean_error": float(np.abs(beyond).mean()),
        "worst_group_error": float(means(np.abs(beyond)).max(initial=0.0)),
        "mean_gap": float(np.ptp(means(said))) if enough.sum() > 1 else math.nan,
        "error_gap": float(np.ptp(means(beyond))) if enough.sum() > 1 else math.nan,
        "one_answer": float(np.unique(rounded, return_counts=True)[1].max() / len(said)),
    }


def _unfair_share(rows: Rows, yardstick: Yardstick, meter: Meter) -> float:
    return float(judge_all(rows, yardstick.domain, meter, yardstick.oracle).unfair.mean()) if len(rows) else math.nan


def _found_anew(model: Model, yardstick: Yardstick) -> float:
    """The judging method's success among its distinct candidates, from its first step on."""
    if yardstick.judge is None:
        return math.nan
    labels = yardstick.labels if len(model.classes) > 1 else None
    subject = Subject(yardstick.domain, model, yardstick.rows, labels, medium=yardstick.medium)
    try:
        check_ability(yardstick.judge, model)
        ledger = run(yardstick.judge, subject, Plan(yardstick.seed, Budget(candidates=yardstick.candidates), yardstick.oracle)).ledger
    except (MissingAbility, MethodError, BudgetSpent):
        return math.nan
    distinct = ledger.candidates - ledger.duplicates
    return ledger.findings / distinct if distinct else 0.0


def group_figures(scores: Scores, yardstick: Yardstick) -> dict[str, float]:
    """SPD, AOD and the accuracy of the worst group over the protected groups together; groups that are too small are left out."""
    chosen, deserved = _favourable(labels_of(scores), yardstick), _favourable(yardstick.labels, yardstick)
    outcomes = Outcomes(chosen=chosen, truth=deserved.astype(np.int8))
    grouping = protected_groups(yardstick.rows, yardstick.domain)
    rng, settings = np.random.default_rng(0), GroupSettings(smallest_gap=0.3, draws=19)  # only sizes are wanted; the test is over seeds
    found = {}
    for name, metric in (("spd", "statistical_parity"), ("aod", "average_odds")):
        made = figure(BY_NAME[metric], outcomes, grouping, settings, rng)
        found[name] = math.nan if made is None or made.size.estimate is None else made.size.estimate
    return found | {"worst_group_accuracy": _worst_accuracy(labels_of(scores) == yardstick.labels, grouping)}


def protected_groups(rows: Rows, domain: TabularDomain) -> Grouping:
    """Groups by all protected columns together; a number with many values is cut at its quartiles."""
    cut = np.array(rows)
    for name in domain.protected:
        if is_continuum(rows, domain, name):
            place = domain.place(name)
            edges = np.unique(np.nanquantile(rows[:, place], (0.25, 0.5, 0.75)))
            values = np.append(edges, np.nanmax(rows[:, place]))
            cut[:, place] = np.where(np.isnan(rows[:, place]), np.nan, values[np.searchsorted(edges, rows[:, place], side="left")])
    return grouping_of(cut, domain, domain.protected)


def _favourable(labels: Labels, yardstick: Yardstick) -> Mask:
    """Who gets an outcome that a person would hope for; the last class where none is declared."""
    label = yardstick.domain.label
    if label is None or not label.favourable:
        return np.asarray(labels == len(label.values) - 1 if label else labels == 1)
    return np.isin(labels, [label.values.index(value) for value in label.favourable])


def _worst_accuracy(right: Mask, grouping: Grouping) -> float:
    sizes = grouping.sizes
    hits = np.bincount(grouping.codes[right], minlength=len(sizes))
    enough = sizes >= min(FEWEST_IN_GROUP, int(sizes.max(initial=1)))
    return float((hits[enough] / sizes[enough]).min())
