"""A learned editor's twins prove little: what they do to a fair classifier is weighed, and claimed only where it counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.campaign.opened_project import editor_tools
from evenhand.claims import Claim
from evenhand.contract import StudyCase, StudySection
from evenhand.datasets.album_data import from_album
from evenhand.datasets.ready_pairs import ReadyPairs
from evenhand.engine.gate import Gate
from evenhand.measures import learned_twins
from evenhand.measures.border_shares import least_share
from evenhand.measures.learned_twins import Weighed
from evenhand.measures.studies.leaning import Leaning, LeaningStudy
from evenhand.media.album import Attribute
from evenhand.media.album_medium import AlbumMedium
from evenhand.media.editors import editor_for
from evenhand.models.attribute_readers import linear_reader
from evenhand.models.meter import Meter
from evenhand.planted.portraits import AGE_GROUPS, synthetic_faces
from evenhand.report.figures import shown
from evenhand.verbs.measure_claims import claim_by_studies
from evenhand.verbs.measure_result import MeasureOptions


def data(editor: str, count: int = 150):
    album, learnt = (synthetic_faces(n, np.random.default_rng(seed), 16) for n, seed in ((count, 1), (120, 2)))
    return from_album(album, [editor_for(editor, learnt, "tone", editor_tools(0))], (), "age_group")


def by_light(pictures):
    """Darker pictures are called older."""
    light = pictures[:, 6:10, 6:10].reshape(len(pictures), -1).mean(axis=1) / 255.0
    return np.stack([light, 0.45 + 0 * light, 1 - light], axis=1) / (1.45)


def leanings(opened):
    meter = Meter(eh.wrap(by_light, opened, classes=list(AGE_GROUPS)))
    case = StudyCase(opened.domain, meter, opened.medium, opened.rows, opened.labels, opened.frame, 0.05)
    return LeaningStudy().study(case, np.random.default_rng(0))


def decided(opened):
    return Gate.check(leanings(opened).claims[0])


@pytest.fixture(autouse=True)
def quick_readers(monkeypatch):
    monkeypatch.setattr(learned_twins, "attribute_reader", linear_reader)


def test_exact_twins_prove_a_leaning_and_learned_ones_need_a_reader():
    assert decided(data("rerender")).outcome == "violation"
    check = decided(data("latent_difference"))
    assert check.outcome == "inconclusive"
    assert "twins of a learned editor" in check.message


def test_the_reader_and_the_meaningless_edits_stand_in_the_figures():
    found = leanings(data("latent_difference", 240)).figures["leanings"][0]["weighed"]
    assert 0 <= found["reader_accuracy"] <= 1
    assert found["null"] >= 0
    assert set(found["reader"]) == set(AGE_GROUPS)
    assert found["reason"]


def test_a_page_shows_the_bounds_and_beside_them_what_is_beyond_a_reader():
    titles = [each.title for each in shown(leanings(data("latent_difference", 240)).figures)]
    assert titles[:2] == [
        "tone goes from lighter to darker",
        "tone goes from lighter to darker: beyond what an independent reader of the label does",
    ]


def test_too_few_pictures_for_a_reader_are_told():
    check = decided(data("latent_difference", 60))
    assert check.outcome == "inconclusive"
    assert "pictures of some label" in check.message


def test_where_pairs_are_too_few_it_is_told_what_else_stands_against_a_verdict():
    """More pictures alone would not help a user whose readers are too weak."""
    opened = data("latent_difference", 40)
    meter = Meter(eh.wrap(lambda pictures: np.tile([0.2, 0.5, 0.3], (len(pictures), 1)), opened, classes=list(AGE_GROUPS)))
    case = StudyCase(opened.domain, meter, opened.medium, opened.rows, opened.labels, opened.frame, 0.05)
    check = Gate.check(LeaningStudy().study(case, np.random.default_rng(0)).claims[0])
    assert check.outcome == "inconclusive"
    assert "too few pairs to say, and 5.0% is tolerated; besides, fewer than 10 pictures of some label" in check.message


def test_a_scan_with_learned_twins_blames_nobody_and_says_why():
    opened = data("latent_difference", 60)
    model = eh.wrap(by_light, opened, classes=list(AGE_GROUPS))
    result = eh.scan(model, opened, budget=eh.Budget(candidates=60), seed=1)
    assert result.outcome == "inconclusive"
    assert "learned editor" in result.reason
    assert result.rates[0].unfair


def test_a_reader_as_good_as_the_classifier_lets_a_large_movement_count():
    """Readers that know the truth and do not move: what is left is the classifier's own."""
    opened = data("latent_difference", 240)
    truth = opened.labels

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learned_twins.Readers, "read", lambda _self, _pictures, part=slice(None): truth[part])
        check = decided(opened)
    assert check.outcome == "violation"


@pytest.mark.parametrize(("reader_moves", "outcome"), [(False, "pass"), (True, "inconclusive")])
def test_standing_still_counts_only_beside_a_reader_that_does_so_too(reader_moves, outcome, monkeypatch):
    """Where the editor changes the label itself, a classifier that does not move may be hiding a leaning."""
    opened = data("latent_difference", 240)
    truth, asked = opened.labels, []

    def read(_self, pictures, part=slice(None)):
        asked.append(len(pictures))
        return (truth[part] + (reader_moves and len(asked) == 3)) % len(AGE_GROUPS)  # the third time: under the higher value

    monkeypatch.setattr(learned_twins.Readers, "read", read)
    meter = Meter(eh.wrap(lambda pictures: np.tile([0.2, 0.5, 0.3], (len(pictures), 1)), opened, classes=list(AGE_GROUPS)))
    case = StudyCase(opened.domain, meter, opened.medium, opened.rows, opened.labels, opened.frame, 0.05)
    section = LeaningStudy().study(case, np.random.default_rng(0))
    assert Gate.check(section.claims[0]).outcome == outcome
    assert section.figures["leanings"][0]["weighed"]["null"] == 0.0


@pytest.mark.parametrize(
    ("bound", "confirmed", "near", "outcome"),
    [
        (0.038, 0.85, 1.0, "pass"),
        (0.045, 0.85, 1.0, "inconclusive"),
        (0.01, 0.7, 1.0, "inconclusive"),
        (0.02, 0.85, 0.6, "pass"),
        (0.038, 0.85, 0.6, "inconclusive"),
    ],
)
def test_a_pass_allows_for_what_unconfirmed_twins_and_clearer_pictures_hide(bound, confirmed, near, outcome):
    """Where 85 % of the twins are what they claim, a change of 4.5 % in all of them may be one of more than 5 %; so may one of 3.8 % where
    only six of ten lie as near to the border as the pictures as they came."""
    bounds = {"low": {"older": -bound}, "high": {"older": bound}}
    weighed = bounds | {"near": near}
    leaning = {"along": "tone goes from lighter to darker", "tolerance": 0.05, **bounds, "weighed": weighed}
    studies = {
        "leaning": StudySection({"leanings": [leaning]}, (), (Claim("tone", holds="still"),)),
        "jury": StudySection(
            {"editors": [{"attribute": "tone", "confirmed": {"low": confirmed}}]}, (), (Claim("twins", holds="confirmed"),)
        ),
    }
    ruling = Gate.rule(claim_by_studies(studies, (), (), MeasureOptions()))
    assert ruling.outcome == outcome
    assert any(part in ruling.reason for part in ("show the other value", "near the classifier's border")) == (outcome == "inconclusive")


class Clearer:
    """An editor that draws pictures again with more contrast, and changes nothing else."""

    attribute, flip, learns = "tone", "clearer", True

    def decoded(self, album):
        return replace(album, pictures=np.clip((album.pictures.astype(float) - 128) * 3 + 128, 0, 255).astype(np.uint8))

    def twins(self, album):
        return album.pictures


def test_an_editor_that_draws_again_leaves_accuracy_and_groups_to_the_pictures_as_they_came():
    album = synthetic_faces(240, np.random.default_rng(1), 16)
    light = album.pictures.reshape(240, -1).mean(axis=1) > 150
    album = replace(album, label=Attribute(("dim", "bright"), light.astype(np.intp)), factors=None)
    opened = from_album(album, [Clearer()], (), "light")
    model = eh.wrap(lambda pictures: by_mean(pictures, 150), opened, classes=["dim", "bright"])
    found = eh.measure(model, opened, options=MeasureOptions(draws=49))
    accuracy = [part.estimate for part in found.figure("label_accuracy", "tone").groups]
    assert accuracy == [1.0, 1.0]
    assert any("100.0% rightly; of the redrawn ones" in note for note in found.notes)
    assert np.array_equal(opened.medium.as_given.show(opened.rows), album.pictures)
    assert data("latent_difference", 40).medium.as_given is None  # nothing is drawn again


def by_mean(pictures, border):
    right = 1 / (1 + np.exp((border - pictures.reshape(len(pictures), -1).mean(axis=1)) / 10))
    return np.column_stack([1 - right, right])


def test_twins_that_are_clearer_than_the_pictures_as_they_came_are_told_by_the_border():
    still = Leaning({"a": 0.0}, {"a": -0.01}, {"a": 0.01}, 0.05, 0.95, 500, "tone goes")
    beside = Weighed({"a": 0.0}, {"a": -0.01}, {"a": 0.01}, {"a": 0.0}, 0.0, 0.9, 0.9, "", 0.4)
    assert "near the classifier's border" in Gate.check(replace(still, weighed=beside).claim).message
    assert Gate.check(replace(still, weighed=replace(beside, near=0.6)).claim).outcome == "pass"
    unclear = replace(still, low={"a": -0.07}, high={"a": 0.03}, weighed=replace(beside, near=0.8, reach=0.12))
    assert "only from about 12% on" in Gate.check(unclear.claim).message
    assert "only from" not in Gate.check(replace(unclear, weighed=replace(beside, near=0.8, reach=0.08)).claim).message
    own = by_mean(synthetic_faces(240, np.random.default_rng(1), 16).pictures, 150)
    clearer = np.log(own[:, 1] / own[:, 0]) * 4
    assert least_share(own, own) == 1.0
    assert least_share(own, np.column_stack([1 / (1 + np.exp(clearer)), 1 / (1 + np.exp(-clearer))])) < 0.6


def test_twins_tell_from_which_change_on_they_would_show_one(monkeypatch):
    """Beyond what is tolerated, by what chance does to so many pairs; where an edit that means nothing moves it farther, beyond that."""
    opened = data("latent_difference", 240)
    truth = opened.labels
    monkeypatch.setattr(learned_twins.Readers, "read", lambda _self, _pictures, part=slice(None): truth[part])
    monkeypatch.setattr(learned_twins, "least_share", lambda *_: 0.5)
    told = leanings(opened).figures["leanings"][0]["weighed"]
    around = max(told["high"][name] - told["beyond"][name] for name in told["beyond"])
    assert told["reach"] == pytest.approx(max(told["null"], (0.05 + 1.352 * around) / 0.5), rel=0.01)  # three classes: a level of 2.394
    assert told["near"] == 0.5
    assert told["null"] < told["reach"]


def test_an_edit_that_is_undone_again_means_nothing(monkeypatch):
    """What a classifier does when pictures are edited there and back is a movement that a leaning must exceed."""
    opened = data("latent_difference", 240)
    truth = opened.labels
    monkeypatch.setattr(learned_twins.Readers, "read", lambda _self, _pictures, part=slice(None): truth[part])
    monkeypatch.setattr(AlbumMedium, "there_and_back", lambda self, rows, *_: np.zeros_like(self.show(rows)))  # all black: all older
    younger = by_light(opened.medium.show(opened.rows)).argmax(axis=1) != len(AGE_GROUPS) - 1
    assert leanings(opened).figures["leanings"][0]["weighed"]["null"] == pytest.approx(younger.mean())


def test_pictures_go_there_and_back():
    opened = data("latent_difference", 30)
    own = opened.rows[:, opened.domain.place("tone")].astype(int)
    back, before = opened.medium.there_and_back(opened.rows, "tone", 1 - own), opened.medium.show(opened.rows)
    turned = opened.rows.copy()
    turned[:, 1] = 1 - own
    assert np.abs(back.astype(float) - before).mean() < np.abs(opened.medium.show(turned).astype(float) - before).mean() / 3
    ready = replace(opened.medium, editors=(ReadyPairs("tone", Path("twins")),))
    assert ready.there_and_back(opened.rows, "tone", 1 - own) is None


def test_the_difference_leaves_what_the_drawing_cannot_show():
    opened = data("latent_difference", 20)
    own, medium = opened.rows, opened.medium
    album = synthetic_faces(20, np.random.default_rng(1), 16)
    assert np.array_equal(medium.show(own), album.pictures)
    turned = own.copy()
    turned[:, 1] = 1 - turned[:, 1]
    assert (medium.show(turned) != album.pictures).any()
