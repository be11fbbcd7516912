"""A run folder is readable after a kill, continues where it stopped, and is never overwritten."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from evenhand.checks import standard_subject
from evenhand.engine.header import header_of
from evenhand.engine.run import Plan, run
from evenhand.engine.store import RunFolder
from evenhand.errors import StoreError
from evenhand.methods.themis import Themis
from evenhand.models.budget import Budget
from evenhand.verbs.scan import Options, scan

SUBJECT = standard_subject()
PLAN = Plan(3, Budget(candidates=5_000))
METHOD = Themis(margin=0.0, batch=400)


def folder_for(base):
    return RunFolder.for_header(base, header_of("scan", SUBJECT, "planted", PLAN).for_run(METHOD))


class Counted:
    def __init__(self, model):
        self.model, self.rows = model, 0

    def __getattr__(self, name):
        return getattr(self.model, name)

    def scores(self, rows):
        self.rows += len(rows)
        return self.model.scores(rows)


def stop_after(n):
    def watch(headway):
        if headway.done >= n:
            raise KeyboardInterrupt

    return watch


def test_a_resumed_run_equals_an_uninterrupted_one_and_asks_nothing_twice(tmp_path):
    whole = run(METHOD, SUBJECT, PLAN)
    folder = folder_for(tmp_path)
    first = run(METHOD, SUBJECT, PLAN, folder, stop_after(2_000))
    assert first.ended == "interrupted"
    counted = Counted(SUBJECT.model)
    again = run(METHOD, type(SUBJECT)(SUBJECT.domain, counted, SUBJECT.rows), PLAN, folder_for(tmp_path))
    assert again.ledger.findings == whole.ledger.findings
    assert again.ledger.model_rows == whole.ledger.model_rows
    np.testing.assert_array_equal(again.findings.rows, whole.findings.rows)
    assert again.facts == whole.facts
    probes = 2 * 64
    assert counted.rows - probes <= whole.ledger.model_rows - 2 * 1_900
    stored = RunFolder.open(folder.path).findings()
    assert len(stored) == whole.ledger.findings
    codes = np.stack(stored["evenhand.row_codes"].to_numpy())
    np.testing.assert_array_equal(np.unique(codes, axis=0), np.unique(whole.findings.rows, axis=0))


def test_a_killed_run_is_readable_and_resumes(tmp_path):
    script = f"""
import time
from pathlib import Path
from tests.test_store import METHOD, PLAN, SUBJECT, folder_for
from evenhand.engine import court, run as running
court.SECONDS_PER_PART = 0.0
running.run(METHOD, SUBJECT, PLAN, folder_for(Path({str(tmp_path)!r})), lambda headway: time.sleep(0.05))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=os.getcwd(), env={**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("*/journal/part-*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    folder = folder_for(tmp_path)
    assert folder.journal() is not None
    assert len(folder.journal().keys) < PLAN.budget.candidates
    again = run(METHOD, SUBJECT, PLAN, folder)
    assert again.ledger.findings == run(METHOD, SUBJECT, PLAN).ledger.findings
    assert len(folder.findings()) == again.ledger.findings


def test_a_folder_of_another_model_is_refused(tmp_path):
    folder = folder_for(tmp_path)
    other = dict(folder.header, model="another")
    with pytest.raises(StoreError, match="holds a run with another model"):
        RunFolder.at(folder.path, other)


def test_a_result_is_written_once(tmp_path):
    folder = folder_for(tmp_path)
    folder.finish({"findings": 1})
    with pytest.raises(StoreError, match="never overwritten"):
        folder.finish({"findings": 2})
    assert folder.result == {"findings": 1}


def test_a_full_disk_is_said_and_what_was_saved_stays(tmp_path, monkeypatch):
    import pyarrow.parquet as parquet

    folder = folder_for(tmp_path)
    run(METHOD, SUBJECT, PLAN, folder, stop_after(1_000))
    before = len(folder.findings())

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet, "write_table", full)
    with pytest.raises(StoreError, match="No space left on device; what was saved before is intact"):
        run(METHOD, SUBJECT, PLAN, folder)
    monkeypatch.undo()
    assert len(folder.findings()) == before


def test_a_folder_in_use_is_refused_and_a_dead_lock_is_taken_over(tmp_path):
    folder = folder_for(tmp_path)
    with folder.locked(), pytest.raises(StoreError, match=f"in use by process {os.getpid()}"), folder.locked():
        pass
    (folder.path / "lock").write_text("999999999")
    with folder.locked():
        assert (folder.path / "lock").read_text() == str(os.getpid())


@pytest.mark.parametrize(
    ("text", "message"), [("{", "not readable as JSON"), ('{"format": 9}', "another version"), ("[]", "another version")]
)
def test_a_damaged_header_is_said(tmp_path, text, message):
    (tmp_path / "header.json").write_text(text)
    with pytest.raises(StoreError, match=message):
        RunFolder.open(tmp_path)


def test_no_run_folder_is_said(tmp_path):
    with pytest.raises(StoreError, match="is no run folder"):
        RunFolder.open(tmp_path)


def test_a_damaged_part_is_named(tmp_path):
    folder = folder_for(tmp_path)
    run(METHOD, SUBJECT, PLAN, folder)
    part = next((folder.path / "journal").glob("part-*.parquet"))
    part.write_bytes(b"nonsense")
    with pytest.raises(StoreError, match=r"part-000001.parquet is damaged"):
        folder.journal()


class Table:
    name, domain, rows, labels = "planted", SUBJECT.domain, SUBJECT.rows, SUBJECT.labels


def test_a_scan_repeated_in_its_folder_gives_the_same_result_and_keeps_the_first(tmp_path):
    results = [
        scan(SUBJECT.model, Table(), methods=[METHOD], budget=PLAN.budget, seed=1, options=Options(folder=tmp_path)) for _ in range(2)
    ]
    first, second = (result.runs[0] for result in results)
    timed = {"calls": 0, "cpu_seconds": 0, "wall_seconds": 0, "curve": 0}
    assert first.as_dict() | timed == second.as_dict() | timed
    assert results[0].witnesses == results[1].witnesses
    assert len(list(tmp_path.glob("themis-*"))) == 1
    result = json.loads(next(tmp_path.glob("themis-*/result.json")).read_text())
    assert result["findings"] == results[0].runs[0].ledger.findings
