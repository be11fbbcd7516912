"""Exact answers: the share of discriminatory inputs of a whole domain, or bounds on it that tighten while they are computed.

`certify(model, domain)` reads the trees of an ensemble or the weights of a ReLU network, so nothing is left to chance: no input of
the domain outside the bounds is missed.  A model that it cannot read exactly is refused with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from evenhand.arrays import Mask, Rows
from evenhand.contract import Executor, Model, Oracle, Watch
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, MissingAbility, ModelError
from evenhand.measures.proofs.branch_and_bound import ProofLimits, ProofOutcome, search
from evenhand.measures.proofs.certificate import Certificate, Pair
from evenhand.measures.proofs.compiled import IS_COMPILED
from evenhand.measures.proofs.flat_trees import FlatTrees, flat_trees
from evenhand.measures.proofs.shared_front import ProofWork, SharedFront
from evenhand.measures.proofs.tree_boxes import TreeJudge
from evenhand.measures.proofs.undecided import Likely, Region, likely_bounds
from evenhand.measures.rates import judge_all, rate_of, uniform_sample
from evenhand.models.meter import Meter
from evenhand.oracles.amounts import AmountGap
from evenhand.oracles.flip import LabelFlip
from evenhand.oracles.parts.people import Tolerance
from evenhand.shared_work import Shelves
from evenhand.statistics.intervals import Interval

__all__ = ["Certificate", "ProofLimits", "certify"]

SAMPLE_SEED = 20_240_229
SAMPLE_CONFIDENCE = 0.9999
MOST_EXAMPLES = 8
GAP_SEARCH, MOST_GAP_SECONDS = 0.15, 10.0
"""The part of the time in which the worst gap of a regression is looked for; and the time, where there is no limit."""
FIRST_PART, FIRST_BOXES = 0.1, 400_000
"""The part of the time, and how many boxes at most, that go into deciding whole boxes before shares of boxes are bounded."""
LEAST_SECONDS = 5.0
"""Shorter searches decide whole boxes only."""
DRAWING = 0.15
"""The part of the time in which rows are drawn in what is still undecided."""


def certify(
    model: Model,
    domain: TabularDomain,
    *,
    protected: Sequence[str] | None = None,
    limits: ProofLimits | None = None,
    watch: Watch | None = None,
    sample_rows: int = 4_096,
    shared: SharedProof | None = None,
    oracle: Oracle | None = None,
) -> Certificate:
    """Bound the share of the domain's inputs whose label depends on the protected columns, exactly where time allows.

    Of a regression it is the share of inputs whose amount moves by more than the oracle's tolerance, and how far twins are apart at worst.

    model: a wrapped tree ensemble (scikit-learn, XGBoost, LightGBM, CatBoost; also behind encoders that treat each column by itself)
    or a ReLU net.
    limits: when to stop; an interruption (Ctrl-C) returns the bounds so far.  watch: told of every step.
    sample_rows: random rows that the model is asked about as an independent check; bounds that contradict them raise a ModelError.
    shared: who shares the open boxes, and where finished ones are kept; None searches here, and keeps nothing.
    oracle: of a regression, what counts as different; by default the label's tolerance.
    """
    begun = time.process_time()
    model = model.model if isinstance(model, Meter) else model
    domain = domain.protect(*protected) if protected is not None else domain
    _check(model, domain)
    case = _Case(model, domain, _oracle(model, domain, oracle))
    judge, kind, facts = case.judge()
    limits = limits or ProofLimits()
    shortened = limits.shortened(1.0 - DRAWING - (GAP_SEARCH if case.is_amount else 0.0))
    whole = None if shared is None else partial(shared.search, judge, case)
    judge, outcome = searched(judge, shortened, watch, whole)
    facts |= {"asked_of_the_model": judge.asked} if judge.asked else {}
    facts |= {"closer_bounds": "with evenhand[compiled]"} if not IS_COMPILED and outcome.ended == "seconds" and _flat(judge) else {}
    likely = _likely(judge, outcome, case.flips, limits)
    proven = getattr(judge, "proven", None)
    worst = case.worst_gap(judge, limits) if outcome.ended != "interrupted" else None
    return _certificate(_Proof(case, outcome, judge.examples, kind, facts, likely, proven, worst), sample_rows, begun)


def searched(
    judge: Any, limits: ProofLimits, watch: Watch | None = None, whole: Callable[[ProofLimits, Watch | None], ProofOutcome] | None = None
) -> tuple[Any, ProofOutcome]:
    """Whole boxes are decided first, which is enough for small ensembles; then, where loops are compiled, shares of boxes are bounded.

    `whole` decides whole boxes in another way, such as with others who work.  The outcome comes with the judge whose boxes are left open.
    """
    whole = whole or partial(search, judge)
    is_short = (limits.boxes or FIRST_BOXES + 1) <= FIRST_BOXES or (limits.seconds or np.inf) < LEAST_SECONDS
    flat = _flat(judge) if IS_COMPILED and not is_short else None
    if flat is None:
        return judge, whole(limits, watch)
    begun = limits.clock()
    first = whole(replace(limits.shortened(FIRST_PART), boxes=FIRST_BOXES), watch)
    if first.ended not in ("seconds", "boxes"):
        return judge, first
    left = limits if limits.seconds is None else replace(limits, seconds=max(1e-3, limits.seconds - (limits.clock() - begun)))
    from evenhand.measures.proofs.share_boxes import ShareJudge, ShareSearch  # with numba, which takes long to load

    bounding = ShareJudge(judge.fresh(), flat)
    bounding.compile()
    return bounding, ShareSearch(bounding, left, watch, first).go()


def _flat(judge: Any) -> FlatTrees | None:
    return flat_trees(judge.orbits, judge.grid) if type(judge) is TreeJudge else None  # amounts have a judge of their own kind


def _oracle(model: Model, domain: TabularDomain, given: Oracle | None) -> Oracle:
    """Labels decide; of a regression amounts, with the limits that hold here."""
    if len(model.classes) > 1:
        return LabelFlip()
    found = AmountGap() if given is None else given
    if not isinstance(found, AmountGap):
        raise InvalidArgument(
            f"oracle {type(found).__name__}: certify judges amounts by the oracle `amounts` alone (amounts:tolerance=...)"
        )
    learned = found.learned(None, domain, Meter(model))
    assert isinstance(learned, AmountGap)
    return learned


@dataclass(frozen=True)
class _Case:
    """What is proved of which model; makes the judge, in a worker too."""

    model: Model
    domain: TabularDomain
    oracle: Oracle

    @property
    def is_amount(self) -> bool:
        """Whether the model says amounts."""
        return len(self.model.classes) == 1

    def __call__(self) -> Any:
        return self.judge()[0]

    def judge(self) -> tuple[Any, str, dict[str, Any]]:
        """Who judges boxes for this kind of model, its name, and what a reader wants to know of it."""
        from evenhand.measures.proofs.dense_layers import is_network

        if self.is_amount:
            return self._amount_judge()
        return _network_judge(self.model, self.domain) if is_network(self.model) else tree_judge(self.model, self.domain)

    def _amount_judge(self) -> tuple[Any, str, dict[str, Any]]:
        from evenhand.measures.proofs.amount_boxes import AmountJudge
        from evenhand.measures.proofs.amount_trees import amount_trees
        from evenhand.measures.proofs.dense_layers import is_amount_network
        from evenhand.measures.proofs.grid import grid_of
        from evenhand.measures.proofs.orbits import orbits_of

        assert isinstance(self.oracle, AmountGap)
        limits = Tolerance(self.oracle.tolerance or 0.0, self.oracle.share or 0.0)
        if is_amount_network(self.model):
            return self._amount_network_judge(limits)
        read = amount_trees(self.model)
        grid = grid_of(read.front, self.domain)
        ensemble = read.front.source.ensemble
        facts = {"trees": len(ensemble.trees), "cells": grid.cells, "twins_told_apart": grid.combinations}
        return AmountJudge(orbits_of(ensemble, grid), grid, self.flips, limits, read.is_logarithm), ensemble.kind, facts

    def _amount_network_judge(self, limits: Tolerance) -> tuple[Any, str, dict[str, Any]]:
        from evenhand.measures.proofs.dense_layers import amount_network
        from evenhand.measures.proofs.network_amounts import AmountNetworkJudge
        from evenhand.measures.proofs.network_cells import strips_of

        network = amount_network(self.model)  # type: ignore[arg-type]
        judge = AmountNetworkJudge(network, strips_of(network, self.domain), self.domain, self.flips, limits)
        units = sum(len(bias) for _, bias in network.layers[:-1])
        return judge, network.kind, {"layers": len(network.layers), "hidden_units": units, "twins": judge.combinations}

    def flips(self, rows: Rows) -> Mask:
        """What the model itself says: which rows have twins that are treated differently."""
        return judge_all(rows, self.domain, Meter(self.model), self.oracle).unfair

    def worst_gap(self, judge: Any, limits: ProofLimits) -> Any:
        """Of a regression, how far apart twins are at worst."""
        if not self.is_amount:
            return None
        assert isinstance(self.oracle, AmountGap)
        seconds = MOST_GAP_SECONDS if limits.seconds is None else GAP_SEARCH * limits.seconds
        return judge.worst_gap(seconds, self.oracle.unit)


@dataclass(frozen=True)
class SharedProof:
    """Who shares the open boxes of a proof, and where finished ones are kept."""

    executor: Executor
    shelves: Shelves | None = None

    def search(self, judge: Any, make: Callable[[], Any], limits: ProofLimits, watch: Watch | None) -> ProofOutcome:
        """As `branch_and_bound.search`, by whoever works."""
        return SharedFront(judge, ProofWork(make), limits, self.executor, self.shelves, watch).search()


def _likely(judge: Any, outcome: ProofOutcome, flips: Any, limits: ProofLimits) -> Likely | None:
    """What rows drawn in the undecided boxes say; None where nothing is undecided, or nobody wants to wait."""
    is_over = outcome.ended in ("exact", "gap", "interrupted") or not len(outcome.open_weights)
    if is_over or not getattr(judge, "draws_rows", True):
        return None
    seconds = None if limits.seconds is None else DRAWING * limits.seconds
    try:
        return likely_bounds(outcome, Region(judge, outcome.open_boxes, outcome.open_weights), flips, seconds)
    except KeyboardInterrupt:
        return None


def tree_judge(model: Model, domain: TabularDomain) -> tuple[Any, str, dict[str, Any]]:
    """Who judges boxes by the trees of this model, the model's kind, and what a reader wants to know of it."""
    if len(model.classes) == 1:
        raise MissingAbility("the model says amounts, and boxes are judged by labels here")
    from evenhand.measures.proofs.grid import grid_of
    from evenhand.measures.proofs.orbits import orbits_of
    from evenhand.measures.proofs.tree_boxes import TreeJudge
    from evenhand.measures.proofs.tree_features import front_of

    front = front_of(model)
    grid = grid_of(front, domain)
    orbits = orbits_of(front.source.ensemble, grid)
    facts = {"trees": len(front.source.ensemble.trees), "cells": grid.cells, "twins_told_apart": grid.combinations}
    return TreeJudge(orbits, grid, _asking(model, domain)), front.source.ensemble.kind, facts


def _network_judge(model: Model, domain: TabularDomain) -> tuple[Any, str, dict[str, Any]]:
    from evenhand.measures.proofs.dense_layers import network_of
    from evenhand.measures.proofs.network_boxes import NetworkJudge
    from evenhand.measures.proofs.network_cells import strips_of

    network = network_of(model, domain)
    judge = NetworkJudge(network, strips_of(network, domain), domain, _asking(model, domain))
    units = sum(len(bias) for _, bias in network.layers[:-1])
    return judge, network.kind, {"layers": len(network.layers), "hidden_units": units, "twins": judge.combinations}


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


def _sampled(case: _Case, rows: int) -> tuple[Interval, Rows]:
    """The share among random rows with its interval, and those of them whose twins are treated differently."""
    sample = uniform_sample(case.domain, rows, np.random.default_rng(SAMPLE_SEED))
    verdict = judge_all(sample.rows, case.domain, Meter(case.model), case.oracle)
    return rate_of(verdict, sample.population, SAMPLE_CONFIDENCE).interval, sample.rows[verdict.unfair]


def _pairs(case: _Case, rows: Rows) -> tuple[Pair, ...]:
    """For every row two of its twins that the model treats differently, in words."""
    if not len(rows):
        return ()
    verdict = case.oracle.judge(rows, case.domain, Meter(case.model))
    if case.is_amount:
        assert verdict.pairs is not None
        both, said = [_cells(case.domain, each) for each in (verdict.pairs.rows, verdict.pairs.partners)], verdict.pairs.answers.tolist()
        return tuple(Pair(first, second, *amounts) for first, second, amounts in zip(*both, said, strict=True))
    labels = verdict.labels
    first = (labels >= 0).argmax(axis=1)
    line = np.arange(len(rows))
    second = ((labels >= 0) & (labels != labels[line, first][:, None])).argmax(axis=1)
    orbit = case.domain.twins(rows).rows
    cells = [_cells(case.domain, orbit[which, line]) for which in (first, second)]
    names = [[case.model.classes[label] for label in labels[line, which]] for which in (first, second)]
    return tuple(Pair(*each) for each in zip(*cells, *names, strict=True))


def _cells(domain: TabularDomain, rows: Rows) -> list[dict[str, Any]]:
    return [{column.name: column.value(code) for column, code in zip(domain.columns, row, strict=True)} for row in rows]


@dataclass(frozen=True, eq=False)
class _Proof:
    """What the search through boxes left behind."""

    case: _Case
    outcome: ProofOutcome
    examples: Sequence[Any]  # pairs of a share and an unfair row
    kind: str
    facts: dict[str, Any]
    likely: Likely | None = None
    proven: Region | None = None
    worst_gap: Any = None  # of a regression


def _certificate(proof: _Proof, sample_rows: int, begun: float) -> Certificate:
    """The bounds, compared with what the model itself says of random rows and of the examples."""
    case, domain, outcome = proof.case, proof.case.domain, proof.outcome
    sample, unfair_rows = _sampled(case, sample_rows)
    examples = np.array([row for _, row in proof.examples]).reshape(-1, len(domain.columns))
    flips = case.flips(examples) if len(examples) else np.ones(0, dtype=bool)
    examples = np.concatenate([examples[flips], unfair_rows])[:MOST_EXAMPLES]
    lower = min(1.0, outcome.unfair)
    upper = lower if outcome.ended == "exact" else min(1.0, max(lower, 1.0 - outcome.fair))
    pairs = _pairs(case, examples)
    certificate = Certificate(
        domain,
        proof.kind,
        lower,
        upper,
        outcome.ended,
        tuple(outcome.steps),
        examples,
        pairs,
        time.process_time() - begun + outcome.cpu_seconds,
        sample,
        proof.facts,
        proof.likely,
        proof.proven,
        proof.worst_gap,
        case.oracle.words if isinstance(case.oracle, AmountGap) else "",
    )
    if not certificate.agrees or not flips.all():
        raise ModelError(
            f"the bounds {lower:.4%} to {upper:.4%} contradict the model's own answers ({sample}); "
            "the model is not what certify read from it, so nothing is certified"
        )
    return certificate
