"""SG's own promises: what a path asks for, who solves it, and in which order inputs have their turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from odd_tasks import odd_subject

from evenhand import checks
from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.run import Plan, run
from evenhand.errors import InvalidArgument, MissingExtra
from evenhand.methods.parts.fitted_tree import NO_TEST, FittedTree, Paths
from evenhand.methods.parts.path_conditions import global_wishes, local_wishes
from evenhand.methods.parts.solving import solver_named
from evenhand.methods.symbgen import Queue, Symbgen
from evenhand.methods.themis import Themis
from evenhand.models.budget import Budget

DOMAIN = TabularDomain((Column("sex", "integer", low=0, high=1), *(Column(n, "integer", low=0, high=9) for n in "ab")), ("sex",))
# One path: a <= 6.5, sex <= .5, a <= 3.5, b > 2.5.
PATH = Paths(
    np.array([[1, 0, 1, 2]]), np.array([[6.5, 0.5, 3.5, 2.5]]), np.array([[True, True, True, False]]), np.array([[0.8, 0.5, 0.6, 0.2]])
)
ROW = np.array([[0.0, 2.0, 7.0]])


def test_local_wishes_negate_one_test_and_keep_the_others_of_its_column():
    wishes = local_wishes(PATH, DOMAIN)
    assert wishes.can_hold.tolist() == [False, True, True], "a > 6.5 contradicts a <= 3.5, which is kept"
    assert (wishes.low[1, 1], wishes.high[1, 1]) == (4.0, 6.0)
    assert (wishes.low[2, 2], wishes.high[2, 2]) == (0.0, 2.0)
    assert wishes.named.tolist() == [[False, True, False], [False, True, False], [False, False, True]]
    assert wishes.confidence == pytest.approx([(0.2 + 0.5 + 0.6 + 0.2) / 4, (0.8 + 0.5 + 0.4 + 0.2) / 4, (0.8 + 0.5 + 0.6 + 0.8) / 4])


def test_global_wishes_keep_what_came_before_and_end_at_a_test_of_little_confidence():
    wishes = global_wishes(PATH, DOMAIN, 0.3)
    assert (wishes.low[:, 1].tolist(), wishes.high[:, 1].tolist()) == ([7.0, 4.0], [9.0, 6.0])
    assert wishes.confidence == pytest.approx([0.2, (0.8 + 0.4) / 2]), "the test on the protected column counts for nothing"
    assert len(global_wishes(PATH, DOMAIN, 0.1)) == 3


@pytest.mark.parametrize("name", ["boxes", "auto", "z3"])
def test_every_solver_meets_the_wishes_and_leaves_the_other_cells(name):
    wishes = local_wishes(PATH, DOMAIN)
    solved = solver_named(name, "nearest", DOMAIN).solve(wishes, ROW, np.random.default_rng(0))
    assert np.isnan(solved[0]).all()
    assert 4 <= solved[1, 1] <= 6
    assert 0 <= solved[2, 2] <= 2
    assert (solved[1, [0, 2]].tolist(), solved[2, :2].tolist()) == ([0.0, 7.0], [0.0, 2.0])
    if name != "z3":
        assert (solved[1, 1], solved[2, 2]) == (4.0, 2.0), "the nearest solution"


@pytest.mark.parametrize("name", ["auto", "z3"])
@pytest.mark.parametrize(
    "rule",
    ["a <= b - 4", "a + b == 9", "not (a == 4 or b < 3)", "a in [0, 5, 9]", "a > 3 => b * 2 >= 14", "b / a >= 1"],
)
def test_conditions_and_constraints_are_solved_together(name, rule):
    domain = TabularDomain(DOMAIN.columns, ("sex",), constraints=compile_constraints([rule], DOMAIN.columns))
    row = domain.project(ROW)
    solved = solver_named(name, "nearest", domain).solve(local_wishes(PATH, DOMAIN)[np.array([1])], row, np.random.default_rng(0))
    everything = np.array([[0.0, a, b] for a in range(4, 7) for b in range(10)])
    possible = domain.contains(everything).any()
    assert np.isnan(solved).all() == (not possible)
    if possible:
        assert domain.contains(solved).all()
        assert 4 <= solved[0, 1] <= 6


def test_tables_and_missing_cells_reach_the_solver():
    columns = (*DOMAIN.columns, Column("c", "category", ("x", "y"), missing=0.5), Column("d", "ordinal", ("low", "mid", "high")))
    rules = [
        {"columns": ["c"], "determines": "d", "map": {"x": "low", "y": "high"}},
        {"columns": ["a", "d"], "forbidden": [[4, "high"], [5, "high"]]},
        "c is missing => b >= 8",
    ]
    domain = TabularDomain(columns, ("sex",), constraints=compile_constraints(rules, columns))
    wishes = local_wishes(PATH, domain)[np.array([1])]
    solver = solver_named("z3", "nearest", domain)
    given = domain.project(np.array([[0.0, 2.0, 7.0, 1.0, 2.0], [0.0, 2.0, 9.0, np.nan, 2.0]]))
    for row in given:
        solved = solver.solve(wishes, row[None], np.random.default_rng(0))
        assert domain.contains(solved).all()
        assert 4 <= solved[0, 1] <= 6
        assert np.isnan(solved[0, 3]) == np.isnan(row[3])


def test_without_z3_the_extra_is_named_and_boxes_still_work(monkeypatch):
    monkeypatch.setattr("evenhand.methods.parts.solving.require", _absent)
    with pytest.raises(MissingExtra, match=r"evenhand\[solver\].*solver='boxes'"):
        run(Symbgen(solver="z3"), checks.standard_subject(), Plan(0, Budget(candidates=50)))
    assert run(Symbgen(solver="boxes", seeds=50, neighbours=300), odd_subject(), Plan(0, Budget(candidates=60))).ledger.candidates == 60


def _absent(module, extra):
    raise MissingExtra(f"{module} is not installed; install it with: pip install 'evenhand[{extra}]'")


def test_the_queue_gives_the_smallest_rank_first_and_takes_nobody_twice():
    queue = Queue(DOMAIN)
    rows = np.array([[0.0, a, 0.0] for a in range(4)])
    assert queue.put(rows, np.array([10.0, 1.5, 5.0, 1.2])) == 4
    assert queue.put(rows + np.array([1.0, 0.0, 0.0]), np.zeros(4)) == 0, "twins are the same input"
    assert queue.take(3)[1].tolist() == [1.2, 1.5, 5.0]
    assert queue.put(rows, np.zeros(4)) == 0
    assert len(queue) == 1


def test_paths_are_those_of_the_tree_with_missing_cells_too():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 10, (400, 3)).astype(float)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    labels = (np.nan_to_num(rows, nan=20.0).sum(axis=1) > 18).astype(np.intp)
    tree = FittedTree.fit(rows, labels, "gini", None, rng)
    paths = tree.paths(rows)
    assert (tree.predict(rows) == labels).all()
    for place in range(3):
        on = (paths.column == place) & ~np.isnan(rows[:, [place]])
        assert ((rows[:, [place]] <= paths.threshold) == paths.is_below)[on].all()
    assert ((paths.confidence > 0) & (paths.confidence <= 1))[paths.column != NO_TEST].all()


@pytest.mark.parametrize("changed", [{}, {"solver": "boxes"}, {"solution": "random"}, {"share": 8, "together": 32, "neighbours": 300}])
def test_odd_columns_rules_and_labels_are_no_obstacle(changed):
    subject = odd_subject()
    done = run(Symbgen(neighbours=changed.pop("neighbours", 1000), **changed), subject, Plan(0, Budget(candidates=600)))
    assert subject.domain.contains(done.findings.rows).all()
    assert done.ledger.duplicates == 0
    assert done.ledger.findings > run(Themis(margin=0.0), subject, Plan(0, Budget(candidates=600))).ledger.findings


def test_it_searches_without_any_data():
    subject = checks.standard_subject()
    done = run(Symbgen(), type(subject)(subject.domain, subject.model), Plan(0, Budget(candidates=2_000)))
    assert done.ledger.findings > 800


def test_one_row_of_data_is_enough_to_begin_with():
    subject = checks.standard_subject()
    done = run(Symbgen(), replace(subject, rows=subject.rows[:1], labels=None), Plan(0, Budget(candidates=500)))
    assert done.ledger.findings > 100


@pytest.mark.parametrize("wrong", [{"seeds": 0}, {"share": 0}, {"least_confidence": 1.5}, {"solver": "prolog"}, {"solution": "best"}])
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(InvalidArgument):
        Symbgen(**wrong)
