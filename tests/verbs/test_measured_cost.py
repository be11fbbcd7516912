"""What a question costs is measured once, stands in the header, and can be given again."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.engine import pace
from evenhand.engine.pace import Timing
from evenhand.engine.subject import Subject
from evenhand.errors import InvalidArgument
from evenhand.oracles.flip import LabelFlip
from evenhand.planted import shapes
from evenhand.verbs.scan import Options


def test_neither_the_first_call_nor_a_busy_machine_is_part_of_what_a_question_costs(monkeypatch):
    asked = []

    def timed(rows, *_):
        asked.append(len(rows))
        processor = (0.5 if len(asked) == 1 else 0.001) + 2e-6 * len(rows)
        return Timing(processor, wall=8 * processor)

    monkeypatch.setattr(pace, "_timed", timed)
    planted = shapes()["wide_band"]
    assert pace.question_seconds(Subject(planted.domain, planted.model), LabelFlip(), 0) == pytest.approx(2e-6, rel=0.05)
    assert asked == [1, *pace.PROBE_ROWS]


@pytest.mark.parametrize("given", [None, 3e-6])
def test_the_cost_stands_in_the_header_and_may_be_given_again(given):
    frame = pd.DataFrame({"sex": ["f", "m"] * 60, "age": np.arange(120) % 50, "paid": ["no", "yes", "yes"] * 40})
    data = eh.open(frame, label="paid", favourable="yes", protected=["sex"])
    model = eh.wrap(lambda rows: np.where(rows["age"] > 20, "yes", "no"), data, classes=["no", "yes"])
    options = Options(question_seconds=given, rate_rows=50, most_witnesses=1)
    told = eh.scan(model, data, methods=["themis"], budget=eh.Budget(seconds=0.3), options=options).header.details["question_seconds"]
    assert told == given if given is not None else told > 0


def test_a_cost_of_nothing_is_refused():
    with pytest.raises(InvalidArgument, match="question_seconds"):
        Options(question_seconds=0.0)


def test_a_moments_hitch_is_not_taken_for_a_slow_model(monkeypatch):
    asked = []

    def timed(rows, *_):
        asked.append(len(rows))
        return Timing((0.5 if len(asked) == 2 else 0.0) + 2e-6 * len(rows), wall=1.0)

    monkeypatch.setattr(pace, "_timed", lambda rows, *rest: Timing(timed(rows, *rest).processor, wall=0.0))
    planted = shapes()["wide_band"]
    assert pace.question_seconds(Subject(planted.domain, planted.model), LabelFlip(), 0) == pytest.approx(2e-6, rel=0.05)
    assert asked == [1, pace.PROBE_ROWS[0], *pace.PROBE_ROWS]


def test_few_real_rows_are_not_asked_about_again_and_again():
    planted = shapes()["wide_band"]
    real = planted.domain.sample(50, np.random.default_rng(0))
    probe = pace._probe_rows(Subject(planted.domain, planted.model, real, np.zeros(50, dtype=np.intp)), 0)
    assert np.array_equal(probe[:50], real)
    assert len(np.unique(probe, axis=0)) > 0.9 * len(probe)
    for at in range(real.shape[1]):
        assert set(probe[:, at]) == set(real[:, at])
