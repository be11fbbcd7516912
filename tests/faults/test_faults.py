"""Faults at random moments lose nothing and double nothing: the findings are those of the undisturbed run, bit for bit."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from parts import fault_cases, faults

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="drivers are forked")


def assert_unharmed(tally):
    assert (tally.lost, tally.doubled, tally.differing) == (0, 0, 0), tally


def test_a_few_faults_do_no_harm(tmp_path):
    tally = faults.Tally()
    text = next(case for case in fault_cases.cases() if case.name == "text")
    faults.FaultTrial(text, tmp_path, random.Random(1), tally).run(4)
    assert tally.faults == 4
    assert_unharmed(tally)


def test_the_page_on_scaling_shows_the_faults_that_were_kept_by_the_script():
    kept, page = json.loads(faults.KEPT.read_text()), (ROOT / "docs" / "scaling.md").read_text()
    assert [each["what"] for each in kept["slices"]] == [each.what for each in faults.SLICES]
    assert faults.as_markdown(kept["slices"]) in page
    assert f"`python benchmarks/campaigns.py --only faults`, {kept['date']}" in page


@pytest.mark.slow
@pytest.mark.parametrize("what", ["repair", "certify", "synth", "measure scenes", "media"])
def test_every_verb_and_a_campaign_of_all_media_stand_faults(tmp_path, what):
    tally = faults.some(what, 6, tmp_path, seed=5)
    assert tally.faults >= 6
    assert_unharmed(tally)


@pytest.mark.slow
def test_two_hundred_faults_over_all_media_do_no_harm(tmp_path):
    tally = faults.inject(tmp_path, 200, seed=7, workers=3)
    assert tally.faults >= 200
    assert len(tally.kinds) >= 8
    assert_unharmed(tally)


def cluster_process(*words):
    told = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]], env=told, stderr=subprocess.DEVNULL, start_new_session=True
    )


class Wire:
    """The network between a worker and its scheduler, which can be cut."""

    def __init__(self, port):
        self.target, self.ends = port, []
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                here, _ = self.door.accept()
            except OSError:
                return
            self.ends.append(here)
            try:
                there = socket.create_connection(("127.0.0.1", self.target))
            except OSError:  # the scheduler is not up yet
                here.close()
                continue
            self.ends.append(there)
            for pair in ((here, there), (there, here)):
                threading.Thread(target=self.carry, args=pair, daemon=True).start()

    def carry(self, here, there):
        try:
            while content := here.recv(65_536):
                there.sendall(content)
        except OSError:
            pass

    def cut(self):
        for end in [self.door, *self.ends]:
            end.close()


@pytest.fixture
def cluster():
    pytest.importorskip("distributed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"

    def scheduler():
        return cluster_process("dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")

    def worker():
        return cluster_process("dask_worker", address, "--nthreads", "1", "--no-dashboard", "--death-timeout", "60")

    processes = {"scheduler": scheduler(), "second": worker()}
    wire = Wire(port)
    processes["first"] = cluster_process(
        "dask_worker", f"tcp://127.0.0.1:{wire.port}", "--nthreads", "1", "--no-dashboard", "--death-timeout", "60"
    )
    yield address, processes, scheduler, worker, wire
    wire.cut()
    for process in processes.values():
        with contextlib.suppress(ProcessLookupError):  # the one that the test killed is gone
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["first", "scheduler", "network"])
def test_a_cluster_of_real_processes_finds_the_same_when_one_of_them_is_killed(tmp_path, cluster, victim):
    from evenhand.campaign.executors.dask import Dask

    address, processes, scheduler, worker, wire = cluster
    table = fault_cases.FaultCase("table", fault_cases.standard_subject, 12_000)
    whole = table.scan(tmp_path / "whole")

    class Disturbed(Dask):
        """Kills one of the processes after the first answer."""

        def carry_out(self, work, tasks):
            for place, end in enumerate(super().carry_out(work, tasks)):
                yield end
                if place == 0 and victim == "network":
                    wire.cut()
                elif place == 0:
                    os.killpg(processes[victim].pid, signal.SIGKILL)
                    processes[victim].wait()
                    if victim == "scheduler":
                        time.sleep(0.5)
                        processes[victim] = scheduler()
                        processes["third"] = worker()

    found = table.scan(tmp_path / "runs", Disturbed(address, patience_seconds=120))
    assert fault_cases.digest(found) == fault_cases.digest(whole)


@pytest.mark.slow
def test_a_killed_driver_leaves_no_workers_behind(tmp_path):
    psutil = pytest.importorskip("psutil")
    code = (
        "import sys; sys.path.insert(0, 'benchmarks'); from evenhand.campaign.executors.local import Local\n"
        "import time\n"
        "class Slow:\n"
        "    def open(self):\n        return lambda task: time.sleep(60)\n"
        "print('ready', flush=True); list(Local(2).carry_out(Slow(), [1, 2]))\n"
    )
    told = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    driver = subprocess.Popen([sys.executable, "-c", code], env=told, stdout=subprocess.PIPE)
    driver.stdout.readline()
    me, deadline = psutil.Process(driver.pid), time.monotonic() + 60
    while len(children := me.children(recursive=True)) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1.0)
    driver.kill()
    driver.communicate()
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive
    assert not list(tmp_path.glob("evenhand-parcel-*"))
