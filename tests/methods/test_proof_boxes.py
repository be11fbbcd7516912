"""Proof boxes: what it proposes in proven boxes is unfair without exception, and a model that cannot be read is said to be so."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier

import evenhand as eh
from evenhand import checks
from evenhand.contract import Candidates
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.engine.run import Plan, Subject, run
from evenhand.errors import InvalidArgument, MethodError
from evenhand.methods.proof_boxes import ProofBoxes
from evenhand.methods.themis import Themis
from evenhand.models.budget import Budget
from evenhand.models.meter import Meter
from evenhand.oracles.flip import LabelFlip

COLUMNS = (Column("sex", "integer", low=0, high=1), *(Column(f"c{n}", "integer", low=0, high=30) for n in range(5)))
DOMAIN = TabularDomain(COLUMNS, ("sex",), Label("y", (0, 1), (1,)))


@pytest.fixture(scope="module")
def subject() -> Subject:
    rows = DOMAIN.sample(3_000, np.random.default_rng(0))
    labels = (rows[:, 1] + rows[:, 2] + 4 * rows[:, 0] > 45).astype(int)
    fitted = GradientBoostingClassifier(n_estimators=12, max_depth=3, random_state=0).fit(rows, labels)
    return Subject(DOMAIN, eh.wrap(fitted, DOMAIN, takes="codes", classes=[0, 1]), rows, labels)


def test_proven_boxes_hold_only_findings_and_undecided_ones_more_than_chance(subject: Subject) -> None:
    done = run(ProofBoxes(splits=1, rows=256), subject, Plan(0, Budget(candidates=20_000)))
    chance = run(Themis(margin=0.0), subject, Plan(0, Budget(candidates=20_000)))
    assert done.ledger.findings > 3 * chance.ledger.findings > 0
    assert (done.findings.phase == "proven").sum() > 1_000
    assert done.facts["proof_boxes"]["proven"] > 0


def test_proven_findings_cost_no_question_and_are_what_the_model_says(subject: Subject) -> None:
    done = run(ProofBoxes(splits=1, rows=256), subject, Plan(0, Budget(candidates=10_000)))
    found, free = done.findings, done.facts["proof_boxes"]["found_without_asking"]
    assert free > 1_000
    assert done.ledger.model_rows <= 2 * (done.ledger.candidates - free)  # the last batch is cut off by the budget before it is counted
    proven = found.rows[found.phase == "proven"]
    verdict = LabelFlip().judge(proven, DOMAIN, Meter(subject.model))
    assert verdict.unfair.all()


def test_a_proof_of_another_model_ends_the_run(subject: Subject) -> None:
    class Claimed:
        needs = object

        def search(self, task, rng):
            yield Candidates(DOMAIN.sample(50, rng) * 0 + DOMAIN.low, "proven", proven=np.tile(np.array([0, 1], dtype=np.int16), (50, 1)))

    with pytest.raises(MethodError, match="contradicts"):
        run(Claimed(), subject, Plan(0, Budget(candidates=100)))


def test_a_model_that_cannot_be_read_is_searched_at_random_and_it_is_said() -> None:
    done = run(ProofBoxes(), checks.standard_subject(), Plan(0, Budget(candidates=5_000)))
    assert "no trees were read" in done.facts["proof_boxes"]
    assert done.ledger.findings > 0


def test_impossible_parameters_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="splits"):
        ProofBoxes(splits=0)
