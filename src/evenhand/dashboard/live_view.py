"""What goes on, told to open pages as it happens: server-sent events of running commands and searches."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from evenhand.dashboard.run_state import progress_of
from evenhand.dashboard.templating import dashboard_of
from evenhand.disk import read_sealed
from evenhand.errors import EvenhandError

if TYPE_CHECKING:
    from evenhand.dashboard.site import Dashboard

EVERY_SECONDS = 1.0
SILENT_ROUNDS = 15
"""After so many rounds without news a line is sent all the same, so that a closed page is noticed."""


def going_on(dashboard: Dashboard) -> dict[str, Any]:
    """Running commands and searches by id, each with its words and its share; share is null where nobody knows."""
    told: dict[str, Any] = {}
    for command in dashboard.commands.running():
        news = dashboard.commands.news(command)
        told[command.id] = {"words": news.words, "share": news.done / news.total if news.total else None, "state": "running"}
    for entry in dashboard.catalogue.entries():
        if entry.kind == "search" and entry.state == "running" and not entry.fault:
            told[entry.id] = _search(dashboard, entry.path)
    return told


def _search(dashboard: Dashboard, path: str) -> dict[str, Any]:
    folder = dashboard.catalogue.root / path
    try:
        progress = progress_of(folder, read_sealed(folder / "header.json").get("budget") or {})
    except (EvenhandError, AttributeError) as fault:
        return {"words": str(fault), "share": None, "state": "unreadable"}
    return {"words": progress.words, "share": progress.share, "state": progress.state}


async def events(request: Request) -> Response:
    """The stream; it ends when the page is closed, or the server is."""
    return StreamingResponse(_told(dashboard_of(request), request.app.state.is_ending), media_type="text/event-stream")


async def _told(dashboard: Dashboard, is_ending: Callable[[], bool]) -> AsyncIterator[str]:
    last, silent = "", 0
    while not is_ending():
        now = json.dumps(await run_in_threadpool(going_on, dashboard))
        if now != last or silent >= SILENT_ROUNDS:
            yield f"data: {now}\n\n"
            last, silent = now, 0
        silent += 1
        await anyio.sleep(EVERY_SECONDS)


ROUTES = [Route("/events", events)]
