"""The default method: better than chance on narrow shapes, natural by construction, nobody asked twice, honest when nothing is there."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from evenhand.contract import Candidates, Search, Task
from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraint
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.engine.run import Plan, Run, Subject, run
from evenhand.errors import InvalidArgument
from evenhand.methods.evenhand import Evenhand
from evenhand.methods.fairsift_batched import FairSiftBatched
from evenhand.methods.themis import Themis
from evenhand.models.budget import Budget
from evenhand.planted import shapes
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.level_chain import LevelChain

DOMAIN = TabularDomain(
    (
        Column("sex", "category", ("f", "m")),
        Column("age", "integer", low=0, high=99),
        Column("hours", "integer", low=0, high=99),
        Column("debt", "real", low=0.0, high=50.0, missing=1.0),
    ),
    protected=("sex",),
    label=Label("loan", ("no", "yes", "ask"), ("yes",)),
)


def people(n: int = 3000) -> np.ndarray:
    rng = np.random.default_rng(0)
    age = np.clip(np.rint(rng.normal(40, 12, n)), 0, 99)
    hours = np.clip(np.rint(rng.normal(20 + age / 2, 6)), 0, 99)
    debt = np.clip(rng.exponential(8, n), 0, 50)
    debt[::9] = np.nan
    return np.column_stack([rng.integers(0, 2, n), age, hours, debt])


ROWS = people()


@dataclass(frozen=True)
class Desk:
    """Three answers, hard ones, where hours pass a threshold that is higher for one group by `gap`."""

    gap: float = 3.0
    classes: tuple[Any, ...] = ("no", "yes", "ask")
    is_hard: bool = True
    batch_rows: int = 8192

    def scores(self, rows: np.ndarray) -> np.ndarray:
        passed = (rows[:, 2] - self.gap * rows[:, 0] > 40).astype(int) + (rows[:, 2] - self.gap * rows[:, 0] > 50)
        return np.eye(3)[passed]

    def fingerprint(self) -> str:
        return f"desk {self.gap}"


def search(subject: Subject, candidates: int = 6000, method: Evenhand | None = None, seed: int = 0) -> Run:
    return run(method or Evenhand(), subject, Plan(seed, Budget(candidates=candidates)))


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "times"), [("narrow_band", 2.4), ("pocket", 10.0)])
def test_finds_several_times_as_much_as_chance_where_findings_are_rare(shape, times):
    planted = shapes()[shape]
    subject = Subject(planted.domain, planted.model, planted.domain.sample(800, np.random.default_rng(3)))
    chance = sum(run(Themis(margin=0.0), subject, Plan(seed, Budget(candidates=6000))).ledger.findings for seed in range(3))
    # Chance looks at no twin, so those set aside for an unlikely one count here too.
    assert sum(len(search(subject, seed=seed).everybody) for seed in range(3)) > times * chance


@pytest.mark.slow
def test_one_input_in_ten_thousand_is_found_at_the_ends_of_the_domain():
    needle = shapes()["needle"]
    subject = Subject(needle.domain, needle.model, needle.domain.sample(800, np.random.default_rng(3)))
    chance = sum(run(Themis(margin=0.0), subject, Plan(seed, Budget(candidates=10_000))).ledger.findings for seed in range(5))
    found = [search(subject, 10_000, seed=seed).ledger.findings for seed in range(5)]
    assert sum(found) > 20 * chance  # random search finds one or none in a run
    assert min(found) > 5


def test_findings_are_as_likely_as_real_people_and_nobody_is_asked_twice():
    done = search(Subject(DOMAIN, Desk(), ROWS))
    population = ChainedTrees.fit(ROWS[::2], DOMAIN, np.random.default_rng(0))
    floor = np.quantile(population.log_density(ROWS[1::2]), 0.05)
    assert done.ledger.duplicates == 0
    assert done.ledger.findings > 0.4 * done.ledger.candidates
    assert (population.log_density(done.findings.rows) >= floor).mean() > 0.8


def test_constraints_hold_for_every_finding():
    domain = replace(DOMAIN, constraints=(compile_constraint("age >= 30", DOMAIN.columns),))
    done = search(Subject(domain, Desk(), ROWS), 3000)
    assert len(done.findings)
    assert (done.findings.rows[:, 1] >= 30).all()
    assert domain.contains(done.findings.rows).all()


def test_without_data_the_whole_domain_counts_as_plausible_and_that_is_said():
    done = search(Subject(DOMAIN, Desk()), 3000)
    assert "no data" in done.facts["plausible"]
    assert done.ledger.findings


def test_a_fair_model_is_searched_to_the_end_and_beyond_the_plausible():
    done = search(Subject(DOMAIN, Desk(gap=0.0), ROWS), 5000)
    assert (done.ledger.findings, done.ledger.candidates) == (0, 5000)
    assert done.facts["scouted_whole_domain"]


def test_a_spent_budget_is_not_called_the_end_of_what_can_be_reached():
    done = search(Subject(DOMAIN, Desk(gap=0.0), ROWS), 60)
    assert done.ended == "budget spent"
    assert "stopped" not in done.facts


def test_real_people_are_asked_about_first_and_impossible_ones_never():
    proposed: list[Candidates] = []

    class Watched(Evenhand):
        def search(self, task: Task, rng: np.random.Generator) -> Search:
            inner, verdict = super().search(task, rng), None
            with suppress(StopIteration):
                while True:
                    proposed.append(inner.send(verdict))
                    verdict = yield proposed[-1]

    domain = replace(DOMAIN, constraints=(compile_constraint("age >= 30", DOMAIN.columns),))
    search(Subject(domain, Desk(), ROWS), 3000, Watched())
    own = {tuple(row) for row in np.nan_to_num(ROWS[:, 1:], nan=-1.0)}
    assert proposed[0].phase == "real rows"
    assert all(tuple(row) in own for row in np.nan_to_num(proposed[0].rows[:, 1:], nan=-1.0))
    assert all(domain.contains(batch.rows).all() for batch in proposed)


def test_the_last_candidates_of_a_budget_go_to_people_nobody_asked_about():
    few = TabularDomain((Column("sex", "category", ("f", "m")), Column("hours", "integer", low=0, high=999)), ("sex",), DOMAIN.label)

    @dataclass(frozen=True)
    class Banded(Desk):
        def scores(self, rows: np.ndarray) -> np.ndarray:
            return np.eye(3)[((rows[:, 1] - 30 * rows[:, 0]) % 100 > 50).astype(int)]

    subject = Subject(few, Banded(), few.sample(2000, np.random.default_rng(0)))
    spent = [search(subject, 900, seed=seed).ledger for seed in range(3)]
    assert [(ledger.candidates, ledger.duplicates) for ledger in spent] == [(900, 0)] * 3


def test_a_tiny_domain_is_left_when_everybody_is_known():
    tiny = TabularDomain((Column("sex", "category", ("f", "m")), Column("hours", "integer", low=39, high=45)), ("sex",), DOMAIN.label)

    @dataclass(frozen=True)
    class Small(Desk):
        def scores(self, rows: np.ndarray) -> np.ndarray:
            return np.eye(3)[(rows[:, 1] - 3 * rows[:, 0] > 40).astype(int)]

    rows = tiny.sample(300, np.random.default_rng(0))
    done = search(Subject(tiny, Small(), rows), 100_000)
    assert done.ended == "method finished"
    assert done.ledger.findings == 3


@pytest.mark.parametrize(("name", "value"), [("walks", 0), ("seeds", 0), ("seed_share", 0.0), ("too_rare", 2.0), ("learnt_cells", 0)])
def test_parameters_are_checked_by_name(name, value):
    with pytest.raises(InvalidArgument, match=name):
        Evenhand(**{name: value})


def test_the_sample_is_one_of_the_population_restricted_to_findings():
    task_rows = people(6000)
    done = search(Subject(DOMAIN, Desk(gap=6.0), task_rows), 60_000)
    rng = np.random.default_rng(1)
    draws = LevelChain.fit(task_rows, DOMAIN, rng).drawn(120_000, rng).rows
    labels = [np.digitize(draws[:, 2] - 6.0 * sex, [40.5, 50.5]) for sex in (0, 1)]
    wanted = draws[labels[0] != labels[1]]
    for at in (1, 2):
        assert abs(done.sample[:, at].mean() - wanted[:, at].mean()) < 0.15 * wanted[:, at].std()
        assert 0.85 < done.sample[:, at].std() / wanted[:, at].std() < 1.15


def test_a_run_that_counts_candidates_never_reads_a_clock_to_choose(monkeypatch):
    first = search(Subject(DOMAIN, Desk(), ROWS), 3000).findings.rows
    ticks = iter(range(10**9))
    monkeypatch.setattr("time.process_time", lambda: float(next(ticks)))
    again = search(Subject(DOMAIN, Desk(), ROWS), 3000).findings.rows
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("shape", ["pocket", "proxy"])
def test_where_anybody_counts_more_is_found_for_the_same_questions_and_that_is_said(shape):
    planted = shapes()[shape]
    subject = Subject(planted.domain, planted.model, planted.domain.sample(800, np.random.default_rng(3)))
    others = [search(subject), run(FairSiftBatched(), subject, Plan(0, Budget(candidates=6000)))]
    done = search(subject, method=Evenhand(anybody=True))
    assert done.ledger.findings > 1.1 * max(each.ledger.findings for each in others)
    assert done.ledger.duplicates == 0
    assert planted.domain.contains(done.findings.rows).all()
    assert "nobody was asked to be plausible" in done.facts["plausible"]


def test_where_anybody_counts_constraints_still_hold():
    domain = replace(DOMAIN, constraints=(compile_constraint("age >= 30", DOMAIN.columns),))
    done = search(Subject(domain, Desk(), ROWS), 3000, Evenhand(anybody=True))
    assert len(done.findings)
    assert domain.contains(done.findings.rows).all()


def test_a_small_domain_is_judged_whole_and_that_is_said():
    columns = (Column("sex", "category", ("f", "m")), Column("age", "integer", low=0, high=9), Column("h", "integer", low=35, high=55))
    few = TabularDomain(columns, ("sex",), DOMAIN.label)
    done = search(Subject(few, Desk(gap=3.0), few.sample(50, np.random.default_rng(0))), 5000)
    assert done.facts["enumerated"] == "all 210 possible inputs were judged"
    assert (done.ledger.candidates, done.ledger.findings, done.ended) == (210, 60, "method finished")


@pytest.mark.parametrize("seed", range(8))
def test_a_budget_that_is_spent_when_the_first_unfair_person_turns_up_ends_well(seed):
    found = search(Subject(DOMAIN, Desk(gap=1.0), ROWS), 20, seed=seed)
    assert found.ledger.candidates == 20
