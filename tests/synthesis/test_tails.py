"""What chained trees do at the ends of numbers: heavy tails, and values at which a number is cut off."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.arrays import Rows
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.cells import cut
from evenhand.synthesis.chained_trees import ChainedTrees


def drawn_from(rows: Rows, columns: tuple[Column, ...], n: int) -> Rows:
    rng = np.random.default_rng(1)
    return ChainedTrees.fit(rows, TabularDomain(columns), rng).sample(n, rng)


def test_a_heavy_tail_keeps_its_highest_quantiles():
    rng = np.random.default_rng(4)
    amounts = np.round(np.exp(rng.normal(3, 1.5, 6_000)), 2)
    group = np.where(amounts > np.median(amounts), 1.0, 0.0)
    columns = (Column("group", "category", ("low", "high")), Column("amount", "real", low=0.0, high=float(amounts.max())))
    made = drawn_from(np.column_stack([group, amounts]), columns, 30_000)[:, 1]
    for level in (0.99, 0.999, 0.001, 0.01):
        assert np.quantile(made, level) == pytest.approx(np.quantile(amounts, level), rel=0.25), level


def test_the_last_cells_of_a_tail_have_fewer_and_fewer_rows():
    amounts = np.sort(np.random.default_rng(5).pareto(1.2, 20_000))
    cells = cut(Column("amount", "real", low=0.0, high=float(amounts[-1])), amounts, 256)
    counts = np.bincount(cells.locate(amounts), minlength=cells.count)
    assert (np.diff(counts[-7:]) <= 0).all()
    assert counts[-7] <= 20


def test_a_number_that_is_cut_off_keeps_its_last_value_beside_an_order():
    rng = np.random.default_rng(6)
    whole = np.round(np.minimum(rng.normal(0.8, 0.2, 4_000), 1.0), 3).clip(0.2)
    part = np.round(whole * rng.beta(5, 3, 4_000), 3) - 0.001
    columns = (Column("part", "real", low=-0.001, high=1.0), Column("whole", "real", low=0.2, high=1.0))
    made = drawn_from(np.column_stack([part, whole]), columns, 10_000)
    assert (made[:, 0] < made[:, 1]).mean() >= 0.999
    assert (made[:, 1] == 1.0).mean() == pytest.approx((whole == 1.0).mean(), abs=0.02)


def test_a_date_follows_another_by_its_distance():
    rng = np.random.default_rng(7)
    start = rng.integers(10_000, 18_000, 3_000)
    end = start + 1 + rng.geometric(0.3, 3_000)
    columns = (Column("start", "date", low=10_000, high=18_000), Column("end", "date", low=10_000, high=18_100))
    made = drawn_from(np.column_stack([start, end]).astype(float), columns, 5_000)
    lengths = made[:, 1] - made[:, 0]
    assert lengths.min() > 0
    assert np.quantile(lengths, [0.5, 0.9]) == pytest.approx(np.quantile(end - start, [0.5, 0.9]), abs=1)


def test_a_number_with_few_values_that_follows_another_keeps_its_values():
    rng = np.random.default_rng(8)
    well = rng.random(4_000) < 0.6
    first = np.where(well, 5, np.round(rng.normal(50, 12, 4_000) / 3) * 3).clip(0, 100)
    second = np.where(well, 4, np.round((first + rng.normal(0, 6, 4_000)) / 3) * 3).clip(0, 100)
    columns = (Column("first", "real", low=0.0, high=100.0), Column("second", "real", low=0.0, high=100.0))
    made = drawn_from(np.column_stack([first, second]), columns, 5_000)
    assert np.isin(made[:, 1], np.unique(second)).mean() > 0.99
    assert (made[:, 1] == 4).mean() == pytest.approx(0.6, abs=0.03)


def test_numbers_are_missing_where_they_are_in_the_data_also_beside_protected_groups():
    rng = np.random.default_rng(8)
    sex, base = rng.integers(0, 2, 6_000), np.round(np.exp(rng.normal(7.6, 0.5, 6_000)), 2)
    noise = np.round(rng.normal(size=(6_000, 4)), 2)  # columns that tell nothing: splits on them part the missing cells by chance
    is_high = base > 3_000
    reported = np.where(rng.random(6_000) < np.where(is_high, 0.4, 0.05), np.nan, np.round(base * np.exp(rng.normal(0, 0.02, 6_000)), 2))
    rows = np.column_stack([sex, noise, base, reported])
    ends = [(float(np.nanmin(cells)), float(np.nanmax(cells))) for cells in rows.T]
    columns = [Column(f"n{at}", "real", low=ends[at][0], high=ends[at][1]) for at in range(1, 5)]
    numbers = [Column(name, "real", low=ends[at][0], high=ends[at][1], missing=gone) for name, at, gone in (("b", 5, 0.0), ("r", 6, 0.1))]
    domain = TabularDomain((Column("sex", "category", ("f", "m")), *columns, *numbers), ("sex",))
    made = ChainedTrees.fit(rows, domain, rng).sample(20_000, rng)
    for part in (is_high, ~is_high):
        there = made[:, 5] > 3_000 if part is is_high else made[:, 5] <= 3_000
        assert np.isnan(made[there, 6]).mean() == pytest.approx(np.isnan(reported[part]).mean(), rel=0.2)


def test_a_number_that_follows_a_line_stays_where_it_is_in_every_group():
    rng = np.random.default_rng(3)
    group, years, grade = rng.integers(0, 2, 3_000), np.round(rng.gamma(9, 4, 3_000), 1), rng.integers(1, 6, 3_000)
    rest = rng.normal(0, 1.5, 3_000)
    pay = np.round(3.0 * grade + years - 1.5 * group + rest - 9.0, 2)
    columns = (
        Column("group", "category", ("a", "b")),
        Column("years", "real", low=float(years.min()), high=float(years.max())),
        Column("grade", "integer", low=1, high=5),
        Column("pay", "real", low=float(pay.min()), high=float(pay.max())),
    )
    rows = np.column_stack([group, years, grade, pay]).astype(np.float64)
    trees = ChainedTrees.fit(rows, TabularDomain(columns, ("group",)), rng)
    assert trees.links[-1].trend is not None
    made = trees.sample(20_000, rng)
    for code in (0, 1):
        real, drawn = (part[part[:, 0] == code] for part in (rows, made))
        assert real[:, 3].mean() == pytest.approx(drawn[:, 3].mean(), abs=0.05 * real[:, 3].std())
    left = made[:, 3] + 9.0 - 3.0 * made[:, 2] - made[:, 1] + 1.5 * made[:, 0]
    assert (np.abs(left) > 1.5 * np.abs(rest).max()).mean() < 2e-4
