"""Callables: whatever they take and return is read right, or refused with a sentence."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_domain import DOMAIN, names, rows, truth

from evenhand.contract import labels_of
from evenhand.domain.tabular import Label
from evenhand.errors import EvenhandError, InvalidArgument, ModelFailed, WrongAnswer
from evenhand.models.answer_shapes import reader_for
from evenhand.models.meter import Meter
from evenhand.models.readings import settle
from evenhand.models.wrap import wrap

CODES = rows()


def chance(codes: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-(codes[:, 0] / 20 + codes[:, 1] + 1.5 * codes[:, 2] + codes[:, 3] / 20 - 6.2)))


FORMS = {
    "labels": names,
    "labels as a list": lambda X: names(X).tolist(),
    "labels as a series": lambda X: pd.Series(names(X), index=range(5, 5 + len(X))),
    "labels as a column": lambda X: names(X)[:, None],
    "labels as fixed-width text": lambda X: names(X).astype("U5"),
    "positions": truth,
    "one probability": chance,
    "one probability as a list": lambda X: chance(X).tolist(),
    "one probability as float32": lambda X: chance(X).astype(np.float32),
    "one logit": lambda X: np.log(chance(X) / (1 - chance(X))),
    "two scores": lambda X: np.stack([1 - chance(X), chance(X)], axis=1),
    "two scores in a frame": lambda X: pd.DataFrame({"low": 1 - chance(X), "high": chance(X)}),
    "two logits": lambda X: np.stack([0 * chance(X), np.log(chance(X) / (1 - chance(X)))], axis=1),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_usual_answer_is_read(form: str) -> None:
    model = wrap(FORMS[form], DOMAIN, takes="codes")
    scores = Meter(model).scores(CODES)
    assert (labels_of(scores) == truth(CODES)).all()
    assert model.is_hard == form.startswith(("labels", "positions"))
    if not model.is_hard:
        assert np.allclose(scores[:, 1], chance(CODES), atol=1e-5)


def test_one_probability_speaks_for_the_favourable_class() -> None:
    domain = replace(DOMAIN, label=Label("income", ("low", "high"), ("low",)))
    model = wrap(chance, domain, takes="codes")
    assert np.allclose(model.scores(CODES)[:, 0], chance(CODES))


def test_classes_name_the_order_of_score_columns() -> None:
    model = wrap(lambda X: np.stack([chance(X), 1 - chance(X)], axis=1), DOMAIN, takes="codes", classes=["high", "low"])
    assert model.classes == ("low", "high")
    assert np.allclose(model.scores(CODES)[:, 1], chance(CODES))


def test_returns_settles_what_a_sample_cannot() -> None:
    domain = replace(DOMAIN, label=Label("income", (0, 1), (0,)))
    certain = lambda X: truth(X).astype(float)  # noqa: E731
    assert (labels_of(wrap(certain, domain, takes="codes").scores(CODES)) == truth(CODES)).all()
    assert (labels_of(wrap(certain, domain, takes="codes", returns="favourable").scores(CODES)) == 1 - truth(CODES)).all()


def by_frame(table: pd.DataFrame) -> np.ndarray:
    return np.where(table["age"] > 40, "high", "low")


def by_codes(codes: np.ndarray) -> np.ndarray:
    return np.where(codes[:, 0] > 40, "high", "low")


@pytest.mark.parametrize(
    ("function", "takes"),
    [
        (by_frame, "frame"),
        (by_codes, "codes"),
        (lambda df: np.where(df["age"] > 40, "high", "low"), "frame"),
        (lambda anything: np.where(anything["age"] > 40, "high", "low"), "frame"),
        (lambda anything: np.where(anything[:, 0] > 40, "high", "low"), "codes"),
        (lambda X: np.where(X["age"] > 40, "high", "low"), "frame"),
    ],
)
def test_what_a_function_takes_is_found_out(function: object, takes: str) -> None:
    model = wrap(function, DOMAIN)
    assert model.takes == takes
    assert (labels_of(model.scores(CODES)) == (CODES[:, 0] > 40)).all()


def test_a_matrix_holds_the_original_cells() -> None:
    seen = []
    wrap(lambda cells: seen.append(cells) or ["low"] * len(cells), DOMAIN, takes="matrix")
    assert set(seen[0][:, 2]) == {"female", "male"}


def test_equal_functions_have_equal_fingerprints() -> None:
    first, second = wrap(chance, DOMAIN, takes="codes"), wrap(lambda X: chance(X), DOMAIN, takes="codes")
    assert first.fingerprint() == second.fingerprint()
    assert first.fingerprint() != wrap(lambda X: chance(X) ** 2, DOMAIN, takes="codes").fingerprint()


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (lambda X: np.full(len(X), "rich"), WrongAnswer, "'rich', which is no label; expected one of .*'low', 'high'"),
        (lambda X: np.full(len(X), 7), WrongAnswer, "7, which is no label"),
        (lambda X: None, WrongAnswer, "answered None"),
        (lambda X: np.zeros(3), WrongAnswer, r"64 rows with an array of shape \(3,\)"),
        (lambda X: np.zeros((len(X), 5)), WrongAnswer, r"\(64, 5\); expected \(64, 2\)"),
        (lambda X: np.zeros((len(X), 2, 2)), WrongAnswer, r"shape \(64, 2, 2\)"),
        (lambda X: [[1, 2], [1]], WrongAnswer, "no table"),
        (lambda X: np.full((len(X), 2), "high"), WrongAnswer, "expected numbers as scores"),
        (lambda X: 1 / 0, ModelFailed, "ZeroDivisionError"),
        (lambda X: 0.5, WrongAnswer, "shape"),
    ],
)
def test_bad_answers_are_named_at_once(function: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        wrap(function, DOMAIN, takes="codes")


def test_neither_frame_nor_codes_tells_both_faults() -> None:
    with pytest.raises(ModelFailed, match=r"takes='frame': .*takes='codes': "):
        wrap(lambda anything: anything.nothing(), DOMAIN)


def test_a_function_that_turns_bad_later_is_caught_by_the_meter() -> None:
    calls = []

    def later(X: np.ndarray) -> np.ndarray:
        calls.append(len(X))
        return np.stack([1 - chance(X), chance(X)], axis=1) if len(calls) == 1 else np.full((len(X), 2), np.nan)

    model = wrap(later, DOMAIN, takes="codes")
    with pytest.raises(WrongAnswer, match="must be finite"):
        Meter(model).scores(CODES)


def test_a_gap_among_probabilities_is_reported_as_one() -> None:
    model = wrap(lambda X: [None, *chance(X)[1:].tolist()], DOMAIN, takes="codes")
    with pytest.raises(WrongAnswer, match=r"row 0 with \[nan, nan\]; scores must be finite"):
        Meter(model).scores(CODES)


def test_returns_must_be_known() -> None:
    with pytest.raises(InvalidArgument, match="returns='probably'"):
        wrap(chance, DOMAIN, takes="codes", returns="probably")


def test_a_model_of_the_package_is_returned_as_it_is() -> None:
    model = wrap(chance, DOMAIN, takes="codes")
    assert wrap(model, DOMAIN) is model


ANSWERS = st.one_of(
    st.lists(st.one_of(st.text(max_size=4), st.integers(-2, 3), st.floats(), st.booleans(), st.none()), max_size=6),
    st.lists(st.lists(st.floats(), min_size=2, max_size=3), max_size=6),
)


@given(ANSWERS)
def test_any_answer_is_read_or_refused_with_an_own_error(answer: object) -> None:
    reader = reader_for(DOMAIN, None)
    try:
        scores = settle(reader, answer, 4).read(answer, 4)
    except EvenhandError:
        return
    assert scores.shape == (4, 2)


def test_a_function_is_named_by_its_module_or_by_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_scorer.py").write_text("def score(frame):\n    return (frame['sex'] == 'male') * 0.8 + 0.1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    by_module, by_file = (wrap(name, DOMAIN).scores(CODES) for name in ("own_scorer:score", "own_scorer.py:score"))
    assert np.array_equal(by_module, by_file)
