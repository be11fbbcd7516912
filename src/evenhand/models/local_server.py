"""Servers of ours on this computer: they answer to their own name only, to no page of another origin, and to those who know their token."""

from __future__ import annotations

import hmac
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from evenhand.errors import DataError

SECONDS_FOR_A_REQUEST = 30
LONGEST_LENGTH = 12
"""Digits of the length of a request."""


class LocalServer(ThreadingHTTPServer):
    """Listens on this computer only; `address` is where a person or a client finds it, token included."""

    daemon_threads = True

    def __init__(self, port: int, handler: type[LocalHandler], token: str) -> None:
        super().__init__(("127.0.0.1", port), handler)
        self.token = token

    @property
    def address(self) -> str:
        """With the token, which is the permission."""
        return f"http://127.0.0.1:{self.server_address[1]}/?token={self.token}"


class LocalHandler(BaseHTTPRequestHandler):
    """What both servers look at before they answer."""

    timeout = SECONDS_FOR_A_REQUEST

    def is_ours(self, token: str) -> bool:
        """Whether the request names this server, comes from no other site, and knows the token."""
        port = self.connection.getsockname()[1]
        names = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        origin = self.headers.get("Origin")
        if self.headers.get("Host") not in names or (origin is not None and origin not in {f"http://{name}" for name in names}):
            return False
        return hmac.compare_digest(self._token().encode(), token.encode())

    def _token(self) -> str:
        """In the address, as a header, or in the address of the page that asks."""
        for address in (self.path, self.headers.get("Referer", "")):
            if found := parse_qs(address.partition("?")[2]).get("token"):
                return found[0]
        return self.headers.get("X-Evenhand-Token", "")

    def content(self, most: int) -> bytes:
        """The request's body; DataError where its length is not told or too large."""
        told = self.headers.get("Content-Length", "")
        if not (told.isascii() and told.isdigit() and len(told) <= LONGEST_LENGTH and int(told) <= most):
            raise DataError(f"a request has a length of at most {most:,} bytes")
        return self.rfile.read(int(told))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the base class's name)
        """Keep silent."""
