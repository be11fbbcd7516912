"""Answers of endpoints that never end, swell or steal, and requests to the package's own servers from elsewhere."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from parts.hostile_cases import DOMAIN, ROWS, add, case


@contextmanager
def endpoint(answer: Callable[[socket.socket, int], None]) -> Iterator[str]:
    """A server that reads each request and then does as it likes with the connection."""
    server = socket.create_server(("127.0.0.1", 0))
    served = [0]

    def talk(connection: socket.socket) -> None:
        with connection:
            connection.settimeout(20)
            try:
                if _read_request(connection):
                    served[0] += 1
                    answer(connection, served[0])
            except OSError:
                pass

    def listen() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(connection,), daemon=True).start()

    threading.Thread(target=listen, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/predict"
    finally:
        server.close()


def _read_request(connection: socket.socket) -> bool:
    got = b""
    while b"\r\n\r\n" not in got:
        piece = connection.recv(65536)
        if not piece:
            return False
        got += piece
    head, _, body = got.partition(b"\r\n\r\n")
    length = next((int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")), 0)
    while len(body) < length:
        body += connection.recv(65536)
    return True


def response(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """A whole response."""
    told = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close"} | headers
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in told.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


def asked_over_http(answer: Callable[[socket.socket, int], None], **settings: Any) -> Callable[[Path], None]:
    """Ask a hostile endpoint; it must be over soon."""

    def attack(_: Path) -> None:
        from evenhand.models.http import HttpModel
        from evenhand.models.wrap import wrap

        wished = {"timeout_seconds": 1.5, "retries": 0, "backoff_seconds": 0.0, "concurrency": 1, "batch_rows": 1000} | settings
        started = time.monotonic()
        with endpoint(answer) as url:
            try:
                wrap(HttpModel(url, **wished), DOMAIN).scores(ROWS)
            finally:
                assert time.monotonic() - started < 15, "the deadline was not kept"

    return attack


def _endless(connection: socket.socket, _: int) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[")
    while True:
        connection.sendall(b"0," * 50_000)


def _trickle(connection: socket.socket, _: int) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        connection.sendall(b" ")
        time.sleep(0.2)


def _trickling_head(connection: socket.socket, _: int) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X-A: b\r\n")
        time.sleep(0.2)


def _endless_chunks(connection: socket.socket, _: int) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"10000\r\n" + b"0" * 65536 + b"\r\n")


def _trickling_chunks(connection: socket.socket, _: int) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"1\r\n \r\n")
        time.sleep(0.2)


def _always_continue(connection: socket.socket, _: int) -> None:
    while True:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.05)


def _trickling_refusal(connection: socket.socket, _: int) -> None:
    connection.sendall(b"HTTP/1.1 503 Down\r\nContent-Length: 100000\r\n\r\n")
    while True:
        connection.sendall(b" ")
        time.sleep(0.2)


def _silent(_connection: socket.socket, _: int) -> None:
    time.sleep(10)


def _says(content: Callable[[], bytes]) -> Callable[[socket.socket, int], None]:
    return lambda connection, _: connection.sendall(content())


def _bomb(times: int) -> bytes:
    packed = gzip.compress(b"\0" * (64 << 20))
    return packed if times == 1 else gzip.compress(packed)


GOOD = json.dumps({"predictions": [0.5] * 16}).encode()
HTTP_ANSWERS: dict[str, Callable[[], bytes]] = {
    "gzip_bomb": lambda: response(_bomb(1), Content_Encoding="gzip"),
    "gzip_twice": lambda: response(_bomb(2), Content_Encoding="gzip, gzip"),
    "deflate_bomb": lambda: response(zlib.compress(b"\0" * (64 << 20)), Content_Encoding="deflate"),
    "gzip_bomb_as_a_refusal": lambda: response(_bomb(1), "500 Broken", Content_Encoding="gzip"),
    "cut_gzip": lambda: response(gzip.compress(GOOD)[:-9], Content_Encoding="gzip"),
    "redirect_to_another_host": lambda: response(b"", "308 Moved", Location="http://127.0.0.1:9/steal"),
    "redirect_to_a_program": lambda: response(b"", "303 See", Location="javascript:alert(1)"),
    "list_of_lists": lambda: response(json.dumps({"predictions": [[[0.5]]] * 16}).encode()),
    "wrong_kinds": lambda: response(json.dumps({"predictions": [None, "a", True, {}] * 4}).encode()),
    "unasked_encoding": lambda: response(b"\x0b", Content_Encoding="br"),
    "broken_gzip": lambda: response(b"not gzip", Content_Encoding="gzip"),
    "too_deep": lambda: response(b"[" * 100_000),
    "too_deep_and_whole": lambda: response(b'{"a":' * 20_000 + b"1" + b"}" * 20_000),
    "million_digits": lambda: response(b'{"predictions": [' + b"9" * 1_000_000 + b"]}"),
    "not_numbers": lambda: response(b'{"predictions": [NaN, Infinity]}'),
    "html": lambda: response(b"<html>login</html>", Content_Type="text/html"),
    "broken_letters": lambda: response(b'{"predictions": "\xff\xfe"}'),
    "redirect_to_a_file": lambda: response(b"", "302 Found", Location="file:///etc/passwd"),
    "redirect_to_itself": lambda: response(b"", "307 Temporary Redirect", Location="/predict"),
    "wrong_length": lambda: response(GOOD, Content_Length="999999"),
    "length_below_zero": lambda: response(GOOD, Content_Length="-1"),
    "two_lengths": lambda: response(GOOD, Content_Length="5\r\nContent-Length: 6"),
    "no_http": lambda: b"SSH-2.0-OpenSSH_9.6\r\n",
    "huge_head": lambda: b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"b" * 2_000_000 + b"\r\n\r\n",
    "empty": lambda: response(b""),
    "too_many": lambda: response(json.dumps({"predictions": [0.5] * 500_000}).encode()),
    "other_names": lambda: response(b'{"error": "none of this"}'),
    "status_999": lambda: response(b"", "999 What"),
}
for _name, _content in HTTP_ANSWERS.items():
    add(f"http_{_name}", asked_over_http(_says(_content)))
add("http_endless", asked_over_http(_endless, timeout_seconds=0.5))
add("http_endless_chunks", asked_over_http(_endless_chunks, timeout_seconds=0.5))
add("http_trickling_chunks", asked_over_http(_trickling_chunks, timeout_seconds=0.5))
add("http_always_continue", asked_over_http(_always_continue, timeout_seconds=0.5))
add("http_trickling_refusal", asked_over_http(_trickling_refusal, timeout_seconds=0.5))
add("http_silent", asked_over_http(_silent, timeout_seconds=0.5))
add("http_trickle", asked_over_http(_trickle, timeout_seconds=0.5))
add("http_trickling_head", asked_over_http(_trickling_head, timeout_seconds=0.5))
for _number, _text in enumerate(("nan", "inf", "-5", "1e309", "9" * 5000, "Wed, 99 Foo 2015", "Wed, 21 Oct 2015 07:28:00 GMT", "\x00")):
    add(f"http_retry_after_{_number}", asked_over_http(_says(lambda text=_text: response(b"", "503 Down", Retry_After=text)), retries=1))


@case()
def http_secrets_sent_back(_: Path) -> None:
    """What is refused must not be shown: a password in the address, a key in a header, both echoed."""
    from evenhand.errors import EvenhandError
    from evenhand.models.http import HttpModel
    from evenhand.models.wrap import wrap

    echo = _says(lambda: response(b"you sent hunter2secret and sk-live-123456", "403 Forbidden"))
    with endpoint(echo) as url:
        settings = HttpModel(
            url.replace("//", "//me:hunter2secret@") + "?key=hunter2secret", headers={"X-Key": "sk-live-123456"}, retries=0
        )
        try:
            wrap(settings, DOMAIN).scores(ROWS)
        except EvenhandError as fault:
            if "hunter2secret" in str(fault) or "sk-live-123456" in f"{fault}{settings!r}{settings.connection!r}":
                raise RuntimeError("a secret was shown") from None
            raise


@case()
def http_secrets_in_every_dress(_: Path) -> None:
    """A password comes back decoded, quoted, and as the header that was made of it; none of these is shown."""
    import base64
    from urllib.parse import quote

    from evenhand.errors import EvenhandError
    from evenhand.models.http import HttpModel
    from evenhand.models.wrap import wrap

    password = "p@ss word/äö"
    dresses = (password, quote(password, safe=""), base64.b64encode(f"me:{password}".encode()).decode())
    echo = _says(lambda: response(json.dumps({"error": list(dresses)}, ensure_ascii=False).encode()))
    with endpoint(echo) as url:
        try:
            wrap(HttpModel(url.replace("//", f"//me:{quote(password, safe='')}@"), retries=0), DOMAIN).scores(ROWS)
        except EvenhandError as fault:
            if any(each in str(fault) for each in dresses):
                raise RuntimeError(f"a secret was shown: {fault}") from None
            raise


@case()
def http_redirect_carries_nothing_away(_: Path) -> None:
    """Another host is never asked, whatever the first one says."""
    from evenhand.models.http import HttpModel
    from evenhand.models.wrap import wrap

    stolen: list[int] = []
    with endpoint(lambda _connection, count: stolen.append(count)) as thief:
        send_on = _says(lambda: response(b"", "307 There", Location=thief))
        with endpoint(send_on) as url:
            try:
                wrap(HttpModel(url, headers={"Authorization": "Bearer sk-live-123456"}, retries=0), DOMAIN).scores(ROWS)
            finally:
                assert not stolen, "the redirect was followed"


@case(is_harmless=True)
def http_cookies_are_not_kept(_: Path) -> None:
    from evenhand.models.http_transport import Connection, RequestBody, Transport

    with endpoint(_says(lambda: response(GOOD, Set_Cookie="who=you; Path=/"))) as url:
        transport = Transport(Connection(url))
        transport.ask(RequestBody(json=[1]))
        assert not list(transport._client.cookies.jar)


# --- our own servers ---------------------------------------------------------------------------------------------------------------------


def _to_our_server(headers: dict[str, str], with_token: bool) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        import http.client

        from evenhand.verbs.study import serve

        server = serve([], folder / "study")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=5)
            path = f"/answers?token={server.token}" if with_token else "/answers"
            connection.request("POST", path, b"[]", headers)
            assert connection.getresponse().status == 403
            assert len(list((folder / "study").iterdir())) == 1  # the key and no answers
        finally:
            server.shutdown()
            server.server_close()

    return attack


add("study_without_its_token", _to_our_server({}, with_token=False), is_harmless=True)
add("study_under_another_name", _to_our_server({"Host": "evil.example"}, with_token=True), is_harmless=True)
add("study_from_another_site", _to_our_server({"Origin": "https://evil.example"}, with_token=True), is_harmless=True)


# --- running a case ----------------------------------------------------------------------------------------------------------------------
