"""Scenes take the same road as tables: open, wrap, scan, replay, resume; the class verdict is in the one result, judged once."""

from __future__ import annotations

import json

import numpy as np
import pytest

import evenhand as eh
from evenhand.campaign.class_changes import class_changes, classes_claim
from evenhand.datasets.scene_data import as_seen_by, found_scenes
from evenhand.engine import witness
from evenhand.engine.gate import Gate
from evenhand.errors import DataError, InvalidArgument, UnknownName
from evenhand.models.shown import shown
from evenhand.planted.recognisers import Simulated
from evenhand.verbs.draw import draw_streets
from evenhand.verbs.scan import Options

CHOICES = {"count": 6, "classes": ["person", "car"], "operators": ["paper"]}


@pytest.fixture(scope="module")
def data():
    return eh.open("streets", settings=CHOICES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return draw_streets(tmp_path_factory.mktemp("drawn"), count=3).parent


@pytest.fixture(scope="module")
def result(data, tmp_path_factory):
    model = shown(data.medium, Simulated(handicap={"traffic light": 1.5}))
    return eh.scan(model, data, budget=eh.Budget(candidates=60), options=Options(folder=tmp_path_factory.mktemp("runs")))


def test_drawn_streets_open_as_rows_of_three_columns(data):
    assert data.medium.kind == "scenes"
    assert list(data.frame.columns) == ["scene", "change", "changed"]
    assert not data.frame["changed"].any()
    assert data.domain.protected == ("changed",)


def test_annotations_and_their_folder_open_alike(folder):
    one, other = eh.open(folder), eh.open(folder / "instances.json", settings={"count": 2})
    names = [scene.name for scene in one.medium.scenes]
    chosen = [scene.name for scene in other.medium.scenes]  # drawn by seed, not the first by alphabet
    assert len(chosen) == 2
    assert set(chosen) <= set(names)
    assert len(other.medium.scenes) == 2
    assert one.medium.scenes[0].truth == eh.open(folder, kind="scenes", settings={"format": "coco"}).medium.scenes[0].truth


def test_pictures_without_annotations_are_not_taken_for_scenes(folder, tmp_path):
    assert found_scenes(folder / "images") is None
    for settings in ({}, {"format": "pictures"}):
        with pytest.raises(InvalidArgument, match="need a recogniser"):
            eh.open(folder / "images", kind="scenes", settings=settings)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="format"):
        eh.open(tmp_path / "empty", kind="scenes")
    with pytest.raises(UnknownName, match="cow"):
        eh.open(folder, settings={"classes": ["cow"]})
    with pytest.raises(InvalidArgument, match="only 'changed'"):
        eh.open(folder, protected=["scene"])


def test_the_oracle_of_scenes_is_chosen_and_the_class_verdict_is_in_the_result(result):
    told = result.as_dict()
    assert told["evenhand_result"] == 2
    assert told["header"]["medium"]["kind"] == "scenes"
    assert "counts" in str(told["header"]["oracle"])
    classes = told["body"]["studies"]["classes"]["figures"]
    assert {part["operator"] for part in classes["parts"]} <= {"insert", "delete", "rotate"}
    for part in classes["parts"]:
        assert part["unfair"] == sum(one["unfair"] for one in part["verdicts"])
    assert any(check["name"] == "class traffic light" for check in told["checks"])
    json.dumps(told, default=float)


def test_the_rate_counts_changes_that_can_be_made(result, data):
    rows = data.rows.copy()
    rows[:, 2] = 1.0
    assert result.rate.interval.n == int(data.medium.is_possible(rows).sum())
    assert len(result.rates) == 1


def test_witnesses_name_scene_change_and_loss_and_are_replayed(result, data):
    assert result.witnesses
    model = shown(data.medium, Simulated(handicap={"traffic light": 1.5}))
    for one in result.witnesses[:3]:
        assert one.person["scene"] in one.sentence
        assert one.person["change"] in one.sentence
        assert "lost: " in str(one.twin_outcome)
        assert witness.replay(one, data.domain, model).is_unfair
    perfect = shown(data.medium, Simulated(margin=99.0))
    assert not any(witness.replay(one, data.domain, perfect).is_unfair for one in result.witnesses)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_findings_from_a_fresh_medium(result):
    again = eh.open("streets", settings=CHOICES)
    model = shown(again.medium, Simulated(handicap={"traffic light": 1.5}))
    repeated = eh.scan(model, again, budget=eh.Budget(candidates=60))
    assert repeated.classes.as_dict()["parts"] == result.classes.as_dict()["parts"]
    np.testing.assert_array_equal(repeated.findings.findings.rows, result.findings.findings.rows)
    assert [one.id for one in repeated.witnesses] == [one.id for one in result.witnesses]


@pytest.mark.slow
def test_findings_of_objects_can_be_asked_for_by_name(data):
    model = shown(data.medium, Simulated(handicap={"traffic light": 1.5}))
    found = eh.scan(model, data, oracle="objects", budget=eh.Budget(candidates=60))
    assert found.frame()["evenhand.twin_outcome"].str.startswith("lost: ").any()


def test_what_is_usual_may_be_what_the_recogniser_sees(data):
    model = shown(data.medium, Simulated())
    originals = np.zeros((len(data.medium.scenes), 3))
    originals[:, 0] = np.arange(len(originals))
    seen = as_seen_by(data, model.counts(originals))
    assert seen.medium.digest() != data.medium.digest()
    assert seen.medium.seen == tuple(model.counts(originals))
    with pytest.raises(InvalidArgument, match="not scenes"):
        as_seen_by(eh.open("credit"), [])


def test_init_writes_a_project_for_a_folder_of_scenes(folder, tmp_path, monkeypatch):
    from evenhand.verbs.init import init

    monkeypatch.chdir(tmp_path)
    written = init(folder, file=tmp_path / "evenhand.yaml")
    assert "coco" in written.summary()
    opened = eh.open(tmp_path / "evenhand.yaml")
    assert opened.medium.kind == "scenes"
    assert opened.domain.protected == ("changed",)


def test_measure_tells_the_classes_and_no_groups(data):
    model = shown(data.medium, Simulated())
    told = eh.measure(model, data).as_dict()
    assert told["verb"] == "measure"
    assert told["body"]["groups"] == []
    assert told["body"]["studies"]["classes"]["figures"]["parts"]
    overall = next(check for check in told["checks"] if check["name"] == "classes of objects")
    assert (told["outcome"], told["reason"]) == (overall["outcome"], overall["message"])


def test_changed_pictures_of_findings_are_annotated_for_retraining(result, tmp_path):
    written = result.annotated(tmp_path)
    content = json.loads(written.read_text())
    assert len(content["images"]) == len(result.findings)
    assert all(entry["evenhand"]["outcome"].startswith("lost: ") for entry in content["images"])
    assert found_scenes(tmp_path).form == "coco"


def test_a_paid_service_is_not_called_unasked(tmp_path, monkeypatch, capsys):
    from evenhand.cli.main import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "evenhand.yaml").write_text("version: 1\nmedium: {kind: streets, count: 2}\nprotected: [changed]\nmodel: google\n")
    monkeypatch.setattr("sys.argv", ["evenhand", "scan"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "USD" in capsys.readouterr().err.replace("\n", " ")


def checked(**outcomes):
    return [{"name": f"class {name}", "outcome": outcome, "message": "as seen"} for name, outcome in outcomes.items()]


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        ({"car": "pass", "person": "pass"}, {"car": "pass", "person": "violation"}, "violation"),
        ({"car": "pass", "person": "violation"}, {"car": "pass", "person": "pass"}, "pass"),
        ({"car": "pass", "person": "inconclusive"}, {"car": "pass", "person": "violation"}, "inconclusive"),
        ({"car": "pass", "person": "violation"}, {"car": "pass", "person": "violation"}, "inconclusive"),
    ],
)
def test_a_class_is_worse_only_where_both_verdicts_show_it(before, after, outcome):
    claim = classes_claim(class_changes(checked(**before), checked(**after)))
    ruling = Gate.rule(claim)
    assert ruling.outcome == outcome
    assert outcome == "pass" or "person" in ruling.reason


@pytest.mark.slow
def test_two_recognisers_are_compared_by_their_classes(data):
    fair, harsh = (shown(data.medium, Simulated(handicap=handicap)) for handicap in ({}, {"person": 1.5}))
    compared = eh.compare(fair, harsh, data, options=eh.CompareOptions(rate_rows=60))
    assert {change.label for change in compared.classes} >= {"person", "car"}
    assert compared.outcome != "violation"  # six streets show nothing, though people are lost more often
    assert "cannot be judged" in compared.reason
    assert [check["name"] for check in compared.as_dict()["checks"]] == [f"class {change.label}" for change in compared.classes]
    assert eh.compare(fair, fair, data, options=eh.CompareOptions(rate_rows=60)).outcome == "pass"
