"""Asking an HTTP endpoint: secrets from the environment, tries and pauses, a rate limit, and a fault that says what went wrong.

What a request holds and how its answer is read is the business of those who ask.
"""

from __future__ import annotations

import os
import re
import secrets
import threading
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from evenhand.errors import InvalidArgument, ModelFailed, WrongAnswer, require
from evenhand.limits import NotNegative, Positive, WholeNumber, check_limits
from evenhand.models.http_shape import excerpt

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Connection:
    """Where an endpoint is and how patiently it is asked.

    url and headers may hold ${NAME} for an environment variable; its value is never shown or stored.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_seconds: Positive = 30.0
    retries: WholeNumber = 4
    backoff_seconds: NotNegative = 0.5
    requests_per_second: Positive | None = None

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise InvalidArgument(f"url={self.url!r} must begin with http:// or https://")
        check_limits(self)


@dataclass(frozen=True)
class RequestBody:
    """What is sent: JSON, bytes of a kind, or bytes as the file of a form's field."""

    json: Any = None
    content: bytes | None = None
    kind: str = "application/json"
    form_field: str = ""


@dataclass(frozen=True)
class _Attempt:
    """A response; or none, what went wrong, and how long the endpoint asks to wait."""

    response: Any = None
    fault: str = ""
    pause_seconds: float | None = None


class Transport:
    """One endpoint, asked by any number of threads."""

    def __init__(self, connection: Connection, name: str = "") -> None:
        require("httpx", "http")
        self.connection, self.name = connection, name or f"the endpoint {connection.url}"
        self._secrets: set[str] = set()
        self._url = expanded(connection.url, "url", self._secrets)
        self._headers = {key: expanded(text, f"header {key}", self._secrets) for key, text in connection.headers.items()}
        self._lock, self._next_request = threading.Lock(), 0.0

    @cached_property
    def _client(self) -> Any:
        import httpx

        client = httpx.Client(timeout=self.connection.timeout_seconds, headers=self._headers, follow_redirects=False)
        weakref.finalize(self, client.close)
        return client

    def ask(self, body: RequestBody) -> Any:
        """The parsed answer, after as many tries as the connection allows."""
        for attempt in range(self.connection.retries + 1):
            self._wait_for_turn()
            made = self._attempt(body)
            if made.response is not None:
                return self._parsed(made.response)
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

        try:
            response = self._sent(body)
        except httpx.TimeoutException:
            limit = f"{self.connection.timeout_seconds:g} seconds"
            return _Attempt(fault=f"did not answer within {limit}; raise timeout_seconds or send smaller batches")
        except httpx.TransportError as fault:
            return _Attempt(fault=f"cannot be reached: {self.hide(str(fault))}; is it running, and is the URL right?")
        if response.status_code in _RETRIED:
            said = self.hide(excerpt(response.text))
            return _Attempt(fault=f"answered with status {response.status_code}: {said}", pause_seconds=_retry_after(response))
        if response.status_code >= 300:
            raise ModelFailed(f"{self.name} refused with status {response.status_code}: {self.hide(excerpt(response.text))}")
        return _Attempt(response)

    def _sent(self, body: RequestBody) -> Any:
        if body.content is None:
            return self._client.post(self._url, json=body.json)
        if body.form_field:
            return self._client.post(self._url, files={body.form_field: ("picture.jpg", body.content, body.kind)})
        return self._client.post(self._url, content=body.content, headers={"content-type": body.kind})

    def _parsed(self, response: Any) -> Any:
        try:
            return response.json()
        except ValueError:
            kind = response.headers.get("content-type", "no content type")
            what = "HTML" if "html" in kind.lower() or response.text.lstrip()[:1] == "<" else "text that is not JSON"
            raise WrongAnswer(
                f"{self.name} answered with {what} ({kind}); is the URL that of the prediction route?  "
                f"It begins: {self.hide(excerpt(response.text))}"
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


def _retry_after(response: Any) -> float | None:
    text = response.headers.get("retry-after", "")
    try:
        return min(max(float(text), 0.0), 120.0)
    except ValueError:
        return None
