"""A store is read once, and then only what has changed; what cannot be read says why."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "report"))
import sample_results as results

from evenhand.dashboard import catalogue as module
from evenhand.dashboard.catalogue import Catalogue
from evenhand.disk import sealed
from parts.dashboard_store import many_runs


@pytest.fixture
def fresh(store, monkeypatch):
    monkeypatch.setattr(module, "SETTLED_SECONDS", -1.0)  # every question walks
    return Catalogue(store)


def of_kind(catalogue, kind):
    return [entry for entry in catalogue.entries() if entry.kind == kind]


def test_results_projects_and_searches_are_found(fresh):
    loans = next(e for e in fresh.entries() if e.data == "people")
    assert (loans.verb, loans.medium, loans.protected, loans.methods) == ("scan", "table", ("sex",), ("themis",))
    assert 0 < loans.low < loans.estimate < loans.high < 1
    assert len(fresh.projects()) == 2
    assert fresh.project_near(loans).path == "loans/evenhand.yaml"
    (search,) = fresh.searches_of(loans)
    assert search.path.startswith("loans/runs/themis-")


def test_a_finished_search_stands_behind_its_result(fresh, store):
    assert of_kind(fresh, "search") == []
    (store / "loans" / "runs" / "result.json").unlink()
    (alone,) = of_kind(fresh, "search")
    assert alone.state == "finished"


def test_what_is_new_changed_or_gone_is_noticed(fresh, store):
    file = store / "later.json"
    file.write_text(sealed(results.ordinary()))
    (entry,) = [e for e in fresh.entries() if e.path == "later.json"]
    assert entry.data == "adult"
    changed = results.changed(outcome="pass")
    file.write_text(sealed(changed) + " ")
    os.utime(file, ns=(1, 1))
    assert fresh.entry(entry.id).fault  # a space behind the seal is a changed bit
    file.write_text(sealed(changed))
    assert fresh.entry(entry.id).outcome == "pass"
    file.unlink()
    assert fresh.entry(entry.id) is None


def test_results_of_version_1_and_hostile_ones_are_listed(fresh, store):
    (store / "old.json").write_text(json.dumps(results.old()))
    (store / "hostile.json").write_text(json.dumps(results.hostile()))
    known = {entry.path: entry for entry in fresh.entries()}
    assert known["old.json"].verb == "scan"
    assert not known["hostile.json"].fault


@pytest.mark.parametrize(
    "content", ['{"evenhand_result": 2', '{"evenhand_result": 2}', '{"evenhand_result": []}', '{"evenhand_result": 2, "header": 3}']
)
def test_what_cannot_be_read_is_listed_with_the_reason(fresh, store, content):
    (store / "broken.json").write_text(content)
    (entry,) = [e for e in fresh.entries() if e.path == "broken.json"]
    assert entry.status == "unreadable"
    assert entry.fault


def test_other_json_is_no_result(fresh, store):
    (store / "package.json").write_text('{"name": "x"}')
    assert "package.json" not in {entry.path for entry in fresh.entries()}


def test_the_next_start_reads_nothing_again(fresh, store, monkeypatch):
    many_runs(store, store / "loans" / "runs" / "result.json", 30)
    fresh.refresh(wait=True)
    assert len(fresh.entries()) == 32
    monkeypatch.setattr(module, "result_entry", lambda *_: pytest.fail("read again"))
    assert len(Catalogue(store).entries()) == 32


def test_a_search_says_where_it_stands(fresh, store):
    (search,) = [entry for entry in fresh._known_now() if entry.kind == "search" and entry.path.startswith("loans")]
    folder = store / search.path
    (folder / "result.json").unlink()
    log = folder / "log.jsonl"
    first = log.read_text().splitlines()[0] + "\n"
    for event, state in (("interrupted", "interrupted"), ("crashed", "failed"), ("resumed", "stopped")):
        log.write_text(first + json.dumps({"time": "2026-01-01T00:00:00+00:00", "event": event}) + "\n")
        (folder / "lock").write_text("999999999")
        assert fresh.entry(search.id).state == state
    (folder / "lock").write_text(str(os.getpid()))
    assert fresh.entry(search.id).state == "running"
    (folder / "lock").write_text("999999999")
    assert fresh.entry(search.id).state == "stopped"
