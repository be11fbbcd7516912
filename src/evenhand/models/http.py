"""A model behind an HTTP endpoint: JSON out and in by template, batches, threads, retries, a rate limit, answers kept on disk.

What a request or an answer looks like is `http_shape`'s business.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from evenhand.arrays import Rows, Scores
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, ModelFailed, WrongAnswer, require
from evenhand.models.answer_shapes import Reader, reader_for, settle
from evenhand.models.http_shape import AnswerPath as AnswerPath
from evenhand.models.http_shape import body_of, excerpt, parse_path, records_of, takes_single_row
from evenhand.models.inputs import probe_rows

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SETTLING_ROWS = 16
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class HttpModel:
    """Where an endpoint is and how it is spoken to.

    request: JSON in which "$rows" stands for a list of rows, or "$row" for one row at a time.
    answer: the path to one value per row, such as "predictions[*].probability"; "" is the whole answer.
    rows_as: "records" sends {column: cell}, "lists" sends cells in the domain's order, "codes" sends codes.
    url and headers may hold ${NAME} for an environment variable; its value is never shown or stored.
    """

    url: str
    request: Any = field(default_factory=lambda: {"instances": "$rows"})
    answer: str = "predictions"
    rows_as: str = "records"
    headers: Mapping[str, str] = field(default_factory=dict)
    returns: str | None = None
    batch_rows: int = 256
    concurrency: int = 4
    timeout_seconds: float = 30.0
    retries: int = 4
    backoff_seconds: float = 0.5
    requests_per_second: float | None = None
    cache: str | Path | None = None

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise InvalidArgument(f"url={self.url!r} must begin with http:// or https://")
        if self.rows_as not in ("records", "lists", "codes"):
            raise InvalidArgument(f"rows_as={self.rows_as!r} must be 'records', 'lists' or 'codes'")
        for name, least in (("batch_rows", 1), ("concurrency", 1), ("retries", 0), ("backoff_seconds", 0)):
            if getattr(self, name) < least:
                raise InvalidArgument(f"{name}={getattr(self, name)!r} must be at least {least}")
        if not self.timeout_seconds > 0 or (self.requests_per_second is not None and not self.requests_per_second > 0):
            raise InvalidArgument("timeout_seconds and requests_per_second must be positive")
        takes_single_row(self.request)
        parse_path(self.answer)


@dataclass(eq=False)
class Endpoint:
    """The model behind an `HttpModel`.  The reader is settled by the first answer."""

    settings: HttpModel
    domain: TabularDomain
    columns: Sequence[Any] | None = None
    is_costly: ClassVar[bool] = True  # the meter never asks a row twice
    _next_request: float = 0.0

    def __post_init__(self) -> None:
        require("httpx", "http")
        self._secrets: set[str] = set()
        self._url = self._expanded(self.settings.url, "url")
        self._headers = {name: self._expanded(text, f"header {name}") for name, text in self.settings.headers.items()}
        self._path: AnswerPath = parse_path(self.settings.answer)
        self._single = takes_single_row(self.settings.request)
        self._lock = threading.Lock()
        self._answers = _Answers(Path(self.settings.cache)) if self.settings.cache else None
        self._unsettled = reader_for(self.domain, self.columns)

    def _expanded(self, text: str, where: str) -> str:
        def value(match: re.Match[str]) -> str:
            found = os.environ.get(match.group(1))
            if found is None:
                raise InvalidArgument(f"{where} names the environment variable {match.group(1)}, which is not set")
            if found:
                self._secrets.add(found)
            return found

        return _VARIABLE.sub(value, text)

    @cached_property
    def _client(self) -> Any:
        import httpx

        client = httpx.Client(timeout=self.settings.timeout_seconds, headers=self._headers, follow_redirects=False)
        weakref.finalize(self, client.close)
        return client

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label values, in the order of the score columns."""
        return self._unsettled.classes

    @property
    def is_hard(self) -> bool:
        """Whether the endpoint only says labels."""
        return self._reader.is_hard

    @cached_property
    def _reader(self) -> Reader:
        """How answers are read, settled once by the answers to a few fixed rows."""
        rows = probe_rows(self.domain, _SETTLING_ROWS)
        return settle(self._unsettled, self._values(self._records(rows)), len(rows), self.settings.returns)

    def _records(self, rows: Rows) -> list[Any]:
        return records_of(rows, self.domain, self.settings.rows_as)

    @property
    def batch_rows(self) -> int:
        """Enough rows for every thread to send full requests."""
        return (1 if self._single else self.settings.batch_rows) * self.settings.concurrency * 4

    def scores(self, rows: Rows) -> Scores:
        """The endpoint's answers as scores."""
        if not len(rows):
            return np.zeros((0, len(self.classes)))
        reader = self._reader
        return reader.read(self._values(self._records(rows)), len(rows))

    def _values(self, records: list[Any]) -> list[Any]:
        keys = [self._key(record) for record in records] if self._answers else []
        known = self._answers.read(keys) if self._answers else {}
        wanted = [at for at in range(len(records)) if not (keys and keys[at] in known)]
        fresh = self._ask_all([records[at] for at in wanted])
        if self._answers:
            self._answers.write({keys[at]: value for at, value in zip(wanted, fresh, strict=True)})
        values: list[Any] = [None] * len(records)
        for at, value in zip(wanted, fresh, strict=True):
            values[at] = value
        for at in set(range(len(records))) - set(wanted):
            values[at] = known[keys[at]]
        return values

    def _key(self, record: Any) -> str:
        return hashlib.sha256(json.dumps([self._identity, record], sort_keys=True, default=str).encode()).hexdigest()

    @property
    def _identity(self) -> list[Any]:
        return [self.settings.url, self.settings.request, self.settings.answer, self.settings.rows_as]

    def _ask_all(self, records: list[Any]) -> list[Any]:
        size = 1 if self._single else self.settings.batch_rows
        batches = [records[at : at + size] for at in range(0, len(records), size)]
        if len(batches) <= 1 or self.settings.concurrency == 1:
            return [value for batch in batches for value in self._ask(batch)]
        pool = ThreadPoolExecutor(min(self.settings.concurrency, len(batches)))
        try:
            return [value for part in pool.map(self._ask, batches) for value in part]
        finally:
            pool.shutdown(cancel_futures=True)

    def _ask(self, records: list[Any]) -> list[Any]:
        answer = self._parsed(self._post(body_of(self.settings.request, records)))
        values = self._path.find(answer, self._hide(excerpt(json.dumps(answer))))
        if self._single and not (isinstance(values, list) and len(values) == 1):
            values = [values]
        if not isinstance(values, list) or len(values) != len(records):
            count = f"{len(values)} values" if isinstance(values, list) else f"one {type(values).__name__}"
            raise WrongAnswer(
                f"{self._name} answered {len(records)} rows with {count} at {self.settings.answer!r}; expected one per row.  "
                f"The answer begins: {self._hide(excerpt(json.dumps(answer)))}"
            )
        return values

    def _post(self, body: Any) -> Any:
        """The response, after as many tries as the settings allow."""
        for attempt in range(self.settings.retries + 1):
            self._wait_for_turn()
            response, fault, pause = self._attempt(body)
            if response is not None:
                return response
            if attempt == self.settings.retries:
                tries = f" (tried {attempt + 1} times)" if attempt else ""
                raise ModelFailed(f"{self._name} {fault}{tries}")
            time.sleep(pause if pause is not None else self._backoff(attempt))
        raise AssertionError("unreachable")

    def _backoff(self, attempt: int) -> float:
        # Jitter keeps many clients from returning at the same moment; no result depends on it.
        return float(self.settings.backoff_seconds * 2**attempt * secrets.SystemRandom().uniform(0.5, 1.0))

    def _attempt(self, body: Any) -> tuple[Any, str, float | None]:
        """A response; or none, what went wrong, and how long the endpoint asks to wait."""
        import httpx

        try:
            response = self._client.post(self._url, json=body)
        except httpx.TimeoutException:
            fault_text = f"did not answer within {self.settings.timeout_seconds:g} seconds; raise timeout_seconds or send smaller batches"
            return None, fault_text, None
        except httpx.TransportError as fault:
            return None, f"cannot be reached: {self._hide(str(fault))}; is it running, and is the URL right?", None
        if response.status_code in _RETRIED:
            return None, f"answered with status {response.status_code}: {self._hide(excerpt(response.text))}", _retry_after(response)
        if response.status_code >= 300:
            raise ModelFailed(f"{self._name} refused with status {response.status_code}: {self._hide(excerpt(response.text))}")
        return response, "", None

    def _parsed(self, response: Any) -> Any:
        try:
            return response.json()
        except ValueError:
            kind = response.headers.get("content-type", "no content type")
            what = "HTML" if "html" in kind.lower() or response.text.lstrip()[:1] == "<" else "text that is not JSON"
            raise WrongAnswer(
                f"{self._name} answered with {what} ({kind}); is the URL that of the prediction route?  "
                f"It begins: {self._hide(excerpt(response.text))}"
            ) from None

    def _wait_for_turn(self) -> None:
        if self.settings.requests_per_second is None:
            return
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next_request)
            self._next_request = turn + 1 / self.settings.requests_per_second
        time.sleep(max(0.0, turn - now))

    @property
    def _name(self) -> str:
        return f"the endpoint {self.settings.url}"

    def _hide(self, text: str) -> str:
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text

    def fingerprint(self) -> str:
        """A digest of URL and template as written; no header enters it."""
        return f"http-{hashlib.sha256(json.dumps(self._identity, sort_keys=True).encode()).hexdigest()[:24]}"


class _Answers:
    """Answers on disk, one per row, found by the request that the row would make alone."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._with(lambda base: base.execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, value TEXT NOT NULL)"))

    def _with(self, use: Callable[[sqlite3.Connection], Any]) -> Any:
        base: sqlite3.Connection | None = None
        try:
            base = sqlite3.connect(self._path, timeout=30)
            with base:
                return use(base)
        except sqlite3.Error as fault:
            raise ModelFailed(f"the answer cache {self._path} cannot be used: {fault}; delete it or name another file") from fault
        finally:
            if base is not None:
                base.close()

    def read(self, keys: list[str]) -> dict[str, Any]:
        """The known answers among these keys."""

        def use(base: sqlite3.Connection) -> dict[str, Any]:
            base.execute("CREATE TEMP TABLE wanted (key TEXT PRIMARY KEY)")
            base.executemany("INSERT OR IGNORE INTO wanted VALUES (?)", ((key,) for key in keys))
            return {key: json.loads(value) for key, value in base.execute("SELECT key, value FROM answers JOIN wanted USING (key)")}

        found: dict[str, Any] = self._with(use)
        return found

    def write(self, values: Mapping[str, Any]) -> None:
        """Keep new answers."""
        pairs = [(key, json.dumps(value)) for key, value in values.items()]
        self._with(lambda base: base.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", pairs))


def _retry_after(response: Any) -> float | None:
    text = response.headers.get("retry-after", "")
    try:
        return min(max(float(text), 0.0), 120.0)
    except ValueError:
        return None
