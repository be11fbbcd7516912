"""The engine counts alike for every method, keeps budgets exactly, and calls failures by their name."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from evenhand.checks import standard_subject
from evenhand.contract import Candidates, Differentiable, Model, PixelDifferentiable
from evenhand.engine.court import Court
from evenhand.engine.run import Plan, Subject, run
from evenhand.errors import MethodError, MissingAbility, ModelFailed, UnsteadyModel, WrongAnswer
from evenhand.methods.themis import Themis
from evenhand.models.budget import Budget
from evenhand.oracles.flip import LabelFlip
from evenhand.oracles.gap import ScoreGap
from evenhand.values import ability_name

SUBJECT = standard_subject()


@dataclass(frozen=True)
class Scripted:
    """Proposes given rows, and remembers what it hears."""

    batches: tuple = ()
    heard: list = None
    needs: ClassVar[type] = Model

    def search(self, task, rng):
        for rows in self.batches:
            verdict = yield Candidates(rows, "script")
            self.heard.append(verdict)


def rows(n, seed=0):
    return SUBJECT.domain.sample(n, np.random.default_rng(seed))


def test_a_duplicate_costs_a_candidate_but_no_model_row_and_gets_the_first_verdict():
    first = rows(50)
    twin = first.copy()
    twin[:, 0] = 1 - twin[:, 0]  # only the protected cell differs
    heard = []
    done = run(Scripted((first, twin), heard), SUBJECT, Plan(0, Budget(candidates=1000)))
    assert (done.ledger.candidates, done.ledger.duplicates, done.ledger.model_rows) == (100, 50, 100)
    np.testing.assert_array_equal(heard[0].unfair, heard[1].unfair)
    np.testing.assert_array_equal(heard[0].labels, heard[1].labels)
    assert done.ledger.findings == heard[0].unfair.sum() == len(done.findings)
    assert done.ended == "method finished"


def test_duplicates_within_one_batch_are_found_too():
    one = rows(1)
    done = run(Scripted((np.repeat(one, 9, axis=0),), []), SUBJECT, Plan(0, Budget(candidates=1000)))
    assert (done.ledger.candidates, done.ledger.duplicates) == (9, 8)


@pytest.mark.parametrize("limit", [1, 7, 333, 32_768, 40_001])
def test_the_budget_of_candidates_is_kept_to_the_row(limit):
    done = run(Themis(margin=0.0), SUBJECT, Plan(0, Budget(candidates=limit)))
    assert done.ledger.candidates == limit
    assert done.facts["causal_discrimination"]["n"] == limit


@pytest.mark.parametrize("limit", [2, 3, 101, 5_000])
def test_the_budget_of_model_rows_is_kept_to_the_row(limit):
    done = run(Themis(margin=0.0), SUBJECT, Plan(0, Budget(model_rows=limit)))
    assert done.ledger.model_rows == limit - limit % 2  # one candidate costs two rows


def test_the_budget_of_seconds_ends_a_run():
    done = run(Themis(margin=0.0), SUBJECT, Plan(0, Budget(seconds=0.05)))
    assert done.ended == "budget spent"
    assert done.wall_seconds < 2


class Broken:
    """A model with one fault."""

    classes, is_hard, batch_rows = (0, 1), False, 4096

    def __init__(self, answer):
        self.answer = answer

    def scores(self, rows):
        return self.answer(rows)

    def fingerprint(self):
        return "broken"


def coin(rows, state=np.random.default_rng(0)):
    p = state.random(len(rows))
    return np.stack([p, 1 - p], axis=1)


@pytest.mark.parametrize(
    ("answer", "fault", "message"),
    [
        (lambda rows: 1 / 0, ModelFailed, "the model raised ZeroDivisionError"),
        (lambda rows: np.ones(len(rows)), WrongAnswer, "expected \\(64, 2\\)"),
        (lambda rows: np.full((len(rows), 2), np.nan), WrongAnswer, "scores must be finite numbers"),
        (coin, UnsteadyModel, "changed its answer between two calls"),
    ],
)
def test_a_faulty_model_is_reported_as_that(answer, fault, message):
    with pytest.raises(fault, match=message):
        run(Themis(), Subject(SUBJECT.domain, Broken(answer), SUBJECT.rows), Plan(0, Budget(candidates=100)))


def test_a_method_that_crashes_is_reported_as_crashed():
    @dataclass(frozen=True)
    class Crashing:
        needs: ClassVar[type] = Model

        def search(self, task, rng):
            yield Candidates(rows(10))
            raise KeyError("oops")

    with pytest.raises(MethodError, match="crashing crashed after 10 candidates: KeyError: 'oops'"):
        run(Crashing(), SUBJECT, Plan(0, Budget(candidates=100)))


def test_a_method_that_leaves_the_domain_is_refused_with_the_column():
    outside = rows(5)
    outside[2, 3] = 99
    with pytest.raises(MethodError, match="1 rows outside the domain; in the first one column 'f3' has the code"):
        run(Scripted((outside,), []), SUBJECT, Plan(0, Budget(candidates=100)))


def test_a_method_that_needs_gradients_is_refused_before_the_run():
    @dataclass(frozen=True)
    class Greedy:
        needs: ClassVar[type] = Differentiable

        def search(self, task, rng):
            raise AssertionError("must not start")
            yield

    black_box = Broken(lambda rows: np.stack([np.zeros(len(rows)), np.ones(len(rows))], axis=1))
    with pytest.raises(MissingAbility, match="greedy needs a differentiable model"):
        run(Greedy(), Subject(SUBJECT.domain, black_box, SUBJECT.rows), Plan(0, Budget(candidates=100)))


def test_the_score_gap_oracle_judges_by_scores():
    sample = rows(2000)
    flips = LabelFlip().judge(sample, SUBJECT.domain, SUBJECT.model)
    gaps = ScoreGap(0.1).judge(sample, SUBJECT.domain, SUBJECT.model)
    np.testing.assert_array_equal(gaps.unfair, flips.gap > 0.1)
    assert gaps.unfair.sum() > flips.unfair.sum()


def test_a_score_gap_finding_shows_two_possible_twins():
    done = run(Themis(margin=0.0), SUBJECT, Plan(0, Budget(candidates=500), ScoreGap(0.1)))
    assert len(done.findings)
    assert (done.findings.rows[:, 0] != done.findings.twins[:, 0]).all()


def test_interrupting_ends_the_run_cleanly():
    def press_ctrl_c(headway):
        if headway.done > 1000:
            raise KeyboardInterrupt

    done = run(Themis(margin=0.0, batch=500), SUBJECT, Plan(0, Budget(candidates=10_000)), watch=press_ctrl_c)
    assert done.ended == "interrupted"
    assert 1000 < done.ledger.candidates < 10_000


def test_a_verdict_of_nothing_is_empty():
    court = Court(SUBJECT, Plan(0, Budget(candidates=10)))
    assert len(court.hear(Candidates(np.empty((0, 7))))) == 0


def test_an_ability_is_told_as_an_adjective():
    assert ability_name(PixelDifferentiable) == "pixel-differentiable"
    assert ability_name(Differentiable) == "differentiable"
