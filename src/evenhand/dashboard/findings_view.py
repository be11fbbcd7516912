"""The findings of a search as a table, or as pictures and texts, one page at a time however many there are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from evenhand.dashboard.found_rows import TESTS, FindingsWish, FoundPage, FoundRows
from evenhand.dashboard.opened_subjects import OpenedSubject
from evenhand.dashboard.run_view import found_entry
from evenhand.dashboard.templating import Paging, dashboard_of, page, refused, sort_heads
from evenhand.engine.findings import RESERVED
from evenhand.errors import EvenhandError
from evenhand.media.album import as_bytes
from evenhand.media.png import png_bytes
from evenhand.report import words

PER_PAGE = 50
SHOWN_PER_PAGE = 12
"""Pairs of pictures or texts on one page."""
SHORTEST_WAIT = 0.1
LONGEST_WAIT = 120.0
"""Seconds that a picture waits for its data to be opened."""


@dataclass(frozen=True)
class FindingLine:
    """One finding in words: its cells, what its twin's cells are where they differ, and both outcomes."""

    number: int
    cells: tuple[tuple[str, str], ...]  # value, and the twin's value where it is another
    outcome: str
    twin_outcome: str
    gap: str
    rest: tuple[tuple[str, str], ...]


def wish_of(request: Request) -> FindingsWish:
    """By the address."""
    asked = request.query_params
    test = next((each for each in TESTS if each == asked.get("test")), TESTS[0])
    value = asked.get("value", "")[:300]
    where = asked.get("where", "") if value else ""
    return FindingsWish(asked.get("sort", ""), asked.get("order") == "down", where, test, value)


def lines_of(found: FoundPage) -> list[FindingLine]:
    """A page of findings in words."""
    plain = [place for place, name in enumerate(found.columns) if not name.startswith(RESERVED)]
    at = {name: place for place, name in enumerate(found.columns)}
    return [_line(int(number), line, plain, at, found) for number, line in zip(found.numbers, found.cells, strict=True)]


def _line(number: int, line: tuple[Any, ...], plain: list[int], at: dict[str, int], found: FoundPage) -> FindingLine:
    cells = []
    for place in plain:
        twin = at.get(f"{RESERVED}twin.{found.columns[place]}")
        differs = twin is not None and not _same(line[place], line[twin])
        cells.append((_cell(line[place]), _cell(line[twin]) if differs and twin is not None else ""))
    said = [words.text(line[at[name]]) if name in at else "" for name in (f"{RESERVED}outcome", f"{RESERVED}twin_outcome")]
    gap = line[at[f"{RESERVED}gap"]] if f"{RESERVED}gap" in at else None
    rest = [(name.removeprefix(RESERVED), words.text(line[at[name]])) for name in ADDED if name in at]
    return FindingLine(number, tuple(cells), said[0], said[1], "" if gap is None else f"{gap:.3g}", tuple(rest))


ADDED = tuple(f"{RESERVED}{name}" for name in ("phase", "candidate", "valid"))


def _cell(value: Any) -> str:
    """A cell in words; a number with as many digits as a reader compares."""
    return f"{value:.5g}" if isinstance(value, float) and abs(value) < 1e5 and math.isfinite(value) else words.text(value)


def _same(one: Any, other: Any) -> bool:
    both_missing = all(value is None or (isinstance(value, float) and math.isnan(value)) for value in (one, other))
    return both_missing or bool(one == other)


async def findings(request: Request) -> Response:
    """The table, or the gallery."""
    return await run_in_threadpool(_findings, request)


def _findings(request: Request) -> Response:
    entry = found_entry(request)
    if entry is None or entry.kind != "search" or entry.fault:
        return refused(request, "There is no such search in this store.")
    dashboard = dashboard_of(request)
    rows, wish = FoundRows.below(dashboard.catalogue.path(entry)), wish_of(request)
    project = dashboard.catalogue.project_near(entry)
    is_gallery = entry.medium != "table" and project is not None and request.query_params.get("view", "pairs") == "pairs"
    length = SHOWN_PER_PAGE if is_gallery else PER_PAGE
    paging = Paging.of(request, rows.total(wish), length)
    found = rows.page(wish, paging.start, length)
    plain = [name for name in found.columns if not name.startswith(RESERVED)]
    titles = {name: words.text(name, 60) for name in plain} | {
        f"{RESERVED}{name}": title
        for name, title in (("outcome", "Outcome"), ("twin_outcome", "Twin's outcome"), ("gap", "Gap"))
        if f"{RESERVED}{name}" in found.columns
    }
    context = {
        "title": f"Findings of {entry.methods[0]}",
        "entry": entry,
        "lines": lines_of(found),
        "plain": plain,
        "heads": sort_heads(request, titles, wish.sort, wish.is_descending),
        "paging": paging,
        "wish": wish,
        "tests": TESTS,
        "total": rows.count,
        "project": project,
        "is_gallery": is_gallery,
        "shows_pictures": entry.medium in ("album", "portraits", "scenes", "streets"),
        "texts": _texts(dashboard.subjects.of(project), rows, found) if is_gallery and project and entry.medium == "text" else {},
        "parts": [part.name for part in rows.parts[:200]],
    }
    made = page(request, "findings.html.j2", context)
    if (
        is_gallery
        and entry.medium == "text"
        and found.cells
        and not context["texts"]
        and project
        and not dashboard.subjects.of(project).fault
    ):
        made.headers["refresh"] = "2"  # the data is being opened beside
    return made


def _texts(subject: OpenedSubject, rows: FoundRows, found: FoundPage) -> dict[int, tuple[str, str]]:
    """Both texts of every finding on a page; empty while the data is not open."""
    subject.looked.wait(SHORTEST_WAIT)
    if not subject.has_data or subject.medium is None:
        return {}
    shown = {}
    for number in found.numbers:
        pair = np.array([rows.codes(int(number), side) for side in ("row", "twin")])
        first, second = subject.medium.show(pair)
        shown[int(number)] = words.text(first, 2000), words.text(second, 2000)
    return shown


async def shown_side(request: Request) -> Response:
    """What a row of a finding shows, as a picture."""
    return await run_in_threadpool(_shown_side, request)


def _shown_side(request: Request) -> Response:
    entry, side = found_entry(request), request.path_params["side"]
    dashboard = dashboard_of(request)
    project = dashboard.catalogue.project_near(entry) if entry is not None else None
    if entry is None or entry.kind != "search" or project is None or side not in ("row", "twin"):
        return PlainTextResponse("there is no such picture", 404)
    subject = dashboard.subjects.of(project)
    subject.looked.wait(LONGEST_WAIT)
    with subject.lock:
        if subject.medium is None:
            return PlainTextResponse("the project's data cannot be opened", 404)
        try:
            codes = FoundRows.below(dashboard.catalogue.path(entry)).codes(request.path_params["number"], side)
            shown = subject.medium.show(np.array([codes]))
            return Response(png_bytes(as_bytes(np.asarray(shown[0]))), media_type="image/png", headers=_KEPT)
        except (EvenhandError, IndexError, ValueError, TypeError):
            return PlainTextResponse("this picture was made by the search and is not kept", 404)


_KEPT = {"cache-control": "private, max-age=600"}

ROUTES = [
    Route("/runs/{run}/findings", findings),
    Route("/runs/{run}/findings/{number:int}/{side}", shown_side),
]
