"""Promises of pairs, verdicts, generators, selection and pictures, on classifiers whose behaviour is known."""

from __future__ import annotations

import numpy as np
import pytest
from contact_picture import contact_picture, difference, widest
from picture_pairs import assess, judge, leaning, make_pairs

from evenhand.contract import Editor
from evenhand.errors import DataError, InvalidArgument, ModelFailed, WrongAnswer
from evenhand.media.editors.rerender import Rerender
from evenhand.media.png import png_bytes
from evenhand.media.portraits import place
from evenhand.models.function import FunctionClassifier
from evenhand.models.preparation import Preparation, resized
from evenhand.planted.portraits import age_groups, synthetic_faces
from evenhand.repairs.parts.pair_selection import by_chance, k_multisection


def brightness(pictures):
    """Calls the upper middle of the picture bright or dark: a classifier of skin tone."""
    return pictures[:, 12:20, 12:20].reshape(len(pictures), -1).mean(axis=1) / 255.0


def reader(threshold=0.42):
    def scores(pictures):
        bright = 1.0 / (1.0 + np.exp(-30.0 * (brightness(pictures) - threshold)))
        return np.stack([bright, 1.0 - bright], axis=1)

    return FunctionClassifier(scores, ("bright", "dark"))


BLIND = FunctionClassifier(lambda pictures: np.tile([0.7, 0.3], (len(pictures), 1)), ("yes", "no"))


@pytest.fixture(scope="module")
def album():
    return synthetic_faces(200, np.random.default_rng(0), 32)


@pytest.fixture(scope="module")
def pairs(album):
    return make_pairs(album, Rerender("tone"))


def test_exact_twins_differ_only_where_skin_is(album, pairs):
    corners = np.s_[:, :4, :4]
    assert np.array_equal(pairs.first[corners], pairs.second[corners])
    assert pairs.flip == "exact re-rendering"
    assert isinstance(Rerender("tone"), Editor)


def test_a_classifier_of_tone_leans_and_a_blind_one_does_not(pairs):
    seen, blind = judge(pairs, reader()), judge(pairs, BLIND)
    assert seen.share.low > 0.5
    assert leaning(seen).found
    assert leaning(seen).net["dark"] > 0.5
    assert blind.unfair.sum() == 0
    assert not leaning(blind).found


def test_flips_that_go_both_ways_alike_are_no_leaning(pairs):
    rng = np.random.default_rng(0)
    noise = FunctionClassifier(lambda pictures: rng.dirichlet([1, 1, 1], len(pictures)), ("a", "b", "c"))
    judged = judge(pairs, noise)
    assert judged.share.estimate > 0.4
    assert not leaning(judged).found


def test_an_order_sees_movement_that_no_single_class_shows(pairs):
    def older_when_dark(pictures):
        place = np.arange(len(pictures)) % 3  # who is in which group has nothing to do with skin
        return np.eye(4)[place + (brightness(pictures) < 0.42)]

    judged = judge(pairs, FunctionClassifier(older_when_dark, ("young", "middle", "older", "oldest")))
    plain, by_order = leaning(judged, tolerance=0.3), leaning(judged, tolerance=0.3, ordered=True)
    assert not plain.found
    assert by_order.found
    assert by_order.net["up the order"] > 0.8


def test_an_independent_jury_confirms_the_exact_editor(album):
    facts = assess(Rerender("tone"), album, {"tone": reader()})
    assert facts.confirmed.estimate > 0.9
    assert "confirmed by an independent classifier" in facts.lines()[0]
    with pytest.raises(InvalidArgument, match="jury"):
        assess(Rerender("gender_cue"), album, {"tone": reader()})


def test_pictures_without_factors_cannot_be_rerendered(album):
    from dataclasses import replace

    with pytest.raises(DataError, match="learned editor"):
        Rerender("tone").twins(replace(album, factors=None))


def test_multisection_takes_rare_values_too():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(0.9, 0.01, 990), rng.random(10) * 0.5])
    chosen = k_multisection(values, 100, 10, rng)
    assert len(np.unique(chosen)) == 100
    assert (values[chosen] < 0.5).sum() == 10
    assert (values[by_chance(values, 100, rng)] < 0.5).sum() < 6
    with pytest.raises(InvalidArgument, match="count"):
        k_multisection(values, 2000, 10, rng)


@pytest.mark.parametrize(("count", "sections"), [(50, 10), (57, 10), (9, 10), (200, 7)])
def test_multisection_takes_equally_many_from_every_section(count, sections):
    rng = np.random.default_rng(1)
    values = np.concatenate([[0.0, 1.0], rng.beta(5, 1, 2_000), rng.random(400)])
    chosen = k_multisection(values, count, sections, rng)
    assert len(np.unique(chosen)) == count
    taken = np.bincount(np.minimum((values[chosen] * sections).astype(int), sections - 1), minlength=sections)
    assert taken.max() - taken.min() <= 1
    few = np.concatenate([np.zeros(3), np.linspace(0.6, 1.0, 500)])
    assert (few[k_multisection(few, 100, 10, rng)] < 0.1).sum() == 3


def test_the_contact_sheet_starts_with_the_widest_gap(pairs):
    judged = judge(pairs, reader())
    order = widest(judged, 10)
    assert judged.gap[order[0]] == judged.gap[judged.unfair].max()
    assert contact_picture(judged, 8, 4).shape == (2 * 32 + 4, 4 * 96 + 12, 3)
    assert (difference(pairs.first[:1], pairs.first[:1]) == 127).all()


def test_png_files_can_be_read_back():
    image = pytest.importorskip("PIL.Image")
    import io

    picture = np.random.default_rng(0).integers(0, 256, (7, 5, 3), dtype=np.uint8)
    assert np.array_equal(np.asarray(image.open(io.BytesIO(png_bytes(picture)))), picture)


def test_functions_that_misbehave_are_model_faults(pairs):
    with pytest.raises(WrongAnswer, match="shape"):
        FunctionClassifier(lambda pictures: np.ones((1, 2)), ("a", "b")).scores(pairs.first)
    with pytest.raises(ModelFailed, match="ZeroDivisionError"):
        FunctionClassifier(lambda pictures: 1 / 0, ("a", "b")).scores(pairs.first)


def test_preparation_scales_and_orders(pairs):
    ready = Preparation(16, mean=(0.5, 0.5, 0.5), blue_first=True)(pairs.first)
    assert ready.shape == (200, 3, 16, 16)
    assert ready[0, 2].mean() == pytest.approx(pairs.first[0, :, :, 0].mean() / 255 - 0.5, abs=1e-3)
    assert resized(pairs.first, 32) is pairs.first


def test_labels_are_the_albums(album, pairs):
    assert np.array_equal(pairs.labels, age_groups(album.factors))
    assert np.array_equal(pairs.side, (album.factors[:, place("tone")] >= 5).astype(int))
