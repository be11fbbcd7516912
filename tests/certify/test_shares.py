"""Shares of open boxes are bounded: at every step the bounds hold the counted share, and they close much sooner than whole boxes do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand.measures.proofs as proofs
from evenhand.domain.constraints import compile_constraints
from evenhand.measures.proofs import ProofLimits, certify, tree_judge
from evenhand.measures.proofs.additive_bounds import OPEN
from evenhand.measures.proofs.branch_and_bound import ProofOutcome, search
from evenhand.measures.proofs.flat_trees import flat_trees
from evenhand.measures.proofs.share_boxes import ShareJudge, ShareSearch
from evenhand.measures.rates import judge_all
from evenhand.oracles.flip import LabelFlip

from .test_exact import COLUMNS, counted_share, domain_of, estimators, wrapped

SMALL = 0.02  # of the domain: bounds this close are close


def share_judge(model: Any, domain: Any) -> ShareJudge:
    plain = tree_judge(model, domain)[0]
    flat = flat_trees(plain.orbits, plain.grid)
    assert flat is not None
    return ShareJudge(plain, flat)


def bounded(model: Any, domain: Any, boxes: int, monkeypatch: pytest.MonkeyPatch) -> ProofOutcome:
    monkeypatch.setattr("evenhand.measures.proofs.share_boxes.AT_ONCE", 8)  # many steps to look at
    return ShareSearch(share_judge(model, domain), ProofLimits(boxes=boxes, seconds=None), None, ProofOutcome()).go()


DOMAINS = {
    "two twins": domain_of(),
    "six twins": domain_of(protected=("sex", "rank")),
    "constraints": domain_of(
        protected=("sex", "rank"), constraints=compile_constraints(['job == "a" => sex == "f"', 'rank == "low" => sex == "m"'], COLUMNS)
    ),
}


@pytest.mark.parametrize("where", DOMAINS)
@pytest.mark.parametrize("name", ["boosting", "xgboost", "lightgbm", "catboost", "forest", "extra trees", "hist categories"])
def test_the_bounds_of_every_step_hold_the_counted_share(name: str, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = DOMAINS[where]
    model = wrapped(estimators()[name], domain)
    truth = counted_share(model, domain)
    outcome = bounded(model, domain, 150, monkeypatch)
    assert len(outcome.steps) > 5 or outcome.ended == "exact"
    for step in outcome.steps:
        assert step.lower - 1e-9 <= truth <= step.upper + 1e-9
    first, last = outcome.steps[0], outcome.steps[-1]
    assert last.upper - last.lower < max(1e-9, 0.8 * (first.upper - first.lower))


def test_the_end_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = domain_of()
    model = wrapped(estimators()["tree"], domain)
    outcome = bounded(model, domain, 100_000, monkeypatch)
    assert outcome.ended == "exact"
    assert outcome.unfair == pytest.approx(counted_share(model, domain), abs=1e-9)


def test_shares_close_in_with_far_fewer_boxes_than_whole_boxes_do(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = domain_of()
    model = wrapped(estimators()["forest"], domain)
    outcome = bounded(model, domain, 100, monkeypatch)
    whole = search(tree_judge(model, domain)[0], ProofLimits(boxes=100, seconds=None))
    gaps = [each.steps[-1].upper - each.steps[-1].lower for each in (outcome, whole)]
    assert gaps[0] < 0.5 * gaps[1]


@pytest.mark.parametrize("name", ["boosting", "forest"])
def test_halves_are_parts_of_their_box_and_make_up_its_weight(name: str) -> None:
    judge = share_judge(wrapped(estimators()[name], domain_of()), domain_of())
    boxes = judge.start()
    for _ in range(5):
        boxes = boxes.taken(boxes.said.part >= 0)
        halves = judge.halved(boxes)
        both = judge.cells(halves).reshape(len(boxes.weights), 2, -1)
        np.testing.assert_array_equal(both.max(axis=1), judge.cells(boxes))
        assert (both[:, 0] != both[:, 1]).any(axis=1).all()
        assert (halves.weights > 0).all()
        np.testing.assert_allclose(halves.weights.reshape(-1, 2).sum(axis=1), boxes.weights)
        boxes = halves


def test_every_open_box_holds_the_share_that_random_rows_of_it_have() -> None:
    """Box by box, so that one error does not hide behind another."""
    domain, rng = domain_of(), np.random.default_rng(0)
    model = wrapped(estimators()["forest"], domain)
    judge = share_judge(model, domain)
    boxes = judge.start()
    for _ in range(3):
        boxes = judge.halved(boxes.taken(boxes.said.part >= 0))
    for number in np.flatnonzero(boxes.said.verdict == OPEN):
        rows = judge.draw(boxes.taken(np.full(2_000, number)), rng)
        share = judge_all(rows, domain, model, LabelFlip()).unfair.mean()
        assert boxes.said.low[number] - 0.05 <= share <= boxes.said.high[number] + 0.05


def test_certify_goes_on_with_shares_where_whole_boxes_did_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The likely bounds lie within the proved ones, and rows of proven boxes are unfair."""
    monkeypatch.setattr(proofs, "IS_COMPILED", True)
    monkeypatch.setattr(proofs, "FIRST_BOXES", 1)
    domain = domain_of()
    model = wrapped(estimators()["forest"], domain)
    certificate = certify(model, domain, sample_rows=256, limits=ProofLimits(boxes=500, seconds=None))
    truth = counted_share(model, domain)
    assert certificate.ended == "boxes"
    assert certificate.lower <= certificate.likely.lower <= truth <= certificate.likely.upper <= certificate.upper
    assert certificate.upper - certificate.lower < SMALL
    people = certificate.people(500, np.random.default_rng(0))
    assert len(people)
    assert judge_all(people, domain, model, LabelFlip()).unfair.all()
