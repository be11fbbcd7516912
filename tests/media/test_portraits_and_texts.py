"""Promises of portraits and texts as rows: exact twins, every text once, and the planted share found through the engine."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from evenhand.contract import Medium, Model
from evenhand.datasets.text_data import Templates, from_templates, read_templates, read_words
from evenhand.engine.run import Plan, Subject, run
from evenhand.errors import DataError, UnknownName
from evenhand.media import MEDIA
from evenhand.media.portrait_medium import PortraitMedium
from evenhand.media.portraits.factors import draw_factors
from evenhand.media.portraits.painting import render
from evenhand.media.text_medium import Slot, TextMedium, WordLists
from evenhand.methods import method
from evenhand.models.function import FunctionClassifier
from evenhand.models.shown import ShownModel
from evenhand.planted.doors import BRIGHT, DIM, backdrop_light, door_camera, reads_darker_skin
from evenhand.planted.letters import TEMPLATES, WORDS, letters


def reads_skin(pictures):
    bright = pictures[:, 6:10, 6:10].reshape(len(pictures), -1).mean(axis=1) / 255.0
    return np.stack([bright, 1.0 - bright], axis=1)


PORTRAITS = PortraitMedium(size=16)
MODEL = ShownModel(PORTRAITS, FunctionClassifier(reads_skin, ("bright", "dark")))


def test_rows_of_the_domain_are_portraits():
    rows = PORTRAITS.domain.sample(30, np.random.default_rng(0))
    assert PORTRAITS.show(rows).shape == (30, 16, 16, 3)
    drawn = draw_factors(30, np.random.default_rng(1))
    assert PORTRAITS.domain.contains(drawn).all()
    assert PORTRAITS.domain.decode(drawn)["tone"].iloc[0].startswith("monk")
    assert np.array_equal(PORTRAITS.show(drawn), render(drawn, 16))


def test_a_classifier_of_portraits_is_a_model_and_the_engine_finds_its_unfair_twins():
    assert isinstance(PORTRAITS, Medium)
    assert isinstance(MODEL, Model)
    assert MODEL.fingerprint() == MODEL.fingerprint()
    found = run(method("themis"), Subject(PORTRAITS.domain, MODEL), Plan(0, eh.Budget(candidates=60)))
    assert len(found.findings) > 20
    differing = (found.findings.rows != found.findings.twins).sum(axis=1)
    assert (differing == 1).all()


@pytest.mark.parametrize("size", [24, 32, 64])
def test_the_door_reads_skin_exactly_and_its_share_is_counted_without_it(size):
    subject = door_camera(200, np.random.default_rng(5), size)
    album = subject.data.medium.album
    assert np.array_equal(reads_darker_skin(album.pictures), album.attribute("tone").codes == 1)
    light = backdrop_light(album.pictures)
    assert float(subject.rate) == np.mean((light > DIM) & (light <= BRIGHT))
    assert 0.1 < subject.rate < 0.5


@pytest.mark.parametrize("subject", [door_camera(150, np.random.default_rng(1), 24), letters()], ids=lambda s: s.name)
def test_the_engine_measures_the_planted_share(subject):
    found = eh.scan(subject.model, subject.data, methods=["themis"], budget=eh.Budget(candidates=400), seed=1)
    assert found.outcome == "violation"
    assert found.rate.interval.estimate == pytest.approx(float(subject.rate))


@pytest.mark.parametrize("subject", [door_camera(150, np.random.default_rng(1), 24, False), letters(False)], ids=lambda s: s.name)
def test_a_fair_subject_is_never_blamed(subject):
    found = eh.scan(subject.model, subject.data, methods=["themis"], budget=eh.Budget(candidates=400), seed=1)
    assert found.outcome != "violation"
    assert found.rate.unfair == 0 == len(found.findings)


def test_a_twin_changes_every_word_that_goes_with_the_attribute_and_no_other():
    medium = TextMedium(TEMPLATES, WORDS, ("gender",))
    row = medium.domain.encode(
        medium.domain.decode(np.zeros((1, 5))).assign(template=TEMPLATES[0], name="Lakisha / Jamal", job="pilot", gender="woman")
    )
    woman, man = medium.show(medium.domain.twins(row).rows[:, 0])
    assert woman == "Lakisha applied as a pilot. She wrote a kind letter."
    assert man == "Jamal applied as a pilot. He wrote a kind letter."


def test_no_text_stands_for_two_rows():
    words = WordLists(
        (Slot("name", {("a",): ("Ann", "Eve"), ("b",): ("Bob", "Max")}, ("side",)), Slot("job", {(): ("cook", "smith", "guard")})),
        {"side": ("a", "b")},
    )
    data = from_templates(Templates(("{name} is a {job}", "{name} sleeps", "It rains")), words, ["side"])
    assert len(data) == 2 * 3 + 2 + 1
    assert data.frame["text"].is_unique
    rows = data.domain.sample(500, np.random.default_rng(0))
    assert data.domain.contains(rows).all()
    assert len(set(data.medium.show(rows))) == len(np.unique(rows, axis=0)) == 2 * (6 + 2) + 1
    lonely = data.domain.twins(data.rows[data.frame["text"] == "It rains"])
    assert lonely.valid.sum() == 1


def test_a_slots_own_words_can_be_compared():
    words = WordLists((Slot("name", {(): ("Emily", "Greg", "Lakisha")}),), {})
    data = from_templates(Templates(("Dear {name}",)), words, ["name"])
    assert len(data) == 1
    assert data.medium.show(data.domain.twins(data.rows).rows[:, 0]) == ["Dear Emily", "Dear Greg", "Dear Lakisha"]


def test_templates_and_words_are_read_from_csv(tmp_path):
    (tmp_path / "templates.csv").write_text('text,mood\n"{Name} {be} happy, we see",good\n"{name} {be} sad",bad\n')
    (tmp_path / "words.csv").write_text("slot,word,dialect\nname,they,\nname,folks,\nbe,are,standard\nbe,be,vernacular\n")
    data = from_templates(read_templates(tmp_path / "templates.csv", "mood"), read_words(tmp_path / "words.csv"), ["dialect"], ("good",))
    shown = data.medium.show(data.domain.twins(data.rows[:1]).rows[:, 0])
    assert shown == ["They are happy, we see", "They be happy, we see"]
    assert data.domain.label.values == ("good", "bad")
    assert sorted(data.labels) == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("template", "words", "message"),
    [
        ("{nobody} is here", "slot,word\nname,Ann\n", "no words for the slot {nobody}"),
        ("{name} is here", "slot,word,side\nname,Ann,a\nname,Eve,a\nname,Bob,b\n", "as many words for every value"),
        ("{name} is here", "slot,word,side\nname,Ann,a\nname,Bob,\n", "says no 'side'"),
        ("{name} is here", "slot,word,side,age\nname,Ann,a,old\nname,Bob,b,young\n", "no words for a young"),
    ],
)
def test_word_lists_that_do_not_fit_are_refused(tmp_path, template, words, message):
    (tmp_path / "templates.csv").write_text(f"text\n{template}\n")
    (tmp_path / "words.csv").write_text(words)
    with pytest.raises(DataError, match=message):
        from_templates(read_templates(tmp_path / "templates.csv"), read_words(tmp_path / "words.csv"), [])


def test_an_unknown_protected_slot_is_named():
    with pytest.raises(UnknownName, match="gendre"):
        TextMedium(TEMPLATES, WORDS, ("gendre",))


def test_media_are_found_by_the_registry():
    assert {"table", "album_medium", "portrait_medium", "text_medium"} <= set(MEDIA.entries())
