"""An endpoint that fails now and then and limits its rate, asked by several threads: the budget is exact, and no answer is paid twice."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from evenhand.campaign.executors.threads import Threads
from evenhand.campaign.sharded_run import sharded_run
from evenhand.engine.store import RunFolder
from evenhand.engine.subject import Plan, Subject
from evenhand.methods import METHODS
from evenhand.models.budget import Budget
from evenhand.models.http import HttpModel
from evenhand.models.wrap import wrap
from evenhand.planted import shapes

PLANTED = shapes()["wide_band"]
BUDGET = 1_200
RATE = 60.0
STEADY, SETTLING = 64, 16  # rows that are asked twice on purpose, and rows that settle how answers are read: both beside the budget


class Flaky(BaseHTTPRequestHandler):
    """Answers nine of ten requests; counts the rows that it is paid for, and when it was asked."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        content = self.rfile.read(int(self.headers["Content-Length"]))
        rows = json.loads(content)["instances"]
        server = self.server
        with server.lock:
            server.times.append(time.monotonic())
            fails = server.chance.random() < 0.1
            if not fails:
                server.paid += [json.dumps(row) for row in rows]
        if fails:
            self.reply(503, {"error": "busy"})
            return
        codes = np.array([[float(cell) for cell in row] for row in rows])
        self.reply(200, {"predictions": PLANTED.model.scores(codes)[:, 1].tolist()})

    def reply(self, code, content):
        body = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    made = ThreadingHTTPServer(("127.0.0.1", 0), Flaky)
    made.lock, made.paid, made.times, made.chance = threading.Lock(), [], [], np.random.default_rng(4)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.mark.slow
def test_budgets_are_exact_and_nothing_is_paid_twice(server, tmp_path):
    pytest.importorskip("httpx")
    settings = HttpModel(
        f"http://127.0.0.1:{server.server_port}/", rows_as="codes", batch_rows=64, concurrency=2, retries=8, backoff_seconds=0.01,
        requests_per_second=RATE, cache=tmp_path / "answers.sqlite", returns="probability", request={"instances": "$rows"},
        answer="predictions[*]",
    )  # fmt: skip
    rows = PLANTED.domain.sample(200, np.random.default_rng(0))
    subject = Subject(PLANTED.domain, wrap(settings, PLANTED.domain), rows)
    plan = Plan(3, Budget(model_rows=BUDGET))

    def searched(name):
        folder = RunFolder.for_header(tmp_path / name, {"method": "themis"})
        return sharded_run(METHODS.make("themis"), subject, plan, Threads(3), folder)

    first = searched("first")
    assert first.ledger.model_rows <= BUDGET
    assert first.ledger.model_rows > 0.9 * BUDGET
    assert first.ledger.findings > 0
    assert len(server.paid) - len(set(server.paid)) <= STEADY, "a row was paid twice that does not show the model's steadiness"
    assert len(set(server.paid)) <= BUDGET + STEADY + SETTLING
    paid, times = len(server.paid), np.array(server.times)
    assert (np.searchsorted(times, times + 1.0) - np.arange(len(times))).max() <= RATE * 1.2 + 3, "the rate limit is shared"
    again = searched("again")
    assert len(server.paid) <= paid + 2 * STEADY, "kept answers were asked for again"
    assert np.array_equal(first.findings.rows, again.findings.rows)
