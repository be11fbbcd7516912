"""Nobody stands in a picture twice: objects are known again along a film and by their colours, and a reader checks what they are."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from evenhand.contract import Detection
from evenhand.datasets.scene_data import SceneChoices
from evenhand.errors import DataError
from evenhand.media.operators.delete import STILL_SEEN
from evenhand.media.operators.insert import insert
from evenhand.media.operators.parts.donors import Donor, DonorBank, collect, has_head, is_grey, pick
from evenhand.media.operators.parts.mutated import Mutation
from evenhand.media.operators.parts.same_object import SAME, Identity, colours, difference, identities
from evenhand.media.operators.parts.upright import LEAST_LIKENESS, likeness
from evenhand.media.scene import Instance, PixelBox, Scene
from evenhand.media.scenes import ChangePlan, Scenes
from evenhand.media.vocabulary import Labels

RED, GREEN, BLUE = (180, 40, 40), (40, 150, 60), (50, 60, 170)


def walker(left, coat, top=60, dim=0):
    """A person of two colours on a grey street."""
    mask = np.zeros((240, 320), bool)
    mask[top + 12 : top + 80, left : left + 30] = True
    mask[top : top + 12, left + 10 : left + 20] = True  # a head
    return mask, np.clip(np.array(coat) - dim, 0, 255)


def scene_of(name, *walkers):
    picture = np.full((240, 320, 3), 110, np.uint8)
    things = []
    for mask, coat in walkers:
        picture[mask] = coat
        rows = np.flatnonzero(mask.any(axis=1))
        picture[rows[0] + 40 : rows[-1] + 1][mask[rows[0] + 40 : rows[-1] + 1]] = 40  # dark trousers
        things.append(Instance.from_mask("person", mask))
    return Scene(name, picture, tuple(things))


def test_somebody_is_the_same_in_another_light_and_from_the_other_side():
    here, there = scene_of("a", walker(40, RED)), scene_of("b", walker(200, RED, dim=20))
    first, second = identities([here, there])
    assert first[0].number in second[0].alike
    assert second[0].number in first[0].alike
    others = identities([here, scene_of("b", walker(200, GREEN)), scene_of("c", walker(200, BLUE))])
    assert [len(one[0].alike) for one in others] == [1, 1, 1]
    turned = Scene(
        "t", np.ascontiguousarray(here.picture[:, ::-1]), (Instance.from_mask("person", here.instances[0].mask((240, 320))[:, ::-1]),)
    )
    assert difference(colours(here, here.instances[0]), colours(turned, turned.instances[0])[None])[0] < 1e-3 < SAME


def test_a_walk_through_the_shade_is_one_track_in_a_film_and_two_people_elsewhere():
    shade = [scene_of(f"walk_{k:03}", walker(40 + 15 * k, RED, dim=25 * k)) for k in range(5)]
    assert all(len(one[0].alike) == 5 for one in identities(shade))
    scattered = [scene_of(name, *[walker(40, RED, dim=dim)]) for name, dim in (("beach", 0), ("square", 100))]
    assert [len(one[0].alike) for one in identities(scattered)] == [1, 1]  # nothing but the film says that the ends of the walk are one


def test_an_object_is_never_inserted_beside_itself(streets, bank):
    rng = np.random.default_rng(4)
    made = [insert(scene, "person", 3, bank, rng) for scene in streets]
    made = [one for one in made if isinstance(one, Mutation)]
    assert made
    who = {donor.cutout.origin: donor.who for donor in bank.of("person")}
    for one in made:
        added = [who[origin] for origin in one.origins]
        assert all(not first.alike & {second.number} for first, second in combinations(added, 2))
        assert all(not person.alike & bank.looks[one.before.name] for person in added)
    for donor in pick(bank.of("person"), set(bank.looks[streets[0].name]), 0, rng):
        assert not donor.who.alike & bank.looks[streets[0].name]


def test_likeness_is_not_handed_on():
    steps = [scene_of(name, walker(40, (180 - 20 * k, 40 + 12 * k, 40))) for k, name in enumerate(("inn", "port", "quay", "lock", "mill"))]
    first, *others = [one[0] for one in identities(steps)]
    assert others[0].number in first.alike
    assert others[-1].number not in first.alike


class Reader:
    """Calls every second car of the streets a bus, and all else what it is."""

    name = "reader"

    def __init__(self, scenes):
        self.scenes = {scene.picture.tobytes(): scene for scene in scenes}

    def recognise(self, pictures):
        return [self._answer(self.scenes[picture.tobytes()]) for picture in pictures]

    def _answer(self, scene):
        found = []
        for k, one in enumerate(scene.instances):
            is_bus = one.label == "car" and k % 2
            found.append(Detection("bus" if is_bus else one.label, 0.9, tuple(map(float, one.box))))
        return tuple(found)


def test_only_what_a_reader_calls_by_its_label_is_a_donor(streets, bank):
    taken = [replace(scene, facts={}) for scene in streets]  # as if a camera had taken them
    checked, unread = collect(taken, Labels(), Reader(taken)), collect(taken, Labels())
    assert 0 < len(checked.of("car")) < len(bank.of("car"))
    assert len(checked.of("person")) == len(unread.of("person"))
    origins = {donor.cutout.origin for donor in checked.of("car")}
    assert origins < {donor.cutout.origin for donor in bank.of("car")}


def test_a_pair_of_people_in_one_mask_is_no_donor():
    single, pair = scene_of("one", walker(40, RED)), scene_of("two", walker(40, GREEN))
    wide = np.zeros((240, 320), bool)
    wide[72:140, 40:90] = True
    wide[60:72, 45:55], wide[60:72, 75:85] = True, True
    pair = Scene("two", pair.picture, (Instance.from_mask("person", wide),))
    found = collect([single, pair], Labels()).of("person")
    assert {donor.scene for donor in found} == {"one"}


def test_a_wide_object_at_an_angle_is_unlike_its_mirror_image():
    box, wedge = np.ones((40, 100), bool), np.triu(np.ones((40, 100), bool), k=-10)
    for mask, is_alike in ((box, True), (wedge, False)):
        assert (likeness(Instance("car", PixelBox(0, 0, 100, 40), mask)) >= LEAST_LIKENESS) == is_alike


class Spectator:
    """Sees every person of these scenes, whether they are still there or not; or nobody."""

    name = "spectator"

    def __init__(self, *boxes):
        self.boxes = boxes

    def recognise(self, pictures):
        return [tuple(Detection("pedestrian", 0.8, tuple(map(float, box))) for box in self.boxes) for _ in pictures]


def test_a_deletion_after_which_a_reader_still_sees_the_object_is_skipped():
    scene = scene_of("street", walker(140, RED))
    plain = Scenes([scene, scene_of("other", walker(40, GREEN))], ChangePlan(("person",), ("person",), ("delete",), controls=False))
    assert isinstance(plain.made(0, 0), Mutation)
    for boxes, is_made in (((), True), ((scene.instances[0].box,), False), (((0, 0, 30, 80),), True)):
        plan = ChangePlan(("person",), ("person",), ("delete",), controls=False, reader=Spectator(*boxes))
        made = Scenes([scene, scene_of("other", walker(40, GREEN))], plan).made(0, 0)
        assert isinstance(made, Mutation) == is_made
        assert is_made or made.reason == STILL_SEEN


def test_headless_masks_and_donors_of_another_kind_of_picture_are_left_out():
    block = np.ones((80, 30), bool)
    person = block.copy()
    person[:10, :10], person[:10, 20:] = False, False
    assert not has_head(Instance("person", PixelBox(0, 0, 30, 80), block))
    assert has_head(Instance("person", PixelBox(0, 0, 30, 80), person))
    plain = scene_of("grey", walker(40, (90, 90, 90)))
    assert is_grey(plain)
    colourful = replace(plain, name="colour", picture=plain.picture + np.array([0, 30, 60], np.uint8))
    assert not is_grey(colourful)
    donor = Donor(None, 80, 0.5, 0.9, "grey", Identity(1, frozenset({1})), (100.0, 1.0), is_grey=True)
    found = DonorBank({"person": (donor,)}, (0.0, 1.0), Labels(), grey=frozenset({"grey"}))
    assert found.for_scene(plain, "person") == [donor]
    assert not found.for_scene(colourful, "person")


def test_outside_scenes_lend_what_the_data_has_not_and_a_reader_is_not_asked_about_drawings(streets):
    bare = [replace(scene, instances=tuple(one for one in scene.instances if one.label != "dog")) for scene in streets[:2]]
    outside = [scene for scene in streets if scene.of("dog")][:2]
    plan = ChangePlan(("dog",), ("person",), ("insert",), controls=False, reader=Spectator(), donors=tuple(outside))
    bank = Scenes(bare, plan).bank
    assert bank.of("dog")
    assert all(donor.who.number < 0 for donor in bank.of("dog"))  # nobody of the data set
    own = {scene.name for scene in bare}
    assert all(donor.scene in own for donor in bank.of("car"))  # what the data has is not lent


def test_a_folder_without_scenes_lends_nothing(tmp_path):
    with pytest.raises(DataError, match="no annotated scenes"):
        SceneChoices(("person",), donors=str(tmp_path)).plan([scene_of("one", walker(40, RED))])
