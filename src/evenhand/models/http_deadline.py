"""A deadline for a whole answer, headers and body: the connection's own clock only runs between two pieces of it.

A body that trickles, one that never ends and one that unfolds without end are all cut off here.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from evenhand.errors import WrongAnswer, require

MOST_ANSWER_BYTES = 8 << 20
"""So much an answer may hold, unfolded: some thirty thousand bytes for each of a usual request's rows."""

MOST_EXCERPT_BYTES = 4096
_CLOCK = threading.local()


class TooLate(Exception):
    """The deadline has passed."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Everything that this thread reads from a connection inside the block must come in time."""
    _CLOCK.ends = time.monotonic() + seconds
    try:
        yield
    finally:
        _CLOCK.ends = None


def seconds_left(most: float | None) -> float | None:
    """How long the next piece may take."""
    ends = getattr(_CLOCK, "ends", None)
    if ends is None:
        return most
    left = float(ends - time.monotonic())
    if left <= 0:
        raise TooLate
    return left if most is None else min(most, left)


@dataclass
class HurriedStream:
    """A network stream of httpcore whose every step keeps the deadline of its thread."""

    stream: Any

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Some bytes."""
        return bytes(self.stream.read(max_bytes, seconds_left(timeout)))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """All bytes."""
        self.stream.write(buffer, seconds_left(timeout))

    def close(self) -> None:
        """Let go."""
        self.stream.close()

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> HurriedStream:
        """The same over TLS."""
        return HurriedStream(self.stream.start_tls(ssl_context, server_hostname, seconds_left(timeout)))

    def get_extra_info(self, info: str) -> Any:
        """What the stream knows."""
        return self.stream.get_extra_info(info)


@dataclass
class HurriedBackend:
    """A network backend of httpcore that makes such streams."""

    backend: Any

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, local_address: Any = None, socket_options: Any = None) -> Any:
        """A connection."""
        return HurriedStream(self.backend.connect_tcp(host, port, seconds_left(timeout), local_address, socket_options))

    def connect_unix_socket(self, path: str, timeout: float | None = None, socket_options: Any = None) -> Any:
        """A connection on this machine."""
        return HurriedStream(self.backend.connect_unix_socket(path, seconds_left(timeout), socket_options))

    def sleep(self, seconds: float) -> None:
        """Wait."""
        self.backend.sleep(seconds)


def hurried_client(timeout_seconds: float, headers: dict[str, str], keeps_open: bool = True) -> Any:
    """A client that follows no redirect, keeps no cookie, and whose connections keep deadlines.

    keeps_open: whether a connection serves several requests.
    """
    from http.cookiejar import DefaultCookiePolicy

    httpx = require("httpx", "http")
    told = headers if "accept-encoding" in map(str.lower, headers) else {"Accept-Encoding": "gzip, deflate", **headers}
    told = told if keeps_open else {**told, "Connection": "close"}
    client = httpx.Client(timeout=timeout_seconds, headers=told, follow_redirects=False)
    client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    for transport in (client._transport, *client._mounts.values()):
        pool: Any = getattr(transport, "_pool", None)
        if hasattr(pool, "_network_backend"):  # private, but the only place; without it single pieces still have their limit
            pool._network_backend = HurriedBackend(pool._network_backend)
    return client


def body_of_answer(response: Any, most: int = MOST_ANSWER_BYTES) -> bytes:
    """The unfolded body of a response that is being streamed; WrongAnswer where it is larger than it may be."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    unfold = _unfolder(encoding)
    body = bytearray()
    for piece in response.iter_raw(1 << 16):
        seconds_left(None)
        body += unfold(piece, most + 1 - len(body))
        if len(body) > most:
            raise WrongAnswer(f"answered with more than {most:,} bytes; is the URL that of the prediction route?  Send smaller batches")
    return bytes(body)


def _unfolder(encoding: str) -> Any:
    """From bytes as they came and the most that may come of them to bytes as they were meant."""
    if encoding in ("", "identity"):
        return lambda piece, _most: piece
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise WrongAnswer(f"answered in the encoding {encoding[:40]!r}, which was not asked for; expected plain text, gzip or deflate")
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 32 if encoding != "deflate" else zlib.MAX_WBITS)

    def unfold(piece: bytes, most: int) -> bytes:
        try:
            return inflater.decompress(piece, most)
        except zlib.error as fault:
            raise WrongAnswer(f"answered with a body that is not {encoding}: {fault}") from None

    return unfold
