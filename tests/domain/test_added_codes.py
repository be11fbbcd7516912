"""Whole numbers of few values that add up are amounts; what was chosen among a few numbers is not what a rounded equation computes."""

import numpy as np
import pandas as pd

from evenhand.domain.infer import InferWishes, infer, propose
from evenhand.domain.relations import find_relations

RNG = np.random.default_rng(0)
N = 2_000
ITEMS = {f"q{at}": RNG.integers(1, 6, N) for at in range(5)}
CODES = {"race": RNG.integers(1, 5, N), "region": RNG.integers(1, 4, N), "part": RNG.integers(0, 10, N)}


def relations_of(frame: pd.DataFrame) -> list[str]:
    domain = infer(frame)
    return [each.text for each in find_relations(domain.encode(frame), domain, np.random.default_rng(0))]


def kinds(frame: pd.DataFrame, **wishes: tuple[str, ...]) -> dict[str, str]:
    return {column.name: column.kind for column in propose(frame, InferWishes(**wishes), suggestions=False).domain.columns}


def test_answers_that_add_up_to_a_sum_or_a_mean_are_amounts_and_the_sum_is_found():
    frame = pd.DataFrame({**ITEMS, "total": sum(ITEMS.values()), "mean": np.mean(list(ITEMS.values()), axis=0), "race": CODES["race"]})
    found = kinds(frame)
    assert {found[name] for name in (*ITEMS, "total")} == {"integer"}
    assert found["race"] == "category"
    assert "total == q0 + q1 + q2 + q3 + q4" in relations_of(frame)


def test_codes_that_are_put_together_or_written_otherwise_stay_codes():
    area = 10 * CODES["region"] + CODES["part"]
    frame = pd.DataFrame({**CODES, "area": area, "again": 5 - CODES["race"], "income": RNG.normal(size=N)})
    found = kinds(frame)
    assert {found[name] for name in ("race", "region", "part", "again")} == {"category"}


def test_a_protected_column_stays_what_it_is():
    frame = pd.DataFrame({"a": ITEMS["q0"], "b": ITEMS["q1"], "c": ITEMS["q0"] + ITEMS["q1"]})
    assert kinds(frame)["a"] == "integer"
    assert kinds(frame, protected=("a",))["a"] == "category"


def test_a_note_tells_what_adds_up():
    notes = propose(pd.DataFrame({"a": ITEMS["q0"], "b": ITEMS["q1"], "c": ITEMS["q0"] + ITEMS["q1"]}), suggestions=False).notes
    assert any("'a'" in note and "c = a + b" in note for note in notes)


def test_hours_that_people_choose_are_not_what_is_computed_from_a_rate():
    pay, hours = np.round(RNG.uniform(900, 5_000, N)), RNG.choice([20, 30, 37.5, 40], N)
    frame = pd.DataFrame({"pay": pay, "month": np.round(pay / 12, 2), "hours": hours, "rate": np.round(pay / hours, 2)})
    found = relations_of(frame)
    assert "rate == pay / hours within 0.005" in found
    assert not any(each.startswith("hours ==") for each in found)
    assert not any(each.startswith("pay ==") for each in found)  # a month's pay is rounded, not the year's
    # A month's pay over the rate, rounded, is what they are in every row.
    assert relations_of(frame.drop(columns="pay")) == ["rate < month"]
