"""Keys are equal for twins and for nobody else; twins differ only where they may."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.domain.columns import Column
from evenhand.domain.key_table import KeyTable
from evenhand.domain.tabular import TabularDomain
from evenhand.domain.twins import Implied


@st.composite
def columns(draw):
    kind = draw(st.sampled_from(["category", "integer", "real", "huge"]))
    missing = draw(st.sampled_from([0.0, 0.2]))
    if kind == "category":
        values = tuple("abcdefg"[: draw(st.integers(1, 7))])
        return lambda name: Column(name, "category", values, missing=missing)
    if kind == "integer":
        low = draw(st.integers(-1000, 1000))
        high = low + draw(st.integers(0, 500))
        return lambda name: Column(name, "integer", low=low, high=high, missing=missing)
    if kind == "huge":
        return lambda name: Column(name, "integer", low=-(2**40), high=2**40, missing=missing)
    return lambda name: Column(name, "real", low=-1.0, high=1.0, missing=missing)


@st.composite
def domains(draw):
    made = draw(st.lists(columns(), min_size=1, max_size=6))
    free = tuple(make(f"c{i}") for i, make in enumerate(made))
    group = Column("group", "category", ("x", "y", "z"))
    at = draw(st.integers(0, len(free)))
    return TabularDomain((*free[:at], group, *free[at:]), ("group",))


@given(domains(), st.integers(0, 2**32 - 1))
@settings(max_examples=80, deadline=None)
def test_keys_tell_non_protected_parts_apart(domain, seed):
    rng = np.random.default_rng(seed)
    rows = domain.sample(40, rng)
    rows = np.vstack([rows, rows[rng.integers(0, 40, 40)]])
    rows[40:, domain.protected_places[0]] = rng.integers(0, 3, 40)
    keys = domain.keys(rows)
    free = np.nan_to_num(rows[:, list(domain.free_places)], nan=1e300)
    _, expected = np.unique(free, axis=0, return_inverse=True)
    same_key = keys[:, None] == keys[None, :]
    same_part = expected.ravel()[:, None] == expected.ravel()[None, :]
    np.testing.assert_array_equal(same_key, same_part)


@given(domains(), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_twins_differ_only_in_the_protected_column(domain, seed):
    rows = domain.sample(20, np.random.default_rng(seed))
    twins = domain.twins(rows)
    place = domain.protected_places[0]
    assert twins.rows.shape == (3, *rows.shape)
    for code, twin in enumerate(twins.rows):
        assert (twin[:, place] == code).all()
        np.testing.assert_array_equal(np.delete(twin, place, axis=1), np.delete(rows, place, axis=1))
    own = domain.own_combination(rows)
    np.testing.assert_array_equal(twins.rows[own, np.arange(20)], rows)


@given(domains(), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_samples_lie_inside_and_clipping_leaves_them_alone(domain, seed):
    rows = domain.sample(50, np.random.default_rng(seed))
    assert domain.inside(rows).all()
    np.testing.assert_array_equal(domain.clip(rows), rows)
    np.testing.assert_array_equal(domain.project(rows), rows)


@given(st.lists(st.lists(st.integers(0, 60), max_size=40), max_size=12))
@settings(max_examples=80, deadline=None)
def test_the_key_table_numbers_keys_by_first_appearance(batches):
    table, expected = KeyTable(4), {}
    for batch in batches:
        keys = np.array(batch, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        places, new = table.add(keys)
        for key, place, is_new in zip(keys.tolist(), places, new, strict=True):
            assert is_new == (key not in expected)
            assert place == expected.setdefault(key, len(expected))
        np.testing.assert_array_equal(table.find(keys), places)
    assert table.size == len(expected)


def test_a_million_rows_are_told_apart_in_a_fraction_of_a_second():
    import time

    rows = np.random.default_rng(0).integers(0, 10, (1_000_000, 13)).astype(float)
    domain = TabularDomain(tuple(Column(f"c{i}", "integer", low=0, high=9) for i in range(13)), ("c0",))
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        KeyTable(len(rows)).add(domain.keys(rows))
        best = min(best, time.process_time() - started)
    assert best < 0.9


@given(domains(), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=100, deadline=None)
def test_one_twin_each_is_what_the_orbit_holds_there(domain, seed, is_implied):
    if is_implied:
        role = Column("role", "category", ("aunt", "uncle", "friend"))
        rule = Implied("group", "x", "y", {"role": {"aunt": "uncle"}})
        domain = TabularDomain((*domain.columns, role), ("group",), implied=(rule,))
    rng = np.random.default_rng(seed)
    rows = domain.sample(20, rng)
    orbit = domain.twins(rows).rows
    which = rng.integers(len(orbit), size=len(rows))
    np.testing.assert_array_equal(domain.twin(rows, which), orbit[which, np.arange(len(rows))])
