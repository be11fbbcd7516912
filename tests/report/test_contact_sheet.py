"""Pairs of pictures at a glance: as many as have both sides, whatever their sizes; what cannot be read is left out."""

from __future__ import annotations

import base64

import numpy as np

from evenhand.media.png import data_uri, picture_of
from evenhand.report.contact_sheet import HIGH, PNG, sheet_of_witnesses
from evenhand.report.record import HeaderRecord, Record, SubjectHeader, WitnessRecord


def witness(number: int, pictures: dict[str, str]) -> WitnessRecord:
    return WitnessRecord(id=f"{number}", person={"age": 1}, twin={"age": 2}, pictures=pictures)


def of(*witnesses: WitnessRecord, learned: tuple[str, ...] = ()) -> dict[str, object] | None:
    header = HeaderRecord(medium=SubjectHeader(kind="album", learned_twins=list(learned)))
    return sheet_of_witnesses(Record.model_construct(header=header, witnesses=list(witnesses)))


def pair(shape: tuple[int, int], seed: int) -> dict[str, str]:
    drawn = np.random.default_rng(seed).integers(0, 255, (2, *shape, 3), dtype=np.uint8)
    return {side: data_uri(picture) for side, picture in zip(("person", "twin"), drawn, strict=True)}


def test_pairs_of_any_size_stand_on_one_sheet() -> None:
    made = of(*(witness(k, pair(shape, k)) for k, shape in enumerate([(64, 64), (240, 300), (20, 30), (97, 400), (96, 96)])))
    assert made is not None
    assert made["title"] == "5 pairs at a glance"
    drawn = picture_of(base64.b64decode(str(made["picture"]).removeprefix(PNG)))
    assert drawn.shape[0] == 2 * HIGH + 6


def test_what_has_no_pictures_or_broken_ones_is_left_out() -> None:
    broken = {"person": PNG + "AAAA", "twin": PNG + "%%%"}
    good = [witness(k, pair((30, 30), k)) for k in range(2)]
    assert of(good[0], witness(2, broken), witness(3, {}), witness(4, {"person": "file.png", "twin": "file.png"})) is None
    made = of(*good, witness(5, broken))
    assert made is not None
    assert made["title"] == "2 pairs at a glance"


def test_twins_of_a_learned_editor_are_called_that() -> None:
    pairs = [witness(k, pair((24, 24), k)) for k in range(2)]
    exact, learned = of(*pairs), of(*pairs, learned=("tone",))
    assert exact is not None
    assert learned is not None
    assert "with only what is protected changed" in str(exact["sentence"])
    assert "only" not in str(learned["sentence"])


def test_few_small_pairs_leave_no_empty_room() -> None:
    made = of(*(witness(k, pair((24, 24), k)) for k in range(2)))
    assert made is not None
    drawn = picture_of(base64.b64decode(str(made["picture"]).removeprefix(PNG)))
    assert drawn.shape[:2] == (HIGH, 2 * 2 * (HIGH + 2) + 6)  # each pixel four times, both pairs in one row
    assert not (drawn[-1] == 255).all()
