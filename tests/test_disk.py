"""What is kept on disk is whole, for its owner only, and a changed bit is noticed wherever it is."""

import json
import os
import stat
import subprocess
import sys

import numpy as np
import pytest

from evenhand.checks import standard_subject
from evenhand.disk import locked, read_sealed, sealed, unsealed, whole_file, write_whole
from evenhand.engine import witness
from evenhand.engine.header import header_of
from evenhand.engine.run import Plan, run
from evenhand.engine.shrunk_findings import Hearing
from evenhand.engine.store import RunFolder
from evenhand.errors import StoreError
from evenhand.methods.themis import Themis
from evenhand.models.budget import Budget
from evenhand.oracles.flip import LabelFlip

SUBJECT = standard_subject()
PLAN = Plan(3, Budget(candidates=600))
METHOD = Themis(margin=0.0, batch=200)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A finished run with a witness."""
    folder = RunFolder.for_header(tmp_path_factory.mktemp("runs"), header_of("scan", SUBJECT, "planted", PLAN).for_run(METHOD))
    found = run(METHOD, SUBJECT, PLAN, folder)
    folder.finish({"findings": 1}) if folder.result is None else None
    first = witness.witnesses_of(found.findings[:1], SUBJECT.rows, Hearing(SUBJECT.domain, SUBJECT.model, LabelFlip()))[0]
    witness.save(first, folder.path / "witnesses")
    return folder.path


def read_everything(path):
    folder = RunFolder.open(path)
    folder.journal(), folder.findings(), folder.result
    for file in sorted((path / "witnesses").glob("*.json")):
        witness.load(file)


def test_every_flipped_bit_of_a_run_is_noticed(kept):
    rng = np.random.default_rng(0)
    files = [path for path in sorted(kept.rglob("*")) if path.suffix in (".json", ".parquet")]
    assert {path.name for path in files} >= {"header.json", "result.json", "checksums.json", "part-000001.parquet"}
    unnoticed = []
    for _ in range(200):
        file = files[rng.integers(len(files))]
        whole = file.read_bytes()
        changed, place = bytearray(whole), int(rng.integers(len(whole)))
        changed[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(changed)
        try:
            read_everything(kept)
            unnoticed.append((file.name, place))
        except StoreError:
            pass
        finally:
            file.write_bytes(whole)
    assert unnoticed == []
    read_everything(kept)


def test_every_single_flip_in_a_short_sealed_file_is_noticed(tmp_path):
    path = tmp_path / "a.json"
    whole = sealed({"name": "ä", "more": [1, None, {"x": 0.5}]}).encode()
    for place in range(len(whole)):
        for bit in range(8):
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            with pytest.raises(StoreError):
                unsealed(bytes(changed), path, required=False)


def test_a_seal_that_is_required_is_missed_and_deep_json_is_refused(tmp_path):
    (tmp_path / "a.json").write_text('{"a": 1}')
    with pytest.raises(StoreError, match="has no checksum"):
        read_sealed(tmp_path / "a.json")
    assert read_sealed(tmp_path / "a.json", required=False) == {"a": 1}
    (tmp_path / "b.json").write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(StoreError, match="nests deeper"):
        read_sealed(tmp_path / "b.json", required=False)


def test_a_kill_between_the_files_of_a_part_costs_that_part_only(tmp_path):
    folder = RunFolder.for_header(tmp_path, header_of("scan", SUBJECT, "planted", PLAN).for_run(METHOD))
    whole = run(METHOD, SUBJECT, PLAN, folder)
    last = sorted((folder.path / "journal").glob("*.parquet"))[-1]
    last.unlink()
    again = run(METHOD, SUBJECT, PLAN, RunFolder.open(folder.path))
    assert again.ledger.findings == whole.ledger.findings
    assert len(RunFolder.open(folder.path).findings()) == whole.ledger.findings
    first = min((folder.path / "journal").glob("*.parquet"))
    first.rename(first.with_name("part-000900.parquet"))
    with pytest.raises(StoreError, match="do not fit together"):
        RunFolder.open(folder.path).journal()


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_what_holds_rows_of_people_is_for_the_owner_only(kept):
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [kept, *kept.rglob("*")]}
    assert {path: oct(mode) for path, mode in modes.items() if mode & 0o077} == {}


def test_a_failed_write_leaves_what_was_there_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_whole(path, "old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, "new")
    with pytest.raises(OSError, match="No space"), whole_file(path) as new:
        new.write_text("new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_lock_ends_with_its_process_even_if_its_number_lives_on(tmp_path):
    lock = tmp_path / "lock"
    script = f"""
import os, sys
from pathlib import Path
from evenhand.disk import locked
with locked(Path({str(lock)!r})):
    print("held", flush=True)
    sys.stdin.readline()
    os._exit(9)
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    holder = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(StoreError, match=f"in use by process {holder.pid}"), locked(lock):
        pass
    holder.communicate(b"\n")
    lock.write_text("1")  # the number of a process that always lives
    with locked(lock):
        assert lock.read_text() == str(os.getpid())


def test_results_are_sealed_and_those_of_earlier_releases_are_read(tmp_path):
    from evenhand import report

    path = tmp_path / "result.json"
    told = {
        "evenhand_result": 2,
        "verb": "scan",
        "header": {},
        "outcome": "pass",
        "reason": "",
        "sentences": [],
        "checks": [],
        "witnesses": [],
    }
    path.write_text(json.dumps({**told, "body": {}}))
    assert report.load(path)["outcome"] == "pass"
    path.write_text(sealed({**told, "body": {}}))
    assert "checksum" not in report.load(path)
    path.write_text(path.read_text().replace('"pass"', '"fail"'))
    with pytest.raises(StoreError, match="is damaged"):
        report.load(path)
