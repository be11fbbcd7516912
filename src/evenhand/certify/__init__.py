"""Exact answers: the share of discriminatory inputs of a whole domain, or bounds on it that tighten while they are computed.

`certify(model, domain)` reads the trees of an ensemble or the weights of a ReLU network, so nothing is left to chance: no input of
the domain outside the bounds is missed.  A model that it cannot read exactly is refused with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.arrays import Mask, Rows
from evenhand.certify.result import Certificate
from evenhand.certify.search import Limits, Outcome, Progress, search
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, ModelError
from evenhand.metrics.individual import discrimination_rate, judge_all, uniform_sample
from evenhand.models.abilities import Model
from evenhand.models.meter import Meter
from evenhand.oracles.individual import LabelFlip

__all__ = ["Certificate", "Limits", "certify"]

SAMPLE_SEED = 20_240_229
SAMPLE_CONFIDENCE = 0.9999


def certify(
    model: Model,
    domain: TabularDomain,
    *,
    protected: Sequence[str] | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
    sample_rows: int = 4_096,
) -> Certificate:
    """Bound the share of the domain's inputs whose label depends on the protected columns, exactly where time allows.

    model: a wrapped tree ensemble (scikit-learn, XGBoost, LightGBM; also behind encoders that treat each column by itself) or ReLU net.
    limits: when to stop; an interruption (Ctrl-C) returns the bounds so far.  progress: called with every step.
    sample_rows: random rows that the model is asked about as an independent check; bounds that contradict them raise a ModelError.
    """
    begun = time.process_time()
    model = model.model if isinstance(model, Meter) else model
    domain = domain.protect(*protected) if protected is not None else domain
    _check(model, domain)
    judge, kind, facts = _judge(model, domain)
    outcome = search(judge, limits or Limits(), progress)
    facts |= {"asked_of_the_model": judge.asked} if judge.asked else {}
    return _certificate(model, domain, (outcome, judge), (kind, facts), (begun, sample_rows))


def _judge(model: Model, domain: TabularDomain) -> tuple[Any, str, dict[str, Any]]:
    from evenhand.certify.front import front_of
    from evenhand.certify.grid import grid_of
    from evenhand.certify.judging import TreeJudge
    from evenhand.certify.orbits import orbits_of

    front = front_of(model)
    grid = grid_of(front, domain)
    orbits = orbits_of(front.source.ensemble, grid)
    facts = {"trees": len(front.source.ensemble.trees), "cells": grid.cells, "twins_told_apart": grid.combinations}
    return TreeJudge(orbits, grid, _asking(model, domain)), front.source.ensemble.kind, facts


def _asking(model: Model, domain: TabularDomain) -> Any:
    def flips(rows: Rows) -> Mask:
        return judge_all(rows, domain, Meter(model), LabelFlip()).unfair

    return flips


def _check(model: Model, domain: TabularDomain) -> None:
    if not domain.protected:
        raise InvalidArgument("protected: name at least one protected column; nothing is protected in this domain")
    own = getattr(model, "domain", None)
    if isinstance(own, TabularDomain) and own.columns != domain.columns:
        raise InvalidArgument("domain has other columns than the one that the model was wrapped with; wrap the model with this domain")


def _certificate(
    model: Model, domain: TabularDomain, found: tuple[Outcome, Any], about: tuple[str, dict[str, Any]], spent: tuple[float, int]
) -> Certificate:
    outcome, judge = found
    examples = np.array([row for _, row in judge.examples]).reshape(-1, len(domain.columns))
    if len(examples):
        examples = examples[_asking(model, domain)(examples)]
    lower = min(1.0, outcome.unfair)
    upper = lower if outcome.ended == "exact" else min(1.0, max(lower, 1.0 - outcome.fair))
    rng = np.random.default_rng(SAMPLE_SEED)
    sample = discrimination_rate(uniform_sample(domain, spent[1], rng), domain, Meter(model), LabelFlip(), SAMPLE_CONFIDENCE).interval
    certificate = Certificate(
        domain, about[0], lower, upper, outcome.ended, tuple(outcome.steps), examples, time.process_time() - spent[0], sample, about[1]
    )
    if not certificate.agrees or (outcome.unfair > 0 and judge.examples and not len(examples)):
        raise ModelError(
            f"the bounds {lower:.4%} to {upper:.4%} contradict the model's own answers ({sample}); "
            "the model is not what certify read from it, so nothing is certified"
        )
    return certificate
