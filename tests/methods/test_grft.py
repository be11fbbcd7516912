"""GRFT's own promises: a fitness over each individual's own twins, populations that stop at findings, and one common local step."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.contract import Task
from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.run import Plan, Subject, run
from evenhand.errors import InvalidArgument
from evenhand.methods.grft import Breeding, Grft
from evenhand.methods.parts.twin_gaps import WeighedKnown, summed_gaps
from evenhand.methods.parts.walks import Moves
from evenhand.models.budget import Budget
from evenhand.models.function import from_callable
from evenhand.models.meter import Meter
from evenhand.oracles.flip import LabelFlip

COLUMNS = (Column("age", "integer", low=0, high=3), *(Column(n, "integer", low=0, high=20) for n in "abc"))
DOMAIN = TabularDomain(COLUMNS, ("age",))


def probability(x):
    return 1 / (1 + np.exp(-(x[:, 1] - 15.0 + 0.3 * x[:, 0] * x[:, 2] / 20)))


MODEL = from_callable(probability, DOMAIN, classes=(0, 1), takes="codes")


def task(model=MODEL, domain=DOMAIN, rows=None):
    return Task(domain, Meter(model), rows)


def breeding(method, given, seed=0):
    return Breeding(method, given, WeighedKnown(given), Moves(given.domain), np.random.default_rng(seed))


def driven(search, domain, model):
    """Run a conversation by hand: every batch, and what it returned."""
    batches = []
    try:
        candidates = next(search)
        while True:
            batches.append(candidates)
            candidates = search.send(LabelFlip().judge(candidates.rows, domain, model))
    except StopIteration as end:
        return batches, end.value


def test_fitness_pairs_every_individual_with_its_own_twins():
    rows = DOMAIN.sample(50, np.random.default_rng(0))
    mine = summed_gaps(rows, DOMAIN, Meter(MODEL))
    for row, value in zip(rows, mine, strict=True):
        twins = np.array([[age, *row[1:]] for age in range(4)])
        assert value == pytest.approx(np.abs(probability(twins) - probability(row[None])).sum(), abs=1e-9)
    order = np.random.default_rng(1).permutation(50)
    np.testing.assert_allclose(summed_gaps(rows[order], DOMAIN, Meter(MODEL)), mine[order])


def test_impossible_twins_are_no_part_of_the_fitness():
    domain = TabularDomain(COLUMNS, ("age",), constraints=compile_constraints(["age <= b"], COLUMNS))
    row = np.array([[1.0, 15.0, 1.0, 3.0]])
    expected = np.abs(probability(np.array([[0.0, 15.0, 1.0, 3.0]])) - probability(row)).sum()
    assert summed_gaps(row, domain, Meter(MODEL))[0] == pytest.approx(expected)


def test_with_two_combinations_the_verdicts_gap_is_the_fitness_and_nothing_is_asked_again():
    columns = (Column("sex", "integer", low=0, high=1), *COLUMNS[1:])
    domain = TabularDomain(columns, ("sex",))
    model = from_callable(probability, domain, classes=(0, 1), takes="codes")
    given = task(model, domain)
    bred = breeding(Grft(), given)
    rows = domain.sample(40, np.random.default_rng(0))
    driven(bred.known.judge(rows, "global"), domain, model)
    asked = given.model.rows_asked
    np.testing.assert_allclose(bred._fitness(rows[None])[0], summed_gaps(rows, domain, Meter(model)), atol=1e-6)
    assert given.model.rows_asked == asked


def test_a_first_population_holds_its_seed_and_differs_in_two_attributes():
    seeds = np.array([[0.0, 10.0, 10.0, 10.0], [3.0, 0.0, 20.0, 7.0]])
    rows = breeding(Grft(), task())._first(seeds)
    assert rows.shape == (2, 100, 4)
    assert (rows[:, 0] == seeds).all()
    changed = (rows != seeds[:, None]).any(axis=1)
    assert (changed.sum(axis=1) <= 2).all()
    assert not changed[:, 0].any()
    assert np.abs(rows - seeds[:, None]).max() == 5


def test_evolution_keeps_the_fittest_and_climbs():
    bred = breeding(Grft(), task())
    rows = bred._first(np.array([[1.0, 3.0, 3.0, 3.0]]))
    best = []
    for _ in range(8):
        fitness = bred._fitness(rows)
        best.append(float(fitness.max()))
        rows = bred._evolved(rows, fitness)
        assert rows.shape == (1, 100, 4)
        assert DOMAIN.inside(rows[0]).all()
        assert bred._fitness(rows).max() >= best[-1] - 1e-9
        assert bred._fitness(rows)[0, 0] == pytest.approx(best[-1])
    assert best[-1] > 2 * best[0]


def test_a_population_stops_at_its_first_findings():
    given = task()
    batches, found = driven(breeding(Grft(iterations=10), given).findings(np.array([[1.0, 15.0, 10.0, 3.0]])), DOMAIN, MODEL)
    assert len(batches) == 1, "the seed lies at the boundary: the first generation holds findings"
    assert LabelFlip().judge(found, DOMAIN, MODEL).unfair.all()


def test_local_walkers_share_one_attribute_and_keep_what_is_unfair():
    rows = DOMAIN.sample(300, np.random.default_rng(0))
    method = Grft(iterations=0, local_steps=6)
    search = method.search(task(rows=rows), np.random.default_rng(0))
    batches, _ = driven(search, DOMAIN, MODEL)
    seeds = rows[LabelFlip().judge(rows, DOMAIN, MODEL).unfair]
    first = next(batch for batch in batches if batch.phase == "local").rows
    apart = [np.flatnonzero((seeds == row).sum(axis=1) == 3) for row in first]
    assert all(len(near) for near in apart), "every step leaves from a finding and changes one cell"
    columns = {int(np.flatnonzero(row != seeds[near[0]])[0]) for row, near in zip(first, apart, strict=True) if len(near) == 1}
    assert len(columns) == 1


def test_a_model_of_labels_alone_is_searched_by_lot_and_it_is_said():
    model = from_callable(lambda x: (probability(x) > 0.5).astype(int), DOMAIN, classes=(0, 1), takes="codes")
    rows = DOMAIN.sample(200, np.random.default_rng(0))
    done = run(Grft(), Subject(DOMAIN, model, rows), Plan(0, Budget(candidates=4000)))
    assert "by lot" in done.facts["fitness"]
    assert done.ledger.findings > 100


def test_three_classes_two_protected_columns_and_constraints():
    columns = (Column("sex", "category", ("f", "m")), *COLUMNS)
    domain = TabularDomain(columns, ("sex", "age"), constraints=compile_constraints(["a <= b"], columns))

    def three(x):
        logit = np.column_stack([np.zeros(len(x)), x[:, 2] - 6 + x[:, 0], x[:, 3] - 9 + 0.5 * x[:, 1]])
        return np.exp(logit) / np.exp(logit).sum(axis=1, keepdims=True)

    model = from_callable(three, domain, classes=("a", "b", "c"), takes="codes")
    found = run(Grft(), Subject(domain, model, domain.sample(300, np.random.default_rng(0))), Plan(0, Budget(candidates=4000))).findings
    assert len(found) > 200
    assert domain.contains(found.rows).all()


@pytest.mark.parametrize("wrong", [{"population": 1}, {"leaders": 1}, {"crossover": 2.0}, {"mutated": 0}, {"step": -1.0}, {"jitter": -1}])
def test_parameters_are_checked(wrong):
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        Grft(**wrong)
