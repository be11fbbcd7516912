"""What an endpoint was paid for is never paid again, whichever verb asks and whenever it is killed.

Some rows are asked again on purpose, to see whether the model is steady.  How many these are is seen in an undisturbed run; a run that was
killed and continued pays for no more of them, nor for any other row, but for requests that were under way when it was killed.
"""

import contextlib
import json
import pickle
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import cloudpickle
import numpy as np
import pytest
import yaml

import evenhand as eh
from evenhand.campaign.campaign_folder import CampaignFolder
from evenhand.campaign.conduct import Settings
from evenhand.campaign.executors import executor_for
from evenhand.campaign.executors.local import Local
from evenhand.campaign.executors.threads import Threads
from evenhand.campaign.repair_trial import Effort
from evenhand.errors import StoreError, UnsteadyModel
from evenhand.models import http_transport
from evenhand.models.http import HttpModel
from evenhand.models.http_transport import HttpAnswer, Transport
from evenhand.models.paid_answers import kept_answers, paid_once

pytest.importorskip("httpx")

BATCH, AT_ONCE = 32, 2
IN_FLIGHT = BATCH * AT_ONCE
TRIAL_ROWS, PROBED = 150, 64  # rows that a scan looks at the model with, and that every search asks twice before it begins


def scored(rows):
    """Depends on the age, where there is little else."""
    table = np.array([[float(cell) for cell in row] for row in rows])
    return 1 / (1 + np.exp(-(table[:, 0] * 0.15 - table[:, 1] * 0.1 + table.sum(axis=1) % 3 - 1)))


class Killed(BaseException):
    """What no code of ours catches, as a kill would not be."""


class Service:
    """Stands behind the address, counts what it is paid for, and ends whoever asks after so many rows."""

    def __init__(self):
        self.paid, self.lock, self.kill_after, self.shift = Counter(), threading.Lock(), None, 0.0

    def attempt(self, _transport, body):
        with self.lock:
            if self.kill_after is not None and self.paid.total() >= self.kill_after:
                raise Killed
            self.paid.update(json.dumps(row) for row in body.json["instances"])
        told = json.dumps({"predictions": np.clip(scored(body.json["instances"]) + self.shift, 0, 1).tolist()})
        return http_transport._Attempt(HttpAnswer(200, told.encode(), "application/json"))

    @property
    def again(self):
        """Rows that were paid for more than once."""
        return self.paid.total() - len(self.paid)


@pytest.fixture
def service(monkeypatch):
    made = Service()
    monkeypatch.setattr(Transport, "_attempt", lambda self, body: made.attempt(self, body))
    return made


@pytest.fixture(scope="module")
def data():
    whole = eh.datasets.load("credit", coding="papers").protect("sex")
    return whole.split(0.25, np.random.default_rng(0))[1]


def endpoint(data, **settings):
    told = {"rows_as": "codes", "batch_rows": BATCH, "concurrency": AT_ONCE, "returns": "probability", "request": {"instances": "$rows"}}
    return eh.wrap(HttpModel("http://127.0.0.1:9/", answer="predictions[*]", **{**told, **settings}), data)


def scan(data, folder, executor=None):
    options = eh.Options(folder=folder, rate_rows=60, executor=executor, most_witnesses=2)
    return eh.scan(endpoint(data), data, methods=["themis"], budget=eh.Budget(candidates=300), options=options).as_dict()["outcome"]


def shared_scan(data, folder):
    return scan(data, folder, Threads(2))


def measure(data, folder):
    options = eh.MeasureOptions(folder=folder, rate_rows=100, natural_candidates=300, compare_rows=50, null_draws=0)
    return eh.measure(endpoint(data), data, options=options).as_dict()["body"]["rates"]


def repair(data, folder):
    effort = Effort(candidates=200, judge_candidates=80, rate_rows=60)
    options = eh.RepairOptions(seeds=2, effort=effort, folder=folder)
    return eh.repair(endpoint(data), data, repairs=["marginalise"], options=options).as_dict()["body"]["repairs"]


def bench(data, folder, executor=None, fresh=False):
    from evenhand.campaign.bench_records import Arena
    from evenhand.campaign.sources import Given

    settings = Settings(folder=folder, fresh=fresh) if executor is None else Settings(executor, folder)
    source = Given(Arena(data, ("sex",), endpoint(data), "service"))
    options = eh.BenchOptions(settings=settings, pool_rows=200)
    done = eh.bench(["themis"], [source], seeds=[0, 1], budget=eh.Budget(candidates=300), options=options)
    return [(each["findings_digest"], each["status"]) for each in done.records]


OFTEN = (0.1, 0.5, 0.9)
SLOW = [pytest.param(verb, OFTEN, marks=pytest.mark.slow, id=verb.__name__) for verb in (shared_scan, measure, repair, bench)]


@pytest.mark.parametrize(("verb", "kills"), [pytest.param(scan, (0.5,), id="scan"), *SLOW])
def test_a_killed_verb_pays_only_for_what_is_missing(verb, kills, service, data, tmp_path):
    whole = verb(data, tmp_path / "whole")
    undisturbed = service.paid.copy()
    on_purpose, service.paid = service.again, Counter()
    for share in kills:
        service.kill_after = int(share * undisturbed.total())
        with pytest.raises(Killed):
            verb(data, tmp_path / "killed")
    service.kill_after = None
    np.testing.assert_equal(verb(data, tmp_path / "killed"), whole)
    assert set(service.paid) == set(undisturbed)
    probes = PROBED * len(kills) if verb is bench else 0  # every run of a campaign sees for itself that the model is steady
    assert service.again <= on_purpose + len(kills) * IN_FLIGHT + probes


def test_without_a_folder_one_scan_pays_for_a_row_once_and_asks_few_of_them_again_on_purpose(service, data):
    scan(data, None)
    first_look, last_look = 3 * TRIAL_ROWS, TRIAL_ROWS
    assert service.again <= first_look + last_look + PROBED


@pytest.mark.slow
def test_a_finished_scan_is_repeated_from_what_was_kept_but_for_the_look_at_the_model(service, data, tmp_path):
    told = scan(data, tmp_path)
    service.paid.clear()
    assert scan(data, tmp_path) == told
    assert 0 < len(service.paid) <= TRIAL_ROWS + PROBED + 50


def test_a_model_that_has_changed_since_its_answers_were_kept_is_told(service, data, tmp_path):
    scan(data, tmp_path)
    service.shift = 0.3
    with pytest.raises(UnsteadyModel, match=r"kept answers: of .* were answered otherwise when they were first asked.*--fresh"):
        scan(data, tmp_path)
    scan(data, tmp_path / "elsewhere")


def test_a_model_that_was_changed_on_purpose_is_asked_afresh_and_goes_on_from_there(service, data, tmp_path):
    before = fresh_scan(data, tmp_path, fresh=False)
    service.shift, service.kill_after = 0.3, int(1.4 * service.paid.total())
    with pytest.raises(Killed):
        fresh_scan(data, tmp_path)
    service.kill_after, paid = None, len(service.paid)
    after = fresh_scan(data, tmp_path, fresh=False)
    assert len(service.paid) > paid
    clean = fresh_scan(data, tmp_path / "elsewhere", fresh=False)
    assert after.findings.findings.rows.tolist() == clean.findings.findings.rows.tolist()
    assert before.header.model["digest"] != after.header.model["digest"], "a changed model would be compared as one and the same"
    assert len({folder for each in (before, after) for folder in each.folders}) == 2, "the earlier run is not continued"
    service.shift = 0.0
    with pytest.raises(UnsteadyModel, match="kept answers"):  # the new edition is held against itself
        fresh_scan(data, tmp_path, fresh=False)


def fresh_scan(data, folder, fresh=True, **settings):
    options = eh.Options(folder=folder, rate_rows=60, most_witnesses=2, fresh=fresh)
    return eh.scan(endpoint(data, **settings), data, methods=["themis"], budget=eh.Budget(candidates=300), options=options)


def test_answers_in_a_file_that_the_project_names_are_not_taken_for_fresh_ones(service, data, tmp_path):
    own = {"cache": tmp_path / "answers.sqlite"}
    fresh_scan(data, tmp_path / "runs", fresh=False, **own)
    first, service.paid = service.paid.copy(), Counter()
    fresh_scan(data, tmp_path / "runs", **own)
    assert set(service.paid) == set(first)


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["measure", "repair"])
def test_other_verbs_ask_afresh_too(verb, service, data, tmp_path):
    makers = {
        "measure": lambda fresh: eh.measure(
            endpoint(data), data, options=eh.MeasureOptions(folder=tmp_path, groups_only=True, fresh=fresh)
        ),
        "repair": lambda fresh: eh.repair(
            endpoint(data),
            data,
            repairs=["marginalise"],
            options=eh.RepairOptions(
                seeds=1, effort=Effort(candidates=100, judge_candidates=50, rate_rows=50), folder=tmp_path, fresh=fresh
            ),
        ),
    }
    makers[verb](False)
    first, service.paid = service.paid.copy(), Counter()
    makers[verb](True)
    assert set(service.paid) == set(first)


@pytest.mark.slow
def test_a_campaign_is_made_afresh_and_keeps_what_was_made_before(service, data, tmp_path):
    first = bench(data, tmp_path)
    asked, service.paid, service.shift = service.paid.copy(), Counter(), 0.3
    assert bench(data, tmp_path) == first
    assert not service.paid, "what is done is not made again"
    again = bench(data, tmp_path, fresh=True)
    assert len(service.paid) > 0.5 * len(asked)
    assert again != first
    assert bench(data, tmp_path) == again
    assert len(list((tmp_path / "records").glob("*.old-1"))) == len(first)
    assert any(event["event"] == "afresh" for event in CampaignFolder(tmp_path).events())


def test_a_second_driver_is_refused_before_it_pays_for_anything(service, data, tmp_path):
    fixed = {"verb": "scan"}
    with (
        paid_once(endpoint(data), tmp_path, fixed),
        pytest.raises(StoreError, match="in use by process"),
        paid_once(endpoint(data), tmp_path, fixed),
    ):
        pass
    with paid_once(endpoint(data), tmp_path, fixed), paid_once(endpoint(data), tmp_path, {"verb": "measure"}):
        pass
    assert not service.paid


@pytest.mark.slow
def test_models_behind_a_network_are_asked_by_threads_of_this_process_whoever_makes_the_other_runs(service, data, tmp_path):
    assert [status for _, status in bench(data, tmp_path, Local(2))] == ["done", "done"]
    assert service.paid.total() > 1_000, "the runs were made in a process that does not know this service"
    assert isinstance(executor_for(None, "tcp://127.0.0.1:9", endpoint(data)), Threads)


def test_what_comes_from_the_environment_is_not_written_with_a_model(service, data, monkeypatch):
    monkeypatch.setenv("SERVICE_TOKEN", "s3cret-of-the-service")
    model = endpoint(data, headers={"Authorization": "Bearer ${SERVICE_TOKEN}"})
    before = model.scores(data.rows[:5])
    content = cloudpickle.dumps(model)
    assert b"s3cret" not in content
    assert np.array_equal(pickle.loads(content).scores(data.rows[:5]), before)


def test_an_answer_that_was_damaged_is_asked_for_again(tmp_path):
    book = kept_answers(tmp_path / "answers.sqlite")
    book.write({"one": 0.5, "two": [0.1, 0.9]})
    with sqlite3.connect(tmp_path / "answers.sqlite") as base:
        base.execute("UPDATE sealed_answers SET value = '0.7' WHERE key = 'one'")
    base.close()
    assert book.read(["one", "two", "three"]) == {"two": [0.1, 0.9]}
    book.write({"one": 0.5, "two": 0.0})
    assert book.read(["one", "two"]) == {"one": 0.5, "two": [0.1, 0.9]}


class Counted(BaseHTTPRequestHandler):
    """A real server, which counts."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        rows = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["instances"]
        with self.server.lock:
            self.server.paid.update(json.dumps(row) for row in rows)
        body = json.dumps({"predictions": scored(rows).tolist()}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):  # whoever asked may have been killed
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class Mortal(ThreadingHTTPServer):
    """Answers nobody any more, once it is told to go."""

    allow_reuse_address = True

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Counted)
        self.lock, self.paid, self.open = threading.Lock(), Counter(), []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """Whoever asked was killed in the middle of a request."""

    def process_request(self, request, client_address):
        self.open.append(request)
        super().process_request(request, client_address)

    def go(self):
        self.shutdown()
        self.server_close()
        for connection in self.open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def server():
    made = Mortal()
    yield made
    made.go()


def project(folder, data, server):
    folder.mkdir()
    data.frame.to_csv(folder / "people.csv", index=False)
    domain = {
        "columns": {column.name: {"kind": "integer", "low": int(column.low), "high": int(column.high)} for column in data.domain.columns}
    }
    http = {
        "request": {"instances": "$rows"},
        "answer": "predictions[*]",
        "rows_as": "codes",
        "batch_rows": BATCH,
        "concurrency": AT_ONCE,
        "retries": 1,
    }
    label = {"column": data.domain.label.column, "values": list(data.domain.label.values), "favourable": list(data.domain.label.favourable)}
    model = {"url": f"http://127.0.0.1:{server.server_port}/", "returns": "probability", "http": http}
    told = {"version": 1, **domain, "protected": list(data.domain.protected), "label": label, "data": "people.csv", "model": model}
    (folder / "evenhand.yaml").write_text(yaml.safe_dump(told, sort_keys=False))
    (folder / "night.yaml").write_text("data: evenhand.yaml\nmethods: themis\nseeds: 2\nbudgets: {candidates: 500}\n")
    return folder


COMMANDS = {
    "scan": ["scan", "-m", "themis", "--candidates", "1000"],
    "shared": ["scan", "-m", "themis", "--candidates", "1000", "--workers", "2"],
    "measure": ["measure"],
    "campaign": ["campaign", "night.yaml"],
}


def started(folder, words):
    return subprocess.Popen(
        [sys.executable, "-m", "evenhand", *words, "--quiet"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def finished(folder, words):
    done = started(folder, words)
    _, told = done.communicate(timeout=900)
    assert done.returncode in (0, 1, 3), told.decode()


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_command_that_was_killed_asks_a_real_server_for_nothing_twice(words, server, data, tmp_path):
    finished(project(tmp_path / "whole", data, server), words)
    undisturbed = server.paid.copy()
    on_purpose, server.paid = undisturbed.total() - len(undisturbed), Counter()
    place, kills = project(tmp_path / "killed", data, server), (0.05, 0.3, 0.6, 0.95)
    for share in kills:
        command = started(place, words)
        while server.paid.total() < share * undisturbed.total() and command.poll() is None:
            time.sleep(0.005)
        command.send_signal(signal.SIGKILL)
        command.communicate()
    finished(place, words)
    assert set(server.paid) == set(undisturbed)
    again = server.paid.total() - len(server.paid)
    assert again <= on_purpose + len(kills) * (IN_FLIGHT + (2 * PROBED if "campaign" in words else 0)), "rows were paid twice"


@pytest.mark.slow
def test_a_server_that_dies_in_the_middle_is_asked_for_the_rest_when_it_is_back(server, data, tmp_path):
    words = COMMANDS["scan"]
    finished(project(tmp_path / "whole", data, server), words)
    undisturbed = server.paid.copy()
    place, paid = project(tmp_path / "disturbed", data, server), Counter()
    server.paid = Counter()
    command = started(place, words)
    while server.paid.total() < 0.5 * undisturbed.total() and command.poll() is None:
        time.sleep(0.005)
    server.go()
    _, told = command.communicate(timeout=300)
    assert command.returncode == 4, told.decode()
    paid.update(server.paid)
    again = Mortal(server.server_port)
    finished(place, words)
    again.go()
    paid.update(again.paid)
    on_purpose = undisturbed.total() - len(undisturbed)
    assert set(paid) == set(undisturbed)
    assert paid.total() - len(paid) <= on_purpose + IN_FLIGHT
