"""People by what annotations say of them: tables of boxes are read, fair recognisers are left alone, a planted difference is found."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.claims import Claim
from evenhand.contract import Detection, StudySection
from evenhand.datasets.scene_data import SceneChoices, found_scenes, from_scenes, read_scenes
from evenhand.engine.gate import Gate
from evenhand.errors import DataError
from evenhand.measures.object_trials import Trials
from evenhand.measures.person_verdicts import PeopleTrials, person_verdicts
from evenhand.measures.studies.classes import ALL_CLASSES
from evenhand.media.object_facts import FAR, ObjectFacts
from evenhand.media.png import write_png
from evenhand.verbs.measure_claims import claim_by_studies
from evenhand.verbs.measure_result import MeasureOptions


def simulated(seed, factor=1.0, people=700):
    """People of two tones: the dark ones stand in the dark more often and are farther away, which makes anybody hard to see."""
    rng = np.random.default_rng(seed)
    scene = np.sort(rng.integers(0, people // 5, people))
    dark = rng.random(people) < 0.4
    brightness = np.clip(rng.normal(0.5, 0.15, people) - 0.18 * dark, 0.02, 0.98)
    large = rng.normal(-4.5, 0.8, people) - 0.5 * dark
    together = rng.normal(0, 0.6, people)[scene]
    chance = 1 / (1 + np.exp(1.6 + 1.1 * (large + 4.5) + 3.0 * (brightness - 0.5) + together))
    missed = rng.random(people) < np.clip(np.where(dark, factor, 1.0) * chance, 0, 0.97)
    some = rng.random((4, people))
    facts = ObjectFacts(
        np.full(people, "person", object), scene, np.full(people, -1), np.arange(people), np.exp(large),
        some[0], some[1], 1 - 0.3 * some[2], 0.3 * some[3], np.full(people, FAR), np.zeros(people),
    )  # fmt: skip
    trials = Trials(facts, missed, np.zeros(people, bool), np.full(people, "", object))
    told = [{"skin tone": "dark" if one else "light", "cap": str(rng.integers(2))} for one in dark]
    return PeopleTrials(trials, told, brightness, np.full(people, 0.2), np.arange(people))


def test_one_value_that_everybody_has_is_not_said_to_have_too_few_people():
    people = simulated(0)
    alike = replace(people, attributes=[{"lighting": "well lit"}] * len(people.attributes))
    (only,) = person_verdicts(alike).answers
    assert "nobody else is told apart" in only.sentence
    assert person_verdicts(alike).claims()[0].open


@pytest.mark.slow
def test_people_who_are_alike_but_for_light_and_distance_are_not_called_worse_off():
    blamed = sum(bool(person_verdicts(simulated(seed)).blamed) for seed in range(60))
    assert blamed <= 6


def test_a_tone_that_is_missed_twice_as_often_is_found_and_named():
    found = [person_verdicts(simulated(seed, factor=2.0)) for seed in range(20)]
    assert sum(any(one.value == "dark" for one in verdicts.blamed) for verdicts in found) >= 16
    worst = next(verdicts.blamed[0] for verdicts in found if verdicts.blamed)
    assert "people with skin tone 'dark' are missed in" in worst.sentence
    assert 1.4 < worst.ratio < 3.0


def test_a_few_people_are_named_and_nothing_is_claimed_of_them():
    verdicts = person_verdicts(simulated(0, people=30))
    assert not verdicts.blamed
    assert all(claim.open for claim in verdicts.claims())


def test_people_who_are_worse_off_keep_the_classes_from_passing():
    classes = StudySection({}, (), (Claim(ALL_CLASSES, holds="no class is worse off"),))

    def ruled(*claims):
        return Gate.rule(
            claim_by_studies({"classes": classes, "person_attributes": StudySection({}, (), claims)}, (), (), MeasureOptions())
        )

    fine = Claim("people by tone", holds="nobody is missed more often")
    assert ruled(fine).outcome == "pass"
    assert ruled(fine, Claim("people by age", open="too few")).outcome == "inconclusive"
    assert ruled(Claim("people by tone", "dark ones are missed twice as often"), fine).reason.startswith("dark ones")
    assert ruled(Claim("people by tone", "dark ones are missed twice as often")).outcome == "violation"


def facet_line(name, box, **more):
    return {
        "person_id": 1,
        "filename": name,
        "bounding_box": json.dumps(dict(zip(("x", "y", "width", "height"), box, strict=True))),
        **more,
    }


def write_table(path, lines):
    with path.open("w", newline="", encoding="utf-8") as opened:
        table = csv.DictWriter(opened, sorted({name for line in lines for name in line}))
        table.writeheader()
        table.writerows(lines)


@pytest.fixture
def facet(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        write_png(tmp_path / "images" / f"{name}.png", rng.integers(0, 255, (60, 80, 3), np.uint8))
    lines = [
        facet_line("a.png", (5, 5, 20, 40), skin_tone_1=3, gender_presentation_fem=1, has_cap=0),
        facet_line("a.png", (40, 5, 30, 50), skin_tone_9=2, skin_tone_8=1, gender_presentation_na=1, has_cap=1),
        facet_line("b.png", (500, 5, 30, 50), skin_tone_9=2),
    ]
    write_table(tmp_path / "annotations.csv", lines)
    return tmp_path


def test_facets_table_is_found_and_read(facet):
    source = found_scenes(facet)
    assert source.form == "facet"
    first, second = read_scenes(source)
    told = [dict(one.attributes) for one in first.instances]
    assert told == [{"gender presentation": "fem", "skin tone": "light", "cap": "no"}, {"skin tone": "dark", "cap": "yes"}]
    assert [one.box for one in first.instances] == [(5, 5, 25, 45), (40, 5, 70, 55)]
    assert first.is_rough
    assert second.instances == (), "a box outside its picture is nobody"


def test_miaps_table_is_found_and_read(facet):
    (facet / "annotations.csv").unlink()
    said = {"LabelName": "/m/01g317", "XMin": 0.25, "XMax": 0.75, "YMin": 0.1, "YMax": 0.9, "GenderPresentation": "Unknown"}
    line = {"ImageID": "a", **said, "AgePresentation": "Young", "IsGroupOf": 0, "IsDepictionOf": 0}
    write_table(facet / "boxes.csv", [line, {**line, "IsGroupOf": 1}])
    (scene,) = read_scenes(found_scenes(facet))
    assert [(one.box, dict(one.attributes)) for one in scene.instances] == [((20, 6, 60, 54), {"age presentation": "Young"})]


def test_a_table_that_leaves_its_folder_or_is_damaged_is_refused_in_words(facet):
    write_table(facet / "annotations.csv", [facet_line("../../etc/passwd.png", (1, 1, 9, 9))])
    with pytest.raises(DataError, match="missing"):
        read_scenes(found_scenes(facet))
    write_table(facet / "annotations.csv", [{**facet_line("a.png", (1, 1, 9, 9)), "bounding_box": "{'x': 1}"}])
    with pytest.raises(DataError, match=r"annotations\.csv is not what it should be"):
        read_scenes(found_scenes(facet))


def numbered(scene, number, rng):
    """The scene with its number in a corner, and with a word about every person."""
    picture = scene.picture.copy()
    picture[0, 0] = (number, 255 - number, 7)
    told = [
        replace(one, attributes={"wheelchair": "yes" if rng.random() < 0.4 else "no"}) if one.label == "person" else one
        for one in scene.instances
    ]
    return replace(scene, name=f"street {number}", picture=picture, instances=tuple(told))


@pytest.mark.slow
def test_measure_tells_who_is_missed(streets):
    rng = np.random.default_rng(0)
    scenes = [numbered(scene, 40 * turn + number, rng) for turn in range(4) for number, scene in enumerate(streets)]
    by_corner = {tuple(scene.picture[0, 0]): scene for scene in scenes}

    def recognise(picture):
        scene = by_corner.get(tuple(picture[0, 0]))
        seen = [one for one in scene.instances if one.counted] if scene else []
        is_missed = [(one.attributes.get("wheelchair") == "yes" and place % 3 != 0) or place % 7 == 6 for place, one in enumerate(seen)]
        return [Detection(one.label, 0.9, tuple(map(float, one.box))) for one, gone in zip(seen, is_missed, strict=True) if not gone]

    data = from_scenes(scenes, SceneChoices(("person",), ("blur",)))
    section = eh.measure(eh.wrap(recognise, data), data).studies["person_attributes"]
    assert any("wheelchair 'yes' are missed in" in told and "would have been" not in told for told in section.sentences)
    assert [claim.name for claim in section.claims] == ["people by wheelchair"]
    assert section.claims[0].broken
