"""A campaign: the same findings whatever the processes, continued where it stopped, failures recorded and not in the way."""

import json
import multiprocessing
import os
import threading
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from evenhand.campaign import run_maker
from evenhand.campaign.bench_records import Arena
from evenhand.campaign.campaign_folder import CampaignFolder, frame_of
from evenhand.campaign.conduct import Settings, conduct
from evenhand.campaign.contest import Entrant, Terms
from evenhand.campaign.executors.local import Local
from evenhand.campaign.sources import Given, Named
from evenhand.contract import Model
from evenhand.datasets.dataset import from_frame
from evenhand.errors import InvalidArgument, UnknownName
from evenhand.methods import METHODS
from evenhand.models.budget import Budget
from evenhand.planted import shapes
from evenhand.registry import Entry

PLANTED = shapes()["wide_band"]
TERMS = Terms(Budget(candidates=1_500), pool_rows=2_000)


@dataclass(frozen=True)
class Crashing:
    """Crashes after its first candidates."""

    needs: ClassVar[type] = Model

    def search(self, task, rng):
        from evenhand.contract import Candidates

        yield Candidates(task.domain.sample(10, rng))
        raise RuntimeError("out of ideas")


@dataclass(frozen=True)
class Black:
    """A model without gradients."""

    inner: Model

    classes = property(lambda self: self.inner.classes)
    is_hard = False
    batch_rows = 4096

    def scores(self, rows):
        return self.inner.scores(rows)

    def fingerprint(self):
        return self.inner.fingerprint()


@dataclass(frozen=True)
class Deadly(Black):
    """Ends its whole process when it is asked in one of a campaign's."""

    def scores(self, rows):
        if multiprocessing.parent_process() is not None:
            os._exit(7)
        return self.inner.scores(rows)


@pytest.fixture
def given():
    rows = PLANTED.domain.sample(400, np.random.default_rng(0))
    frame = PLANTED.domain.decode(rows)
    frame["decision"] = np.array(["refused", "granted"])[PLANTED.model.scores(rows).argmax(axis=1)]
    return Given(Arena(from_frame(frame, PLANTED.domain, "people"), ("group",), PLANTED.model, "planted"))


@pytest.fixture
def broken_methods(monkeypatch):
    known = METHODS.entries()
    monkeypatch.setitem(known, "crashing", Entry("crashing", Crashing, __name__))


@pytest.mark.slow
def test_the_findings_do_not_depend_on_the_number_of_processes(given, tmp_path):
    one = conduct(["themis", "chains"], [given], [0, 1], TERMS)
    two = conduct(["themis", "chains"], [given], [0, 1], TERMS, Settings(Local(2), tmp_path / "two", keep_findings=True))
    assert [(r["method"], r["seed"], r["status"]) for r in one] == [(r["method"], r["seed"], r["status"]) for r in two]
    assert [r["findings_digest"] for r in one] == [r["findings_digest"] for r in two]
    assert [r["id"] for r in one] == [r["id"] for r in two]
    assert len({r["findings_digest"] for r in one}) == 4
    kept = pd.read_parquet(tmp_path / "two" / "findings" / f"{one[0]['id']}.parquet")
    assert len(kept) == one[0]["findings"]


@pytest.mark.slow
def test_a_process_that_dies_takes_only_its_own_run_with_it(given, tmp_path):
    deadly = Given(replace(given.arena, model=Deadly(PLANTED.model), model_name="deadly"))
    records = conduct(["themis"], [deadly, given], [0], TERMS, Settings(Local(2), tmp_path))
    assert [r["status"] for r in records] == ["failed", "done"]
    assert "exit code 7" in records[0]["reason"]
    assert len(CampaignFolder(tmp_path).records()) == 1  # nothing stands in the way of trying again


def test_a_continued_campaign_makes_only_what_is_missing(given, tmp_path, monkeypatch):
    settings = Settings(folder=tmp_path)
    first = conduct(["themis"], [given], [0], TERMS, settings)
    made = []
    real = run_maker.contend
    monkeypatch.setattr(run_maker, "contend", lambda cell, *rest: made.append(cell) or real(cell, *rest))
    both = conduct(["themis"], [given], [0, 1], TERMS, settings)
    assert [cell.seed for cell in made] == [1]
    assert both[0]["findings_digest"] == first[0]["findings_digest"]
    assert both[0]["cpu_seconds"] == pytest.approx(first[0]["cpu_seconds"])
    assert len(pd.read_parquet(tmp_path / "records.parquet")) == 2
    curves = pd.read_parquet(tmp_path / "curves.parquet")
    assert curves.groupby("seed")["findings"].max().tolist() == [r["findings"] for r in both]


@pytest.mark.slow
def test_another_budget_or_parameter_is_another_run(given, tmp_path):
    settings = Settings(folder=tmp_path)
    small = conduct(["themis"], [given], [0], TERMS, settings)
    large = conduct(["themis"], [given], [0], replace(TERMS, budget=Budget(candidates=2_000)), settings)
    changed = conduct([Entrant("themis", (("batch", 500),))], [given], [0], TERMS, settings)
    assert len({r["id"] for r in (*small, *large, *changed)}) == 3
    assert changed[0]["method"] == "themis(batch=500)"


def test_a_crash_is_recorded_and_the_others_go_on(given, tmp_path, broken_methods):
    records = conduct(["crashing", "themis"], [given], [0], TERMS, Settings(folder=tmp_path))
    assert [r["status"] for r in records] == ["failed", "done"]
    assert "out of ideas" in records[0]["reason"]
    assert "findings" not in records[0]
    again = conduct(["crashing"], [given], [0], TERMS, Settings(folder=tmp_path, retry=True))
    assert again[0]["status"] == "failed"
    assert len(list((tmp_path / "records").glob("*.old-1"))) == 1


def test_a_method_that_the_model_cannot_serve_is_not_applicable(given):
    black = Given(replace(given.arena, model=Black(PLANTED.model)))
    records = {r["method"]: r for r in conduct(["neuronfair", "adf", "themis"], [black], [0], TERMS)}
    assert records["neuronfair"]["status"] == "not applicable"
    assert "transparent" in records["neuronfair"]["reason"]
    assert records["adf"]["gradients"] == "differences"
    assert records["themis"]["status"] == "done"
    without = conduct(["adf"], [black], [0], replace(TERMS, differences=False))
    assert without[0]["status"] == "not applicable"


def test_a_model_that_cannot_be_opened_is_recorded(tmp_path, table_file):
    (tmp_path / "model.onnx").write_bytes(b"no model")
    sources = [Named(str(table_file), ("group",), str(tmp_path / "model.onnx"), "decision")]
    records = conduct(["themis"], sources, [0], TERMS)
    assert records[0]["status"] == "failed"
    assert records[0]["model"].endswith("model.onnx")


@pytest.fixture
def table_file(tmp_path, given):
    path = tmp_path / "people.csv"
    given.arena.data.frame.to_csv(path, index=False)
    return path


def test_mistakes_are_said_before_anything_runs(given, table_file):
    with pytest.raises(UnknownName, match="did you mean 'themis'"):
        conduct(["temis"], [given], [0], TERMS)
    with pytest.raises(UnknownName, match="grup"):
        conduct(["themis"], [given, Named(str(table_file), ("grup",), "forest", "decision")], [0], TERMS)
    with pytest.raises(InvalidArgument, match="--model 'mpl'"):
        conduct(["themis"], [Named("credit", ("sex",), "mpl")], [0], TERMS)
    with pytest.raises(InvalidArgument, match="workers=0"):
        Local(workers=0)
    with pytest.raises(InvalidArgument, match="cannot be sent to another process"):
        conduct(["themis"], [Given(replace(given.arena, model=Black(threading.Lock())))], [0], TERMS, Settings(Local(2)))


def test_records_are_never_overwritten(tmp_path):
    folder = CampaignFolder(tmp_path)
    folder.keep({"id": "a", "x": np.float64("nan"), "y": np.arange(2)})
    assert folder.record("a") == {"id": "a", "x": None, "y": [0, 1]}
    with pytest.raises(Exception, match="never overwritten"):
        folder.keep({"id": "a"})
    assert folder.record("b") is None


def test_the_table_of_records_has_one_row_per_run(given):
    records = conduct(["themis"], [given], [0], TERMS)
    frame = frame_of(records)
    assert json.loads(frame["rate"][0])["population"] == "data"
    assert frame["findings"][0] == records[0]["findings"]


def test_cpu_seconds_end_a_run(given):
    (record,) = conduct([Entrant("themis", (("margin", 0.0), ("batch", 500)))], [given], [0], Terms(Budget(cpu_seconds=0.1), pool_rows=500))
    assert record["status"] == "done"
    assert 0.05 <= record["cpu_seconds"] < 0.5  # a batch that would not fit any more is not begun
