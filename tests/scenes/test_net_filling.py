"""What a learned inpainter is asked to fill, and what is not mirrored."""

import numpy as np

from evenhand.media.operators.delete import delete
from evenhand.media.operators.mirror import CUT_BELOW, ITS_SHADOW, REVERSED, UNMARKED, mirrored
from evenhand.media.operators.parts.cast_shadow import shadow_beside
from evenhand.media.operators.parts.left_over import left_over
from evenhand.media.operators.parts.mutated import Mutation, Skipped
from evenhand.media.operators.parts.net_filling import DEEPEST, agreed_filling, depth_in_wall, is_beyond_net, suits_net
from evenhand.media.operators.parts.removal import LEFT_BEHIND, NO_BACKGROUND, hole_for
from evenhand.media.operators.parts.seams import strangeness
from evenhand.media.scene import BUILDING, ROAD, Instance, PixelBox, Scene

SHAPE = (360, 480)


def thing(label, left, top, right, bottom, depth=None):
    """A solid rectangle."""
    return Instance(label, PixelBox(left, top, right, bottom), np.ones((bottom - top, right - left), bool), depth)


def street(*things, wall_until=260):
    """A wall above a road, both plain."""
    regions = np.full(SHAPE, BUILDING, np.uint8)
    regions[wall_until:] = ROAD
    picture = np.full((*SHAPE, 3), 120, np.uint8)
    return Scene("street", picture, things, regions)


def is_asked(scene, *gone):
    return suits_net(scene, gone, hole_for(scene, gone))


def test_a_net_fills_what_is_shallow_or_mostly_on_the_ground():
    slender, broad = thing("person", 100, 200, 112, 270), thing("person", 200, 200, 245, 270)
    for one in (slender, broad):
        made = delete(street(one), "person")
        assert (getattr(made, "reason", None) == NO_BACKGROUND) == (one is broad)
    walking = thing("person", 200, 250, 245, 320)  # as broad, on the road
    assert is_asked(street(walking), walking)
    assert isinstance(delete(street(walking), "person"), Mutation)
    scene = street(broad)
    assert DEEPEST < depth_in_wall(scene, hole_for(scene, [broad])) < 40
    assert depth_in_wall(Scene("bare", scene.picture, (broad,)), hole_for(scene, [broad])) == 0.0


def test_a_net_is_not_asked_beside_what_is_nearer_or_in_front_of_what_it_would_have_to_complete():
    small, nearer = thing("person", 100, 240, 112, 290), thing("car", 112, 230, 180, 320)
    assert is_asked(street(small), small)
    assert not is_asked(street(small, nearer), small)
    behind = thing("car", 112, 240, 180, 280)
    assert not is_asked(street(small, behind), small)


def test_a_net_is_not_asked_amid_much_detail_nor_for_a_large_hole():
    small = thing("person", 100, 240, 112, 290)
    busy = street(small)
    checks = np.indices(SHAPE).sum(axis=0) % 6 < 3
    picture = np.where(checks[..., None], 30, 230).astype(np.uint8).repeat(3, axis=2)
    assert not is_asked(Scene("busy", picture, (small,), busy.regions), small)
    large = thing("bus", 40, 265, 440, 340)  # with its shadow a sixth of the picture
    assert not is_asked(street(large), large)


def test_what_is_held_or_hangs_on_a_string_is_not_deleted_alone():
    person, bag = thing("person", 100, 200, 130, 290), thing("handbag", 131, 240, 139, 248)
    assert delete(street(person, bag), "handbag").reason == LEFT_BEHIND
    assert delete(street(thing("kite", 200, 20, 220, 40)), "kite").reason == LEFT_BEHIND
    lying = thing("handbag", 300, 300, 320, 312)
    assert getattr(delete(street(person, lying), "handbag"), "reason", None) != LEFT_BEHIND


def test_a_photographed_bus_is_not_mirrored_since_its_lettering_would_be():
    bus = thing("bus", 100, 200, 180, 300)
    skipped = mirrored(street(bus), 0)
    assert isinstance(skipped, Skipped)
    assert skipped.reason == REVERSED


def test_a_net_does_not_see_who_stands_beside_the_hole_and_leaves_them_as_they_are():
    one, beside, far = thing("person", 100, 240, 112, 290), thing("person", 125, 235, 140, 295), thing("person", 400, 240, 420, 300)
    scene = street(one, beside, far)
    for other in (one, beside, far):
        scene.picture[other.box.pixels] = 20
    hole = hole_for(scene, [one])
    asked = []

    def copying(picture, where):
        """Fills with the mean of what it is told not to fill, nearby."""
        asked.append(where)
        return np.where(where[..., None], picture[230:310, 90:150][~where[230:310, 90:150]].mean(), picture)

    filled = agreed_filling(scene, hole, copying)
    assert asked[0][beside.box.pixels].all()
    assert not asked[0][far.box.pixels].any()
    assert np.array_equal(asked[0], asked[1][:, ::-1])
    assert (np.abs(filled[hole].astype(int) - 120) <= 1).all()  # no ghost of who is as dark as he was
    assert np.array_equal(filled[~hole], scene.picture[~hole])


def test_of_two_fillings_the_less_strange_one_is_taken():
    one = thing("person", 100, 240, 112, 290)
    scene = street(one)
    hole = hole_for(scene, [one])

    flat = np.where(hole[..., None], 120, scene.picture).astype(np.uint8)
    spotted = flat.copy()
    spotted[260:275, 102:110] = (250, 120, 0)
    assert strangeness(flat, hole, ~scene.occupied, 1.0) < strangeness(spotted, hole, ~scene.occupied, 1.0)
    shown = iter((spotted, flat[:, ::-1]))  # they differ by too little to be refused
    spotted[260:275, 102:110] = (132, 124, 116)
    assert np.array_equal(agreed_filling(scene, hole, lambda *_: next(shown)), flat)


def test_a_deep_hole_amid_detail_is_beyond_a_net():
    hole = np.zeros(SHAPE, bool)
    hole[200:250, 200:250] = True
    assert is_beyond_net(street(), hole, 20.0)
    assert not is_beyond_net(street(), hole, 10.0)
    hole[:, 230:] = False
    assert not is_beyond_net(street(), hole, 20.0)


def animal(legs, shape=SHAPE):
    """A body on legs at these columns, facing to the right."""
    mask = np.zeros(shape, bool)
    mask[200:240, 100:180] = True
    mask[180:205, 165:195] = True
    for left in legs:
        mask[240:270, left : left + 8] = True
    return Instance.from_mask("sheep", mask)


def lawn(one, **marks):
    """It on plain ground that nobody marked, and dark patches."""
    picture = np.full((*SHAPE, 3), 150, np.uint8)
    picture[one.mask(SHAPE)] = 60
    for rows, columns in marks.values():
        picture[rows, columns] = 30
    return Scene("lawn", picture, (one,))


def test_of_what_is_mirrored_nothing_stays_behind():
    whole, one_leg = animal((105, 165)), animal((105,))
    assert isinstance(mirrored(lawn(whole), 0), Mutation)
    assert mirrored(lawn(one_leg), 0).reason == CUT_BELOW
    forgotten = lawn(whole, foot=(slice(258, 270), slice(173, 185)))
    assert left_over(forgotten, whole) > 0.5 > left_over(lawn(whole), whole) == 0.0
    assert mirrored(forgotten, 0).reason == UNMARKED


def test_what_is_mirrored_keeps_a_shadow_that_begins_at_its_feet():
    one = animal((105, 165))
    beside = lawn(one)
    beside.picture[262:274, 173:215] = 115  # darker, and no foot
    assert shadow_beside(beside, one) > 0.01 > shadow_beside(lawn(one), one)
    assert mirrored(beside, 0).reason == ITS_SHADOW


def test_what_a_mirrored_object_leaves_bare_is_filled_alike_both_ways_or_not_at_all():
    one = animal((105, 165))

    def known(picture, where):
        return np.where(where[..., None], 150, picture)

    def made_up(picture, where):
        shade = np.linspace(0, 240, SHAPE[1]).astype(np.uint8)[None, :, None]
        return np.where(where[..., None], shade, picture)

    assert isinstance(mirrored(lawn(one), 0, known), Mutation)
    assert mirrored(lawn(one), 0, made_up).reason == NO_BACKGROUND
