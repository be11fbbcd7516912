"""Synthetic streets: exact masks, true depth, and the same street for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.errors import DataError, UnknownName
from evenhand.media.scene import SKY, Instance, Scene
from evenhand.media.streets.render import StreetMaker


def test_the_same_seed_draws_the_same_street():
    first, second = (next(iter(StreetMaker().scenes(1, np.random.default_rng(9)))) for _ in range(2))
    assert np.array_equal(first.picture, second.picture)
    assert first.truth == second.truth


def test_no_pixel_belongs_to_two_objects(streets):
    for scene in streets:
        total = sum(one.mask(scene.shape).astype(int) for one in scene.instances)
        assert np.max(total) <= 1


def test_an_objects_pixels_have_its_depth(streets):
    for scene in streets:
        for one in scene.instances:
            assert np.allclose(scene.depth[one.mask(scene.shape)], one.depth)


def test_nothing_that_counts_stands_in_the_sky(streets):
    for scene in streets:
        for one in scene.instances:
            if one.counted and not one.touches_border(scene.shape) and one.visible > 0.95:
                foot = one.mask(scene.shape)[one.foot - 1]
                assert (scene.regions[min(one.foot, scene.shape[0] - 1)][foot] != SKY).all()


def test_nearer_objects_of_a_class_are_taller(streets):
    people = [
        one
        for scene in streets
        for one in scene.instances
        if one.label == "person" and one.visible > 0.97 and not one.touches_border(scene.shape)
    ]
    heights, depths = np.array([one.height for one in people]), np.array([one.depth for one in people])
    assert len(people) >= 5
    assert np.corrcoef(heights, 1 / depths)[0, 1] > 0.8


def test_unknown_kinds_of_street_are_named():
    with pytest.raises(UnknownName, match="quiet"):
        StreetMaker(kinds=("quite",))


def test_a_scene_refuses_wrong_pictures_and_empty_masks():
    with pytest.raises(DataError, match="uint8"):
        Scene("x", np.zeros((4, 4, 3)), ())
    with pytest.raises(DataError, match="'cat'"):
        Instance.from_mask("cat", np.zeros((4, 4), bool))
