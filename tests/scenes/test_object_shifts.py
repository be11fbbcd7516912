"""What becomes of objects short of being lost, and average precision on the unchanged pictures."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.contract import Detection
from evenhand.measures.average_precision import RankedBox, average_precision, taken_by_score
from evenhand.measures.harmed_pictures import scenes_to_learn_from, worst_pictures
from evenhand.measures.object_shifts import ObjectShift, shift_rows, shift_sentences
from evenhand.measures.object_trials import trials_of_answers
from evenhand.measures.object_verdicts import object_verdicts
from evenhand.media.parts.marked_boxes import KEPT, LOST, MarkedBox, with_boxes
from evenhand.media.scenes import ChangePlan, Scenes
from evenhand.planted.recogniser_laws import all_pictures
from evenhand.statistics.clustered import clustered_mean, clustered_share


class Wavering:
    """Names every annotated object of the scene; after any change cars become vans, everybody is less sure, and boxes move a little."""

    def __init__(self, medium):
        self.medium = medium

    def detections(self, rows):
        return [self._seen(self.medium.scenes[int(place)], bool(changed)) for place, _, changed in rows]

    def _seen(self, scene, changed):
        found = []
        for one in scene.instances:
            if one.counted:
                left, top, right, bottom = one.box
                move = 0.1 * (right - left) if changed else 0.0
                label = "bus" if changed and one.label == "car" else one.label
                found.append(Detection(label, 0.6 if changed else 0.9, (left + move, top, right + move, bottom)))
        return tuple(found)


@pytest.fixture(scope="module")
def wavering(streets):
    medium = Scenes(streets[:6], ChangePlan(insert=("person",), change=("person",), operators=("fog", "put_back")))
    return object_verdicts(trials_of_answers(medium, Wavering(medium), all_pictures(medium)))


def test_renamed_less_sure_and_moved_objects_are_told_by_class(wavering):
    rows = {row.label: row for row in wavering.shifts}
    assert rows["car"].renamed.estimate == 1.0
    assert rows["car"].mostly_as == "bus"
    assert rows["car"].score_drop is None, "what was renamed has no score of its own any more"
    steady = [row for label, row in rows.items() if label not in ("car", "bus") and row.score_drop is not None]
    assert steady
    for row in steady:
        assert row.renamed.estimate == 0.0
        assert row.renamed.high > 0.0, "never seen is not never"
        assert row.score_drop.estimate == pytest.approx(0.3)
        assert row.box_drift.estimate == pytest.approx(1 - 0.9 / 1.1, abs=0.02)


def test_what_stands_out_is_said_in_words(wavering):
    said = shift_sentences(wavering.shifts)
    assert said[0].startswith("Renamed most often: 'car' in 100.0% of")
    assert "mostly as 'bus'" in said[0]
    assert "falls by 0.300" in said[1]
    assert shift_sentences(()) == []


def test_a_recogniser_that_names_everything_has_an_average_precision_of_one(wavering):
    assert {row.average_precision for row in wavering.levels} == {1.0}
    assert all(value in (1.0, None) for row in wavering.levels for value in row.average_precision_by_size.values())


def test_average_precision_is_that_of_a_plain_reading_at_101_recalls():
    rng = np.random.default_rng(0)
    boxes = [RankedBox("x", float(score), bool(right), 0.1) for score, right in zip(rng.random(60), rng.random(60) < 0.6, strict=True)]
    objects = 50
    ordered = sorted(boxes, key=lambda box: -box.score)
    points = []
    for n in range(1, len(ordered) + 1):
        right = sum(box.is_right for box in ordered[:n])
        points.append((right / objects, right / n))
    plain = [max([precision for recall, precision in points if recall >= least - 1e-12], default=0.0) for least in np.linspace(0, 1, 101)]
    assert average_precision(boxes, objects) == pytest.approx(np.mean(plain), abs=1e-12)
    assert average_precision([], 3) == 0.0
    assert average_precision(boxes, 0) is None


def test_a_second_box_on_one_object_is_wrong_whatever_its_overlap():
    overlaps = np.array([[0.6], [0.95]])
    assert taken_by_score(np.array([0.9, 0.5]), overlaps, 0.5).tolist() == [0, -1]


def test_intervals_of_clustered_values_cover_their_mean():
    rng, covered = np.random.default_rng(1), 0
    for _ in range(400):
        levels = np.repeat(rng.normal(size=25), 8)
        found = clustered_mean(levels + 0.2 * rng.normal(size=200), np.arange(200) // 8)
        covered += 0.0 in found
    assert 370 <= covered <= 392
    assert clustered_mean(np.ones(3), np.zeros(3, int)) is None
    assert clustered_share(np.ones(8), np.arange(8)).low < 0.7


def test_null_changes_stand_beside_and_never_in_the_figures():
    shifts = [ObjectShift("dog", run, is_null, drop=0.1 if is_null else 0.4, drift=0.0) for run in range(5) for is_null in (False, True)]
    (row,) = shift_rows(shifts)
    assert (row.chances, row.score_drop_by_null) == (5, pytest.approx(0.1))
    assert row.score_drop.estimate == pytest.approx(0.4)


def test_the_worst_pictures_show_what_was_lost_and_the_page_ranks_the_classes(streets):
    medium = Scenes(streets[:6], ChangePlan(insert=("person",), change=("person",), operators=("fog", "put_back")))
    trials = trials_of_answers(medium, Wavering(medium), all_pictures(medium))
    worst = worst_pictures(medium, trials.harmed, {"car"})
    assert worst
    assert all("car" in one.lost and one.change == "fog" for one in worst), "null changes harm nobody"
    assert len({one.scene for one in worst}) == len(worst)
    assert all(one.picture_before.startswith("data:image/jpeg;base64,") for one in worst)
    assert worst_pictures(medium, trials.harmed, {"unicorn"}) == ()
    listed = scenes_to_learn_from(medium, trials.harmed)
    assert [row["lost"] for row in listed] == sorted((row["lost"] for row in listed), reverse=True)


class Blinded(Wavering):
    """Sees nothing at all after a change."""

    def _seen(self, scene, changed):
        return () if changed else super()._seen(scene, changed)


def test_a_recogniser_that_falls_silent_loses_everything_and_renames_nothing(streets):
    medium = Scenes(streets[:4], ChangePlan(insert=("person",), change=("person",), operators=("fog",)))
    verdicts = object_verdicts(trials_of_answers(medium, Blinded(medium), all_pictures(medium)))
    assert {row.renamed.estimate for row in verdicts.shifts if row.renamed} == {0.0}
    assert all(row.score_drop is None for row in verdicts.shifts)


def test_lost_boxes_are_dashed_and_kept_ones_are_not():
    grey = np.full((40, 60, 3), 128, np.uint8)
    drawn = with_boxes(grey, [MarkedBox((5, 5, 25, 35)), MarkedBox((30, 5, 55, 35), is_lost=True)], 60)
    green, orange = ((drawn == np.array(colour)).all(axis=2) for colour in (KEPT, LOST))
    assert green[5:36, 5].all()
    assert orange.any()
    assert not orange[5:36, 30].all(), "a lost box has gaps"
    assert with_boxes(grey, [], 30).shape == (20, 30, 3)
