"""Wishes about whole samples where columns hang together: whose cells are missing, and unique cells under rules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenhand.arrays import Rows
from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import ConstraintError
from evenhand.measures.coverage.splits import best_split
from evenhand.measures.coverage.surrogate import Imitated, SurrogateSettings, grow
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.constraint_graph import ConstraintGraph
from evenhand.synthesis.finishing import Finishing
from evenhand.synthesis.missing_pattern import MissingPattern
from evenhand.synthesis.population_files import load_model, save_model
from evenhand.synthesis.steered_trees import SteeredTrees
from evenhand.synthesis.wishes import Wishes


def paid(n: int, seed: int, keeps_silent: float = 0.5) -> tuple[Rows, TabularDomain]:
    """The third job's incomes are often missing; a total is the sum of two amounts."""
    rng = np.random.default_rng(seed)
    job, first, second = rng.integers(0, 3, n), rng.integers(0, 400, n), rng.integers(0, 60, n)
    income = np.where(rng.random(n) < np.where(job == 2, keeps_silent, 0.03), np.nan, np.rint(rng.normal(2_000, 300, n)))
    columns = (
        Column("job", "category", ("x", "y", "z")),
        Column("first", "integer", low=0, high=399),
        Column("second", "integer", low=0, high=59),
        Column("total", "integer", low=0, high=458),
        Column("income", "real", low=0.0, high=4_000.0, missing=float(np.isnan(income).mean())),
    )
    return np.column_stack([job, first, second, first + second, income]).astype(float), TabularDomain(columns, ("job",))


@pytest.mark.parametrize("kind", [ConstraintGraph, ChainedTrees])
@pytest.mark.parametrize("share", [5, 40])
def test_a_wished_share_of_missing_cells_falls_on_those_whose_cells_are_missing(kind, share):
    rows, domain = paid(1_500, 0)
    rng = np.random.default_rng(1)
    made = kind.fit_steered(rows, domain, Wishes.preset(f"income {share} % missing", domain), rng).sample(600, rng)
    missing, silent = np.isnan(made[:, 4]), made[:, 0] == 2
    assert missing.sum() == 6 * share
    assert missing[silent].mean() > 3 * missing[~silent].mean()
    assert silent.mean() == pytest.approx((rows[:, 0] == 2).mean(), abs=0.08)  # nobody is left out because cells are to be there first


def test_cells_that_are_missing_by_chance_have_no_pattern():
    rows, domain = paid(1_500, 0, keeps_silent=0.03)
    assert MissingPattern.learnt(rows, 4, domain, np.random.default_rng(0)) is None


@pytest.mark.parametrize("count", [0, 1, 299, 300])
def test_a_pattern_chooses_so_many_different_rows(count):
    rows, domain = paid(300, 0)
    pattern = MissingPattern.learnt(rows, 4, domain, np.random.default_rng(0))
    assert pattern is not None
    assert len(set(pattern.chosen(rows, count, np.random.default_rng(1)).tolist())) == count


def test_a_stored_model_knows_whose_cells_are_missing(tmp_path: Path):
    rows, domain = paid(600, 0)
    steered = SteeredTrees.of(rows, domain, Wishes.preset("income 20 % missing", domain), np.random.default_rng(0))
    again = load_model(save_model(steered, tmp_path / "model"))
    one, other = (each.sample(100, np.random.default_rng(1)) for each in (steered, again))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["total", "first"])
def test_unique_cells_under_a_rule_keep_it(name):
    rows, domain = paid(300, 0)
    ruled = TabularDomain(domain.columns, domain.protected, constraints=compile_constraints(["total == first + second"], domain.columns))
    rng = np.random.default_rng(0)
    made = Finishing.of(Wishes.preset(f"{name} unique", ruled), ruled, rows, rng).finish(rows[:200].copy(), ruled, rng)
    assert len(np.unique(made[:, ruled.place(name)])) == 200
    assert ruled.contains(made).all()


def test_more_unique_cells_than_a_computed_column_can_have_are_refused():
    rows, domain = paid(500, 0)
    ruled = TabularDomain(domain.columns, domain.protected, constraints=compile_constraints(["total == first + second"], domain.columns))
    rng = np.random.default_rng(0)
    with pytest.raises(ConstraintError, match=r"'total' is computed from 'first', 'second'.*ask for fewer rows"):
        Finishing.of(Wishes.preset("total unique", ruled), ruled, rows, rng).finish(rows, ruled, rng)


def test_a_node_whose_best_question_leaves_only_missing_cells_is_split_by_the_next():
    """Whether the only value of a column is there tells most; no box stands for its absence, and another column tells the rest."""
    rng = np.random.default_rng(0)
    there, side = rng.random(2_000) < 0.5, rng.random(2_000) < 0.7
    rows = np.column_stack([np.where(there, 0.0, np.nan), side.astype(float)])
    domain = TabularDomain((Column("only", "category", ("a",), missing=0.5), Column("side", "category", ("l", "r"))), ())

    def answers(asked: Rows) -> np.ndarray:
        return np.where(asked[:, 1] == 1, ~np.isnan(asked[:, 0]), 0).astype(np.intp)

    best = best_split(rows, answers(rows), domain, 1, 30)
    assert best is not None
    assert best.literals[0].place == 0
    surrogate = grow(Imitated(answers, domain, (0, 1)), lambda *_: rows[:10], rows, rng, SurrogateSettings(rows=100, split_rows=30))
    assert len(surrogate.paths) > 1
