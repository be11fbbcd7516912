"""A visitor of the dashboard for tests: the application is asked without a network."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlencode

import httpx

TOKEN = "the token of the tests"


@dataclass(frozen=True)
class RawAnswer:
    """What came back."""

    status_code: int
    text: str


class Visitor:
    """Asks the application without a network; keeps cookies and follows nothing."""

    def __init__(self, app: Any, headers: dict[str, str]) -> None:
        self.app, self.headers, self.cookies = app, headers, httpx.Cookies()

    def get(self, path: str, headers: dict[str, str] | None = None, cookies: dict[str, str] | None = None) -> httpx.Response:
        return asyncio.run(self._ask("GET", path, headers, cookies=cookies))

    def post(self, path: str, content: str | bytes = b"", headers: dict[str, str] | None = None) -> httpx.Response:
        return asyncio.run(self._ask("POST", path, headers, content))

    def send(self, path: str, **fields: str) -> httpx.Response:
        """A form with the token of our pages."""
        return self.post(path, urlencode({"form_token": self.app.state.dashboard.credentials.form_token, **fields}))

    async def _ask(self, method: str, path: str, headers: Any, content: Any = None, cookies: Any = None) -> httpx.Response:
        kept = {**dict(self.cookies), **(cookies or {})}
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765", cookies=kept) as client:
            answer = await client.request(method, path, content=content, headers={**self.headers, **(headers or {})})
        self.cookies.update(answer.cookies)
        return answer

    def raw(self, path: str) -> RawAnswer:
        """A path exactly as it is written, dots and all, which a client would put in order first."""
        sent: list[dict[str, Any]] = []
        scope = {
            "type": "http", "method": "GET", "path": unquote(path), "raw_path": path.encode(), "query_string": b"", "root_path": "",
            "scheme": "http", "http_version": "1.1", "server": ("127.0.0.1", 8765), "client": ("127.0.0.1", 1),
            "headers": [(b"host", b"127.0.0.1:8765"), *((name.encode(), value.encode()) for name, value in self.headers.items())],
        }  # fmt: skip

        waiting = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0)
            return waiting.pop() if waiting else {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        asyncio.run(self.app(scope, receive, send))
        return RawAnswer(sent[0]["status"], b"".join(message.get("body", b"") for message in sent).decode("utf-8", "replace"))
