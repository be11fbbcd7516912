"""Findings of wide tables are kept in few bytes, and nobody can tell from their codes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.contract import Verdict
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.findings import Findings, findings_of
from evenhand.engine.findings_pile import FindingsPile
from evenhand.engine.kept_pairs import WIDE_COLUMNS, KeptPairs

KINDS = (
    Column("c", "category", tuple("abcdef"), missing=0.1),
    Column("byte", "integer", low=-100, high=154),
    Column("word", "integer", low=-9, high=65_000, missing=0.2),
    Column("long", "integer", low=0, high=10**12),
    Column("real", "real", low=-1.0, high=1.0, missing=0.1),
)
WIDE = tuple(
    Column(f"{each.name}{at}", each.kind, each.values, low=each.low, high=each.high, missing=each.missing)
    for at in range(12)
    for each in KINDS
)
DOMAIN = TabularDomain((*WIDE, Column("sex", "category", ("f", "m"))), protected=("sex",))


def found(n: int, seed: int) -> Findings:
    rng = np.random.default_rng(seed)
    verdict = Verdict(np.ones(n, dtype=bool), rng.random(n), np.tile(np.array([0, 1], np.int16), (n, 1)))
    return findings_of(DOMAIN.sample(n, rng), verdict, DOMAIN, np.arange(n), "test")


def nbytes(pairs: KeptPairs) -> int:
    return pairs.small.nbytes + pairs.middle.nbytes + pairs.numbers.nbytes + pairs.cells.nbytes


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_codes_come_back_exactly(n, seed):
    rows = DOMAIN.sample(n, np.random.default_rng(seed))
    twins = rows.copy()
    twins[:, -1] = 1 - twins[:, -1]
    kept = KeptPairs.of(rows, twins, DOMAIN.columns)
    np.testing.assert_array_equal(kept.rows, rows)
    np.testing.assert_array_equal(kept.twins, twins)
    some = np.random.default_rng(seed).choice(len(DOMAIN.columns), 7, replace=False)
    for places in (some, [*some, len(DOMAIN.columns) - 1], [len(DOMAIN.columns) - 1]):
        np.testing.assert_array_equal(kept.rows_at(places), rows[:, places])
        np.testing.assert_array_equal(kept.twins_at(places), twins[:, places])


def test_wide_pairs_take_less_than_a_third_of_their_bytes():
    findings = found(500, 0)
    assert len(DOMAIN.columns) >= WIDE_COLUMNS
    assert nbytes(findings.pairs) < (findings.rows.nbytes + findings.twins.nbytes) / 3


@pytest.mark.parametrize("code", [0.5, -101.0, 155.0, np.nan, np.inf])
def test_codes_that_do_not_fit_their_column_are_kept_as_they_are(code):
    rows = DOMAIN.sample(5, np.random.default_rng(0))
    rows[3, 1] = code
    kept = KeptPairs.of(rows, rows, DOMAIN.columns)
    np.testing.assert_array_equal(kept.rows, rows)
    joined = KeptPairs.join([found(4, 1).pairs, kept])
    np.testing.assert_array_equal(joined.rows[4:], rows)


def test_parts_whose_twins_differ_in_other_columns_join():
    rows = DOMAIN.sample(6, np.random.default_rng(2))
    first, second = rows[:3].copy(), rows[3:].copy()
    first[:, -1], second[:, 1] = 1 - first[:, -1], 7.0
    joined = KeptPairs.join([KeptPairs.of(rows[:3], first, DOMAIN.columns), KeptPairs.of(rows[3:], second, DOMAIN.columns)])
    np.testing.assert_array_equal(joined.rows, rows)
    np.testing.assert_array_equal(joined.twins, np.concatenate([first, second]))


def test_a_pile_gives_the_tail_and_the_whole():
    parts = [found(n, n) for n in (3, 5, 2)]
    pile = FindingsPile(len(DOMAIN.columns))
    for part in parts:
        pile.add(part)
    whole = np.concatenate([part.rows for part in parts])
    np.testing.assert_array_equal(pile.since(4).rows, whole[4:])
    assert len(pile.since(10)) == 0
    np.testing.assert_array_equal(pile.whole().rows, whole)
    np.testing.assert_array_equal(pile.whole().keys(DOMAIN), DOMAIN.keys(whole))


def test_a_pile_grows_in_place_and_leaves_alone_what_was_shown():
    parts = [found(700, seed) for seed in range(6)]
    pile = FindingsPile(len(DOMAIN.columns))
    for part in parts[:4]:
        pile.add(part)
    shown, tail = pile.whole(), pile.since(2_500)
    kept = shown.rows.copy(), tail.rows.copy()
    for part in parts[4:]:
        pile.add(part)
    np.testing.assert_array_equal(shown.rows, kept[0])
    np.testing.assert_array_equal(tail.rows, kept[1])
    for name in ("rows", "twins", "gap", "outcomes", "candidate", "phase"):
        np.testing.assert_array_equal(getattr(pile.whole(), name), np.concatenate([getattr(part, name) for part in parts]))


def test_a_pile_of_twins_that_differ_in_other_columns_is_whole():
    first, second, rows = found(3, 1), found(4, 2), DOMAIN.sample(2, np.random.default_rng(5))
    twins = rows.copy()
    twins[:, 1] = 7.0
    third = replace(found(2, 3), pairs=KeptPairs.of(rows, twins, DOMAIN.columns))
    pile = FindingsPile(len(DOMAIN.columns))
    for part in (first, third, second):
        pile.add(part)
    np.testing.assert_array_equal(pile.whole().twins, np.concatenate([first.twins, twins, second.twins]))
    np.testing.assert_array_equal(pile.whole().rows, np.concatenate([first.rows, rows, second.rows]))


def test_some_are_replaced():
    findings, others = found(6, 3), found(2, 4)
    changed = findings.replaced(np.array([1, 4]), others, DOMAIN)
    np.testing.assert_array_equal(changed.rows[[1, 4]], others.rows)
    np.testing.assert_array_equal(changed.twins[[0, 5]], findings.twins[[0, 5]])
    assert changed.gap[1] == others.gap[0]
    assert findings.gap[1] != others.gap[0]


MOMENTS = (Column("day", "date", low=18_262, high=18_300, missing=0.5), Column("yes", "boolean", (False, True)))


@pytest.mark.parametrize("column", [*KINDS, *MOMENTS], ids=lambda column: column.name)
def test_many_cells_are_the_same_as_each_cell(column):
    codes = TabularDomain((column, DOMAIN.columns[-1]), protected=("sex",)).sample(50, np.random.default_rng(0))[:, 0]
    told = column.cells(codes)
    assert [(cell, type(cell)) for cell in told] == [(column.value(code), type(column.value(code))) for code in codes]
