"""Serves the dashboard to this machine, on a port of 127.0.0.1, until Ctrl-C."""

from __future__ import annotations

import secrets
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from evenhand.dashboard.guard import Credentials
from evenhand.dashboard.site import build
from evenhand.errors import InvalidArgument

DEFAULT_PORT = 8765
TRIED_PORTS = 20


def serve(store: Path, port: int | None, is_trusted: bool, tell: Callable[[str], None]) -> None:
    """Listen, say where, and answer until Ctrl-C.  Without a port, the first free one from 8765 on is taken."""
    if not store.is_dir():
        raise InvalidArgument(f"--store {store}: there is no such folder; name one that holds runs and results")
    listening = listen(port)
    credentials = Credentials(secrets.token_urlsafe(32), listening.getsockname()[1])
    app = build(store, credentials, is_trusted)
    app.state.dashboard.catalogue.refresh()
    tell(f"Dashboard of {store.resolve()}: {credentials.address}")
    tell("Only this machine can reach it, and only with this address.  Ctrl-C ends it; scans that were started from it go on.")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background: commands started from here must hear Ctrl-C
        signal.signal(signal.SIGINT, signal.default_int_handler)
    settings = uvicorn.Config(app, log_level="error", access_log=False, server_header=False, timeout_graceful_shutdown=3, lifespan="off")
    server = uvicorn.Server(settings)
    app.state.is_ending = lambda: server.should_exit
    server.run(sockets=[listening])


def listen(port: int | None) -> socket.socket:
    """A socket of this machine only, on the given port or on the first free one."""
    wanted = [port] if port is not None else [*range(DEFAULT_PORT, DEFAULT_PORT + TRIED_PORTS), 0]
    for one in wanted:
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind(("127.0.0.1", one))
            made.listen()  # at once: whoever follows the printed address waits instead of being refused
            return made
        except OSError:
            made.close()
    raise InvalidArgument(f"--port {port}: the port is in use; choose another, or leave it out")
