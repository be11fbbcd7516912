"""A project file says how its model is used: prepared pictures, names of recognisers and Python objects, settings of objects."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.campaign.opened_project import project_model
from evenhand.datasets.album_data import from_album
from evenhand.domain.project_file import read_project
from evenhand.domain.project_sections import ModelSource
from evenhand.errors import DomainError, InvalidArgument
from evenhand.planted.portraits import synthetic_faces

START = "version: 1\nmedium: {kind: streets, count: 2}\n"


def source(tmp_path, model):
    (tmp_path / "evenhand.yaml").write_text(START + model)
    return read_project(tmp_path / "evenhand.yaml").model


def test_pictures_are_prepared_as_the_file_says(tmp_path, monkeypatch):
    told = source(tmp_path, "model: {path: 'own_reader:read', prepare: {size: 12, scale: 1.0, mean: [100, 100, 100]}}\n")
    lines = ("def read(values):", "    assert values.shape[1:] == (3, 12, 12)", "    return (values.mean(axis=(1, 2, 3)) > 0).astype(int)")
    (tmp_path / "own_reader.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(str(tmp_path))
    data = from_album(synthetic_faces(20, np.random.default_rng(0), 24), ["tone"])
    bright = data.medium.show(data.rows).mean(axis=(1, 2, 3)) > 100
    assert np.array_equal(project_model(told, data).scores(data.rows).argmax(axis=1), bright)


def test_a_recogniser_is_named_and_set(tmp_path):
    pytest.importorskip("cv2")
    from evenhand.campaign.opened_project import open_project

    told = source(tmp_path, "model: {path: street, objects: {least: 0.6, cache: answers}}\n")
    assert told == ModelSource(path=tmp_path / "street", objects={"least": 0.6, "cache": str(tmp_path / "answers")})
    data = open_project(tmp_path / "evenhand.yaml").data
    answers = project_model(told, data).detections(data.rows[:2])
    assert min(one.score for answer in answers for one in answer) >= 0.6
    assert list((tmp_path / "answers").iterdir())


def test_a_key_may_stand_in_the_environment(tmp_path, monkeypatch):
    pytest.importorskip("cv2")
    from evenhand.campaign.opened_project import open_project

    told = source(tmp_path, "model: {path: azure, objects: {endpoint: 'http://127.0.0.1:9', key: '${OWN_VISION_KEY}'}}\n")
    data = open_project(tmp_path / "evenhand.yaml").data
    with pytest.raises(InvalidArgument, match="OWN_VISION_KEY, which is not set"):
        project_model(told, data)
    monkeypatch.setenv("OWN_VISION_KEY", "s3cret")
    model = project_model(told, data)
    assert model.recogniser.key == "s3cret"
    assert "s3cret" not in repr(model) + repr(told) + model.fingerprint()


@pytest.mark.parametrize("wrong", ["objects: {style: round}", "objects: {least: 2}", "prepare: {mean: [1, 2]}", "prepare: {sise: 3}"])
def test_mistakes_are_told_by_their_line(tmp_path, wrong):
    with pytest.raises(DomainError, match=r"evenhand\.yaml:3"):
        source(tmp_path, f"model: {{path: m.onnx, {wrong}}}\n")
