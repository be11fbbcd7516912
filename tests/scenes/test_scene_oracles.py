"""Counts and objects as oracles of the engine: what a change has not touched must still be recognised."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.contract import Detecting, Detection, Oracle, outcome_names
from evenhand.engine.run import Plan, Subject, run
from evenhand.errors import InvalidArgument
from evenhand.media.scenes import ChangePlan, Scenes
from evenhand.methods.themis import Themis
from evenhand.models.budget import Budget
from evenhand.models.meter import Meter, assert_steady
from evenhand.models.shown import shown
from evenhand.oracles import ORACLES
from evenhand.oracles.counts import Counts
from evenhand.oracles.objects import Objects
from evenhand.planted.recognisers import Simulated
from evenhand.planted.shapes import fair

PLAN = ChangePlan(insert=("person",), change=("person", "car"), operators=("paper",))
ORACLE_NAMES = ("counts", "objects")


class Perfect:
    """Sees every object that is visible at all, with its box; `blind_to` a class in changed pictures only."""

    name = "perfect"

    def __init__(self, scenes, blind_to=""):
        self.originals, self.blind_to = {id(scene.picture) for scene in scenes}, blind_to

    def fingerprint(self):
        return f"perfect but for {self.blind_to!r}"

    def recognise_scenes(self, scenes):
        return [self._answer(scene) for scene in scenes]

    def _answer(self, scene):
        blind = id(scene.picture) not in self.originals
        seen = [one for one in scene.instances if one.counted and not (blind and one.label == self.blind_to)]
        return tuple(Detection(one.label, 1.0, tuple(map(float, one.box))) for one in seen)


@pytest.fixture(scope="module")
def medium(streets):
    return Scenes(streets, PLAN)


def judged(oracle, medium, recogniser):
    rows = np.vstack([medium.rows(), medium.rows(null=True)])
    model = shown(medium, recogniser)
    return rows, oracle.judge(rows, medium.domain, Meter(model)), outcome_names(oracle, model)


@pytest.mark.parametrize("name", ORACLE_NAMES)
def test_they_are_found_by_name_and_judge_like_oracles(name, medium):
    oracle = ORACLES.make(name)
    assert isinstance(oracle, Oracle)
    assert isinstance(shown(medium, Simulated()), Detecting)
    rows, verdict, names = judged(oracle, medium, Simulated())
    assert verdict.labels.shape == (len(rows), 2)
    np.testing.assert_array_equal(verdict.labels[:, 1] == -1, ~medium.domain.twins(rows).valid[1])
    assert (verdict.labels[:, 0] == 0).all()
    assert names[0] == "nothing lost"


@pytest.mark.parametrize("name", ORACLE_NAMES)
def test_a_perfect_recogniser_loses_nothing(name, medium):
    _, verdict, _ = judged(ORACLES.make(name), medium, Perfect(medium.scenes))
    assert not verdict.unfair.any()


@pytest.mark.parametrize("name", ORACLE_NAMES)
def test_a_planted_class_is_lost_and_named(name, medium):
    rows, verdict, names = judged(ORACLES.make(name), medium, Perfect(medium.scenes, blind_to="traffic light"))
    assert {names[label] for label in verdict.labels[verdict.unfair, 1]} == {"lost: traffic light"}
    for row, unfair in zip(rows, verdict.unfair, strict=True):
        place, change = int(row[0]), int(row[1])
        possible = medium.is_possible(np.array([[place, change, 1.0]]))[0]
        assert unfair == (possible and not medium.is_null(change) and medium.truth[place]["traffic light"] > 0)


def test_the_touched_class_is_never_held_against_the_recogniser(medium):
    rows, verdict, names = judged(Counts("both"), medium, Perfect(medium.scenes, blind_to="person"))
    for row, label in zip(rows[verdict.unfair], verdict.labels[verdict.unfair, 1], strict=True):
        assert "person" not in medium.changes[int(row[1])].name
        assert names[label] == "lost: person"


def test_invented_objects_are_gained_ones(medium):
    class Dreamer(Perfect):
        def _answer(self, scene):
            return super()._answer(scene) + ((Detection("bird"),) if id(scene.picture) not in self.originals else ())

    _, verdict, names = judged(Counts("gained"), medium, Dreamer(medium.scenes))
    assert {names[label] for label in verdict.labels[verdict.unfair, 1]} == {"gained: bird"}
    _, verdict, _ = judged(Counts("lost"), medium, Dreamer(medium.scenes))
    assert not verdict.unfair.any()


def test_objects_sees_what_counts_miss(medium):
    class Jumping(Perfect):
        """Moves every traffic light of a changed picture to the corner: the counts stay."""

        def _answer(self, scene):
            moved = super()._answer(scene)
            if id(scene.picture) in self.originals:
                return moved
            return tuple(Detection(one.label, 1.0, (0.0, 0.0, 1.0, 1.0)) if one.label == "traffic light" else one for one in moved)

    assert not judged(Counts(), medium, Jumping(medium.scenes))[1].unfair.any()
    assert judged(Objects(), medium, Jumping(medium.scenes))[1].unfair.any()


def test_a_search_ends_with_findings_in_words(medium):
    model, oracle = shown(medium, Simulated(handicap={"person": 1.0})), Counts()
    done = run(Themis(population="data", margin=0.0), Subject(medium.domain, model, medium.rows()), Plan(0, Budget(candidates=400), oracle))
    frame = done.findings.frame(medium.domain, outcome_names(oracle, model))
    assert len(frame)
    assert frame["evenhand.twin_outcome"].str.startswith("lost: ").all()
    assert (frame["evenhand.outcome"] == "nothing lost").all()


def test_every_picture_is_asked_about_once_and_steadiness_goes_around_the_memory(medium):
    class Counted(Simulated):
        asked = 0

        def recognise_scenes(self, scenes):
            Counted.asked += len(scenes)
            return super().recognise_scenes(scenes)

    model = shown(medium, Counted())
    rows = medium.rows()
    Meter(model).scores(rows)
    assert Counted.asked == len(medium.scenes)
    Meter(model).detections(rows)
    assert Counted.asked == len(medium.scenes)
    assert_steady(model, rows)  # two batches, in each of which a picture is asked about once
    assert 2 * len(medium.scenes) <= Counted.asked <= 3 * len(medium.scenes)


def test_tables_and_wrong_parameters_are_refused():
    subject = fair()
    rows = subject.domain.sample(4, np.random.default_rng(0))
    for oracle in (Counts(), Objects()):
        with pytest.raises(InvalidArgument, match="recognisers of scenes"):
            oracle.judge(rows, subject.domain, subject.model)
    with pytest.raises(InvalidArgument, match="errors='stolen'"):
        Counts("stolen")
    with pytest.raises(InvalidArgument, match="overlap=2"):
        Objects(overlap=2)
