"""Changes of the whole picture touch no object; objects that look the other way, lean or move keep what the others show."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from evenhand.media.operators.mirror import mirrored
from evenhand.media.operators.parts.mutated import Mutation, Skipped
from evenhand.media.operators.parts.whole_picture import is_outdoors
from evenhand.media.scene import ROAD, Instance, PixelBox, Scene
from evenhand.media.scenes import ChangeFacts, ChangePlan, Scenes

WEATHER = ("fog", "rain", "night", "exposure", "blur", "compression")


@pytest.fixture(scope="module")
def medium(streets):
    return Scenes(streets[:3], ChangePlan(("person",), ("person", "car", "bird"), (*WEATHER, "mirror", "move", "lean")))


def all_made(medium, operator):
    places = [k for k, one in enumerate(medium.changes) if one.operator == operator]
    return [made for k in places for at in range(len(medium.scenes)) if isinstance(made := medium.made(at, k), Mutation)]


@pytest.mark.parametrize("operator", WEATHER)
def test_weather_and_light_touch_no_class_and_keep_every_object(medium, operator):
    found = all_made(medium, operator)
    assert len(found) == len(medium.scenes)
    for one in found:
        assert one.after.instances == one.before.instances
        assert (one.after.picture != one.before.picture).mean() > 0.3
        assert set(one.kept) == {1.0}
    facts = medium.facts(0, [one.operator for one in medium.changes].index(operator))
    assert isinstance(facts, ChangeFacts)
    assert facts.touched == frozenset()
    assert not facts.hidden


def test_a_mirrored_object_stays_where_it_is_and_others_keep_their_pixels(medium):
    found = all_made(medium, "mirror")
    assert found
    for one in found:
        (gone,) = [was for was, share in zip(one.before.instances, one.kept, strict=True) if share == 0.0]
        new = one.after.instances[-1]
        assert new.foot == pytest.approx(gone.foot, abs=3)
        assert new.area == pytest.approx(gone.area, rel=0.25)
        assert np.corrcoef(new.stencil[:, ::-1].mean(axis=0)[:5], gone.stencil.mean(axis=0)[:5])[0, 1] > 0.3 or gone.width < 8


def test_what_moves_along_the_ground_is_larger_when_nearer(streets):
    medium = Scenes(streets, ChangePlan(("person",), ("dog", "person", "car"), ("move",), controls=False))
    every = (medium.made(int(at), int(k)) for at, k, _ in medium.rows())
    found = list(islice((one for one in every if isinstance(one, Mutation)), 2))
    assert found
    for one in found:
        (gone,) = [was for was, share in zip(one.before.instances, one.kept, strict=True) if share == 0.0]
        assert (one.after.instances[-1].height > gone.height) == ("nearer" in one.how)


def test_a_photographed_car_at_an_angle_stays_where_it_is():
    picture = np.full((240, 320, 3), 110, np.uint8)
    slanted = np.zeros((240, 320), bool)
    for column in range(80):
        slanted[120 : 160 + column // 4, 120 + column] = True
    picture[slanted] = 60
    scene = Scene("photograph", picture, (Instance.from_mask("car", slanted),), regions=np.full((240, 320), ROAD, np.uint8))
    medium = Scenes([scene], ChangePlan(("car",), ("car",), ("move",), clusters=1, controls=False))
    skipped = medium.made(0, 0)
    assert isinstance(skipped, Skipped)
    assert "at an angle" in skipped.reason


def test_only_what_can_lean_leans(medium):
    leaning = next(k for k, one in enumerate(medium.changes) if one.operator == "lean" and one.label == "car")
    skipped = medium.made(0, leaning)
    assert isinstance(skipped, Skipped)
    assert "do not lean" in skipped.reason


def test_it_rains_only_where_it_can(streets):
    assert is_outdoors(streets[0])
    room = Instance("chair", PixelBox(4, 4, 20, 30), np.ones((26, 16), bool))
    assert not is_outdoors(Scene("room", streets[0].picture, (room,)))


def test_a_mirror_shows_nothing_of_the_old_silhouette_where_the_ground_is_plain():
    picture = np.full((120, 160, 3), 120, np.uint8)
    stencil = np.tri(40, 20, dtype=bool)
    picture[50:90, 60:80][stencil] = (200, 30, 30)
    scene = Scene("plain", picture, (Instance("car", PixelBox(60, 50, 80, 90), stencil),))
    made = mirrored(scene, 0)
    assert isinstance(made, Mutation)
    red = made.after.picture[..., 0].astype(int) - made.after.picture[..., 1]
    assert red[80:88, 62].max() > 100  # both sides of the foot are red
    assert red[56:60, 77:79].min() > 60  # and the tip stands on the other side
    assert abs(int(made.after.picture[52:60, 60:62, 0].mean()) - 120) < 12  # where it was, the ground is seen
