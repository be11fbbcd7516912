"""Promises of the portraits: exact counterfactuals, known bias, no randomness in the drawing."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.errors import InvalidArgument, UnknownName
from evenhand.media.portraits import FACTORS, changed, draw_factors, factor, place, render
from evenhand.media.portraits.palette import MONK
from evenhand.planted.portraits import Bias, age_groups, mirrored, planted_share, synthetic_faces


@pytest.fixture(scope="module")
def factors():
    return draw_factors(24, np.random.default_rng(3))


def test_equal_factors_give_equal_pixels_in_any_batch(factors):
    assert np.array_equal(render(factors, 48)[5:9], render(factors[5:9], 48))


@pytest.mark.parametrize("name", [each.name for each in FACTORS])
def test_every_factor_changes_some_portrait(factors, name):
    known = factor(name)
    shown = changed(factors, "gender_cue", 0.0) if name == "facial_hair" else factors
    middle = known.high if known.is_listed else (known.low + known.high) / 2.0  # hues come full circle
    low, high = (render(changed(shown[:8], name, value), 48) for value in (known.low, middle))
    assert (low != high).any()


def test_changing_the_backdrop_leaves_the_face_alone(factors):
    bald = changed(changed(factors, "hair_style", 0.0), "roll", 0.0)
    before, after = render(bald, 64), render(changed(bald, "backdrop", 0.5), 64)
    assert np.array_equal(before[:, 28:40, 28:36], after[:, 28:40, 28:36])
    assert (before != after).any()


def test_skin_gets_darker_with_every_step_of_the_scale_as_published(factors):
    published = MONK.mean(axis=1)
    steps = [render(changed(factors, "tone", float(step)), 32)[:, 14:20, 12:20].mean() for step in range(10)]
    assert np.all(np.diff(steps)[np.abs(np.diff(published)) > 0.03] < 0)


def test_facial_hair_is_worn_with_masculine_cues_only(factors):
    feminine = changed(factors, "gender_cue", 1.0)
    assert np.array_equal(render(changed(feminine, "facial_hair", 3.0), 32), render(changed(feminine, "facial_hair", 0.0), 32))


def test_mirroring_twice_is_nothing(factors):
    assert np.array_equal(mirrored(mirrored(factors, "tone"), "tone"), factors)


def test_the_planted_share_is_the_share_of_ages_near_a_border():
    factors = draw_factors(40_000, np.random.default_rng(0))
    assert planted_share(factors, (Bias("tone", (5, 6, 7, 8, 9), 10.0),), "tone") == pytest.approx(2 * 10.0 / 62.0, abs=0.01)
    assert planted_share(factors, (Bias("tone", (5, 6, 7, 8, 9), 10.0),), "gender_cue") == 0.0
    assert planted_share(factors, (), "tone") == 0.0


def test_factors_are_drawn_independently_of_each_other():
    drawn = draw_factors(20_000, np.random.default_rng(1))
    correlation = np.corrcoef(drawn.T) - np.eye(len(FACTORS))
    assert np.abs(correlation).max() < 0.04


def test_an_album_says_what_it_shows():
    album = synthetic_faces(30, np.random.default_rng(2), 32)
    assert album.is_synthetic
    assert np.array_equal(album.label.codes, age_groups(album.factors))
    assert np.array_equal(album.attribute("tone").codes, (album.factors[:, place("tone")] >= 5).astype(int))
    first, second = album.split(0.5, np.random.default_rng(0))
    assert len(first) + len(second) == 30


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (lambda rows: changed(rows, "tone", 10.0), "tone"),
        (lambda rows: changed(rows, "age", 99.0), "age"),
        (lambda rows: render(rows[:, :5]), "factors"),
        (lambda rows: render(rows, 4), "size"),
        (lambda rows: Bias("age", (1,), 5.0), "listed"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_name(factors, wrong, word):
    with pytest.raises(InvalidArgument, match=word):
        wrong(factors)


def test_a_misspelt_factor_gets_a_suggestion(factors):
    with pytest.raises(UnknownName, match="did you mean 'glasses'"):
        changed(factors, "glases", 0.0)
