"""Asking an HTTP endpoint: secrets from the environment, tries and pauses, a rate limit, and a fault that says what went wrong.

What a request holds and how its answer is read is the business of those who ask.
"""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import threading
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from evenhand.disk import check_depth
from evenhand.errors import InvalidArgument, ModelFailed, WrongAnswer, require
from evenhand.limits import NotNegative, Positive, WholeNumber, check_limits
from evenhand.models.http_deadline import MOST_EXCERPT_BYTES, TooLate, body_of_answer, deadline, hurried_client
from evenhand.models.http_presets import CSV_KIND, csv_values
from evenhand.models.http_shape import excerpt

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_OPEN_HEADERS = frozenset({"accept", "accept-encoding", "content-type", "user-agent"})
_SHORTEST_SECRET = 6
LONGEST_PAUSE = 120
DEEPEST_ANSWER = 100
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Connection:
    """Where an endpoint is and how patiently it is asked.

    url and headers may hold ${NAME} for an environment variable; its value is never shown or stored.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_seconds: Positive = 30.0
    retries: WholeNumber = 4
    backoff_seconds: NotNegative = 0.5
    requests_per_second: Positive | None = None

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise InvalidArgument(f"url={shown_url(self.url)!r} must begin with http:// or https://")
        check_limits(self)


@dataclass(frozen=True)
class RequestBody:
    """What is sent: JSON, bytes of a kind, or bytes as the file of a form's field."""

    json: Any = None
    content: bytes | None = None
    kind: str = "application/json"
    form_field: str = ""


@dataclass(frozen=True)
class HttpAnswer:
    """What came back, read to its end."""

    status: int
    body: bytes
    kind: str
    retry_after: str = ""

    @property
    def text(self) -> str:
        """For a message."""
        return self.body[:MOST_EXCERPT_BYTES].decode("utf-8", "replace")


@dataclass(frozen=True)
class _Attempt:
    """An answer; or none, what went wrong, and how long the endpoint asks to wait."""

    answer: HttpAnswer | None = None
    fault: str = ""
    pause_seconds: float | None = None


class Transport:
    """One endpoint, asked by any number of threads."""

    def __init__(self, connection: Connection, name: str = "") -> None:
        require("httpx", "http")
        self.connection, self.name = connection, name or f"the endpoint {shown_url(connection.url)}"
        self._secrets: set[str] = set()
        self._url = expanded(connection.url, "url", self._secrets)
        self._headers = {key: expanded(text, f"header {key}", self._secrets) for key, text in connection.headers.items()}
        self._secrets |= {text for key, text in self._headers.items() if key.lower() not in _OPEN_HEADERS and len(text) >= _SHORTEST_SECRET}
        self._secrets |= {word for text in set(self._secrets) for word in text.split() if len(word) >= _SHORTEST_SECRET}
        self._secrets |= url_secrets(self._url)
        self._lock, self._next_request = threading.Lock(), 0.0
        self._keeps_open = True

    def __reduce__(self) -> tuple[Any, ...]:
        return Transport, (self.connection, self.name)  # what came from the environment is never written; it is read there again

    @cached_property
    def _client(self) -> Any:
        client = hurried_client(self.connection.timeout_seconds, self._headers, self._keeps_open)
        weakref.finalize(self, client.close)
        return client

    def _close_after_each(self, client: Any) -> None:
        """From now on a connection serves one request.

        A server that serves one connection at a time is busy with the one that is kept open, and never comes to the others.
        """
        with self._lock:
            if client is not self._client or not self._keeps_open:
                return
            self._keeps_open = False
            del self._client  # the next one who asks makes another
        client.close()

    def ask(self, body: RequestBody) -> Any:
        """The parsed answer, after as many tries as the connection allows."""
        for attempt in range(self.connection.retries + 1):
            self._wait_for_turn()
            made = self._attempt(body)
            if made.answer is not None:
                return self._parsed(made.answer, body.kind)
            if attempt == self.connection.retries:
                tries = f" (tried {attempt + 1} times)" if attempt else ""
                raise ModelFailed(f"{self.name} {made.fault}{tries}")
            time.sleep(made.pause_seconds if made.pause_seconds is not None else self._backoff(attempt))
        raise AssertionError("unreachable")

    def _backoff(self, attempt: int) -> float:
        # Jitter keeps many clients from returning at the same moment; no result depends on it.
        return float(self.connection.backoff_seconds * 2**attempt * secrets.SystemRandom().uniform(0.5, 1.0))

    def _attempt(self, body: RequestBody) -> _Attempt:
        import httpx

        client = self._client
        try:
            with deadline(self.connection.timeout_seconds):
                answer = self._sent(client, body)
        except (httpx.TimeoutException, TooLate):
            self._close_after_each(client)
            limit = f"{self.connection.timeout_seconds:g} seconds"
            return _Attempt(fault=f"did not answer within {limit}; raise timeout_seconds or send smaller batches")
        except WrongAnswer as fault:
            raise WrongAnswer(f"{self.name} {self.hide(str(fault))}") from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, ValueError, RuntimeError) as fault:  # the last: closed by another thread
            return _Attempt(fault=f"cannot be reached: {self.hide(_one_line(fault))}; is it running, and is the URL right?")
        said = self.hide(excerpt(answer.text))
        if answer.status in _RETRIED:
            return _Attempt(fault=f"answered with status {answer.status}: {said}", pause_seconds=retry_after(answer.retry_after))
        if answer.status >= 300:
            raise ModelFailed(f"{self.name} refused with status {answer.status}: {said}")
        return _Attempt(answer)

    def _sent(self, client: Any, body: RequestBody) -> HttpAnswer:
        with client.stream("POST", self._url, **_content(body)) as response:
            told, kind = response.headers, response.headers.get("content-type", "no content type")[:100]
            if response.status_code >= 300:
                return HttpAnswer(response.status_code, _beginning(response), kind, told.get("retry-after", "")[:100])
            return HttpAnswer(response.status_code, body_of_answer(response), kind)

    def _parsed(self, answer: HttpAnswer, asked: str) -> Any:
        try:
            text = answer.body.decode("utf-8-sig")
            if answer.kind.lower().startswith(CSV_KIND) or (asked == CSV_KIND and _looks_like_csv(answer.kind, text)):
                return csv_values(text)
            check_depth(text, DEEPEST_ANSWER)
            return json.loads(text)
        except (ValueError, RecursionError) as fault:
            is_page = "html" in answer.kind.lower() or answer.text.lstrip()[:1] == "<"
            what = "HTML" if is_page else f"JSON that {str(fault)[3:]}" if "nests deeper" in str(fault) else "text that is not JSON"
            raise WrongAnswer(
                f"{self.name} answered with {what} ({self.hide(answer.kind)}); is the URL that of the prediction route?  "
                f"It begins: {self.hide(excerpt(answer.text))}"
            ) from None

    def _wait_for_turn(self) -> None:
        if self.connection.requests_per_second is None:
            return
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next_request)
            self._next_request = turn + 1 / self.connection.requests_per_second
        time.sleep(max(0.0, turn - now))

    def hide(self, text: str) -> str:
        """The text without any secret."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


def expanded(text: str, where: str, used: set[str]) -> str:
    """The text with every ${NAME} replaced by that environment variable, whose value is added to those used."""

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match.group(1))
        if found is None:
            raise InvalidArgument(f"{where} names the environment variable {match.group(1)}, which is not set")
        if found:
            used.add(found)
        return found

    return _VARIABLE.sub(value, text)


def _looks_like_csv(kind: str, text: str) -> bool:
    """Whether an answer to CSV, which small servers send without its kind or as a page, can only be CSV."""
    return "json" not in kind.lower() and not text.lstrip().startswith(("<", "{", "["))


def _content(body: RequestBody) -> dict[str, Any]:
    if body.content is None:
        return {"json": body.json}
    if body.form_field:
        return {"files": {body.form_field: ("picture.jpg", body.content, body.kind)}}
    accepts = {"accept": body.kind} if body.kind == CSV_KIND else {}
    return {"content": body.content, "headers": {"content-type": body.kind, **accepts}}


def _beginning(response: Any) -> bytes:
    """Enough of a refusal's body for a message, whatever its body does."""
    try:
        return body_of_answer(response, MOST_EXCERPT_BYTES)
    except (WrongAnswer, TooLate):
        return b"(a body that is too long to show)"


def _one_line(fault: Exception) -> str:
    return " ".join(str(fault).split())[:300]


def retry_after(text: str) -> float | None:
    """Seconds to wait, at most two minutes, from a number of seconds or a date; None from anything else.

    >>> retry_after("7"), retry_after("-7"), retry_after("nan"), retry_after("Wed, 21 Oct 2015 07:28:00 GMT")
    (7.0, None, None, 0.0)
    """
    text = text.strip()
    if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text):  # a fraction is not legal, but its meaning is clear; years are not meant
        return min(float(text), float(LONGEST_PAUSE))
    try:
        then = parsedate_to_datetime(text)
        left = (then if then.tzinfo else then.replace(tzinfo=UTC)) - datetime.now(UTC)
        return min(max(left.total_seconds(), 0.0), float(LONGEST_PAUSE))
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def shown_url(url: str) -> str:
    """The address without what may be secret in it: a password before the host, and the values of a query.

    >>> shown_url("https://me:secret@host/predict?key=12345&v=1")
    'https://***@host/predict?key=***&v=***'
    """
    plain, mark, query = url.partition("?")
    plain = re.sub(r"(?<=://)[^/@]*@", "***@", plain)
    return plain + mark + re.sub(r"=[^&]*", "=***", query)


def url_secrets(url: str) -> set[str]:
    """Long enough parts of an address that must not be shown, as they stand there, decoded, and as the header that is made of them."""
    plain, _, query = url.partition("?")
    found = {part.partition("=")[2] for part in query.split("&")}
    if match := re.search(r"://([^/@]*)@", plain):
        found |= {*match.group(1).split(":"), base64.b64encode(unquote(match.group(1)).encode()).decode()}
    return {each for part in found if len(part) >= _SHORTEST_SECRET for each in (part, unquote(part), json.dumps(unquote(part))[1:-1])}
