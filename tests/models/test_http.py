"""Endpoints: asked in batches and threads, patient within limits, and every way of failing has its sentence."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_domain import DOMAIN, rows

from evenhand.contract import Model
from evenhand.errors import EvenhandError, InvalidArgument, ModelFailed, WrongAnswer
from evenhand.models.http_shape import parse_path
from evenhand.models.meter import Meter
from evenhand.models.wrap import wrap

pytest.importorskip("httpx")
from evenhand.models.http import HttpModel
from evenhand.models.http_transport import retry_after

CODES = rows(50)


class Service:
    """A prediction service on this machine whose behaviour a test sets."""

    def __init__(self, kind: type[HTTPServer] = ThreadingHTTPServer, protocol: str = "HTTP/1.0") -> None:
        self.requests: list[tuple[Any, dict[str, str]]] = []
        self.reply: Callable[[Any, int], tuple[int, Any, dict[str, str]]] = lambda body, _: (200, {"predictions": chances(body)}, {})
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = protocol

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                service.requests.append((body, dict(self.headers)))
                status, answer, headers = service.reply(body, len(service.requests))
                content = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
                self.send_response(status)
                for name, value in ({"content-type": "application/json", "content-length": str(len(content))} | headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self.server = kind(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/predict"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def chances(body: Any) -> list[float]:
    return [round(record["age"] / 100, 3) for record in body["instances"]]


@pytest.fixture
def service() -> Iterator[Service]:
    running = Service()
    yield running
    running.close()


def settings(service: Service, **changes: object) -> HttpModel:
    return replace(HttpModel(service.url, backoff_seconds=0.01, timeout_seconds=5), **changes)


def test_rows_go_out_as_records_and_come_back_as_scores(service: Service) -> None:
    model = wrap(settings(service), DOMAIN)
    assert isinstance(model, Model)
    assert np.allclose(Meter(model).scores(CODES)[:, 1], CODES[:, 0] / 100)
    record = service.requests[-1][0]["instances"][0]
    assert record["job"] in ("clerk", "nurse", "pilot")
    assert isinstance(record["age"], int)
    assert not model.is_hard


def test_a_server_that_serves_one_connection_at_a_time_is_asked_to_its_end() -> None:
    """It waits on the connection that is kept open, and would never come to the others."""
    running = Service(HTTPServer, "HTTP/1.1")
    model = wrap(settings(running, batch_rows=5, timeout_seconds=0.4), DOMAIN)
    try:
        assert np.allclose(model.scores(CODES)[:, 1], CODES[:, 0] / 100)
        assert np.allclose(model.scores(CODES[::-1])[:, 1], CODES[::-1, 0] / 100)
        assert running.requests[-1][1]["Connection"] == "close"
    finally:
        del model
        running.close()


def test_a_plain_url_is_enough(service: Service) -> None:
    assert wrap(service.url, DOMAIN).scores(CODES).shape == (50, 2)


@pytest.mark.parametrize(
    ("changes", "reply"),
    [
        ({"request": {"a": "$rows"}, "answer": "out[*].p.high"}, lambda b: {"out": [{"p": {"high": r["age"] / 100}} for r in b["a"]]}),
        ({"request": "$rows", "answer": "", "rows_as": "lists"}, lambda b: [r[0] / 100 for r in b]),
        ({"request": ["$rows"], "answer": "[0]", "rows_as": "codes"}, lambda b: [[r[0] / 100 for r in b[0]]]),
        ({"request": {"input": "$row"}, "answer": "probability"}, lambda b: {"probability": b["input"]["age"] / 100}),
        ({"answer": "predictions[*].scores"}, lambda b: {"predictions": [{"scores": [1 - p, p]} for p in chances(b)]}),
        ({"answer": "predictions"}, lambda b: {"predictions": [[1 - p, p] for p in chances(b)]}),
    ],
)
def test_requests_and_answers_of_many_shapes(service: Service, changes: dict[str, Any], reply: Callable[[Any], Any]) -> None:
    service.reply = lambda body, _: (200, reply(body), {})
    model = wrap(settings(service, **changes), DOMAIN)
    assert np.allclose(model.scores(CODES)[:, 1], CODES[:, 0] / 100)


def test_labels_are_read_too(service: Service) -> None:
    service.reply = lambda body, _: (200, {"predictions": ["high" if p > 0.5 else "low" for p in chances(body)]}, {})
    model = wrap(settings(service), DOMAIN)
    assert model.is_hard
    assert np.array_equal(model.scores(CODES)[:, 1], CODES[:, 0] > 50)


def test_missing_cells_travel_as_null(service: Service) -> None:
    domain = replace(DOMAIN, columns=(*DOMAIN.columns[:3], replace(DOMAIN.columns[3], missing=0.5)))
    holed = CODES.copy()
    holed[:, 3] = np.nan
    wrap(settings(service), domain).scores(holed)
    assert service.requests[-1][0]["instances"][0]["hours"] is None


def test_batches_have_the_size_that_was_set_and_keep_their_order_in_threads(service: Service) -> None:
    def slow_first(body: Any, at: int) -> tuple[int, Any, dict[str, str]]:
        time.sleep(0.05 if at % 2 else 0.0)
        return 200, {"predictions": chances(body)}, {}

    service.reply = slow_first
    model = wrap(settings(service, batch_rows=7, concurrency=4), DOMAIN)
    assert np.allclose(model.scores(CODES)[:, 1], CODES[:, 0] / 100)
    assert max(len(body["instances"]) for body, _ in service.requests) == 7


@pytest.mark.parametrize("status", [429, 500, 503])
def test_passing_trouble_is_waited_out(service: Service, status: int) -> None:
    def flaky(body: Any, at: int) -> tuple[int, Any, dict[str, str]]:
        return (status, "busy", {"retry-after": "0"}) if at <= 2 else (200, {"predictions": chances(body)}, {})

    service.reply = flaky
    assert wrap(settings(service, concurrency=1), DOMAIN).scores(CODES).shape == (50, 2)


def test_retry_after_is_honoured(service: Service) -> None:
    service.reply = lambda b, at: (429, "", {"retry-after": "0.4"}) if at == 1 else (200, {"predictions": chances(b)}, {})
    started = time.monotonic()
    wrap(settings(service, concurrency=1), DOMAIN).scores(CODES)
    assert time.monotonic() - started >= 0.4


@pytest.mark.parametrize(
    ("text", "expected"), [("0", 0), ("7", 7), (" 7 ", 7), ("120", 120), ("3600", 120), ("Wed, 21 Oct 2015 07:28:00 GMT", 0)]
)
def test_every_legal_retry_after_is_understood_and_none_is_too_long(text: str, expected: float) -> None:
    assert retry_after(text) == expected


@pytest.mark.parametrize("form", ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y"])
def test_a_date_of_any_legal_form_is_waited_for_and_none_too_long(form: str) -> None:
    soon, later = (datetime.now(UTC) + timedelta(seconds=seconds) for seconds in (60, 4e7))
    pause = retry_after(soon.strftime(form))
    assert pause is not None
    assert 40 <= pause <= 60
    assert retry_after(later.strftime(form)) == 120


@pytest.mark.parametrize(
    "text", ["", "soon", "-7", "+7", "7s", "0x10", "1e3", "nan", "inf", "٧", "7, 8", "9" * 400, "Wed, 99 Foo 2015", "\x00", "7\n8"]
)
def test_an_illegal_retry_after_is_as_none(text: str) -> None:
    assert retry_after(text) is None


def test_the_rate_limit_holds(service: Service) -> None:
    model = wrap(settings(service, requests_per_second=20, batch_rows=10), DOMAIN)
    started = time.monotonic()
    model.scores(CODES)
    # Two requests settle how answers are read, five ask; six pauses of 50 ms lie between them.
    assert len(service.requests) == 7
    assert time.monotonic() - started >= 0.29


def test_answers_are_kept_on_disk_row_by_row(service: Service, tmp_path: Path) -> None:
    kept = settings(service, cache=tmp_path / "deep" / "answers.sqlite")
    first = wrap(kept, DOMAIN).scores(CODES)
    asked = len(service.requests)
    again = wrap(kept, DOMAIN).scores(CODES[::-1])
    assert np.array_equal(first[::-1], again)
    assert len(service.requests) == asked
    wrap(replace(kept, answer="predictions[*]"), DOMAIN).scores(CODES[:3])
    assert len(service.requests) > asked


def test_a_broken_cache_is_named(service: Service, tmp_path: Path) -> None:
    (tmp_path / "answers.sqlite").write_text("this is no database, but long enough to be read as a header of one" * 4)
    with pytest.raises(ModelFailed, match=r"answers\.sqlite cannot be used"):
        wrap(settings(service, cache=tmp_path / "answers.sqlite"), DOMAIN)


def test_secrets_are_sent_but_never_shown(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_TEST_TOKEN", "s3cr3t-token")
    service.reply = lambda _b, _at: (403, "token s3cr3t-token may not", {})
    model = wrap(settings(service, headers={"Authorization": "Bearer ${EVENHAND_TEST_TOKEN}"}), DOMAIN)
    with pytest.raises(ModelFailed, match="refused with status 403: token \\*\\*\\* may not") as caught:
        model.scores(CODES)
    assert service.requests[0][1]["Authorization"] == "Bearer s3cr3t-token"
    assert "s3cr3t" not in str(caught.value) + repr(model) + model.fingerprint()
    monkeypatch.setenv("EVENHAND_TEST_TOKEN", "another")
    assert wrap(settings(service, headers={"Authorization": "Bearer ${EVENHAND_TEST_TOKEN}"}), DOMAIN).fingerprint() == model.fingerprint()


def test_an_unset_variable_is_named(service: Service) -> None:
    with pytest.raises(InvalidArgument, match="header X-Key names the environment variable EVENHAND_NOT_SET"):
        wrap(settings(service, headers={"X-Key": "${EVENHAND_NOT_SET}"}), DOMAIN)


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        ((200, "<html>Welcome</html>", {"content-type": "text/html"}), WrongAnswer, r"answered with HTML \(text/html\).*Welcome"),
        ((200, "oops", {}), WrongAnswer, "text that is not JSON.*oops"),
        ((200, {"result": [1]}, {}), WrongAnswer, r"nothing at 'predictions' \(no key 'predictions'\).*result"),
        ((200, {"predictions": [0.5]}, {}), WrongAnswer, "16 rows with 1 values"),
        ((200, {"predictions": 0.5}, {}), WrongAnswer, "one float"),
        ((200, {"predictions": ["rich"] * 16}, {}), WrongAnswer, "'rich', which is no label"),
        ((200, {"predictions": [None] * 16}, {}), WrongAnswer, "nan, which is no label"),
        ((400, {"error": "field age missing"}, {}), ModelFailed, "refused with status 400.*field age missing"),
        ((302, "", {"location": "/login"}), ModelFailed, "refused with status 302"),
        ((500, "trace", {}), ModelFailed, r"status 500: trace \(tried 3 times\)"),
    ],
)
def test_bad_answers_have_their_sentence(service: Service, reply: Any, error: type[Exception], words: str) -> None:
    service.reply = lambda _body, _at: reply
    with pytest.raises(error, match=words):
        wrap(settings(service, retries=2), DOMAIN).scores(CODES)


def test_an_endpoint_that_is_down(service: Service) -> None:
    down = settings(service, retries=1, url="http://127.0.0.1:9/predict")
    with pytest.raises(ModelFailed, match=r"127\.0\.0\.1:9/predict cannot be reached.*is it running.*tried 2 times"):
        wrap(down, DOMAIN).scores(CODES)


def test_an_endpoint_that_is_slow(service: Service) -> None:
    def slow(body: Any, _at: int) -> tuple[int, Any, dict[str, str]]:
        time.sleep(0.6)
        return 200, {"predictions": chances(body)}, {}

    service.reply = slow
    with pytest.raises(ModelFailed, match=r"did not answer within 0\.15 seconds"):
        wrap(settings(service, timeout_seconds=0.15, retries=0), DOMAIN).scores(CODES)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"url": "ftp://host"}, "must begin with http"),
        ({"request": {"a": 1}}, "must hold either"),
        ({"request": {"a": "$row", "b": "$rows"}}, "must hold either"),
        ({"answer": "a[+]"}, "is no path"),
        ({"rows_as": "csv"}, "rows_as='csv'"),
        ({"batch_rows": 0}, "batch_rows=0"),
        ({"timeout_seconds": 0}, "timeout_seconds=0 must be above 0"),
    ],
)
def test_wrong_settings_are_named(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        replace(HttpModel("http://127.0.0.1/"), **changes)


JSON = st.recursive(st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from("ab"), inner))


@given(st.text(alphabet="ab.[]*0", max_size=8), JSON)
def test_any_path_finds_something_or_raises_an_own_error(text: str, answer: object) -> None:
    try:
        parse_path(text).find(answer, "")
    except EvenhandError:
        return
