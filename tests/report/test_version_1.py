"""Results that were written before version 2 are read, rendered in every format, and say the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand import report
from evenhand.report.record import read

FILES = sorted((Path(__file__).parent / "version_1").glob("*.json"))


def old(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((Path(__file__).parent / "version_1" / name).read_text(encoding="utf-8"))
    return content


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_old_file_is_loaded_as_version_2(file: Path) -> None:
    told = report.load(file)
    assert told["evenhand_result"] == 2
    assert told["verb"] == {"arena": "bench"}.get(file.stem, file.stem)
    assert read(told) == read(old(file.name))


@pytest.mark.parametrize("name", report.known_formats())
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_old_file_is_rendered_in_every_format(file: Path, name: str, tmp_path: Path) -> None:
    assert report.write(report.load(file), tmp_path / "rendered", name).stat().st_size > 50


def test_what_an_old_scan_said_stands_in_its_new_places() -> None:
    before, now = old("scan.json"), report.load(Path(__file__).parent / "version_1" / "scan.json")
    assert now["body"]["rates"] == before["rates"]
    assert now["witnesses"] == before["witnesses"]
    assert now["header"]["data"] == {"name": "people", "digest": before["header"]["data_digest"]}
    assert now["header"]["model"]["digest"] == before["header"]["model"]
    assert now["header"]["details"]["gate"] == before["header"]["gate"]
    assert [check["outcome"] for check in now["checks"]] == ["violation", "violation"]


def test_what_an_old_measurement_decided_becomes_checks() -> None:
    before, now = old("measure.json"), report.load(Path(__file__).parent / "version_1" / "measure.json")
    assert len(now["checks"]) == len(before["groups"])
    assert now["body"]["rates"] == before["individual"]


def test_the_pairs_of_an_old_proof_are_witnesses() -> None:
    before, now = old("certify.json"), report.load(Path(__file__).parent / "version_1" / "certify.json")
    assert [each["person"] for each in now["witnesses"]] == [each["person"] for each in before["pairs"]]
    assert now["sentences"] == [before["sentence"]]
