"""Who may be inserted: nobody whose outline was guessed, nobody who is to be seen already, and everybody with the same chance."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from evenhand.media.operators.one_more import OneMore
from evenhand.media.operators.parts.cast_shadow import Shade
from evenhand.media.operators.parts.cutout import GRAIN_TAIL, cut, grain, regrained, told_apart
from evenhand.media.operators.parts.donors import pick
from evenhand.media.operators.parts.mutated import Mutation
from evenhand.media.operators.parts.order import ChangeOrder
from evenhand.media.operators.parts.perspective import SizeLaw
from evenhand.media.operators.parts.same_object import Identity
from evenhand.media.operators.parts.seams import detail_ratio
from evenhand.media.operators.parts.seen_already import SeenAlready
from evenhand.media.operators.parts.standing import lit
from evenhand.media.scene import Instance, Scene
from evenhand.media.scene_clusters import NO_RANGE
from evenhand.media.scenes import ChangePlan, Scenes

SHAPE = 120, 160


def block(colour, behind):
    """Somebody of one colour before a wall of another."""
    picture = np.full((*SHAPE, 3), behind, np.uint8)
    mask = np.zeros(SHAPE, bool)
    mask[30:90, 60:80] = True
    picture[mask] = colour
    return Scene("block", picture, (Instance.from_mask("person", mask),))


@pytest.mark.parametrize(("colour", "least", "most"), [((200, 40, 40), 0.95, 1.0), ((52, 50, 50), 0.0, 0.05)])
def test_an_outline_is_told_by_its_contrast(colour, least, most):
    scene = block(colour, (50, 50, 50))
    assert least <= told_apart(scene, scene.instances[0]) <= most


def test_somebody_half_hidden_is_seen_already_and_somebody_else_is_not(streets):
    person = next((scene, one) for scene in streets for one in scene.instances if one.label == "person" and one.height > 60)
    donor = cut(*person)
    hidden = person[0].picture.copy()
    left, top, right, bottom = person[1].box
    hidden[(top + bottom) // 2 : bottom, left:right] = 90  # somebody stands before the legs
    law = SizeLaw(bottom, bottom - top, 1.0, 1)
    assert SeenAlready(hidden, law, 1.0).shows([donor])
    assert SeenAlready(np.ascontiguousarray(hidden[:, ::-1]), law, 1.0).shows([donor])
    without = hidden.copy()
    without[max(0, top - 4) : bottom + 4, max(0, left - 4) : right + 4] = 90
    loud = replace(donor, colour=np.where(np.arange(donor.shape[0])[:, None, None] % 16 < 8, (250, 0, 250), (0, 250, 0)).astype(np.float32))
    assert not SeenAlready(without, law, 1.0).shows([loud])
    far_up = SizeLaw(bottom, 4.0 * (bottom - top), 1.0, 1)  # where others are four times as tall at his feet, he would stand elsewhere
    assert not SeenAlready(hidden, far_up, 1.0).shows([donor])


def test_light_from_the_front_is_told_from_light_from_behind():
    front, behind = block((220, 220, 220), (110, 110, 110)), block((30, 30, 30), (110, 110, 110))
    bright, dark = (lit(scene, replace(scene.instances[0], label="dog")) for scene in (front, behind))
    assert bright > 0.3 > -0.3 > dark


def test_nobody_is_inserted_again_before_everybody_had_a_turn(bank):
    one = bank.of("person")[0]
    people = [replace(one, who=Identity(k, frozenset({k - k % 2, k - k % 2 + 1}))) for k in range(10)]  # five, each of them seen twice
    rng = np.random.default_rng(0)
    first = [pick(people, set(), turn, rng)[0].who.number // 2 for turn in range(10)]
    assert sorted(first[:5]) == sorted(first[5:]) == [0, 1, 2, 3, 4]


def test_the_changes_of_one_scene_share_the_people_among_them(streets):
    plan = ChangePlan(("person",), ("person",), ("insert", "one_more"), controls=False, repeats=2)
    medium = Scenes(streets[:4], plan, seed=3)
    everybody = {donor.who.number for donor in medium.bank.of("person")}
    for place in range(4):
        theirs = [medium.shared_bank(place, change, "person").share.among(medium.bank.of("person")) for change in medium.changes]
        assert len(theirs) == 4
        assert set().union(*theirs) == everybody
        assert sum(map(len, theirs)) == len(everybody)
        assert all(theirs)
    some = medium.shared_bank(0, medium.changes[1], "person")
    assert {one.who.number for one in some.for_scene(medium.scenes[0], "person")} <= some.share.among(medium.bank.of("person"))


def test_everybody_has_the_same_chance_however_often_a_film_shows_them(bank):
    one = bank.of("person")[0]
    often = [replace(one, who=Identity(k, frozenset(range(9)))) for k in range(9)]
    rare, other = (replace(one, who=Identity(number, frozenset({number}))) for number in (99, 98))
    rng = np.random.default_rng(0)
    first = Counter(pick([other, *often, rare], set(), 0, rng)[1].who.number == 99 for _ in range(400))
    assert 150 < first[True] < 250
    assert all(donor.who.number == 99 for donor in pick([*often, rare], {3}, 0, rng))


def test_grain_is_bounded_and_spares_dark_clothes():
    rng = np.random.default_rng(1)
    texture = grain(rng.integers(60, 200, (*SHAPE, 3)).astype(np.uint8))
    usual = float(np.median(np.abs(texture)))
    scene = block((8, 8, 8), (120, 120, 120))
    native = cut(scene, scene.instances[0])
    native = replace(native, colour=native.colour + rng.normal(0, 20, native.colour.shape).astype(np.float32))
    smooth = replace(native, colour=np.full_like(native.colour, 8.0))
    added = regrained(smooth, native, texture, rng).colour - smooth.colour
    assert 0 < np.abs(added).max() <= GRAIN_TAIL * usual * 8 / 64 + 1e-3
    bright = replace(native, colour=np.full_like(native.colour, 128.0))
    assert usual / 2 < np.abs(regrained(bright, native, texture, rng).colour - 128).max() <= GRAIN_TAIL * usual + 1e-3


def test_a_dark_thing_behind_the_legs_is_no_shadow():
    scene = block((200, 40, 40), (150, 150, 150))
    dark, light = scene.picture.copy(), scene.picture.copy()
    dark[72:101, 50:90][~scene.instances[0].mask(SHAPE)[72:101, 50:90]] = 40  # a bench behind the legs
    light[88:94, 62:84][~scene.instances[0].mask(SHAPE)[88:94, 62:84]] = 60
    assert Shade.of(replace(scene, picture=dark), scene.instances[0]) is None
    assert Shade.of(replace(scene, picture=light), scene.instances[0]) is not None


def test_one_more_adds_one_object_whatever_is_usual(streets, bank):
    made = [OneMore().change(ChangeOrder(scene, "person", 0, NO_RANGE, bank), np.random.default_rng(2)) for scene in streets]
    made = [one for one in made if isinstance(one, Mutation)]
    assert made
    assert all(len(one.after.instances) == len(one.before.instances) + 1 for one in made)


def test_a_smear_has_less_detail_than_what_is_around_it():
    rng = np.random.default_rng(3)
    picture = rng.integers(80, 160, (*SHAPE, 3)).astype(np.uint8)
    region = np.zeros(SHAPE, bool)
    region[40:70, 60:90] = True
    free = np.ones(SHAPE, bool)
    assert 0.9 < detail_ratio(picture, region, free, 12) < 1.1
    picture[region] = 120
    assert detail_ratio(picture, region, free, 12) < 0.3
