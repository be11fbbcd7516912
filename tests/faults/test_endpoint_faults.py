"""Endpoints that are slow, flaky, rate-limited, dead for a while or drifting: budgets are exact to the row, and nothing is paid twice.

The endpoint is played below the transport, and its clock is ours: ten minutes pass in no time.
"""

import json
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import evenhand as eh
from evenhand.campaign.executors.threads import Threads
from evenhand.campaign.sharded_run import sharded_run
from evenhand.engine.store import RunFolder
from evenhand.engine.subject import Plan, Subject
from evenhand.errors import ModelFailed
from evenhand.methods import METHODS
from evenhand.models import http_transport
from evenhand.models.budget import Budget
from evenhand.models.http import HttpModel
from evenhand.models.http_transport import HttpAnswer, Transport
from evenhand.models.wrap import wrap
from evenhand.planted import shapes

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from parts import fault_cases

pytest.importorskip("httpx")

PLANTED = shapes()["wide_band"]
BUDGET = 1_200
STEADY, SETTLING = 64, 16  # rows that are asked twice on purpose, and rows that settle how answers are read: both beside the budget
SHARDS = 4


class Service:
    """What stands behind the address: counts the rows that it is paid for, by its own clock."""

    def __init__(self):
        self.now, self.lock, self.chance = 0.0, threading.RLock(), np.random.default_rng(3)
        self.paid, self.times, self.dead, self.flaky, self.seconds, self.drift_after = [], [], (), 0.0, 0.0, None
        self.thread = threading.local()

    def monotonic(self):
        with self.lock:
            self.thread.looked = self.now
            return self.now

    def sleep(self, seconds):
        # A thread wakes when it meant to, however late the machine lets it go on: its turn is what a rate limit promises.
        with self.lock:
            self.thread.woke = getattr(self.thread, "looked", self.now) + seconds
            self.now += seconds

    def attempt(self, _transport, body):
        with self.lock:
            self.times.append(getattr(self.thread, "woke", self.now))
            self.now += self.seconds
            if any(begin <= self.now < end for begin, end in self.dead):
                return http_transport._Attempt(fault="cannot be reached")
            if self.chance.random() < self.flaky:
                return http_transport._Attempt(fault="answered with status 503")
            rows = body.json["instances"]
            self.paid += [json.dumps(row) for row in rows]
            scores = PLANTED.model.scores(np.array(rows, dtype=float))[:, 1]
            if self.drift_after is not None and len(self.paid) > self.drift_after:
                scores = 1 - scores
        return http_transport._Attempt(HttpAnswer(200, json.dumps({"predictions": scores.tolist()}).encode(), "application/json"))

    @property
    def paid_twice(self):
        return len(self.paid) - len(set(self.paid))


@pytest.fixture
def service(monkeypatch):
    made = Service()
    monkeypatch.setattr(Transport, "_attempt", lambda self, body: made.attempt(self, body))
    monkeypatch.setattr(http_transport, "time", SimpleNamespace(sleep=made.sleep, monotonic=made.monotonic))
    return made


def subject_of(**settings):
    told = {"rows_as": "codes", "batch_rows": 32, "concurrency": 2, "returns": "probability", "request": {"instances": "$rows"}}
    model = HttpModel("http://127.0.0.1:9/", **{**told, "answer": "predictions[*]", "retries": 8, "backoff_seconds": 0.5, **settings})
    rows = PLANTED.domain.sample(200, np.random.default_rng(0))
    return Subject(PLANTED.domain, wrap(model, PLANTED.domain), rows)


def searched(subject, folder=None, threads=3):
    kept = None if folder is None else RunFolder.for_header(folder, {"method": "themis"})
    return sharded_run(METHODS.make("themis"), subject, Plan(3, Budget(model_rows=BUDGET)), Threads(threads), kept)


def assert_exact(run, service):
    assert BUDGET - SHARDS * len(PLANTED.domain.combinations) < run.ledger.model_rows <= BUDGET
    assert service.paid_twice <= STEADY, "a row was paid twice that does not show the model's steadiness"
    assert len(set(service.paid)) <= BUDGET + STEADY + SETTLING


@pytest.mark.parametrize(
    "fault", [{"flaky": 0.1}, {"seconds": 2.0}, {"dead": ((30.0, 630.0),), "seconds": 1.0}], ids=["flaky", "slow", "dead"]
)
def test_budgets_are_exact_and_nothing_is_paid_twice(service, fault):
    whole = searched(subject_of(), threads=1)
    service.paid.clear()
    service.now = 0.0
    vars(service).update(fault)
    found = searched(subject_of(retries=14))
    assert_exact(found, service)
    assert np.array_equal(found.findings.rows, whole.findings.rows)
    assert service.now > 600 or "dead" not in fault


def test_threads_share_one_rate_limit(service):
    searched(subject_of(requests_per_second=5.0, batch_rows=8))
    assert len(service.times) > 100
    assert np.diff(np.sort(service.times)).min() >= 0.2 - 1e-9


def test_an_endpoint_that_stays_dead_ends_the_run_and_the_same_call_goes_on_when_it_is_back(service, tmp_path):
    whole = searched(subject_of(), threads=1)
    service.paid.clear()
    service.now, service.seconds, service.dead = 0.0, 1.0, ((25.0, 100_000.0),)
    settings = {"retries": 2, "cache": tmp_path / "answers.sqlite"}
    with pytest.raises(ModelFailed, match="cannot be reached"):
        searched(subject_of(**settings), tmp_path)
    service.now = 200_000.0
    found = searched(subject_of(**settings), tmp_path)
    assert np.array_equal(found.findings.rows, whole.findings.rows)
    assert service.paid_twice <= 2 * STEADY, "answers that were paid for before it died were paid again"
    assert len(set(service.paid)) <= BUDGET + 2 * STEADY + SETTLING


def test_a_drifting_endpoint_gets_no_verdict(service):
    subject = subject_of()
    data = fault_cases.SubjectData(subject, "people")
    service.drift_after = 1_000
    result = eh.scan(subject.model, data, budget=Budget(model_rows=BUDGET), options=eh.Options(executor=Threads(2), rate_rows=100))
    assert result.outcome == "inconclusive"
    assert "the model changed while it was tested" in result.reason
