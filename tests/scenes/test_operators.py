"""Operators change what they say, nothing else, and skip rather than force."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from evenhand.errors import InvalidArgument
from evenhand.media.operators.delete import delete
from evenhand.media.operators.empty_patch import empty_patch
from evenhand.media.operators.insert import insert
from evenhand.media.operators.mirror import mirrored
from evenhand.media.operators.parts.cast_shadow import Shade
from evenhand.media.operators.parts.cutout import cut, paste, spilled
from evenhand.media.operators.parts.donors import MOST_SPILLED, is_silhouette
from evenhand.media.operators.parts.fill import fill
from evenhand.media.operators.parts.guessed_ground import GuessedGround
from evenhand.media.operators.parts.mutated import Mutation, Skipped
from evenhand.media.operators.parts.perspective import fit_law
from evenhand.media.operators.parts.standing import allowed
from evenhand.media.operators.parts.upright import base_slope
from evenhand.media.operators.put_back import put_back
from evenhand.media.operators.rotate import rotate
from evenhand.media.scene import Instance, PixelBox, Scene
from evenhand.media.vocabulary import Labels


def made(results):
    return [one for one in results if isinstance(one, Mutation)]


@pytest.fixture(scope="module")
def insertions(streets, bank):
    rng = np.random.default_rng(0)
    return made([insert(scene, label, 1, bank, rng) for scene in streets for label in ("person", "car", "cat")])


@pytest.fixture(scope="module")
def deletions(streets):
    return made([delete(scene, label) for scene in streets for label in ("person", "car", "motorcycle", "cyclist", "dog", "bird")])


@pytest.fixture(scope="module")
def rotations(streets):
    rng = np.random.default_rng(0)
    return made([rotate(scene, label, rng, least=30) for scene in streets for label in ("person", "car", "motorcycle")])


def test_insertion_adds_exactly_the_objects_asked_for(insertions):
    assert len(insertions) >= 8
    for one in insertions:
        assert one.after.truth.get(one.label, 0) == one.before.truth.get(one.label, 0) + 1


def test_inserted_feet_stand_on_ground_of_their_class(insertions, bank):
    for one in insertions:
        fresh = one.after.instances[-1]
        left, _, right, bottom = fresh.box
        ground = allowed(one.before, one.label, bank.labels)[bottom - 2, left:right]
        feet = fresh.stencil[-2]
        assert ground[feet].mean() > 0.6, (one.before.name, one.label)


def test_inserted_objects_have_the_height_of_the_size_law(insertions, bank):
    for one in insertions:
        fresh = one.after.instances[-1]
        if fresh.visible > 0.97:
            law = fit_law(one.before, bank.labels, bank.prior)
            assert 0.7 < fresh.height / law.at(fresh.foot, bank.labels.relative_height[one.label]) < 1.4


def test_no_appearance_is_inserted_twice(streets, bank):
    rng = np.random.default_rng(1)
    for one in made([insert(scene, "person", 3, bank, rng) for scene in streets]):
        assert len(set(one.origins)) == 3
        assert not any(origin.startswith(one.before.name + ":") for origin in one.origins)


def test_nearer_objects_stay_in_front(insertions):
    for one in insertions:
        fresh = one.after.instances[-1]
        for old in one.before.instances:
            if old.nearer_than(fresh.foot):
                hit = old.mask(one.before.shape)
                assert np.array_equal(one.after.picture[hit], one.before.picture[hit])


def test_deletion_removes_the_whole_class_and_touches_no_other_object(deletions):
    assert len(deletions) >= 3
    for one in deletions:
        assert one.label not in one.after.truth
        others = np.zeros(one.before.shape, bool)
        for old in one.before.instances:
            if old.label != one.label:
                old.paint(others)
        assert np.array_equal(one.after.picture[others], one.before.picture[others])


def test_a_deleted_object_is_not_copied_back_onto_its_place(deletions):
    for one in deletions:
        for old, share in zip(one.before.instances, one.kept, strict=True):
            if share == 0 and old.label == one.label and old.area > 60:
                inner = old.mask(one.before.shape)
                assert (one.after.picture[inner] == one.before.picture[inner]).all(axis=1).mean() < 0.3, one.before.name


def test_a_place_that_no_background_fits_is_not_filled_with_itself():
    # the rim fits nowhere but where it is: the cheapest shift would be none at all
    rng = np.random.default_rng(0)
    picture = np.repeat(rng.integers(0, 255, (60, 9, 3)).astype(np.uint8), 14, axis=1)[:, :120]
    hole = np.zeros((60, 120), bool)
    hole[20:44, 50:72] = True
    picture[hole] = (255, 0, 255)
    filled = fill(picture, hole, np.zeros_like(hole))
    assert filled is None or (filled[hole] == (255, 0, 255)).all(axis=1).mean() < 0.05


def test_an_object_in_front_of_another_is_not_cut_out_of_it():
    rng = np.random.default_rng(0)
    picture = rng.normal(120, 5, (120, 160, 1)).repeat(3, axis=2).clip(0, 255).astype(np.uint8)
    bus, car = np.zeros((120, 160), bool), np.zeros((120, 160), bool)
    bus[20:80, 30:130], car[50:95, 60:110] = True, True
    bus &= ~car
    picture[bus], picture[car] = (200, 30, 30), (30, 30, 200)
    made = delete(Scene("s", picture, (Instance.from_mask("bus", bus), Instance.from_mask("car", car))), "car")
    assert "behind it" in made.reason


def test_an_object_set_before_an_equal_background_keeps_its_edge(streets):
    scene = streets[0]
    one = max((one for one in scene.instances if one.counted and not one.touches_border(scene.shape)), key=lambda one: one.area)
    cutout = cut(scene, one)
    picture = cutout.behind.round().astype(np.uint8)
    paste(picture, cutout, (0, 0), np.zeros(cutout.shape, bool))
    edge = cutout.cover > 0.2
    assert np.abs(picture[edge].astype(int) - cutout.colour[edge]).max() <= 1.5


def test_a_deleted_place_is_not_blurred(deletions):
    for one in deletions:
        for old, share in zip(one.before.instances, one.kept, strict=True):
            if share == 0 and old.label == one.label and old.area > 400:
                inner = old.mask(one.before.shape)
                grey = one.after.picture.mean(axis=2)
                fine = np.abs(np.diff(grey, axis=1))[inner[:, 1:]]
                assert np.median(fine) > 0.5  # sensor noise is everywhere in a real surface


def test_rotation_keeps_size_and_counts(rotations):
    assert len(rotations) >= 4
    for one in rotations:
        assert one.after.truth == one.before.truth
        gone = next(old for old, share in zip(one.before.instances, one.kept, strict=True) if share == 0)
        assert 0.7 < one.after.instances[-1].area / gone.area < 1.15
        assert all(share >= 0.5 for share, old in zip(one.kept, one.before.instances, strict=True) if old is not gone and old.counted)


def test_visible_shares_are_tracked(insertions):
    for one in insertions:
        assert len(one.kept) == len(one.before.instances)
        assert all(0 <= share <= 1 for share in one.kept)
        fresh = one.after.instances[-1].mask(one.after.shape)
        for old, share in zip(one.before.instances, one.kept, strict=True):
            lost = (old.mask(one.before.shape) & fresh).sum()
            assert share == pytest.approx(1 - lost / old.area)


def test_null_mutations_keep_every_object(streets):
    rng = np.random.default_rng(0)
    results = made([act(scene, "person", rng) for scene in streets for act in (put_back, empty_patch)])
    assert len(results) >= 4
    for one in results:
        assert one.after.truth == one.before.truth
        assert (one.after.picture != one.before.picture).any()


def test_what_cannot_be_done_is_skipped_with_a_reason(streets, bank):
    bare = Scene("bare", np.full((90, 120, 3), 90, np.uint8), ())
    rng = np.random.default_rng(0)
    assert "no ground" in insert(bare, "car", 1, bank, rng).reason
    assert "no whole object" in insert(streets[0], "unicorn", 1, bank, rng).reason
    assert "no object" in delete(bare, "car").reason
    assert isinstance(rotate(bare, "car", rng), Skipped)
    with pytest.raises(InvalidArgument, match="count=0"):
        insert(streets[0], "car", 0, bank, rng)


def test_filling_leaves_everything_away_from_the_hole():
    rng = np.random.default_rng(0)
    picture = rng.integers(60, 120, (80, 120, 3)).astype(np.uint8)
    hole = np.zeros((80, 120), bool)
    hole[30:50, 50:70] = True
    filled = fill(picture, hole, np.zeros_like(hole))
    far = np.ones_like(hole)
    far[24:56, 44:76] = False
    assert np.array_equal(filled[far], picture[far])
    assert 0.6 < filled[hole].std() / picture[far].std() < 1.4


def test_size_law_is_recovered_from_objects_on_a_plane():
    instances = [
        Instance("car", PixelBox(20 * k + 10, row - (row - 40) // 2, 20 * k + 18, row), np.ones(((row - 40) // 2, 8), bool))
        for k, row in enumerate((60, 80, 100, 120, 140, 160))
    ]
    law = fit_law(Scene("plane", np.zeros((200, 200, 3), np.uint8), tuple(instances)), Labels())
    assert law.slope == pytest.approx(0.5, rel=0.25)
    assert law.horizon == pytest.approx(40, abs=25)


@pytest.mark.slow
def test_operators_take_at_most_a_hundred_cpu_milliseconds(streets, bank):
    import cv2

    cv2.setNumThreads(1)
    rng = np.random.default_rng(0)
    for act in (
        lambda scene: insert(scene, "person", 2, bank, rng),
        lambda scene: delete(scene, "person"),
        lambda scene: rotate(scene, "person", rng),
    ):
        started = time.process_time()
        done = len(made([act(scene) for scene in streets]))
        assert (time.process_time() - started) / max(1, done) < 0.1


def plain_scene(*objects):
    """An even ground with objects (label, left, top, right, bottom) painted on it."""
    picture = np.random.default_rng(0).normal(120, 4, (120, 160, 3)).clip(0, 255).astype(np.uint8)
    instances = []
    for label, left, top, right, bottom in objects:
        mask = np.zeros((120, 160), bool)
        mask[top:bottom, left:right] = True
        if label == "person" and bottom - top > right - left:
            mask[bottom - 8 : bottom, left + 4 : right - 4] = False  # two legs
        picture[mask] = 40
        instances.append(Instance.from_mask(label, mask))
    return Scene("plain", picture, tuple(instances))


def test_nothing_is_left_in_the_air_when_its_bearer_goes_or_turns():
    bearer, umbrella = ("person", 60, 40, 75, 90), ("umbrella", 55, 28, 80, 40)
    for act in (delete, lambda scene, label: rotate(scene, label, np.random.default_rng(0), least=30)):
        assert isinstance(act(plain_scene(bearer), "person"), Mutation)
        left = act(plain_scene(bearer, umbrella), "person")
        assert isinstance(left, Skipped)
        assert "in the air" in left.reason


def test_ground_is_not_guessed_from_riders_swimmers_and_specks():
    labels = Labels()
    two = (("person", 60, 40, 75, 90), ("person", 110, 42, 125, 92))
    assert allowed(plain_scene(*two), "person", labels).any()
    assert not allowed(plain_scene(*two), "car", labels).any(), "where people stand there need be no road"
    on_a_board = plain_scene(*two, ("surfboard", 50, 90, 85, 96))
    lying, speck = plain_scene(("person", 40, 60, 90, 75)), plain_scene(("car", 60, 60, 66, 64))
    cut_off = plain_scene(*(("person", left, top, right, bottom) for _, left, top, right, bottom in two))
    for one in cut_off.instances:
        one.stencil[:] = True  # legs that end at a table's edge
    for scene in (lying, speck, cut_off):
        assert not allowed(scene, "person", labels).any()
    for scene in (on_a_board, plain_scene(two[0])):
        assert not allowed(scene, "person", labels, least=2).any(), "one alone says little about the ground elsewhere"
    assert not allowed(plain_scene(*two), "cow", labels).any(), "where people stand there need be no pasture"


def test_on_guessed_ground_size_is_known_only_where_somebody_stands():
    labels = Labels()
    near, far = ("person", 60, 40, 75, 90), ("person", 110, 45, 125, 80)
    scene = plain_scene(near, far)
    guess = GuessedGround(scene, allowed(scene, "person", labels), labels)
    assert guess.law is not None
    assert guess.law.at(90, labels.relative_height["person"]) == pytest.approx(50)
    assert guess.law.at(80, labels.relative_height["person"]) == pytest.approx(35)
    rows = guess.known_rows()
    assert rows[80:91].all()
    assert not rows[:65].any()
    assert not rows[105:].any()
    alone = plain_scene(near)
    assert GuessedGround(alone, allowed(alone, "person", labels), labels).known_rows().sum() < 12
    odd = plain_scene(
        near, ("person", 110, 67, 125, 92), ("person", 20, 66, 35, 91), ("person", 130, 8, 145, 76)
    )  # no law fits three of the four
    assert GuessedGround(odd, allowed(odd, "person", labels), labels).law is None


def test_a_loose_mask_brings_its_background_along():
    picture = np.full((120, 160, 3), 60, np.uint8)
    picture[20:100, 60:90] = (200, 60, 50)
    tight, loose = np.zeros((120, 160), bool), np.zeros((120, 160), bool)
    tight[20:100, 60:90] = True
    loose[18:102, 58:92] = True
    scenes = [Scene("a", picture, (Instance.from_mask("person", one),)) for one in (tight, loose)]
    shares = [spilled(scene, scene.instances[0]) for scene in scenes]
    assert shares[0] < 0.05
    assert shares[1] > MOST_SPILLED


def test_a_shadow_goes_along_with_its_object():
    picture = np.full((120, 160, 3), 150, np.uint8)
    mask = np.zeros((120, 160), bool)
    mask[40:80, 60:80] = True
    picture[76:84, 56:90] = 60
    picture[mask] = (200, 60, 50)
    scene = Scene("a", picture, (Instance.from_mask("person", mask),))
    shade = Shade.of(scene, scene.instances[0])
    assert shade is not None
    plain = np.full((120, 160, 3), 100, np.uint8)
    shade.fall(plain, (30, 30), np.zeros((120, 160), bool))
    assert float(plain[71, 40, 0]) == pytest.approx(40, abs=15)  # as much darker as it was
    assert (plain[:50] == 100).all()
    assert Shade.of(replace(scene, picture=np.where(mask[..., None], picture, 150).astype(np.uint8)), scene.instances[0]) is None


def test_silhouettes_are_no_donors_and_what_is_seen_at_an_angle_is_not_mirrored():
    scene = plain_scene(("person", 60, 40, 75, 90))
    assert is_silhouette(scene, scene.instances[0])
    slanted = np.zeros((120, 160), bool)
    for column in range(60):
        slanted[40 : 70 + column // 4, 40 + column] = True
    assert base_slope(Instance.from_mask("car", slanted)) > 0.15
    skipped = mirrored(Scene("one", scene.picture, (Instance.from_mask("car", slanted),)), 0)
    assert isinstance(skipped, Skipped)
    assert "at an angle" in skipped.reason
