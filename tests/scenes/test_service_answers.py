"""Answers of the three services in their documented formats, as files: one object for each thing, whatever its names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from evenhand.contract import Detection
from evenhand.errors import ModelFailed, WrongAnswer
from evenhand.models.function import FunctionRecogniser
from evenhand.models.model_wishes import ObjectSettings
from evenhand.models.recognisers.azure import AzureVision
from evenhand.models.recognisers.google import GoogleVision
from evenhand.models.recognisers.rekognition import Rekognition
from evenhand.models.recognisers.seen_objects import one_for_each
from evenhand.models.recognisers.service_answers import AnswerReading, is_service_answer

SERVICES = ("rekognition", "google", "azure", "azure-3.2")
READING = AnswerReading(600, 400, least=0.5)


def recorded(name):
    return json.loads((Path(__file__).parent / "answers" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SERVICES)
def test_person_adult_and_man_on_one_box_are_one_person(name):
    answer = READING.read(recorded(name))
    labels = [one.label.lower() for one in answer]
    assert labels.count("person") == 1
    assert not {"man", "adult", "male", "vehicle"} & set(labels)
    person = next(one for one in answer if one.label.lower() == "person")
    assert person.box == pytest.approx((60, 80, 180, 320), abs=1.0)
    assert labels.count("car") == 1


@pytest.mark.parametrize("name", SERVICES)
def test_labels_without_boxes_count_only_where_that_is_wished(name):
    assert "bicycle" not in {one.label.lower() for one in READING.read(recorded(name))}
    wished = AnswerReading(600, 400, least=0.5, unboxed=True).read(recorded(name))
    without = {one.label.lower() for one in wished if one.box is None}
    assert without == {"bicycle"}  # not the street, nor the person and the car, which have boxes


def test_people_without_a_name_are_people():
    told = {"modelVersion": "2024-02-01", "metadata": {"width": 600, "height": 400}}
    people = [{"boundingBox": {"x": 60, "y": 80, "w": 120, "h": 240}, "confidence": 0.95},
              {"boundingBox": {"x": 300, "y": 80, "w": 120, "h": 240}, "confidence": 0.27}]  # fmt: skip
    answer = READING.read(told | {"peopleResult": {"values": people}})
    assert [(one.label, one.box) for one in answer] == [("person", (60.0, 80.0, 180.0, 320.0))]  # the other is below the least score
    both = READING.read(recorded("azure") | {"peopleResult": {"values": people[:1]}})
    assert [one.label for one in both].count("person") == 1


def test_a_corner_without_a_coordinate_lies_at_the_edge():
    car = next(one for one in READING.read(recorded("google")) if one.label == "Car")
    assert car.box == pytest.approx((0, 160, 540, 280), abs=0.5)


def test_a_thing_is_called_by_the_class_that_is_known_and_two_things_stay_two():
    box, other = (10.0, 10.0, 50.0, 90.0), (200.0, 10.0, 250.0, 90.0)
    parents = {"Car": ["Vehicle", "Transportation"], "Vehicle": ["Transportation"], "Transportation": []}
    found = [Detection(name, 0.9, place) for place in (box, other) for name in parents]
    assert [one.label for one in one_for_each(found, parents)] == ["Car", "Car"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_function_may_hand_over_a_services_answer(name):
    picture = np.zeros((400, 600, 3), np.uint8)
    (answer,) = FunctionRecogniser(lambda _: recorded(name)).recognise([picture])
    assert {"person", "car"} <= {one.label.lower() for one in answer}


def test_errors_and_other_forms_are_told():
    with pytest.raises(ModelFailed, match="quota"):
        READING.read({"responses": [{"error": {"code": 8, "message": "quota exceeded"}}]})
    with pytest.raises(WrongAnswer, match="expected Labels"):
        READING.read({"anything": []})
    with pytest.raises(WrongAnswer, match="lacks what its format has"):
        READING.read({"Labels": [{"Confidence": 3.0}]})
    assert not is_service_answer({"labels": [], "scores": [], "boxes": []})


def test_labels_of_the_whole_picture_cost_more_where_they_are_asked_for():
    settings = [ObjectSettings(endpoint="http://127.0.0.1:1/x", key="k", unboxed=wished) for wished in (False, True)]
    for service in (GoogleVision, AzureVision):
        plain, wished = (service.named(each) for each in settings)
        assert wished.price_per_thousand > plain.price_per_thousand
        assert wished.fingerprint() != plain.fingerprint()
    assert Rekognition.named(settings[1]).unboxed
