"""One run: the report's sections of a result, or where a search stands; its files in every format, and its pictures."""

from __future__ import annotations

import base64
import binascii
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from evenhand import report
from evenhand.dashboard.catalogue import StoreEntry
from evenhand.dashboard.run_state import progress_of, read_log
from evenhand.dashboard.templating import dashboard_of, page, refused
from evenhand.disk import below, read_sealed
from evenhand.errors import EvenhandError
from evenhand.report import page as report_page
from evenhand.report import words
from evenhand.report.lead import outcome_word
from evenhand.report.record import Record, read
from evenhand.report.shown import DATA_URI, with_pictures

MEDIA_TYPES = {"html": "text/html", "json": "application/json", "csv": "text/csv", "junit": "application/xml", "sarif": "application/json"}
_STANDS_IN = "EVENHANDPICTURE"
_STAND_IN = re.compile(rf"{re.escape(DATA_URI)}{_STANDS_IN}(\d+)X([a-z]+)X")


@dataclass(frozen=True)
class ShownRun:
    """What a page of a result holds: its title, and everything that the report says of it, with pictures that are fetched by themselves."""

    title: str
    verdict: Markup
    main: Markup  # what follows the verdict
    record: Record


@lru_cache(maxsize=8)
def loaded(path: Path, modified: int) -> dict[str, Any]:  # noqa: ARG001 - a file of another time is another result
    """A result with its pictures, read once for each state of its file."""
    return with_pictures(report.load(path), [path.parent])


def load(path: Path) -> dict[str, Any]:
    """A result as it is now."""
    return loaded(path, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=16)
def _shown(path: Path, modified: int, identity: str) -> ShownRun:
    """Pictures are left out of the page, which names where each is."""
    whole = loaded(path, modified)
    record = read(without_pictures(whole))
    main = _STAND_IN.sub(rf"/runs/{identity}/pictures/\1/\2", main_of(record))
    verdict, end, rest = main.partition("</section>")
    return ShownRun(title_of(record), Markup(verdict + end), Markup(rest), record)  # noqa: S704 - escaped by the report


def main_of(record: Record) -> str:
    """The main part of the report's page: what stands in it is escaped, so that only its own template can open and close it."""
    return report_page.render(record).split("<main>", 1)[1].rsplit("</main>", 1)[0]


def title_of(record: Record) -> str:
    """The outcome, and of what."""
    name = record.header.data.name
    return f"{outcome_word(record)}: {words.text(name, 80) if name else report_page.TITLES[record.verb]}"


def shown_of(path: Path, identity: str) -> ShownRun:
    """What the page of a result holds, made once for each state of its file."""
    return _shown(path, path.stat().st_mtime_ns, identity)


def without_pictures(result: Mapping[str, Any]) -> dict[str, Any]:
    """The result with a short stand-in for every picture: the report is made of it in milliseconds, however large they are."""
    pairs = [
        {**pair, "pictures": {side: f"{DATA_URI}{_STANDS_IN}{place}X{side}X" for side in pair.get("pictures") or {} if side.isalpha()}}
        if isinstance(pair, Mapping)
        else pair
        for place, pair in enumerate(result.get("witnesses") or [])
    ]
    body = result.get("body") or {}
    sheets = [
        {**sheet, "picture": f"{DATA_URI}{_STANDS_IN}{place}XsheetX"} if isinstance(sheet, Mapping) and sheet.get("picture") else sheet
        for place, sheet in enumerate(body.get("sheets") or [])
    ]
    return {**result, "witnesses": pairs, "body": {**body, "sheets": sheets}}


def found_entry(request: Request) -> StoreEntry | None:
    """The entry that the address names."""
    return dashboard_of(request).catalogue.entry(request.path_params["run"])


async def run(request: Request) -> Response:
    """The page of a result or of a search."""
    return await run_in_threadpool(_run, request)


def _run(request: Request) -> Response:
    entry = found_entry(request)
    if entry is None:
        return refused(request, "There is no such run in this store; it may have been moved or removed.")
    if entry.fault:
        return page(request, "unreadable.html.j2", {"title": "A file that cannot be read", "entry": entry})
    return _search(request, entry) if entry.kind == "search" else _result(request, entry)


def _result(request: Request, entry: StoreEntry) -> Response:
    catalogue = dashboard_of(request).catalogue
    path = catalogue.path(entry)
    shown = shown_of(path, entry.id)
    context = {
        "title": shown.title,
        "heading": report_page.TITLES[shown.record.verb],
        "entry": entry,
        "verdict": shown.verdict,
        "main": shown.main,
        "searches": catalogue.searches_of(entry),
        "project": catalogue.project_near(entry),
        "pairs": len(shown.record.witnesses),
        "first_pair": shown.record.witnesses[0].id if shown.record.witnesses else "",
        "is_interrupted": any(done.is_interrupted for done in shown.record.body.runs),
        "formats": list(report.known_formats()),
    }
    return page(request, "run.html.j2", context)


def _search(request: Request, entry: StoreEntry) -> Response:
    dashboard = dashboard_of(request)
    folder = dashboard.catalogue.path(entry)
    header = read_sealed(folder / "header.json")
    progress = progress_of(folder, header.get("budget") or {})
    context = {
        "title": f"Search with {entry.methods[0]}",
        "entry": entry,
        "header": {name: _known(value) for name, value in header.items()},
        "progress": progress,
        "log": read_log(folder)[-50:],
        "project": dashboard.catalogue.project_near(entry),
        "command": next((c for c in dashboard.commands.running() if c.process == progress.process), None),
        "elapsed": time.time() - progress.since if progress.since else 0.0,
    }
    return page(request, "search.html.j2", context)


def _known(value: Any) -> Any:
    """The same without what was left open."""
    return {name: each for name, each in value.items() if each not in (None, [], "")} if isinstance(value, Mapping) else value


async def formatted(request: Request) -> Response:
    """A result in another format, to be kept."""
    return await run_in_threadpool(_formatted, request)


def _formatted(request: Request) -> Response:
    entry, name = found_entry(request), request.path_params["format"]
    if entry is None or entry.kind != "result" or entry.fault or name not in report.known_formats():
        return refused(request, "There is no such result, or no such format.")
    text = report.render(load(dashboard_of(request).catalogue.path(entry)), name)
    ending = report.known_formats()[name][0]
    file = f'attachment; filename="evenhand-{entry.id}{ending}"'
    return Response(text, media_type=MEDIA_TYPES.get(name, "text/plain"), headers={"content-disposition": file})


async def picture(request: Request) -> Response:
    """A picture of a pair, or a contact sheet."""
    return await run_in_threadpool(_picture, request)


def _picture(request: Request) -> Response:
    entry, side = found_entry(request), request.path_params["side"]
    if entry is None or entry.kind != "result" or entry.fault:
        return PlainTextResponse("there is no such result", 404)
    try:
        result = load(dashboard_of(request).catalogue.path(entry))
        held = result["body"]["sheets"] if side == "sheet" else result["witnesses"]
        one = held[request.path_params["place"]]
        uri = str(one["picture"] if side == "sheet" else one["pictures"][side])
        content = base64.b64decode(uri.removeprefix(DATA_URI), validate=True)
    except (EvenhandError, KeyError, IndexError, TypeError, binascii.Error):
        return PlainTextResponse("there is no such picture", 404)
    return Response(content, media_type="image/png", headers={"cache-control": "private, max-age=3600"})


async def stored_file(request: Request) -> Response:
    """A file of a search's folder as it is: a part of its findings, its log."""
    entry = found_entry(request)
    if entry is None or entry.kind != "search":
        return refused(request, "There is no such search.")
    folder = dashboard_of(request).catalogue.path(entry)
    path = below(folder, request.path_params["name"])
    if path is None:
        return refused(request, "This path leads out of the store.", 403)
    if not path.is_file():
        return refused(request, "There is no such file in the search's folder.")
    return FileResponse(path, filename=path.name, media_type="application/octet-stream")


ROUTES = [
    Route("/runs/{run}", run),
    Route("/runs/{run}/as/{format}", formatted),
    Route("/runs/{run}/pictures/{place:int}/{side}", picture),
    Route("/runs/{run}/files/{name:path}", stored_file),
]
