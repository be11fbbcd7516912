"""Relations between columns: found with their support, kept by chained trees, and still exactly invertible."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evenhand.arrays import Rows
from evenhand.domain.columns import Column
from evenhand.domain.constraints import compile_constraint
from evenhand.domain.project_file import load, save
from evenhand.domain.relations import find_relations
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.verbs.init import init


def related_table(n: int, seed: int) -> tuple[Rows, TabularDomain]:
    """A sum, a linear column, a body-mass index, 1,500 cities in 37 countries, dates in order, flags, a number that is zero unless."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n)
    first, second = np.round(np.exp(rng.normal(7, 0.6, n)), 2), np.round(np.exp(rng.normal(5, 1, n)), 2)
    height = np.round(rng.normal(1.72 - 0.1 * sex, 0.08, n), 2)
    weight = np.round(22 * height**2 * np.exp(rng.normal(0.1, 0.15, n)), 1)
    city = np.minimum(rng.zipf(1.3, n), 1_500) - 1
    start = rng.integers(14_000, 19_000, n)
    end = start + 1 + rng.geometric(0.02, n)
    group, kind = rng.integers(0, 4, n), rng.integers(0, 3, n)
    cells = {
        "sex": sex,
        "first": first,
        "second": second,
        "total": np.round(first + second, 2),
        "linear": np.round(3.2 * first + 150, 2),
        "height": height,
        "weight": weight,
        "bmi": np.round(weight / height**2, 1),
        "city": city,
        "country": (city * 7_919) % 37,
        "start": start,
        "end": end,
        **{f"is_{value}": group == value for value in range(4)},
        "kind": kind,
        "claims": np.where(kind == 0, 0, rng.integers(1, 500, n)),
        "extra": np.where(kind == 1, np.nan, rng.integers(0, 300, n)),
    }
    return np.column_stack(list(cells.values())).astype(float), TabularDomain(tuple(_column(name, cells[name]) for name in cells), ("sex",))


def _column(name: str, cells: np.ndarray) -> Column:
    if name in ("sex", "city", "country", "kind"):
        return Column(
            name, "category", tuple(f"{name}{value}" for value in range({"city": 1_500, "country": 37}.get(name, int(cells.max()) + 1)))
        )
    if name.startswith("is_"):
        return Column(name, "boolean", (0, 1))
    low, high = np.nanmin(cells), np.nanmax(cells)
    if name in ("start", "end"):
        return Column(name, "date", low=int(low), high=int(high))
    if name in ("claims", "extra"):
        return Column(name, "integer", low=int(low), high=int(high), missing=float(np.isnan(cells.astype(float)).mean()))
    return Column(name, "real", low=float(low), high=float(high))


RULES = (
    "total == first + second",
    "linear == 3.2 * first + 150 within 0.005",
    "bmi == weight / height / height within 0.05",
    "city determines country",
    "start < end",
    "is_0 + is_1 + is_2 + is_3 == 1",
    'kind == "kind0" => claims == 0',
    'kind == "kind1" => extra is missing',
)


@pytest.fixture(scope="module")
def table() -> tuple[Rows, TabularDomain]:
    return related_table(6_000, 0)


@pytest.fixture(scope="module")
def trees(table: tuple[Rows, TabularDomain]) -> ChainedTrees:
    return ChainedTrees.fit(*table, np.random.default_rng(0))


def test_every_relation_is_found_with_full_support_and_nothing_else_is(table: tuple[Rows, TabularDomain]) -> None:
    found = {each.text.replace("0.0", "0"): each.support for each in find_relations(*table, np.random.default_rng(0))}
    assert set(found) == {rule.replace("0.0", "0") for rule in RULES}
    assert set(found.values()) == {1.0}


def test_unrelated_columns_have_no_relations() -> None:
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.integers(0, 2, 3_000), rng.normal(size=3_000), rng.integers(0, 90, 3_000), rng.normal(size=3_000)]).astype(
        float
    )
    columns = (
        Column("flag", "boolean", (0, 1)),
        Column("one", "real", low=-9.0, high=9.0),
        Column("two", "integer", low=0, high=90),
        Column("three", "real", low=-9.0, high=9.0),
    )
    assert find_relations(rows, TabularDomain(columns), rng) == ()


def _thresholds(n: int, seed: int) -> tuple[Rows, TabularDomain]:
    """A bonus from grade 4 on, an income from 18 on, a gain and a loss that never come together, and a cell that merely becomes rare."""
    rng = np.random.default_rng(seed)
    grade, age, kind = rng.integers(1, 6, n), rng.integers(0, 90, n), rng.random(n)
    cells = {
        "grade": grade,
        "age": age,
        "bonus": np.where(grade >= 4, np.round(rng.pareto(2, n) * 300 + 1), 0),
        "income": np.where((age >= 18) & (rng.random(n) < 0.8), rng.integers(1, 90_000, n), 0),
        "gain": np.where(kind < 0.2, rng.integers(1, 999, n), 0),
        "loss": np.where(kind > 0.9, rng.integers(1, 999, n), 0),
        "loan": np.where(rng.random(n) < 0.3 * np.exp(-age / 9), 1, 0),
    }
    columns = [Column(name, "integer", low=int(codes.min()), high=int(codes.max())) for name, codes in cells.items()]
    return np.column_stack(list(cells.values())).astype(float), TabularDomain(tuple(columns))


def test_a_column_that_is_zero_unless_a_number_is_large_enough_is_found_and_kept() -> None:
    rows, domain = _thresholds(4_000, 2)
    rng = np.random.default_rng(0)
    found = {each.text for each in find_relations(rows, domain, rng)}
    assert found == {
        "grade < 4 => bonus == 0.0",
        "age < 18 => income == 0.0",
        "gain > 0 => loss == 0.0",
        "loss > 0 => gain == 0.0",
    }
    trees = ChainedTrees.fit(rows, domain, rng)
    made = trees.sample(5_000, rng)
    for text in found:
        assert compile_constraint(text, domain.columns).holds(made).all(), text
    assert (trees.decode(trees.encode(rows, rng)) == rows).all()
    assert (made[:, 4] > 0).mean() == pytest.approx(0.2, abs=0.02)
    assert (made[:, 5] > 0).mean() == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("rule", RULES)
def test_chained_trees_keep_every_relation(rule: str, table: tuple[Rows, TabularDomain], trees: ChainedTrees) -> None:
    rows, domain = table
    drawn = trees.sample(20_000, np.random.default_rng(1))
    assert domain.inside(drawn).all()
    assert compile_constraint(rule, domain.columns, rows).holds(drawn).mean() >= 0.999


def test_the_way_back_stays_exact_under_relations(table: tuple[Rows, TabularDomain], trees: ChainedTrees) -> None:
    rows = table[0][:1_000]
    latents = trees.encode(rows, np.random.default_rng(2))
    assert np.array_equal(trees.decode(latents), rows, equal_nan=True)
    assert np.isfinite(trees.log_density(rows)).all()
    assert np.abs(latents.std(axis=0) - 1).max() < 0.15


def test_a_row_that_breaks_a_relation_stays_possible(table: tuple[Rows, TabularDomain], trees: ChainedTrees) -> None:
    rows, domain = table[0][:500].copy(), table[1]
    for name in ("total", "country", "end", "is_3"):
        rows[:, domain.place(name)] = rows[::-1, domain.place(name)]
    back = trees.decode(trees.encode(rows, np.random.default_rng(2)))
    assert (np.isclose(back, rows) | np.isnan(rows)).all(axis=1).mean() > 0.98
    assert np.isfinite(trees.log_density(rows)).all()


def test_shares_of_a_guided_column_add_up_to_one(table: tuple[Rows, TabularDomain], trees: ChainedTrees) -> None:
    """Every country of one row, and every end of another, have a probability each."""
    rows, domain = table
    for name in ("country", "end"):
        place = domain.place(name)
        column = domain.columns[place]
        every = np.repeat(rows[:1], int(column.highest - column.lowest) + 1, axis=0)
        every[:, place] = np.arange(column.lowest, column.highest + 1)
        assert np.exp(trees.log_shares(every)[:, place]).sum() == pytest.approx(1.0, abs=2e-4)


def test_init_shows_relations_and_a_person_can_put_them_into_force(tmp_path: Path) -> None:
    rows, domain = related_table(3_000, 0)
    domain.decode(rows).to_csv(tmp_path / "table.csv", index=False)
    lines = init(tmp_path / "table.csv", file=tmp_path / "evenhand.yaml").lines
    assert "relation in the data: total == first + second  (kept by 100.00% of the rows)" in lines
    text = (tmp_path / "evenhand.yaml").read_text()
    head, _, tail = text.partition("# relations:\n")
    (tmp_path / "evenhand.yaml").write_text(head + "relations:\n" + tail.replace("#  - ", "  - "))
    declared = load(tmp_path / "evenhand.yaml")
    assert len(declared.constraints) == len(RULES)
    assert not declared.finds_relations
    assert declared.contains(declared.sample(100, np.random.default_rng(0))).all()
    save(declared, tmp_path / "again.yaml")
    assert load(tmp_path / "again.yaml") == declared


def test_an_empty_list_of_relations_switches_them_off(tmp_path: Path) -> None:
    rows, domain = related_table(1_000, 0)
    save(replace(domain, finds_relations=False), tmp_path / "domain.yaml")
    trees = ChainedTrees.fit(rows, load(tmp_path / "domain.yaml"), np.random.default_rng(0))
    assert not trees.relations
    assert not trees.guides


def test_a_computed_number_is_missing_exactly_where_one_of_its_parts_is():
    rng = np.random.default_rng(0)
    weight, height = np.round(rng.normal(70, 9, 2_000), 1), np.round(rng.normal(1.7, 0.1, 2_000), 2)
    index = np.round(weight / height**2, 1)
    weight[rng.random(2_000) < 0.1] = np.nan
    rows = np.column_stack([weight, height, np.where(np.isnan(weight), np.nan, index)])
    ends = [(float(np.nanmin(cells)), float(np.nanmax(cells))) for cells in rows.T]
    kinds = zip(("weight", "height", "index"), ends, (0.1, 0.0, 0.1), strict=True)
    domain = TabularDomain(tuple(Column(name, "real", low=low, high=high, missing=share) for name, (low, high), share in kinds))
    trees = ChainedTrees.fit(rows, domain, rng)
    made = trees.sample(20_000, rng)
    assert (np.isnan(made[:, 0]) == np.isnan(made[:, 2])).all()
    odd = rows[:40].copy()
    odd[:, 2] = np.nan  # against the relation, and still possible
    np.testing.assert_array_equal(trees.decode(trees.encode(odd, rng)), odd)
    assert np.isfinite(trees.log_density(odd)).all()


def pay_table(n: int, seed: int) -> tuple[Rows, TabularDomain]:
    """A deduction that follows from the pay, a net pay that follows from both, and the ratio of an allowance that most do not get."""
    rng = np.random.default_rng(seed)
    base = np.round(np.exp(rng.normal(10.2, 0.4, n)), 2)
    allowance = np.round(np.where(rng.random(n) < 0.6, 0, np.exp(rng.normal(7, 0.8, n))), 2)
    deduction = np.round(0.07 * base + 30, 2)
    cells = {"base": base, "allowance": allowance, "deduction": deduction, "net": np.round(base + allowance - deduction, 2)}
    cells["ratio"] = np.round(allowance / base, 4)
    columns = tuple(Column(name, "real", low=float(each.min()), high=float(each.max())) for name, each in cells.items())
    return np.column_stack(list(cells.values())), TabularDomain(columns)


def test_sums_of_sums_and_ratios_of_what_is_often_zero_are_found_and_kept() -> None:
    rows, domain = pay_table(3_000, 4)
    rng = np.random.default_rng(0)
    found = [each.text for each in find_relations(rows, domain, rng)]
    wanted = ["deduction == 0.07 * base + 30 within 0.005", "net == base + allowance - deduction", "ratio == allowance / base within 5e-05"]
    assert found[:3] == wanted
    drawn = ChainedTrees.fit(rows, domain, rng).sample(2_000, rng)
    for text in wanted:
        assert compile_constraint(text, domain.columns, rows).holds(drawn).mean() >= 0.999, text


def test_a_column_that_follows_from_one_drawn_after_it_is_kept_too() -> None:
    rng = np.random.default_rng(4)
    grade = rng.integers(1, 6, 2_000)
    claims = np.where(grade < 3, 0, rng.integers(1, 90, 2_000))
    columns = (
        Column("grade", "integer", low=1, high=5),
        Column("contract", "category", ("none", "full")),
        Column("claims", "integer", low=0, high=89),
    )
    rows = np.column_stack([grade, grade >= 3, claims]).astype(np.float64)
    trees = ChainedTrees.fit(rows, TabularDomain(columns), rng)
    late = next(each for each in trees.relations if each.text == "claims determines contract")
    assert trees.order.index(1) < trees.order.index(2)
    assert late.rule.holds(trees.sample(20_000, rng)).all()


def test_columns_that_settle_each_other_never_part():
    rng = np.random.default_rng(1)
    child = rng.random(3_000) < 0.3
    answers = [np.where(child, 0, 1 + (rng.random(3_000) < share)) for share in (0.1, 0.3, 0.5, 0.7)]
    domain = TabularDomain(tuple(Column(f"q{at}", "category", ("not asked", "yes", "no")) for at in range(4)))
    rows = np.column_stack(answers).astype(float)
    made = ChainedTrees.fit(rows, domain, rng).sample(60_000, rng)
    assert np.isin((made == 0).sum(axis=1), (0, 4)).all()


def test_a_sum_of_a_product_is_kept_though_it_could_exceed_its_range():
    rng = np.random.default_rng(5)
    hours, rate = np.round(rng.gamma(9, 4, 700), 1), np.round(rng.normal(20, 4, 700), 2)
    pay, bonus = np.round(hours * rate, 2), np.where(rng.random(700) < 0.6, 0.0, np.round(rng.pareto(1.2, 700) * 300, 2))
    rows = np.column_stack([hours, rate, pay, bonus, np.round(pay + bonus, 2)])
    columns = tuple(
        Column(name, "real", low=float(cells.min()), high=float(cells.max()))
        for name, cells in zip(("hours", "rate", "pay", "bonus", "total"), rows.T, strict=True)
    )
    trees = ChainedTrees.fit(rows, TabularDomain(columns), rng)
    assert {each.kind for each in trees.relations} == {"linear", "product"}
    made = trees.sample(20_000, rng)
    for each in trees.relations:
        assert each.rule.holds(made).all(), each.text


def payslips(n: int, seed: int) -> tuple[Rows, TabularDomain]:
    """A gross pay with its parts, a tax on it, what is left, and a debt in proportion to it, which rounding may leave at zero."""
    rng = np.random.default_rng(seed)
    base, extra = np.round(np.exp(rng.normal(7.6, 0.5, n)), 2), np.round(np.where(rng.random(n) < 0.6, 0, np.exp(rng.normal(5, 1.2, n))), 2)
    gross, debt = np.round(base + extra, 2), np.round(rng.pareto(1.5, n) * 500 + 0.01, 2)
    tax = np.round(0.23 * gross, 2)
    cells = {"base": base, "extra": extra, "gross": gross, "tax": tax, "net": np.round(gross - tax, 2), "debt": debt}
    cells["burden"] = np.round(debt / gross, 3)
    columns = tuple(Column(name, "real", low=float(codes.min()), high=float(codes.max())) for name, codes in cells.items())
    return np.column_stack(list(cells.values())), TabularDomain(columns)


def test_a_tax_on_a_total_is_found_beside_what_is_left_and_a_ratio_to_it_though_a_few_are_rounded_to_zero() -> None:
    rows, domain = payslips(3_000, 11)
    assert 0 < (rows[:, 6] == 0).mean() < 0.01
    found = [each for each in find_relations(rows, domain, np.random.default_rng(0)) if each.kind in ("linear", "product")]
    assert {each.text for each in found} == {
        "tax == 0.23 * gross within 0.005",
        "net == gross - tax",
        "gross == base + extra",
        "burden == debt / gross within 0.0005",
    }
    assert {each.support for each in found} == {1.0}
    made = ChainedTrees.fit(rows, domain, np.random.default_rng(1)).sample(2_000, np.random.default_rng(2))
    assert all(each.rule.holds(made).mean() >= 0.999 for each in found)


def test_equations_are_told_by_totals_and_computed_from_columns_whose_steps_they_land_on() -> None:
    rng = np.random.default_rng(3)
    spring, autumn = rng.integers(0, 900, (2, 600)).astype(float)
    base, bonus = np.round(rng.gamma(3, 600, 600), 2), np.round(rng.gamma(2, 90, 600), 2)
    gross = np.round(base + bonus, 2)
    tax = np.round(0.2 * gross, 2)
    cells = {"spring": spring, "autumn": autumn, "year": spring + autumn, "mean": (spring + autumn) / 2}
    cells |= {"base": base, "bonus": bonus, "gross": gross, "tax": tax, "net": np.round(gross - tax, 2)}
    columns = tuple(_column(name, each) for name, each in cells.items())
    rows, domain = np.column_stack(list(cells.values())), TabularDomain(columns)
    found = [each for each in find_relations(rows, domain, rng) if each.kind == "linear"]
    assert {each.text for each in found} == {
        "mean == 0.5 * year",
        "year == spring + autumn",
        "gross == base + bonus",
        "tax == 0.2 * gross within 0.005",
        "net == gross - tax",
    }
    made = ChainedTrees.fit(rows, domain, rng).sample(600, rng)
    assert all(each.rule.holds(made).mean() >= 0.999 for each in found)
