"""What flies is inserted into open sky like its own, and donors on guessed ground come from ground that looks like it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenhand.media.operators.insert import insert
from evenhand.media.operators.parts.donors import collect
from evenhand.media.operators.parts.guessed_ground import GuessedGround
from evenhand.media.operators.parts.mutated import Mutation, Skipped
from evenhand.media.operators.parts.open_sky import flies, open_sky
from evenhand.media.operators.parts.standing import ground_below
from evenhand.media.scene import Instance, Scene
from evenhand.media.vocabulary import Labels

BLUE, DUSK, WALL = (110, 150, 210), (60, 70, 95), (205, 195, 180)


def under(sky, name="scene", label=None, box=(120, 40, 180, 60)):
    """A picture whose upper two thirds have one colour, above rough ground, with one object perhaps."""
    rng = np.random.default_rng(3)
    picture = np.empty((240, 320, 3), np.uint8)
    picture[:160] = np.clip(np.array(sky) + rng.normal(0, 0.6, (160, 320, 1)), 0, 255)
    picture[160:] = rng.normal(100, 25, (80, 320, 1)).clip(0, 255)
    if label is None:
        return Scene(name, picture, (), truth={"car": 0})
    left, top, right, bottom = box
    mask = np.zeros((240, 320), bool)
    mask[top:bottom, left:right] = True
    picture[mask] = rng.normal(200, 30, (int(mask.sum()), 3)).clip(0, 255)
    return Scene(name, picture, (Instance.from_mask(label, mask),))


def test_sky_is_smooth_bluish_and_above():
    assert open_sky(under(BLUE)).mean() == pytest.approx(2 / 3, abs=0.05)
    assert not open_sky(under(WALL)).any(), "a wall is no sky"
    upside_down = under(BLUE)
    assert not open_sky(replace(upside_down, picture=np.ascontiguousarray(upside_down.picture[::-1]))).any(), "nor is a pool"


def test_what_flies_is_inserted_wholly_into_a_sky_like_its_own():
    donor = under(BLUE, "donor", "airplane")
    assert flies(donor.instances[0], open_sky(donor))
    bank = collect([donor], Labels())
    target = under(BLUE, "target")
    made = insert(target, "airplane", 1, bank, np.random.default_rng(0))
    assert isinstance(made, Mutation)
    (added,) = made.after.instances
    assert open_sky(target)[added.mask(target.shape)].all()
    assert (made.after.picture[160:] == target.picture[160:]).all(), "nothing that flies throws a shadow at its own feet"


@pytest.mark.parametrize("sky", [DUSK, WALL])
def test_no_other_sky_and_no_wall_takes_it(sky):
    bank = collect([under(BLUE, "donor", "airplane")], Labels())
    assert isinstance(insert(under(sky, "target"), "airplane", 1, bank, np.random.default_rng(0)), Skipped)


def test_what_stands_on_the_ground_is_no_flying_donor():
    parked = under(BLUE, "donor", "airplane", (120, 150, 180, 180))
    assert not flies(parked.instances[0], open_sky(parked))
    assert isinstance(insert(under(BLUE, "target"), "airplane", 1, collect([parked], Labels()), np.random.default_rng(0)), Skipped)


def test_ground_of_another_colour_takes_no_donor():
    lawn, snow = (np.full((120, 160, 3), colour, np.uint8) for colour in ((70, 120, 60), (225, 228, 232)))
    mask = np.zeros((120, 160), bool)
    mask[30:80, 60:75] = True
    mask[70:80, 64:71] = False
    scenes = [Scene(name, picture, (Instance.from_mask("person", mask),)) for name, picture in (("lawn", lawn), ("snow", snow))]
    own = [ground_below(scene, scene.instances[0]) for scene in scenes]
    everywhere = np.ones((120, 160), bool)
    guesses = [GuessedGround(scene, everywhere, Labels()) for scene in scenes]
    assert guesses[0].liked(own) == [True, False]
    assert guesses[1].liked([*own, None]) == [False, True, False]
    assert [guesses[0].is_like((60, 40, 75, 90), one) for one in own] == [True, False]
