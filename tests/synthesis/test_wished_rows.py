"""Wishes on rows that keep what they do not speak of: untouched groups, ranges, decimals, wished shares in covering suites."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pytest

from evenhand.arrays import Rows
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import ConstraintError
from evenhand.measures.coverage.paths import cover, drawer
from evenhand.measures.coverage.splits import best_split
from evenhand.measures.coverage.surrogate import Imitated, SurrogateSettings, grow
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.constraint_graph import ConstraintGraph
from evenhand.synthesis.constraint_table import read_wishes, write_table
from evenhand.synthesis.steered_trees import SteeredTrees
from evenhand.synthesis.wishes import Wishes


def people(n: int, seed: int) -> tuple[Rows, TabularDomain]:
    rng = np.random.default_rng(seed)
    sex, region = rng.integers(0, 2, n), rng.choice(3, n, p=[0.5, 0.3, 0.2])
    income = np.round(np.exp(rng.normal(8 - 0.2 * sex, 0.5, n)), 2)
    approved = rng.random(n) < 0.35 + 0.25 * sex + 0.1 * (region == 1)
    code, age = rng.integers(0, 3, n), np.clip(np.rint(rng.normal(48, 11, n)), 18, 79)
    columns = (
        Column("sex", "category", ("Female", "Male")),
        Column("region", "category", ("north", "south", "west")),
        Column("income", "real", low=float(income.min()), high=float(income.max())),
        Column("approved", "category", ("no", "yes")),
        Column("code", "integer", low=0, high=2),
        Column("age", "integer", low=18, high=79),
    )
    return np.column_stack([sex, region, income, approved, code, age]).astype(float), TabularDomain(columns, ("sex",))


@pytest.fixture(scope="module")
def graph() -> ConstraintGraph:
    return ConstraintGraph.fit(*people(8_000, 0), np.random.default_rng(0))


def drawn(graph: ConstraintGraph, wishes: dict[str, object], n: int = 8_000) -> Rows:
    rng = np.random.default_rng(1)
    return graph.steered(wishes, rng).sample(n, rng)


def test_an_override_for_one_value_leaves_the_other_values_alone(graph: ConstraintGraph) -> None:
    rows = people(8_000, 0)[0]
    wish = {"association": ["sex", "approved"], "value": "Female", "frequencies": {"no": 1, "yes": 1}}
    made = drawn(graph, {"modify": [wish]})
    women, men = (made[made[:, 0] == code, 3].mean() for code in (0, 1))
    assert women == pytest.approx(0.5, abs=0.03)
    assert men == pytest.approx(rows[rows[:, 0] == 1, 3].mean(), abs=0.03)


def test_shares_below_one_leave_the_rest_to_the_other_values(graph: ConstraintGraph) -> None:
    made = drawn(graph, {"modify": [{"column": "region", "frequencies": {"west": 0.5}}]})
    assert np.bincount(made[:, 1].astype(int)) / len(made) == pytest.approx([0.3125, 0.1875, 0.5], abs=0.01)


def test_a_factor_stays_in_a_wished_range(graph: ConstraintGraph) -> None:
    made = drawn(graph, {"modify": [{"column": "age", "range": [18, 60], "factor": 1.5}]})[:, 5]
    assert made.min() >= 18
    assert made.max() == 60


def test_deleting_a_range_lets_numbers_leave_it(graph: ConstraintGraph) -> None:
    made = drawn(graph, {"delete": [{"range": "age"}]})[:, 5]
    assert made.min() < 18
    assert made.max() > 79


def test_a_dependency_among_the_rules_is_learned_from_the_data() -> None:
    rows, domain = people(2_000, 0)
    rows[:, 4] = rows[:, 1]
    rng = np.random.default_rng(2)
    steered = ConstraintGraph.fit(rows, domain, rng).steered({"rules": ["region determines code"]}, rng)
    made = steered.sample(300, rng)
    assert (made[:, 4] == made[:, 1]).all()


def test_arithmetic_rules_keep_the_decimals_of_the_data(graph: ConstraintGraph) -> None:
    made = drawn(graph, {"rules": ["income <= 40 * age"]}, 1_000)[:, 2]
    assert np.array_equal(np.round(made, 2), made)


def test_a_wish_for_codes_read_as_numbers_says_what_to_declare(graph: ConstraintGraph) -> None:
    with pytest.raises(ConstraintError, match=r"code: \{kind: category"):
        drawn(graph, {"modify": [{"column": "code", "frequencies": {0: 1, 1: 1}}]})


def test_the_editable_table_holds_the_shares_of_two_categories(graph: ConstraintGraph, tmp_path: Path) -> None:
    path = tmp_path / "constraints.csv"
    write_table(graph.graph, graph.domain, path)
    lines = path.read_text().splitlines()
    edge = next(edge for edge in graph.graph.edges if edge.fits is None)
    source, target = graph.domain.names[edge.source], graph.domain.names[edge.target]
    value, outcome = graph.domain.columns[edge.source].values[0], graph.domain.columns[edge.target].values[0]
    at = next(i for i, line in enumerate(lines) if f"category -> category,{source},{value},{target},{outcome}," in line)
    cells = lines[at].split(",")
    cells[6] = "0.001"
    lines[at] = ",".join(cells)
    path.write_text("\n".join(lines))
    wish = read_wishes(path, graph.graph, graph.domain).wishes[0]
    assert (wish.source, wish.value, wish.column) == (source, value, target)
    assert dict(wish.frequencies or {})[outcome] == 0.001


def test_a_steered_suite_covers_what_it_claims_with_the_wished_ratio() -> None:
    rows, domain = people(3_000, 0)
    rng = np.random.default_rng(3)
    steered = SteeredTrees.of(rows, domain, Wishes.preset("1:1 sex", domain), rng)

    def answers(asked: Rows) -> np.ndarray:
        return ((asked[:, 2] > 3_000) & (asked[:, 5] > 40) | (asked[:, 1] == 2)).astype(np.intp)

    surrogate = grow(Imitated(answers, domain, (0, 1)), drawer(steered), rows, rng, SurrogateSettings(rows=200, leaves=24))
    suite = cover(surrogate, drawer(steered), 480, rng)
    assert len(suite.rows) == 480
    assert suite.coverage.share == 1.0
    assert set(surrogate.path_of(suite.rows)) == set(range(len(surrogate.paths)))
    assert abs(int((suite.rows[:, 0] == 0).sum()) - 240) <= 1


def test_a_node_is_split_by_the_best_question_that_leaves_enough_rows() -> None:
    """One row in a hundred is told apart perfectly; the next best question has enough rows on either side."""
    rows, domain = people(1_000, 0)
    rows[:, 0], rows[:, 1] = np.arange(1_000) % 2, 0
    rows[:5, 1] = 1
    labels = np.where(rows[:, 1] == 1, 1, (rows[:, 0] == 1) & (np.arange(1_000) % 40 == 1)).astype(np.intp)
    found = best_split(rows, labels, domain, 1, 30)
    assert found is not None
    passed = found.holds(rows)
    assert min(passed.sum(), (~passed).sum()) >= 30


def test_a_total_follows_when_a_part_of_it_is_moved() -> None:
    rng = np.random.default_rng(5)
    basic, bonus = np.round(rng.uniform(100, 900, 2_000), 2), np.round(rng.uniform(0, 300, 2_000), 2)
    total = np.round(basic + bonus, 2)
    cells = {"basic": basic, "bonus": bonus, "total": total}
    columns = tuple(Column(name, "real", low=float(each.min()), high=float(each.max())) for name, each in cells.items())
    domain = TabularDomain((Column("sex", "category", ("f", "m")), *columns), ("sex",))
    rows = np.column_stack([rng.integers(0, 2, 2_000), basic, bonus, total]).astype(float)
    made = SteeredTrees.of(rows, domain, Wishes.preset("basic up 20 %", domain), rng).sample(1_000, rng)
    assert made[:, 1].mean() > 1.15 * basic.mean()
    assert np.abs(made[:, 3] - made[:, 1] - made[:, 2]).max() < 0.006


def test_a_range_with_one_end_keeps_the_other_end_of_the_data():
    wishes = Wishes.parse({"modify": [{"column": "age", "range": [30, None]}], "presets": ["hours at most 40"]}, STEERED)
    assert [wish.range for wish in wishes.wishes] == [(30.0, 80.0), (10.0, 40.0)]


@pytest.mark.parametrize("kind", [ConstraintGraph, ChainedTrees])
@pytest.mark.parametrize(
    ("words", "holds"),
    [
        ({"presets": ["age at least 30"]}, lambda rows: rows[:, 1].min() >= 30),
        ({"presets": ["age 10 % missing", "hours 0 % missing"]}, lambda rows: np.isnan(rows[:, 1]).sum() == 30),
        ({"modify": [{"column": "income", "isUnique": True}]}, lambda rows: len(np.unique(rows[:, 3])) == 301),
        (
            {"modify": [{"association": ["sex", "job"], "value": "f", "frequencies": {"a": 1, "b": 1}}]},
            lambda rows: abs(np.diff(np.bincount(rows[rows[:, 0] == 1, 4].astype(int), minlength=2)[:2])[0]) <= 1,
        ),
    ],
)
def test_wishes_about_whole_samples_hold_to_the_row(kind, words, holds):
    rng = np.random.default_rng(1)
    made = kind.fit_steered(STEERED_ROWS, STEERED, Wishes.parse(words, STEERED), rng)
    rows = made.sample(301, rng)
    assert len(rows) == 301
    assert made.domain.contains(rows).all()
    assert holds(rows)


@pytest.mark.parametrize("kind", [ConstraintGraph, ChainedTrees])
def test_a_shift_moves_every_number_and_what_it_is_a_part_of(kind):
    rng = np.random.default_rng(2)
    made = kind.fit_steered(STEERED_ROWS, STEERED, Wishes.preset("income up 5000", STEERED), rng)
    plain = kind.fit(STEERED_ROWS, STEERED, rng).sample(20_000, rng)
    assert made.sample(20_000, rng)[:, 3].mean() - plain[:, 3].mean() == pytest.approx(5_000, abs=150)


def test_unique_cells_stay_unique_over_several_draws_and_too_many_are_refused():
    rng = np.random.default_rng(3)
    made = ChainedTrees.fit_steered(STEERED_ROWS, STEERED, Wishes.preset("age unique", STEERED), rng)
    remembering = made.balanced()
    ages = np.concatenate([remembering.sample(20, rng)[:, 1] for _ in range(3)])
    assert len(np.unique(ages)) == 60
    with pytest.raises(ConstraintError, match="'age' has 63 different values, too few for 80 unique cells"):
        remembering.sample(20, rng)


def test_the_rates_of_one_group_leave_the_other_group_alone():
    rng = np.random.default_rng(4)
    words = {"modify": [{"association": ["sex", "job"], "value": "f", "frequencies": {"c": 1}}]}
    made = ChainedTrees.fit_steered(STEERED_ROWS, STEERED, Wishes.parse(words, STEERED), rng).sample(40_000, rng)
    plain = ChainedTrees.fit(STEERED_ROWS, STEERED, rng).sample(40_000, rng)
    shares = [np.bincount(rows[rows[:, 0] == 0, 4].astype(int), minlength=3) / (rows[:, 0] == 0).sum() for rows in (made, plain)]
    assert np.abs(shares[0] - shares[1]).max() < 0.03
    assert (made[made[:, 0] == 1, 4] == 2).all()


def steered_rows(n: int) -> Rows:
    rng = np.random.default_rng(9)
    sex = rng.integers(0, 2, n)
    age = rng.integers(18, 81, n)
    hours = np.clip(np.rint(rng.normal(40 - 5 * sex, 8, n)), 10, 70)
    income = np.rint(np.clip(rng.normal(30_000 + 200 * age, 5_000, n), 1_000, 80_000))
    job = np.where(rng.random(n) < 0.3 + 0.3 * sex, 0, rng.integers(1, 3, n))
    return np.column_stack([sex, age, hours, income, job]).astype(np.float64)


STEERED_ROWS = steered_rows(1_500)
STEERED = TabularDomain(
    (
        Column("sex", "category", ("m", "f")),
        Column("age", "integer", low=18, high=80),
        Column("hours", "integer", low=10, high=70),
        Column("income", "integer", low=1_000, high=80_000),
        Column("job", "category", ("a", "b", "c")),
    ),
    ("sex",),
)


def test_a_word_on_one_group_leaves_the_others_also_where_the_graph_draws_it_from_the_outcome():
    rng = np.random.default_rng(3)
    sex = (rng.random(6_000) < 0.5).astype(float)
    level, granted = rng.integers(0, 3, 6_000).astype(float), (rng.random(6_000) < np.where(sex == 1, 0.6, 0.3)).astype(float)
    columns = (
        Column("sex", "category", ("f", "m")),
        Column("level", "category", ("a", "b", "c")),
        Column("granted", "category", ("no", "yes")),
    )
    for rows in (np.column_stack([sex, level, granted]), np.column_stack([sex, np.where(granted == 1, level, 0), granted])):
        graph = ConstraintGraph.fit(rows, TabularDomain(columns), rng)
        wish = {"association": ["sex", "granted"], "value": "f", "frequencies": {"yes": 1, "no": 1}}
        made = graph.steered({"modify": [wish]}, rng).sample(8_000, rng)
        assert made[made[:, 0] == 0, 2].mean() == pytest.approx(0.5, abs=0.001)
        assert made[made[:, 0] == 1, 2].mean() == pytest.approx(rows[sex == 1, 2].mean(), abs=0.03)


def test_numbers_under_arithmetic_rules_have_the_decimals_of_the_data_and_keep_them():
    rng = np.random.default_rng(4)
    base, bonus = np.round(rng.lognormal(7, 0.5, 2_000), 2), np.round(rng.exponential(300, 2_000), 2)
    rows = np.column_stack([base, bonus, np.round(base + bonus, 2)])
    columns = tuple(Column(name, "real", low=float(c.min()), high=float(c.max())) for name, c in zip(("a", "b", "t"), rows.T, strict=True))
    graph = ConstraintGraph.fit(rows, TabularDomain(columns), rng)
    made = graph.steered({"rules": ["t == a + b", "a >= 2 * b"]}, rng).sample(500, rng)
    assert np.array_equal(np.round(made, 2), made)
    assert np.abs(made[:, 2] - made[:, 0] - made[:, 1]).max() < 0.005
    assert (made[:, 0] >= 2 * made[:, 1] - 1e-9).all()


def contracts(n: int, seed: int) -> tuple[Rows, TabularDomain]:
    """A date that follows another, and a pay of whole hours."""
    rng = np.random.default_rng(seed)
    start = rng.integers(15_000, 18_000, n)
    hours, rate = rng.integers(10, 60, n), np.round(rng.uniform(8, 40, n), 2)
    rows = np.column_stack([start, start + rng.geometric(0.005, n), hours, rate, np.round(hours * rate, 2)]).astype(float)
    kinds = {"start": "date", "end": "date", "hours": "integer", "rate": "real", "pay": "real"}
    ends = zip(kinds.items(), rows.min(axis=0), rows.max(axis=0), strict=True)
    columns = tuple(Column(name, kind, low=float(low), high=float(high)) for (name, kind), low, high in ends)
    return rows, TabularDomain(columns)


@pytest.mark.parametrize("preset", ["hours at least 20", "hours up 10 %", "start at least 2017-01-01", "end down 200", "rate unique"])
def test_what_follows_a_moved_number_by_computing_or_in_order_is_carried_along(preset: str) -> None:
    rows, domain = contracts(600, 0)
    rng = np.random.default_rng(1)
    steered = SteeredTrees.of(rows, domain, Wishes.preset(preset, domain), rng)
    made = steered.sample(200, rng)
    assert not steered.overridden
    assert (made[:, 0] < made[:, 1]).all()
    np.testing.assert_allclose(made[:, 2] * made[:, 3], made[:, 4], atol=0.0051)


def test_dates_are_wished_for_as_dates_and_shown_so_in_the_editable_table(tmp_path: Path) -> None:
    rows, domain = contracts(300, 0)
    graph = ConstraintGraph.fit(rows, domain, np.random.default_rng(0))
    for ends in (["2015-01-01", None], [dt.date(2015, 1, 1), None]):
        wish = Wishes.parse({"modify": [{"column": "start", "range": ends}]}, domain).wishes[0]
        assert wish.range == (domain.columns[0].code("2015-01-01"), domain.columns[0].highest)
    write_table(graph.graph, domain, tmp_path / "table.csv")
    text = (tmp_path / "table.csv").read_text()
    low = str(domain.columns[0].value(domain.columns[0].lowest))
    (tmp_path / "table.csv").write_text(text.replace(low, "2012-06-01"))
    assert read_wishes(tmp_path / "table.csv", graph.graph, domain).wishes[0].range == (15_492.0, domain.columns[0].highest)
    with pytest.raises(ConstraintError, match="must be a date such as"):
        Wishes.parse({"modify": [{"column": "start", "range": [2015, None]}]}, domain)
    with pytest.raises(ConstraintError, match="move it by a number of days"):
        Wishes.preset("start up 20 %", domain)


def test_a_wish_about_the_numbers_of_one_group_leaves_those_of_the_other_alone(graph: ConstraintGraph) -> None:
    wish = {"association": ["sex", "income"], "value": "Female", "range": [500, 600]}
    rows, made = people(8_000, 0)[0], drawn(graph, {"modify": [wish]})
    women, men = made[made[:, 0] == 0, 2], made[made[:, 0] == 1, 2]
    assert women.min() >= 500
    assert women.max() <= 600
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    assert np.quantile(men, levels) == pytest.approx(np.quantile(rows[rows[:, 0] == 1, 2], levels), rel=0.08)
    assert (made[:, 0] == 1).mean() == pytest.approx((rows[:, 0] == 1).mean(), abs=0.03)
