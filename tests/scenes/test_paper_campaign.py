"""DistroFair's campaign over several recognisers, as `measure --study distrofair` makes it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from evenhand.contract import StudyCase
from evenhand.errors import InvalidArgument
from evenhand.measures.counted_changes import CountedScenes, reference
from evenhand.measures.studies import STUDIES, sections_of
from evenhand.media.scenes import ChangePlan, Scenes
from evenhand.models.meter import Meter
from evenhand.models.recognisers.street import StreetRecogniser
from evenhand.models.shown import shown


def case_of(medium, recogniser):
    model = shown(medium, recogniser)
    return StudyCase(medium.domain, Meter(model), medium, medium.rows())


@pytest.fixture(scope="module")
def medium(streets):
    return Scenes(streets[:4], ChangePlan(("person",), ("car",), controls=False, clusters=1))


@pytest.fixture(scope="module")
def told(medium):
    case = case_of(medium, StreetRecogniser("planted"))
    asked = ["distrofair:beside=street", "distrofair:repeats=2"]
    return sections_of(case, np.random.default_rng(0), asked)["distrofair"]


def test_the_reference_joins_the_truth_and_every_recognisers_answer():
    outcome = CountedScenes((), (), ("s",), (Counter(car=1),), (Counter(car=2),), beside=((Counter(car=2),), (Counter(bus=1),)))
    assert reference([outcome])["s"] == Counter(car=2, bus=1)


@pytest.mark.slow
def test_every_table_names_every_recogniser(told):
    names = told.figures["recognisers"]
    assert len(names) == 2
    for table in ("violations", "out_and_in_distribution", "overlaps_of_classes", "accuracy_on_untouched_classes"):
        assert {row["recogniser"] for row in told.figures[table]} == set(names)
    assert told.figures["reference"]["objects"] >= told.figures["reference"]["annotated"] > 0
    assert not told.claims  # it is shown, and decides nothing
    assert sum(name in " ".join(told.sentences) for name in names) == 2


@pytest.mark.slow
def test_insertion_is_repeated_and_only_its_first_turn_stands_beside_the_distribution(told, medium):
    rows = [row for row in told.figures["violations"] if row["oracle"] == "exclusion" and row["change"] == "insert"]
    first = [
        row for row in told.figures["out_and_in_distribution"] if row["oracle"] == "exclusion" and row["style"] == "out of distribution"
    ]
    most_once = len(medium.scenes) * 2 * 2  # two classes, two seeds
    for every, once in zip(rows, first, strict=True):
        assert 0 < once["inputs"] <= most_once
        assert every["pictures"] > once["inputs"]


def test_wrong_uses_are_told(medium):
    case = case_of(medium, StreetRecogniser("planted"))
    with pytest.raises(InvalidArgument, match="nobody"):
        sections_of(case, np.random.default_rng(0), ["distrofair:beside=nobody"])
    with pytest.raises(InvalidArgument, match=r"nowhere\.onnx"):
        sections_of(case, np.random.default_rng(0), ["distrofair:beside=nowhere.onnx"])
    with pytest.raises(InvalidArgument, match="repeats"):
        STUDIES.make("distrofair", {"repeats": 0})
    with pytest.raises(InvalidArgument, match="paid for each picture"):
        STUDIES.make("distrofair", {"beside": "rekognition"})._recognisers(StreetRecogniser("plain"), case)
