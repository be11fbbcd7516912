"""Postcodes and padded codes are categories, whatever their number and however they are written; neither numbers nor free text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evenhand.domain import frames
from evenhand.domain.code_texts import kind_of_codes
from evenhand.domain.infer import InferWishes, propose
from evenhand.verbs.init import init

RNG = np.random.default_rng(3)
COUNT = 3_000
WRITTEN = {
    "Britain": lambda: f"SW{RNG.integers(1, 10)}A {RNG.integers(1, 10)}{RNG.choice(list('ABDE'))}{RNG.choice(list('ABDE'))}",
    "Canada": lambda: f"K{RNG.integers(10)}A {RNG.integers(10)}B{RNG.integers(10)}",
    "the Netherlands": lambda: f"{RNG.integers(1000, 9999)} AB",
    "the States": lambda: f"{RNG.integers(99999):05d}",
    "the States, long": lambda: f"{RNG.integers(99999):05d}-{RNG.integers(9999):04d}",
    "Poland": lambda: f"{RNG.integers(99):02d}-{RNG.integers(999):03d}",
    "Japan": lambda: f"{RNG.integers(999):03d}-{RNG.integers(9999):04d}",
}


def people(**more: object) -> pd.DataFrame:
    return pd.DataFrame({"sex": RNG.choice(["f", "m"], COUNT), "income": RNG.normal(50, 9, COUNT), **more, "y": RNG.integers(0, 2, COUNT)})


@pytest.mark.parametrize("country", list(WRITTEN))
@pytest.mark.parametrize("name", ["Zip", "where"])
def test_postcodes_are_kept_as_a_category_and_it_is_said(country: str, name: str) -> None:
    codes = np.array([WRITTEN[country]() for _ in range(2_600)])
    proposal = propose(people(**{name: codes[RNG.integers(0, len(codes), COUNT)]}), InferWishes("y", 1, ("sex",)), suggestions=False)
    column = next(each for each in proposal.domain.columns if each.name == name)
    assert column.kind == "category"
    assert set(column.values) <= set(codes)
    assert any("kept as the texts that they are" in note and repr(name) in note for note in proposal.notes)
    assert not proposal.left_out


def test_whole_numbers_that_are_called_postcodes_are_no_numbers() -> None:
    frame = people(PLZ=RNG.choice(np.arange(10_115, 99_998, 31), COUNT))
    proposal = propose(frame, InferWishes("y", 1, ("sex",)), suggestions=False)
    column = next(each for each in proposal.domain.columns if each.name == "PLZ")
    assert column.kind == "category"
    assert column.values == tuple(sorted(int(code) for code in frame["PLZ"].unique()))
    assert any("read as a category and not as numbers" in note and "numbers: PLZ" in note for note in proposal.notes)
    as_number = propose(frame, InferWishes("y", 1, ("sex",), numbers=("PLZ",)), suggestions=False)
    assert next(each for each in as_number.domain.columns if each.name == "PLZ").kind == "integer"


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("note", ["my dog ate it", "no", "12345"], ""),
        ("amount", ["100", "250", "999"], ""),
        ("branch", ["0012", "0400", "7700"], "codes with leading zeros"),
        ("código postal", ["C1425", "B1842"], "postcodes"),
        ("zip line", ["yes", "no"], ""),
        ("郵便番号", ["1000001", "1500002"], "postcodes"),
    ],
)
def test_what_is_a_code_and_what_is_not(name: str, cells: list[str], kind: str) -> None:
    assert kind_of_codes(name, cells) == kind


def test_every_row_with_its_own_code_is_an_identifier() -> None:
    frame = people(file=[f"{number:06d}" for number in range(COUNT)])
    assert "identifier" in propose(frame, InferWishes("y", 1, ("sex",)), suggestions=False).left_out["file"]


def test_init_reads_the_table_once_even_where_the_model_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.tree import DecisionTreeClassifier
    from skops.io import dump

    frame = people(zip=[f"{code:05d}" for code in RNG.integers(0, 900, COUNT)])
    frame["sex"] = (frame["sex"] == "m").astype(int)
    frame.to_csv(tmp_path / "people.csv", index=False)
    dump(DecisionTreeClassifier(max_depth=3).fit(frame[["sex", "income"]], frame["y"]), tmp_path / "tree.skops")
    reads: list[object] = []
    whole = frames._read_text
    monkeypatch.setattr(frames, "_read_text", lambda *given: reads.append(given) or whole(*given))
    written = init(
        tmp_path / "people.csv", label="y", favourable=1, protected=["sex"], model=tmp_path / "tree.skops", file=tmp_path / "evenhand.yaml"
    )
    assert len(reads) == 1
    assert any("the model's answers: " in line for line in written.lines)
    assert any("kept as the texts that they are" in line for line in written.lines)
