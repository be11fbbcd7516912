"""The cell of a code is found by a table of bins where many are looked up: the same one as by halving, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.domain.columns import Column
from evenhand.synthesis.cells import cut

RNG = np.random.default_rng(7)
COLUMNS = {
    "money": np.round(np.exp(RNG.normal(7, 0.6, 3000)), 2),
    "dates": RNG.integers(14_000, 19_000, 3000).astype(float),
    "normal": RNG.normal(size=3000),
    "with missing cells": np.where(RNG.random(3000) < 0.1, np.nan, RNG.random(3000)),
    "nearly all at one end": np.round(np.exp(RNG.normal(5, 3, 3000)), 2),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_many_codes_are_located_as_one_by_one(name):
    data = COLUMNS[name]
    kind = "integer" if name == "dates" else "real"
    missing = float(np.isnan(data).mean())
    cells = cut(Column("c", kind, low=float(np.nanmin(data)), high=float(np.nanmax(data)), missing=missing), data, 64)
    edges = cells.edges
    odd = [-np.inf, np.inf, np.nan, -1e300, 1e300]
    codes = np.concatenate([data, edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf), odd])
    assert np.array_equal(cells.locate(codes), np.concatenate([cells.locate(each) for each in np.array_split(codes, 40)]))


def test_a_table_of_bins_is_made_only_where_borders_lie_apart():
    made = {
        name: cut(Column("c", "real", low=float(np.nanmin(data)), high=float(np.nanmax(data)), missing=0.1), data, 64)._bins
        for name, data in COLUMNS.items()
    }
    assert [name for name, bins in made.items() if bins is None] == ["nearly all at one end"]
