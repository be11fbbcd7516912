"""The constraint graph: inference that agrees with exact tests, Algorithms 1 and 2, and wishes that every row keeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evenhand.arrays import Rows
from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraints
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import ConstraintError, InvalidArgument, UnknownName
from evenhand.synthesis import realism_judge
from evenhand.synthesis.bins import bin_column
from evenhand.synthesis.box import Box
from evenhand.synthesis.constraint_graph import ConstraintGraph
from evenhand.synthesis.families import FAMILIES, NONE
from evenhand.synthesis.fitting import candidates
from evenhand.synthesis.generation import kl_divergence
from evenhand.synthesis.graph import Edge, break_cycles, find_cycle, graph_of, topological_order
from evenhand.synthesis.inference import infer
from evenhand.synthesis.steered_trees import SteeredTrees
from evenhand.synthesis.wishes import Wishes

DOMAIN = TabularDomain(
    (
        Column("sex", "category", ("Female", "Male")),
        Column("region", "category", ("North", "South", "East", "West"), missing=0.05),
        Column("school", "ordinal", ("primary", "secondary", "tertiary")),
        Column("age", "integer", low=18, high=90),
        Column("salary", "real", low=0.0, high=200_000.0),
        Column("wait", "real", low=0.0, high=100.0, missing=0.1),
    ),
    protected=("sex",),
)


def people(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    sex = (rng.random(n) < 0.75).astype(float)
    school = np.clip(rng.integers(0, 3, n) + (rng.random(n) < 0.2) * sex, 0, 2)
    region = np.where(rng.random(n) < 0.05, np.nan, (rng.random(n) * 3 // 1 + school) % 4)
    age = np.clip(np.rint(rng.normal(45, 12, n)), 18, 90)
    salary = np.clip(rng.normal(20_000 + 15_000 * school, 4_000 + 1_000 * school), 0, 200_000)
    wait = np.where(rng.random(n) < 0.1, np.nan, np.clip(rng.exponential(8, n), 0, 100))
    return np.column_stack([sex, region, school, age, salary, wait])


@pytest.fixture(scope="module")
def graph() -> ConstraintGraph:
    return ConstraintGraph.fit(people(4_000, 0), DOMAIN, np.random.default_rng(1))


def scipy_p_value(family: int, parameters: np.ndarray, values: np.ndarray) -> float:
    loc, scale, first, second = parameters
    name = FAMILIES[family]
    if name == "beta":
        return stats.kstest(values, stats.beta(first, second, loc, scale).cdf).pvalue
    if name == "gamma":
        return stats.kstest(values, stats.gamma(first, loc, scale).cdf).pvalue
    known = {"uniform": stats.uniform, "normal": stats.norm, "exponential": stats.expon}[name]
    return stats.kstest(values, known(loc, scale).cdf).pvalue


@pytest.mark.parametrize(("n", "seed"), [(300, 0), (4_000, 1), (30_000, 2)])
def test_every_kept_p_value_is_that_of_the_exact_test(n, seed):
    rows = people(n, seed)
    found = infer(rows, DOMAIN)
    tested = 0
    for (source, target), fits in found.conditionals.items():
        for value in range(len(fits.count)):
            if fits.family[value] == NONE:
                continue
            codes = np.where(np.isnan(rows[:, source]), found.sizes[source] - 1, rows[:, source])
            values = rows[codes == value, target]
            exact = scipy_p_value(int(fits.family[value]), fits.parameters[value], values[~np.isnan(values)])
            assert fits.p_value[value] == pytest.approx(exact, abs=1e-9)
            assert exact > 0.05
            tested += 1
    assert tested > 5


@pytest.mark.parametrize(
    ("draw", "family"),
    [
        (lambda rng, n: rng.normal(50, 9, n), "normal"),
        (lambda rng, n: rng.random(n) * 90, "uniform"),
        (lambda rng, n: rng.gamma(3.0, 5.0, n), "gamma"),
        (lambda rng, n: rng.beta(0.5, 0.5, n), "beta"),
    ],
)
def test_the_family_that_made_the_data_is_accepted(draw, family):
    values = draw(np.random.default_rng(3), 20_000)
    domain = TabularDomain((Column("x", "real", low=float(values.min()), high=float(values.max())),))
    fits = infer(values[:, None], domain).numbers[0]
    assert fits.p_value[0] > 0.05
    drawn = ConstraintGraph.fit(values[:, None], domain, np.random.default_rng(0)).sample(20_000, np.random.default_rng(0))
    assert stats.ks_2samp(drawn[:, 0], values).statistic < 0.03
    if family != "uniform":  # a beta with both shapes near one is as good
        assert FAMILIES[fits.family[0]] == family


def test_decisions_are_exact_for_small_groups_in_the_tail_of_a_column():
    rng = np.random.default_rng(0)
    group = rng.choice(5, 20_000, p=[0.7, 0.2, 0.05, 0.03, 0.02]).astype(float)
    columns = [draw + np.where(group > 1, 40 + 10 * group, 0) for draw in (rng.gamma(3, 2, 20_000), rng.beta(2, 5, 20_000))]
    rows = np.column_stack([group, *columns])
    numbers = [Column(f"x{at}", "real", low=float(c.min()), high=float(c.max())) for at, c in enumerate(columns)]
    found = infer(rows, TabularDomain((Column("group", "category", tuple("abcde")), *numbers)))
    for target in (1, 2):
        fits, binned = found.conditionals[0, target], bin_column(np.ascontiguousarray(rows[:, target]))
        assert (fits.family[:5] != NONE).any()
        for value in range(5):
            values = rows[group == value, target]
            counts = np.bincount(binned.places()[group == value], minlength=binned.bins + 1)[None, :-1].astype(float)
            guesses = candidates(binned, counts, counts.sum(axis=1), (values.min(keepdims=True), values.max(keepdims=True)))
            best = max(scipy_p_value(family, guess[0], values) for family, guess in guesses if np.isfinite(guess).all())
            assert fits.p_value[value] == pytest.approx(best if best > 0.05 else 0.0, abs=1e-9)


def test_reals_have_as_many_decimals_as_the_data():
    prices = np.round(np.random.default_rng(0).gamma(2, 30, (2_000, 1)), 2)
    domain = TabularDomain((Column("price", "real", low=float(prices.min()), high=float(prices.max())),))
    for wishes in ({}, {"presets": ["price up 20 %"]}, {"modify": [{"column": "price", "range": [3.0, 9.5]}]}):
        rng = np.random.default_rng(1)
        graph = ConstraintGraph.fit(prices, domain, rng).steered(wishes, rng)
        trees = SteeredTrees.of(prices, domain, Wishes.parse(wishes, domain), rng)
        for population in (graph, trees):
            drawn = population.sample(500, rng)
            assert np.array_equal(np.round(drawn, 2), drawn)
            assert graph.obeyed(drawn).all()


def test_a_mixture_fits_none_and_is_drawn_over_its_range_or_by_quantiles():
    rng = np.random.default_rng(0)
    values = np.append(rng.normal(0, 1, 5_000), rng.normal(30, 1, 5_000))
    domain = TabularDomain((Column("x", "real", low=float(values.min()), high=float(values.max())),))
    assert infer(values[:, None], domain).numbers[0].family[0] == NONE
    even = ConstraintGraph.fit(values[:, None], domain, rng).sample(5_000, rng)[:, 0]
    likely = ConstraintGraph.fit(values[:, None], domain, rng, unfitted="quantiles").sample(5_000, rng)[:, 0]
    assert 0.4 < ((even > 5) & (even < 25)).mean() < 0.7
    assert ((likely > 5) & (likely < 25)).mean() < 0.02


def test_category_edges_point_to_the_column_that_is_explained_better(graph):
    pair = next(p for p in graph.graph.data.pairs if {p.source, p.target} == {1, 2})
    assert (pair.source, pair.target) == (1, 2)
    assert 0 < pair.certainty < 1
    assert pair.p_value < 0.05


def test_rows_are_realistic_and_inside_every_range(graph):
    rows = graph.sample(5_000, np.random.default_rng(0))
    assert DOMAIN.contains(rows).all()
    found = realism_judge.assess(people(4_000, 0), rows, DOMAIN)
    assert found.per_thousand()[0] <= 6
    assert found.divergence < 0.05
    tertiary, primary = rows[rows[:, 2] == 2, 4].mean(), rows[rows[:, 2] == 0, 4].mean()
    assert tertiary - primary == pytest.approx(30_000, rel=0.1)
    assert np.isnan(rows[:, 5]).mean() == pytest.approx(0.1, abs=0.02)


def test_leaf_categories_have_exact_proportions(graph):
    leaf = next(at for at in graph.graph.shares if not graph.graph.incoming(at))
    rows = graph.sample(1_000, np.random.default_rng(0))
    codes = np.where(np.isnan(rows[:, leaf]), len(DOMAIN.columns[leaf].values), rows[:, leaf]).astype(int)
    counts = np.bincount(codes, minlength=len(graph.graph.shares[leaf]))
    assert np.abs(counts - 1_000 * graph.graph.shares[leaf]).max() <= 1


def test_the_same_generator_gives_the_same_rows(graph):
    np.testing.assert_array_equal(graph.sample(200, np.random.default_rng(5)), graph.sample(200, np.random.default_rng(5)))


def test_a_cycle_loses_its_weakest_edge_and_a_cycle_of_wishes_is_refused(graph):
    from dataclasses import replace

    edges = (Edge(0, 1, 0.2), Edge(1, 2, 0.9), Edge(2, 0, 0.5))
    broken = break_cycles(replace(graph.graph, edges=edges))
    assert {(e.source, e.target) for e in broken.edges} == {(0, 1), (2, 0)}
    assert find_cycle(broken.edges) is None
    wished = tuple(replace(edge, by_user=f"wish {edge.source}") for edge in edges)
    with pytest.raises(ConstraintError, match=r"wish 0  \|  wish 1  \|  wish 2"):
        break_cycles(replace(graph.graph, edges=wished))


def test_errors_add_up_along_the_chosen_edges(graph):
    errors, chosen = graph.plan.errors, graph.plan.chosen
    for target, source in chosen.items():
        edge = next(e for e in graph.graph.incoming(target) if e.source == source)
        assert errors[target] >= edge.error + errors[source] - 1e-12


def test_kl_divergence_is_zero_for_equal_samples_and_grows_with_distance():
    x = np.random.default_rng(0).normal(size=2_000)
    assert kl_divergence(x, x, (-4, 4)) == 0
    assert kl_divergence(x, x + 2, (-4, 4)) > kl_divergence(x, x + 1, (-4, 4)) > 0


WISHES = [
    {"modify": [{"column": "sex", "frequencies": {"Female": 1, "Male": 1}}]},
    {"modify": [{"column": "salary", "range": [5_000, 50_000]}]},
    {"modify": [{"column": "salary", "range": [0, 400_000]}]},
    {"modify": [{"column": "age", "range": [30.5, 32.4]}]},
    {"modify": [{"association": ["sex", "salary"], "value": "Female", "range": [5_000, 6_000]}]},
    {"add": [{"column": "wait", "distribution": {"name": "normal", "loc": 50, "scale": 0.1}, "range": [49.9, 60]}]},
    {"add": [{"column": "wait", "distribution": {"name": "normal", "loc": -1_000, "scale": 0.1}, "range": [40, 41]}]},
    {"add": [{"association": ["region", "school"], "value": "North", "frequencies": {"tertiary": 1}}]},
    {
        "add": [
            {
                "association": ["school", "wait"],
                "value": "primary",
                "distribution": {"name": "uniform", "loc": 1, "scale": 2},
                "range": [1, 3],
            }
        ]
    },
    {"delete": [{"association": ["school", "salary"]}]},
    {"delete": [{"column": "age"}]},
    {"delete": [{"range": "salary"}]},
    {"rules": ["age >= 40 => salary >= 30000"]},
    {"rules": ["salary > 100 * age + 40000"], "modify": [{"column": "sex", "frequencies": {"Female": 9, "Male": 1}}]},
    {"rules": ["age == 37", "region == 'West'", "school == 'primary'", "salary < 5000"]},
    {"presets": ["2:1 sex Male:Female", "salary up 20 %", "region North only"], "rules": ["age < 50"]},
]


@pytest.mark.parametrize("wishes", WISHES, ids=lambda words: str(words)[:60])
def test_every_row_keeps_every_wish(graph, wishes):
    rng = np.random.default_rng(0)
    steered = graph.steered(wishes, rng)
    rows = steered.sample(600, rng)
    assert len(rows) == 600
    assert steered.obeyed(rows).all()


def test_wished_frequencies_are_exact_even_under_rules(graph):
    rng = np.random.default_rng(0)
    steered = graph.steered({"presets": ["1:3 sex Male:Female"], "rules": ["age > 60"]}, rng)
    assert (steered.sample(1_000, rng)[:, 0] == 0).sum() == pytest.approx(750, abs=1)


def test_a_range_is_rescaled_as_the_paper_says(graph):
    rng = np.random.default_rng(0)
    before = graph.sample(8_000, rng)[:, 4]
    after = graph.steered({"modify": [{"column": "salary", "range": [1_000, 2_000]}]}, rng).sample(8_000, rng)[:, 4]
    low, high = graph.graph.numbers[4].low[0], graph.graph.numbers[4].high[0]
    assert after.mean() == pytest.approx(1_000 + (before.mean() - low) * 1_000 / (high - low), rel=0.02)


def test_deleting_an_association_makes_the_columns_independent(graph):
    rng = np.random.default_rng(0)
    words = {"delete": [{"association": [name, "salary"]} for name in ("school", "region", "sex")]}
    rows = graph.steered(words, rng).sample(4_000, rng)
    assert abs(rows[rows[:, 2] == 2, 4].mean() - rows[rows[:, 2] == 0, 4].mean()) < 3_000


@pytest.mark.parametrize(
    ("wishes", "named"),
    [
        ({"rules": ["age < 20", "age > 30"]}, r"age < 20  \|  age > 30"),
        ({"modify": [{"column": "age", "range": [20, 30]}, {"column": "age", "range": [40, 50]}]}, r"20 to 30  \|  .*40 to 50"),
        ({"rules": ["sex == 'Male'"], "modify": [{"column": "sex", "frequencies": {"Female": 1}}]}, "Female"),
        ({"rules": ["age > 60"], "modify": [{"column": "age", "range": [20, 30]}]}, "age > 60"),
        ({"rules": ["sex == 'Male'"], "presets": ["1:1 sex"]}, r"sex == 'Male'  \|  modify sex: frequencies .*its value Female"),
        ({"modify": [{"column": "age", "range": [30, 20]}]}, "empty"),
        ({"modify": [{"column": "age", "range": [30.2, 30.4]}]}, "no whole number"),
        ({"delete": [{"column": "age"}], "modify": [{"column": "age", "range": [20, 30]}]}, "contradict"),
        (
            {
                "add": [
                    {"column": "salary", "distribution": {"name": "uniform", "loc": 0, "scale": 9}},
                    {"association": ["sex", "salary"], "value": "Male", "range": [1, 2]},
                ]
            },
            "contradict",
        ),
        (
            {
                "add": [
                    {"association": ["sex", "school"], "value": "Male", "frequencies": {"primary": 1}},
                    {"association": ["school", "sex"], "value": "primary", "frequencies": {"Male": 1}},
                ]
            },
            "circle",
        ),
    ],
)
def test_contradictory_wishes_are_named(graph, wishes, named):
    with pytest.raises(ConstraintError, match=named):
        graph.steered(wishes, np.random.default_rng(0)).sample(100, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("wishes", "error"),
    [
        ({"modify": [{"column": "wages", "range": [0, 1]}]}, UnknownName),
        ({"modify": [{"column": "age", "spread": 3}]}, UnknownName),
        ({"change": []}, UnknownName),
        ({"add": [{"column": "age", "distribution": {"name": "cauchy", "loc": 1, "scale": 1}}]}, UnknownName),
        ({"add": [{"column": "age", "distribution": {"name": "gamma", "loc": 1, "scale": 1}}]}, InvalidArgument),
        ({"presets": ["more women"]}, InvalidArgument),
    ],
)
def test_mistaken_wishes_are_explained(graph, wishes, error):
    with pytest.raises(error):
        graph.steered(wishes, np.random.default_rng(0))


def test_a_value_may_stand_for_its_column_in_a_preset():
    assert Wishes.preset("3:1 female", DOMAIN) == Wishes.preset("3:1 sex Female:Male", DOMAIN)
    assert Wishes.preset("north only", DOMAIN) == Wishes.preset("region North only", DOMAIN)
    with pytest.raises(InvalidArgument, match="2 shares for the 4 values"):
        Wishes.preset("1:1 North", DOMAIN)
    with pytest.raises(UnknownName):
        Wishes.preset("1:1 nobody", DOMAIN)


def test_wishes_are_read_from_a_file(tmp_path):
    file = tmp_path / "wishes.yaml"
    file.write_text("modify:\n  - {column: age, range: [20, 40]}\nrules: ['salary > 9']\npresets: [1:1 sex]\n")
    wishes = Wishes.load(file, DOMAIN)
    assert [wish.text for wish in wishes.wishes] == [
        "modify age: range 20 to 40",
        "modify sex: frequencies {'Female': 1.0, 'Male': 1.0}",
    ]
    assert wishes.rules == ("salary > 9",)


def test_a_box_holds_every_row_and_ignores_associations_that_disagree(graph):
    box = Box().with_values(2, np.array([True, False, False])).with_interval(4, 60_000.0, 61_000.0)
    rng = np.random.default_rng(0)
    rows = graph.within(box, rng).sample(500, rng)
    assert box.contains(rows).all()
    assert DOMAIN.contains(rows).all()


def test_a_box_and_rules_hold_together():
    domain = TabularDomain(DOMAIN.columns, ("sex",), constraints=compile_constraints(["age > 30 => salary > 25000"], DOMAIN.columns))
    rng = np.random.default_rng(0)
    graph = ConstraintGraph.fit(people(2_000, 0), domain, rng)
    box = Box().with_interval(3, 40.0, 90.0).with_interval(4, 0.0, 25_500.0)
    rows = graph.within(box, rng).sample(200, rng)
    assert (box.contains(rows) & domain.contains(rows)).all()


def test_an_independent_column_keeps_its_own_frequencies(graph):
    rng = np.random.default_rng(0)
    rows = graph.independent("sex").sample(2_000, rng)
    assert (rows[:, 0] == 1).mean() == pytest.approx(graph.graph.shares[0][1], abs=0.001)


def test_tables_without_categories_or_without_numbers_work():
    rng = np.random.default_rng(0)
    for columns in (DOMAIN.columns[:3], DOMAIN.columns[3:]):
        domain = TabularDomain(columns)
        rows = people(500, 0)[:, :3] if columns == DOMAIN.columns[:3] else people(500, 0)[:, 3:]
        assert domain.contains(ConstraintGraph.fit(rows, domain, rng).sample(300, rng)).all()


def test_graph_of_the_data_has_no_cycle():
    assert find_cycle(graph_of(infer(people(1_000, 3), DOMAIN)).edges) is None


def toy_table(n: int) -> tuple[Rows, TabularDomain]:
    """The paper's toy table: five categories and a salary, each associated with some of the others."""
    rng = np.random.default_rng(7)
    gender, age_group, intelligence = rng.integers(0, 2, n), rng.integers(0, 3, n), rng.integers(0, 3, n)
    education = np.clip(intelligence + (rng.random(n) < 0.3) - (rng.random(n) < 0.2 + 0.2 * gender), 0, 2)
    marital = np.where(rng.random(n) < 0.2 + 0.3 * age_group, 1, 0)
    salary = rng.normal(30_000 + 8_000 * education - 4_000 * gender + 3_000 * age_group, 4_000)
    names = {"gender": 2, "education": 3, "marital": 2, "age_group": 3, "intelligence": 3}
    columns = [Column(name, "category", tuple(f"v{at}" for at in range(size))) for name, size in names.items()]
    columns.append(Column("salary", "real", low=float(salary.min()), high=float(salary.max())))
    return np.column_stack([gender, education, marital, age_group, intelligence, salary]), TabularDomain(tuple(columns), ("gender",))


def test_the_toy_graph_of_the_paper_becomes_a_graph_without_cycles_and_is_generated_bottom_up():
    rows, domain = toy_table(4_000)
    found = graph_of(infer(rows, domain))
    names = domain.names
    arrows = {(names[edge.source], names[edge.target]) for edge in found.edges}
    assert {("education", "salary"), ("gender", "salary"), ("intelligence", "education")} <= arrows | {(b, a) for a, b in arrows}
    assert all(names[edge.target] == "salary" or edge.fits is None for edge in found.edges)  # only the salary is a number
    circle = [Edge(0, 1, 0.2), Edge(1, 4, 0.7), Edge(4, 0, 0.4)]
    g1 = replace(found, edges=(*(edge for edge in found.edges if edge.is_numeric), *circle))
    g2 = break_cycles(g1)
    assert find_cycle(g1.edges) is not None
    assert find_cycle(g2.edges) is None
    gone = [edge for edge in g1.edges if not any(edge is kept for kept in g2.edges)]
    assert gone == [circle[1]]  # the incoming edge of a column that generates itself, with the largest error
    order = topological_order(6, g2.edges)
    assert all(order.index(edge.source) < order.index(edge.target) for edge in g2.edges)
    assert order[-1] == 5  # the salary follows everything that tells about it
    made = ConstraintGraph.fit(rows, domain, np.random.default_rng(0)).sample(4_000, np.random.default_rng(1))
    gaps = [part[part[:, 1] == 2, 5].mean() - part[part[:, 1] == 0, 5].mean() for part in (rows, made)]
    assert gaps[1] == pytest.approx(gaps[0], rel=0.1)  # "salary is generated by the distribution corresponding to each education value"
