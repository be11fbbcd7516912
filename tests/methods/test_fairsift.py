"""FairSIFT's own promises: children that borrow from remembered findings, a bounded memory, and a population of the best."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.run import Plan, Subject, run
from evenhand.errors import InvalidArgument
from evenhand.methods.fairsift import FairSift, FindingMemory
from evenhand.methods.fairsift_batched import FairSiftBatched
from evenhand.methods.parts.walks import Moves
from evenhand.methods.themis import Themis
from evenhand.models.budget import Budget
from evenhand.models.function import from_callable

COLUMNS = (Column("sex", "integer", low=0, high=1), *(Column(f"c{n}", "integer", low=0, high=40) for n in range(8)))
DOMAIN = TabularDomain(COLUMNS, ("sex",))
MODEL = from_callable(
    lambda x: 1 / (1 + np.exp(-(x[:, 1] + x[:, 2] - 60.0 + 6 * x[:, 0]))),
    DOMAIN,
    classes=(0, 1),
    takes="codes",
)
NOBODY = np.empty((0, 9))
EITHER = pytest.mark.parametrize("method", [FairSift(), FairSiftBatched()], ids=["one by one", "batched"])


def children(method, population, memory, seed=0):
    return method._children(population, memory, Moves(DOMAIN), np.random.default_rng(seed))


@EITHER
def test_without_a_memory_every_child_is_its_member_moved_by_one_in_three_columns(method):
    population = np.tile([0.0, *[20.0] * 8], (500, 1))
    steps = children(method, population, NOBODY) - population
    assert set(np.unique(steps)) == {-1.0, 0.0, 1.0}
    assert ((steps != 0).sum(axis=1) == 3).all()
    assert not steps[:, 0].any()
    assert (np.abs(steps[:, 1:]).sum(axis=0) > 100).all(), "every free column is drawn"


@EITHER
def test_with_a_memory_seven_in_ten_children_are_findings_with_three_columns_of_their_member(method):
    population, memory = np.full((4000, 9), 10.0), np.full((7, 9), 30.0)
    made = children(method, population, memory)
    recalled = (made[:, 1:] == 30).sum(axis=1) == 5
    assert recalled.mean() == pytest.approx(0.7, abs=0.03)
    borrowed = made[recalled][:, 1:]
    assert set(np.unique(borrowed)) == {9.0, 10.0, 11.0, 30.0}
    assert (np.abs(made[~recalled][:, 1:] - 10) <= 1).all()


@EITHER
def test_a_wide_table_changes_a_tenth_of_its_columns(method):
    domain = TabularDomain(tuple(Column(f"c{n}", "integer", low=0, high=9) for n in range(60)), ("c0",))
    made = method._children(np.full((50, 60), 5.0), np.empty((0, 60)), Moves(domain), np.random.default_rng(0))
    assert ((made != 5).sum(axis=1) == 6).all()


def test_the_memory_is_bounded_and_random_ones_make_room():
    memory, rng = FindingMemory(5, 1), np.random.default_rng(0)
    memory.enter(np.arange(3.0)[:, None], rng)
    assert memory.rows.ravel().tolist() == [0, 1, 2]
    memory.enter(np.arange(3.0, 100.0)[:, None], rng)
    assert len(memory.rows) == 5
    assert 99.0 in memory.rows, "the last one has just entered"
    assert len(np.unique(memory.rows)) == 5


def test_the_next_population_prefers_findings():
    rng = np.random.default_rng(0)
    made, found = np.arange(300.0)[:, None], np.arange(300) < 120
    kept = FairSift()._fittest(made, found, np.full((50, 1), -1.0), rng)
    assert len(kept) == 200
    assert (kept == -1).sum() == 50
    assert ((kept >= 0) & (kept < 120)).sum() == 120


def test_it_finds_many_times_what_random_search_finds():
    found = {}
    for name, method in {"fairsift": FairSiftBatched(), "random": Themis(margin=0.0)}.items():
        done = run(method, Subject(DOMAIN, MODEL), Plan(1, Budget(candidates=20_000)))
        found[name] = done.ledger.findings
    assert found["fairsift"] > 5 * found["random"] > 0


def test_constraints_are_kept_and_small_domains_end_by_themselves():
    columns = COLUMNS[:3]
    domain = TabularDomain(columns, ("sex",), constraints=compile_constraints(["c0 <= c1"], columns))
    model = from_callable(lambda x: 1.0 * (x[:, 1] + x[:, 0] > 20), domain, classes=(0, 1), takes="codes")
    done = run(FairSiftBatched(), Subject(domain, model), Plan(0, Budget(candidates=1_000_000)))
    assert domain.keeps_constraints(done.findings.rows).all()
    assert "no new row" in done.facts["stopped"]
    assert done.ledger.findings == 21, "c0 = 20 with any c1 from 20 to 40"


@pytest.mark.parametrize("wrong", [{"members": 1}, {"memory": 0}, {"recall": 1.5}, {"columns": 0}, {"columns_share": -0.1}])
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        FairSift(**wrong)
