"""Every named format of the HTTP adapter, against a local server that refuses what the format's documentation does not allow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("httpx")
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import evenhand as eh
from evenhand.errors import InvalidArgument, WrongAnswer
from evenhand.models.http import HttpModel
from evenhand.models.http_presets import PRESETS, fitting_values, named_scores, tensor_values
from evenhand.models.http_transport import Connection, RequestBody, Transport
from parts.fuzzed_models import RawServer
from parts.stand_in_servers import FORMATS, serving
from parts.wirings import DATA, chance

NAMES = DATA.domain.names


def _asked(frame: Any) -> Any:
    """The model behind a server, asked about cells: texts come back to codes."""
    jobs, sexes = DATA.domain.columns[1].values, DATA.domain.columns[2].values
    codes = np.stack(
        [
            frame["age"].astype(float),
            [jobs.index(job) for job in frame["job"]],
            [sexes.index(sex) for sex in frame["sex"]],
            frame["pay"].astype(float),
        ],
        axis=1,
    )
    return chance(codes)


def test_there_is_a_server_for_every_preset() -> None:
    assert set(FORMATS) == set(PRESETS)


@pytest.mark.parametrize("preset", PRESETS)
def test_an_endpoint_of_this_format_says_what_the_model_behind_it_says(preset: str) -> None:
    with serving(preset, NAMES, _asked) as url:
        model = eh.wrap(url, DATA, preset=preset)
        assert np.allclose(model.scores(DATA.rows[:300])[:, 1], chance(DATA.rows[:300]))


def test_a_project_file_and_the_command_line_name_a_preset(tmp_path: Path) -> None:
    from evenhand.cli.flags import ModelFlags
    from evenhand.cli.project import load_all
    from evenhand.verbs.init import init

    table, file = tmp_path / "loans.csv", tmp_path / "evenhand.yaml"
    DATA.frame.to_csv(table, index=False)
    with serving("kserve_v2", NAMES, _asked) as url:
        init(table, label="loan", favourable="granted", protected=["sex"], file=file)
        named = load_all(file, ModelFlags(model=url, preset="kserve_v2"))
        file.write_text(file.read_text() + f"\nmodel:\n  url: {url}\n  http:\n    preset: kserve_v2\n")
        for loaded in (named, load_all(file)):
            place = loaded.model.classes.index("granted")
            assert np.allclose(loaded.model.scores(loaded.data.rows[:50])[:, place], chance(DATA.rows[:50]))


def test_what_a_preset_leaves_open_can_be_set() -> None:
    assert HttpModel("http://127.0.0.1/", preset="kserve_v2", answer="outputs[probabilities]").request == PRESETS["kserve_v2"].request
    with serving("kserve_v2", NAMES, _asked) as url:
        by_name = eh.wrap(HttpModel(url, preset="kserve_v2", answer="outputs[probabilities]"), DATA)
        assert np.allclose(by_name.scores(DATA.rows[:20])[:, 1], chance(DATA.rows[:20]))
        with pytest.raises(WrongAnswer, match="nothing at 'outputs"):
            eh.wrap(HttpModel(url, preset="kserve_v2", answer="outputs[labels]"), DATA).scores(DATA.rows[:20])


def test_mistakes_are_named() -> None:
    with pytest.raises(InvalidArgument, match="dataframe_split"):
        HttpModel("http://127.0.0.1/", preset="dataframe_splat")
    with pytest.raises(WrongAnswer, match=r"answer='predictions\[\*\]\.label'"):
        named_scores([{"label": "x", "p": 1}], ("a", "b"))
    with pytest.raises(WrongAnswer, match="correct the label"):
        named_scores([{"classes": ["x", "y"], "scores": [1, 0]}], ("a", "b"))
    with pytest.raises(WrongAnswer, match="must fit each other"):
        tensor_values({"shape": [3], "data": [1]})


def test_answers_on_one_line_are_one_for_each_row() -> None:
    assert fitting_values([[0.1, 0.9, 0.4]], 3) == [0.1, 0.9, 0.4]
    assert fitting_values([[0.1, 0.9]], 1) == [[0.1, 0.9]]


@pytest.mark.parametrize("preset", ["dataframe_split", "sagemaker_csv"])
def test_a_regression_behind_an_endpoint_says_amounts(preset: str) -> None:
    frame = DATA.frame.drop(columns="loan").assign(wage=1000.0 + 30 * DATA.rows[:, 3] + 200 * DATA.rows[:, 2] + DATA.rows[:, 0] / 7)
    data = eh.open(frame, label="wage", protected=["sex"])
    wage = lambda cells: 1000 + 30 * cells["pay"].astype(float) + 200 * (cells["sex"] == "male")  # noqa: E731
    with serving(preset, data.domain.names, wage) as url:
        model = eh.wrap(url, data, preset=preset)
        assert np.allclose(model.scores(data.rows[:50])[:, 0], wage(frame[:50]))
        assert "amount" in eh.doctor(model, data).header.details["reading"]
        assert eh.scan(model, data, budget=eh.Budget(candidates=100), oracle="amounts:tolerance=50").outcome == "violation"


def told_by_csv(content: bytes, kind: str) -> Any:
    """What is read of this answer to a request in CSV."""
    server = RawServer()
    head = f"Content-Type: {kind}\r\n" if kind else ""
    server.content = f"HTTP/1.1 200 OK\r\n{head}Content-Length: {len(content)}\r\n\r\n".encode() + content
    return Transport(Connection(server.url, retries=0)).ask(RequestBody(content=b"1,2\n3,4\n", kind="text/csv"))


@pytest.mark.parametrize("kind", ["", "text/html; charset=utf-8", "application/octet-stream"])
def test_lines_of_csv_are_read_whatever_a_small_server_calls_them(kind: str) -> None:
    assert told_by_csv(b"0.25\n0.75\n", kind) == [0.25, 0.75]


@pytest.mark.parametrize("content", [b"<html>log in</html>", b'{"predictions": '])
def test_a_page_or_broken_json_is_no_csv(content: bytes) -> None:
    with pytest.raises(WrongAnswer, match="answered with"):
        told_by_csv(content, "text/html")
