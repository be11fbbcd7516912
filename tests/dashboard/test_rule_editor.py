"""The project file in a form: the error beside its line, saved whole, and a way back."""

from __future__ import annotations

import pytest

from evenhand.dashboard.rule_editor import check
from evenhand.disk import digest_of


@pytest.fixture
def place(visit):
    visitor = visit()
    found = next(p for p in visitor.app.state.dashboard.catalogue.projects() if p.path.startswith("loans"))
    return visitor, f"/projects/{found.id}", visitor.app.state.dashboard.catalogue.root / found.path


def line_of(text, words):
    return next(number for number, line in enumerate(text.splitlines(), 1) if words in line)


@pytest.mark.parametrize(
    ("old", "new", "at"),
    [
        ("kind: integer", "kind: integre", "income:"),
        ("protected: [sex]", "protected: [sexx]", "protected:"),
        ("version: 1", "version: 1\n\tx: y", "x: y"),
    ],
)
def test_a_fault_stands_beside_its_line(place, old, new, at):
    visitor, address, file = place
    text = file.read_text().replace(old, new, 1)
    assert text != file.read_text()
    line = line_of(text, at)
    told = visitor.send(f"{address}/check", text=text).json()
    assert told["line"] == line
    assert told["message"]
    page = visitor.send(address, text=text, based_on=digest_of(file.read_bytes()))
    assert page.status_code == 422
    assert f"Line {line}" in page.text
    assert f'data-line="{line}"' in page.text
    assert new not in file.read_text()


def test_saving_keeps_a_way_back(place):
    visitor, address, file = place
    before = file.read_text()
    after = before + "# one more line\n"
    assert visitor.send(address, text=after.replace("\n", "\r\n"), based_on=digest_of(before.encode())).status_code == 303
    assert file.read_text() == after
    page = visitor.get(f"{address}?saved=yes").text
    assert "Saved." in page
    version = page.split("?version=")[1].split('"')[0]
    earlier = visitor.get(f"{address}?version={version}").text
    assert "An earlier version" in earlier
    assert "# one more line" not in earlier
    assert visitor.send(address, text=before, based_on=digest_of(after.encode())).status_code == 303
    assert file.read_text() == before


def test_a_change_by_somebody_else_is_not_written_over(place):
    visitor, address, file = place
    before = file.read_text()
    file.write_text(before + "# theirs\n")
    page = visitor.send(address, text=before + "# mine\n", based_on=digest_of(before.encode()))
    assert page.status_code == 409
    assert "somebody else" in page.text
    assert "# mine" in page.text
    assert file.read_text() == before + "# theirs\n"


def test_a_version_of_another_name_leads_nowhere(place):
    visitor, address, _ = place
    assert "An earlier version" not in visitor.get(f"{address}?version=..%2f..%2findex.json").text


def test_a_file_with_a_fault_can_be_saved_on_purpose(place):
    visitor, address, file = place
    text = file.read_text().replace("kind: integer", "kind: integre", 1)
    visitor.send(address, text=text, based_on=digest_of(file.read_bytes()), anyway="yes")
    assert file.read_text() == text


def test_a_file_without_faults_has_none(place):
    assert check(place[2].read_text(), place[2]) is None
