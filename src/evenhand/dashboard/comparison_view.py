"""Two results side by side, or several over time: better, worse, new, gone; judged by `compare`, shown in the report's sections."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evenhand.dashboard.catalogue import StoreEntry
from evenhand.dashboard.run_view import load, main_of, without_pictures
from evenhand.dashboard.templating import dashboard_of, page
from evenhand.errors import EvenhandError
from evenhand.report.record import read

MOST_CHOICES = 300
"""Results that can be chosen from a list; an older one is compared from its own page."""


async def comparison(request: Request) -> Response:
    """The choice of two results, and what `compare` says of them; or of several, where an address names them."""
    several = len(request.query_params.getlist("run")) > 1
    return await run_in_threadpool(_over_time if several else _comparison, request)


def _over_time(request: Request) -> Response:
    """Several runs, the oldest first."""
    catalogue, wanted = dashboard_of(request).catalogue, request.query_params.getlist("run")[:MOST_CHOICES]
    known = {entry.id: entry for entry in catalogue.entries() if entry.kind == "result" and not entry.fault}
    runs = sorted((known[each] for each in dict.fromkeys(wanted) if each in known), key=lambda entry: entry.moment)
    context: dict[str, Any] = {"title": "Over time", "runs": runs, "fault": "", "told": None}
    try:
        context["told"] = _series_told(catalogue.root, tuple(runs))
    except EvenhandError as fault:
        context["fault"] = str(fault)
    return page(request, "over_time_view.html.j2", context)


def _comparison(request: Request) -> Response:
    catalogue = dashboard_of(request).catalogue
    known = [entry for entry in catalogue.entries() if entry.kind == "result" and not entry.fault and entry.estimate is not None]
    chosen = [next((entry for entry in known if entry.id == request.query_params.get(name)), None) for name in ("first", "second")]
    chosen[0] = chosen[0] or _before(chosen[1], known)
    choices = known[:MOST_CHOICES] + [entry for entry in chosen if entry is not None and entry not in known[:MOST_CHOICES]]
    context: dict[str, Any] = {"title": "Compare", "choices": choices, "first": chosen[0], "second": chosen[1], "fault": "", "told": None}
    if chosen[0] is not None and chosen[1] is not None:
        try:
            context["told"] = _told(catalogue.root, chosen[0], chosen[1])
        except EvenhandError as fault:
            context["fault"] = str(fault)
    return page(request, "compare.html.j2", context)


def _before(entry: StoreEntry | None, known: Sequence[StoreEntry]) -> StoreEntry | None:
    """The last run of the same thing before this one."""
    if entry is None:
        return None
    alike = [each for each in known if each.moment < entry.moment and _thing(each) == _thing(entry)]
    return max(alike, key=lambda each: each.moment, default=None)


def _thing(entry: StoreEntry) -> object:
    return entry.verb, entry.data, entry.medium, entry.protected


@lru_cache(maxsize=16)
def _told(root: Path, first: StoreEntry, second: StoreEntry) -> Markup:
    """What the report says of the comparison; entries carry their file's time, so that a changed file is compared again."""
    from evenhand.verbs.compare import compare

    before, after = (without_pictures(load(root / entry.path)) for entry in (first, second))
    made = compare(before, after)
    return Markup(main_of(read(made.as_dict())))  # noqa: S704 - escaped by the report


@lru_cache(maxsize=16)
def _series_told(root: Path, runs: tuple[StoreEntry, ...]) -> Markup:
    """What the report says of several results over time."""
    from evenhand.verbs.compare import compare_over_time

    contents = [without_pictures(load(root / entry.path)) for entry in runs]
    made = compare_over_time(contents, names=[entry.path for entry in runs])
    return Markup(main_of(read(made.as_dict())))  # noqa: S704 - escaped by the report


ROUTES = [Route("/compare", comparison)]
