"""Promises of the editor of skin: its tone goes to the other side, the rest stays, and what is no matter of tone is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenhand.contract import EditorTools
from evenhand.errors import DataError
from evenhand.media.editors import editor_for
from evenhand.media.skin_tone import BORDER, from_lab, skin_tones, to_lab
from evenhand.planted.portraits import synthetic_faces


@pytest.fixture(scope="module")
def album():
    return synthetic_faces(80, np.random.default_rng(0), 48)


@pytest.fixture(scope="module")
def editor(album):
    return editor_for("skin_shade", album, "tone", EditorTools(np.random.default_rng(0)))


def test_light_skin_becomes_darker_and_dark_skin_lighter(album, editor):
    before, after, is_dark = skin_tones(album.pictures).angle, skin_tones(editor.twins(album)).angle, album.attribute("tone").codes == 1
    assert (after[is_dark] > before[is_dark]).mean() > 0.95
    assert (after[~is_dark] < before[~is_dark]).mean() > 0.95
    assert (after[is_dark] > BORDER).mean() > 0.8
    assert (after[~is_dark] < BORDER).mean() > 0.7


def test_the_upper_corners_stay_as_they_are(album, editor):
    corners = (slice(None), slice(0, 2), slice(0, 2))
    assert np.array_equal(editor.twins(album)[corners], album.pictures[corners])


def test_twins_do_not_depend_on_their_company(album, editor):
    assert np.array_equal(editor.twins(album)[5:9], editor.twins(album[np.arange(5, 9)]))


def test_what_is_no_matter_of_tone_is_refused(album):
    with pytest.raises(DataError, match="skin is as light on both sides of 'gender_cue'"):
        editor_for("skin_shade", album, "gender_cue", EditorTools(np.random.default_rng(0)))
    few = replace(album[np.arange(6)])
    with pytest.raises(DataError, match="needs 8 of each"):
        editor_for("skin_shade", few, "tone", EditorTools(np.random.default_rng(0)))


def test_colours_go_there_and_back():
    colours = np.random.default_rng(0).integers(0, 256, (200, 3)).astype(float)
    assert np.abs(from_lab(to_lab(colours)) - colours).max() < 0.1
