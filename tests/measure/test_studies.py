"""Studies of albums: the leaning, the jury of an editor, the neurons; judged once, and in the result of `measure`."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import evenhand as eh
from evenhand.datasets.album_data import from_album
from evenhand.engine.gate import Gate
from evenhand.errors import DataError
from evenhand.measures.studies.jury import Edit, KnownValues, facts_of
from evenhand.measures.studies.leaning import LeaningRule, leaning_of
from evenhand.models import attribute_readers
from evenhand.models.shown import shown
from evenhand.planted.pixel_net import PixelNet, labelled_portraits
from evenhand.planted.portraits import synthetic_faces

OPTIONS = eh.MeasureOptions(rate_rows=200, natural_candidates=0, compare_rows=0, null_draws=0)


def measured(face_share, n=240, data=None):
    data = data or labelled_portraits(n, 3)
    return eh.measure(shown(data.medium, PixelNet(face_share=face_share)), data, options=OPTIONS)


@pytest.fixture(scope="module")
def biased():
    return measured(0.25)


@pytest.fixture(scope="module")
def fair():
    return measured(0.0)


def checks(result, study):
    return {check["name"]: check["outcome"] for check in result.as_dict()["body"]["studies"][study]["checks"]}


def test_every_study_fits_an_album(biased):
    assert set(biased.studies) == {"jury", "leaning", "neurons"}


def test_a_planted_leaning_is_a_violation_once_the_jury_confirms_the_twins(biased):
    assert checks(biased, "jury") == {"twins in tone": "pass"}
    assert checks(biased, "leaning") == {"tone goes from lighter to darker": "violation"}
    assert biased.outcome == "violation"
    assert "leans" in biased.reason


@pytest.mark.slow
def test_a_fair_classifier_is_not_blamed_and_gets_its_adequacy_report(fair):
    assert checks(fair, "leaning") == {"tone goes from lighter to darker": "pass"}
    assert fair.outcome != "violation"
    layer = fair.studies["neurons"].figures["layers"]["hidden"]
    assert layer["coverage"]["fair"]["cosine"] > 0
    assert "no neuron can be singled out" in fair.studies["neurons"].sentences[0]


def test_neurons_of_a_biased_net_are_related_to_fairness(biased):
    layer = biased.studies["neurons"].figures["layers"]["hidden"]
    assert layer["neurons"] == 2
    assert 1 <= layer["related_corrected"] <= layer["related"]
    assert set(layer["coverage"]) == {"fair", "fair and unfair"}


@dataclass(frozen=True)
class Dimmer:
    """Says that it edits the tone, exactly, and darkens the backdrop."""

    learns: ClassVar[bool] = False

    attribute: str = "tone"
    flip: str = "a dimmer"

    def twins(self, album):
        pictures = album.pictures.copy()
        pictures[:, :4, :3] = np.where(album.sides("tone") == 0, 0, 255)[:, None, None, None]
        return pictures


@pytest.mark.slow
def test_twins_that_no_jury_confirms_prove_nothing():
    portraits = labelled_portraits(240, 3)
    data = from_album(replace(portraits.medium.album, factors=None), [Dimmer()], ("yes",))
    result = measured(0.0, data=data)
    assert checks(result, "jury") == {"twins in tone": "inconclusive"}
    assert checks(result, "leaning") == {"tone goes from lighter to darker": "violation"}
    assert result.outcome == "inconclusive"
    assert "does not confirm" in result.reason


@pytest.mark.slow
def test_every_two_values_of_an_attribute_are_compared():
    data = labelled_portraits(60, 3, protected=("glasses", "gender_cue"))
    result = measured(0.25, data=data)
    assert len(result.studies["leaning"].figures["leanings"]) == 2
    assert set(result.studies["leaning"].figures["unfair_pictures"]) == {"glasses", "gender_cue"}


def test_a_classifier_without_readable_layers_is_told_so():
    data = labelled_portraits(60, 3)
    net = PixelNet()
    only_scores = type("Only", (), {"classes": net.classes, "scores": staticmethod(net.scores)})()
    result = eh.measure(shown(data.medium, only_scores), data, options=OPTIONS)
    assert "cannot be read" in result.studies["neurons"].sentences[0]
    assert result.studies["leaning"].claims


def test_the_dictionary_and_the_summary_hold_what_was_studied(biased):
    told = biased.as_dict()
    assert "leans" in biased.summary()
    assert str(told).count("confirmed by an independent classifier") >= 1


@pytest.mark.parametrize("ordered", [False, True])
def test_flips_that_go_both_ways_alike_are_no_leaning(ordered):
    rng = np.random.default_rng(0)
    lower = rng.integers(0, 3, 900)
    higher = lower.copy()
    flipped = rng.choice(900, 200, replace=False)
    higher[flipped[:100]], higher[flipped[100:]] = np.minimum(lower[flipped[:100]] + 1, 2), np.maximum(lower[flipped[100:]] - 1, 0)
    found = leaning_of(lower, higher, ("a", "b", "c"), LeaningRule(ordered=ordered))
    assert not found.found


def test_a_shift_of_all_is_a_leaning_and_few_pairs_are_inconclusive():
    lower, higher = np.zeros(200, dtype=int), np.ones(200, dtype=int)
    assert Gate.rule(leaning_of(lower, higher, ("a", "b"), LeaningRule()).claim).outcome == "violation"
    assert Gate.rule(leaning_of(lower[:4], lower[:4], ("a", "b"), LeaningRule()).claim).outcome == "inconclusive"


@pytest.mark.parametrize("with_torch", [True, False])
def test_a_jury_reads_tone_with_and_without_torch(with_torch, monkeypatch):
    if with_torch:
        pytest.importorskip("torch")
    else:
        monkeypatch.setattr(attribute_readers, "find_spec", lambda _: None)
    album = synthetic_faces(300, np.random.default_rng(1), 16)
    codes = album.attribute("tone").codes
    reader = attribute_readers.attribute_reader(album.pictures[:200], codes[:200], ("lighter", "darker"), np.random.default_rng(2))
    assert np.mean(reader.scores(album.pictures[200:]).argmax(axis=1) == codes[200:]) > 0.85


def test_a_jury_needs_two_values():
    pictures = np.zeros((6, 8, 8, 3), dtype=np.uint8)
    with pytest.raises(DataError, match="fewer than two"):
        attribute_readers.attribute_reader(pictures, np.zeros(6, dtype=int), ("a", "b"), np.random.default_rng(0))


def test_only_pictures_read_rightly_before_the_edit_count():
    class Brightness:
        classes = ("dark", "bright")

        def scores(self, pictures):
            bright = pictures.reshape(len(pictures), -1).mean(axis=1) > 127
            return np.stack([~bright, bright], axis=1).astype(float)

    dark, bright = np.zeros((10, 4, 4, 3), np.uint8), np.full((10, 4, 4, 3), 255, np.uint8)
    codes = np.array([0] * 8 + [1] * 2)  # the last two are read wrongly before the edit
    facts = facts_of(
        Edit("light", "a lamp", dark, bright, 1 - codes), {"light": KnownValues(("dark", "bright"), codes)}, {"light": Brightness()}
    )
    assert facts.confirmed.n == 8
    assert facts.confirmed.estimate == 1.0
