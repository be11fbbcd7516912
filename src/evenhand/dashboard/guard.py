"""Who may ask: only this machine, only with the token, only pages of our own; and what every answer tells the browser to refuse."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER = "x-evenhand-token"  # noqa: S105 - a name
FORM_HEADER = "x-evenhand-form"
FORM_FIELD = "form_token"
MOST_BODY_BYTES = 2_000_000

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
MOVES_ON = (
    '<!doctype html><html lang="en"><meta http-equiv="refresh" content="0;url=/"><link rel="icon" href="data:,">'
    '<title>Evenhand</title><p><a href="/">Go on</a></p></html>'
)
ANSWER_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # without any referrer a browser sends our own forms with the origin "null"
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Credentials:
    """The token that opens the dashboard, and what is derived from it.

    >>> keys = Credentials("secret", 8765)
    >>> keys.opens("secret"), keys.opens("guess")
    (True, False)
    """

    token: str
    port: int

    @property
    def cookie(self) -> str:
        """The name of the cookie; two dashboards on two ports do not share it."""
        return f"evenhand_{self.port}"

    @property
    def form_token(self) -> str:
        """What every form carries, so that no other page can send one."""
        return hmac.new(self.token.encode(), b"form", hashlib.sha256).hexdigest()

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names under which this machine may be asked."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    @property
    def address(self) -> str:
        """Where a person goes."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def opens(self, given: str) -> bool:
        """Whether this is the token."""
        return hmac.compare_digest(given.encode(), self.token.encode())

    def allows_form(self, given: str) -> bool:
        """Whether a form comes from one of our pages."""
        return hmac.compare_digest(given.encode(), self.form_token.encode())


class Guard:
    """Stands before every page; refuses with the reason, and tells the browser what a page may do."""

    def __init__(self, app: ASGIApp, credentials: Credentials) -> None:
        self.app, self.credentials = app, credentials

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let through what may pass."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        answer = self._refusal(scope, headers) or self._entry(scope)
        if answer is None and scope["method"] not in ("GET", "HEAD"):
            body = await _body(receive)
            answer = self._form_refusal(headers, body)
            receive = _again(body or b"")
        await (answer or self.app)(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Another host, another origin or another site is refused whatever it knows; then the token decides."""
        if headers.get("host", "") not in self.credentials.hosts:
            return PlainTextResponse("refused: this dashboard answers only at 127.0.0.1 and localhost", 403)
        origins = {f"http://{host}" for host in self.credentials.hosts}
        if headers.get("origin", "") not in {"", *origins} or (headers.get("sec-fetch-site", "none") == "cross-site" and _is_part(headers)):
            return PlainTextResponse("refused: the request comes from another site", 403)
        if not any(self.credentials.opens(given) for given in self._given(scope, headers)):
            return PlainTextResponse("refused: open the address that `evenhand dashboard` has printed; it holds the token", 403)
        return None

    def _given(self, scope: Scope, headers: Headers) -> Iterable[str]:
        yield headers.get(TOKEN_HEADER, "")
        yield cookie_parser(headers.get("cookie", "")).get(self.credentials.cookie, "")
        yield _asked(scope)

    def _entry(self, scope: Scope) -> Response | None:
        """The printed address: the token goes into a cookie, and out of the address bar.

        A page that moves on by itself, no redirect: the cookie is kept from other sites, and a redirect from one would still be theirs.
        """
        if not _asked(scope) or scope["method"] != "GET":
            return None
        answer = HTMLResponse(MOVES_ON)
        answer.set_cookie(self.credentials.cookie, self.credentials.token, httponly=True, samesite="strict", path="/")
        return answer

    def _form_refusal(self, headers: Headers, body: bytes | None) -> Response | None:
        if body is None:
            return PlainTextResponse(f"refused: more than {MOST_BODY_BYTES:,} bytes were sent", 413)
        told = headers.get(FORM_HEADER, "") or form_of(body).get(FORM_FIELD, "")
        if not self.credentials.allows_form(told):
            return PlainTextResponse("refused: the form has no valid token; load its page again", 403)
        return None


def form_of(body: bytes) -> dict[str, str]:
    """The fields of a sent form; of a field that is there several times, all values, one on each line."""
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=5_000)
    return {name: "\n".join(values) for name, values in fields.items()}


def _asked(scope: Scope) -> str:
    """The token in the address."""
    query: bytes = scope.get("query_string", b"")
    return parse_qs(query.decode("latin-1")).get("token", [""])[0]


def _is_part(headers: Headers) -> bool:
    """Whether something is fetched for another page rather than opened by a person."""
    return headers.get("sec-fetch-mode", "") != "navigate" or headers.get("sec-fetch-dest", "") != "document"


async def _body(receive: Receive) -> bytes | None:
    """Everything that was sent; None when it is too much."""
    found: bytes = b""
    while True:
        message = await receive()
        found += message.get("body", b"")
        if len(found) > MOST_BODY_BYTES:
            return None
        if message["type"] != "http.request" or not message.get("more_body", False):
            return found


def _again(body: bytes) -> Receive:
    """A receiver that gives what was read already."""
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            return {"type": "http.disconnect"}
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in ANSWER_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
