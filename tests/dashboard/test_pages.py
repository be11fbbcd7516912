"""Every page of an ordinary and of a hostile store: it is there, says what it should, and lets nothing of the data through as markup."""

from __future__ import annotations

import json
import re
import time
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.dashboard.asked_twins import cell_code, cell_text
from evenhand.errors import EvenhandError
from parts.dashboard_store import HOSTILE


def entries(visitor, kind, start="loans"):
    return [e for e in visitor.app.state.dashboard.catalogue._known_now() if e.kind == kind and e.path.startswith(start)]


def project(visitor, start="loans"):
    return next(place for place in visitor.app.state.dashboard.catalogue.projects() if place.path.startswith(start))


def opened(visitor, address):
    """A what-if page, once its model is open."""
    for _ in range(200):
        page = visitor.get(address)
        if "being opened" not in page.text:
            return page
        time.sleep(0.05)
    raise AssertionError("the model was never opened")


def every_page(visitor, start):
    """Addresses of all pages about one project."""
    (result,), (search,), place = entries(visitor, "result", start), entries(visitor, "search", start), project(visitor, start)
    return [
        "/", "/?q=themis&verb=scan&sort=rate&order=up", "/trends", "/compare", "/what-if", "/start", "/projects",
        f"/runs/{result.id}", f"/runs/{result.id}/pairs", f"/runs/{search.id}", f"/runs/{search.id}/findings",
        f"/runs/{search.id}/findings?sort=evenhand.gap&order=down", f"/compare?first={result.id}&second={result.id}",
        f"/projects/{place.id}", f"/start?project={place.id}", f"/what-if?project={place.id}",
        f"/what-if?project={place.id}&run={search.id}&finding=0",
    ]  # fmt: skip


@pytest.mark.parametrize("start", ["loans", "attack"])
def test_every_page_is_there_and_escaped(visit, start):
    visitor = visit()
    for address in every_page(visitor, start):
        page = opened(visitor, address)
        assert page.status_code == 200, (address, page.text[:2000])
        bare = re.sub(r'"[^"]*"', '""', page.text)  # outside of attributes
        assert re.findall(r"<script[^>]*>", page.text) == ['<script src="/static/dashboard.js" defer>'], address
        assert not re.search(r"<(img|svg|b|style)[^>]*\son\w+\s*=", bare), address
        assert "\u202e" not in page.text or "textarea" in page.text, address  # turned round only where the file itself is edited
        assert page.text.count("<h1") >= 1, address


def test_hostile_names_are_shown_as_words(visit):
    visitor = visit()
    (search,) = entries(visitor, "search", "attack")
    page = visitor.get(f"/runs/{search.id}/findings").text
    assert HOSTILE.sex in unescape(page)
    assert HOSTILE.sex not in page


def test_runs_are_filtered_sorted_and_paged(visit):
    visitor = visit()
    assert "people" in visitor.get("/?q=loans").text
    assert "No runs" in visitor.get("/?q=nothing+of+this+kind").text
    assert "No runs" in visitor.get("/?medium=scenes").text
    assert visitor.get("/?sort=nonsense&order=odd&page=99999999999999999999").status_code == 200


def test_a_result_is_given_in_every_format(visit):
    visitor = visit()
    (result,) = entries(visitor, "result")
    page = visitor.get(f"/runs/{result.id}").text
    for name in re.findall(rf"/runs/{result.id}/as/(\w+)", page):
        answer = visitor.get(f"/runs/{result.id}/as/{name}")
        assert answer.status_code == 200, name
        assert "attachment" in answer.headers["content-disposition"]
    assert json.loads(visitor.get(f"/runs/{result.id}/as/json").text)["verb"] == "scan"


@pytest.mark.parametrize(
    "address", ["/runs/0000000000", "/runs/../..", "/projects/x", "/commands/x", "/runs/0000000000/findings", "/nothing", "/static/site.py"]
)
def test_what_is_not_there_is_said(visit, address):
    assert visit().raw(address).status_code == 404


def test_what_if_asks_the_model_about_all_twins(visit, store):
    visitor = visit()
    (result,), place = entries(visitor, "result"), project(visitor)
    pair = json.loads((store / result.path).read_text())["witnesses"][0]
    address = f"/what-if?project={place.id}&run={result.id}&pair={pair['id']}"
    begun = opened(visitor, address).text
    assert "Treated differently" in begun
    assert "Nothing is changed yet" in begun
    rich = visitor.send(address, c2="99").text
    assert "Treated alike" in rich
    assert f"{pair['person']['income']} → 99" in unescape(rich)
    part = visitor.send(address, c2="99", part="answers").text
    assert "<html" not in part
    model = visitor.app.state.dashboard.subjects.of(place).subject.model
    sex, town = (float(["woman", "man"].index(pair["person"]["sex"])), 0.0)
    score = model.scores(np.array([[sex, town, 99.0]]))[0, 1]
    assert f"{score:.3f}" in part


@pytest.mark.parametrize(
    ("written", "said"),
    [("100", "must be from 0 to 99"), ("", "must not be empty"), ("x", "must be a number"), ("1.5", "whole"), ("nan", "finite")],
)
def test_a_cell_that_cannot_be_is_named(visit, written, said):
    visitor = visit()
    address = f"/what-if?project={project(visitor).id}"
    opened(visitor, address)
    page = visitor.send(address, c2=written).text
    assert said in page
    assert "not asked" in page


def test_cells_go_to_codes_and_back():
    columns = (
        eh.Column("a", "category", ("x", 1, True), missing=0.1),
        eh.Column("b", "integer", low=-5, high=5),
        eh.Column("c", "real", low=0.0, high=1.0),
        eh.Column("d", "date", low=0, high=20_000),
    )
    for column, codes in zip(columns, ((0.0, 1.0, 2.0, float("nan")), (-5.0, 5.0), (0.0, 0.123456789), (0.0, 19_000.0)), strict=True):
        for code in codes:
            assert cell_code(column, cell_text(column, code)) == pytest.approx(code, nan_ok=True)
    for column, text in ((columns[0], "3"), (columns[0], "x"), (columns[3], "yesterday")):
        with pytest.raises(EvenhandError):
            cell_code(column, text)


def untrusted(store: Path) -> Path:
    """A project whose model would write a file when it is loaded, and which says that it is trusted."""
    file = store / "loans" / "evenhand.yaml"
    flag = store / "code-was-run"
    (store / "loans" / "model.pkl").write_bytes(b"cposix\nsystem\n(S'touch %s'\ntR." % str(flag).encode())
    text = file.read_text()
    file.write_text(text.replace("model: model.npz", "model: {path: model.pkl, trusted: true}"))
    assert "model.pkl" in file.read_text()
    return flag


def test_a_model_that_runs_code_is_not_loaded_without_trust(visit, store):
    flag, visitor = untrusted(store), visit()
    place = project(visitor)
    page = opened(visitor, f"/what-if?project={place.id}")
    assert page.status_code == 200
    assert "--trusted" in page.text
    started = visitor.send("/start", project=place.id, verb="scan")
    assert started.status_code == 422
    assert "--trusted" in started.text
    assert not flag.exists()


def test_with_trust_the_same_model_is_loaded(visit, store):
    flag, visitor = untrusted(store), visit(is_trusted=True)
    opened(visitor, f"/what-if?project={project(visitor).id}")
    assert flag.exists()
