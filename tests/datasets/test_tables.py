"""The embedded tables are whole, small, unaltered, free of identifying columns, and inside their own domains."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from evenhand import datasets
from evenhand.datasets import cards
from evenhand.errors import UnknownName

SHAPES = {
    "adult": (48_842, 14),
    "bank": (45_211, 16),
    "bank_additional": (41_188, 20),
    "car": (1_728, 6),
    "cleveland": (297, 13),
    "compas": (7_214, 9),
    "credit": (1_000, 21),
    "ecoli": (336, 7),
    "magic": (19_020, 10),
    "meps": (15_675, 41),
    "wdbc": (569, 30),
}
LABEL_COUNTS = {
    "adult": {"<=50K": 37_155, ">50K": 11_687},
    "bank": {"no": 39_922, "yes": 5_289},
    "bank_additional": {"no": 36_548, "yes": 4_640},
    "car": {"unacc": 1_210, "acc": 384, "good": 69, "vgood": 65},
    "cleveland": {0: 160, 1: 54, 2: 35, 3: 35, 4: 13},
    "compas": {0: 3_963, 1: 3_251},
    "credit": {"good": 700, "bad": 300},
    "ecoli": {"cp": 143, "im": 77, "pp": 52, "imU": 35, "om": 20, "omL": 5, "imL": 2, "imS": 2},
    "magic": {"g": 12_332, "h": 6_688},
    "meps": {"under 10 visits": 13_047, "10 visits or more": 2_628},
    "wdbc": {"B": 357, "M": 212},
}
MISSING = {
    "adult": {"workclass": 2_799, "occupation": 2_809, "native_country": 857},
    "compas": {"c_charge_desc": 29},
    "meps": {"PCS42": 6_080, "MCS42": 6_074, "K6SUM42": 6_216, "PHQ242": 6_029},
}


@pytest.fixture(scope="module", params=sorted(SHAPES))
def dataset(request: pytest.FixtureRequest) -> datasets.Dataset:
    return datasets.load(request.param)


def test_every_embedded_table_is_covered_here() -> None:
    assert datasets.names() == tuple(sorted(SHAPES))


def test_rows_columns_labels_and_missing_cells_are_the_published_counts(dataset: datasets.Dataset) -> None:
    name = dataset.name
    assert dataset.inputs.shape == SHAPES[name]
    assert dataset.frame[dataset.label].value_counts().to_dict() == LABEL_COUNTS[name]
    missing = dataset.frame.isna().sum()
    assert missing[missing > 0].to_dict() == MISSING.get(name, {})


def test_encoding_and_decoding_gives_back_the_whole_table(dataset: datasets.Dataset) -> None:
    pd.testing.assert_frame_equal(dataset.domain.decode(dataset.encoded), dataset.inputs)


def test_every_row_is_inside_the_ranges_of_its_own_domain(dataset: datasets.Dataset) -> None:
    assert dataset.left_out == 0
    assert len(dataset.rows) == len(dataset.labels) == len(dataset)


def test_hardly_any_row_breaks_a_declared_constraint(dataset: datasets.Dataset) -> None:
    assert len(dataset.domain.constraints) == len(cards.card(dataset.name).constraints)
    assert all(share < 1e-4 for share in dataset.domain.broken_shares(dataset.rows).values())


def test_every_declared_value_appears_in_the_data(dataset: datasets.Dataset) -> None:
    for place, column in enumerate(dataset.domain.columns):
        if column.is_listed:
            codes = dataset.encoded[:, place]
            assert len(np.unique(codes[~np.isnan(codes)])) == len(column.values), column.name


def test_each_protectable_column_has_twins_of_which_one_is_the_row_itself(dataset: datasets.Dataset) -> None:
    for name in dataset.protectable:
        protected = dataset.protect(name)
        rows = protected.rows[:200]
        twins = protected.domain.twins(rows)
        assert len(twins.rows) >= 2
        assert (protected.domain.own_combination(rows) >= 0).all()


def test_file_is_the_one_that_the_card_describes(dataset: datasets.Dataset) -> None:
    facts = cards.card(dataset.name)
    assert facts.intact()
    assert facts.rows == len(dataset)
    for fact in (facts.title, facts.source, facts.licence, facts.citation, facts.package):
        assert fact.strip()


def test_card_declares_every_stored_column(dataset: datasets.Dataset) -> None:
    facts = cards.card(dataset.name)
    read = {entry.of or name for name, entry in facts.columns.items()}
    assert set(facts.table().columns) == read | set(facts.aside) | {dataset.label}


def test_all_tables_together_take_less_than_8_megabytes() -> None:
    assert sum(path.stat().st_size for path in cards.TABLES.iterdir()) < 8_000_000


def test_compas_holds_nothing_that_points_to_a_person() -> None:
    stored = set(cards.card("compas").table().columns)
    identifying = {"id", "name", "first", "last", "dob", "c_case_number", "r_case_number", "vr_case_number"}
    assert not stored & identifying
    assert not [name for name in stored if "date" in name or "jail" in name or "custody" in name]
    texts = cards.card("compas").table().select_dtypes(exclude="number")
    assert not texts.apply(lambda cells: cells.str.contains(r"\d{4}-\d{2}-\d{2}", na=False).any()).any()


def test_a_husband_becomes_a_wife_and_back() -> None:
    adult = datasets.adult()
    place, sex = adult.domain.place("relationship"), adult.domain.place("sex")
    relationship = adult.domain.columns[place]
    female = adult.domain.columns[sex].code("Female")
    husbands = adult.rows[adult.rows[:, place] == relationship.code("Husband")][:50]
    twins = adult.domain.twins(husbands[husbands[:, sex] != female])
    as_women = twins.rows[:, :, sex] == female
    assert (twins.rows[:, :, place][as_women] == relationship.code("Wife")).all()
    assert twins.valid.all()


def test_names_are_forgiving_where_they_can_be() -> None:
    assert datasets.german().name == "credit"
    assert datasets.load("german").name == "credit"
    with pytest.raises(UnknownName, match=r"unknown data set 'adlut'; did you mean 'adult'\?"):
        datasets.load("adlut")
    with pytest.raises(UnknownName, match="unknown coding 'paper'; did you mean 'papers'"):
        datasets.load("adult", "paper")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="papers' coding"):
        datasets.load("magic", "papers")


def test_importing_the_data_sets_imports_no_heavy_package() -> None:
    probe = "import sys, evenhand.datasets; print([m for m in ('pandas', 'pyarrow', 'yaml', 'sklearn') if m in sys.modules])"
    seen = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "[]"
