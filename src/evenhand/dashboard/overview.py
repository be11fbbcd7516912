"""All runs of a store, of every verb and medium: filtered, sorted, one page at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evenhand.dashboard.catalogue import StoreEntry
from evenhand.dashboard.templating import Paging, dashboard_of, page, sort_heads

PER_PAGE = 50
TITLES = {"when": "When", "verb": "Verb", "data": "Data", "medium": "Medium", "rate": "Rate and interval", "status": "Status"}
KEYS: Mapping[str, Callable[[StoreEntry], Any]] = {
    "when": lambda entry: entry.moment,
    "verb": lambda entry: entry.verb,
    "data": lambda entry: entry.data.casefold(),
    "medium": lambda entry: entry.medium,
    "rate": lambda entry: -1.0 if entry.estimate is None else entry.estimate,
    "status": lambda entry: entry.status,
}


@dataclass(frozen=True)
class RunFilter:
    """Which runs a reader wants to see; an empty word lets everything through."""

    words: str = ""
    verb: str = ""
    medium: str = ""
    status: str = ""

    @classmethod
    def of(cls, request: Request) -> RunFilter:
        """By the address."""
        asked = request.query_params
        return cls(asked.get("q", "")[:200].strip(), asked.get("verb", ""), asked.get("medium", ""), asked.get("status", ""))

    def passes(self, entry: StoreEntry) -> bool:
        """Whether a run is to be seen."""
        exact = ((self.verb, entry.verb), (self.medium, entry.medium), (self.status, entry.status))
        told = " ".join((entry.data, entry.path, entry.reason, *entry.methods, *entry.protected)).casefold()
        return all(not wanted or wanted == found for wanted, found in exact) and all(word in told for word in self.words.casefold().split())


async def runs(request: Request) -> Response:
    """The list."""
    return await run_in_threadpool(_runs, request)


def _runs(request: Request) -> Response:
    every = dashboard_of(request).catalogue.entries()
    wanted = RunFilter.of(request)
    sort, is_descending = request.query_params.get("sort", "when"), request.query_params.get("order", "down") == "down"
    sort = sort if sort in KEYS else "when"
    found = sorted((entry for entry in every if wanted.passes(entry)), key=KEYS[sort], reverse=is_descending)
    paging = Paging.of(request, len(found), PER_PAGE)
    shown = found[paging.start : paging.last]
    context = {
        "title": "Runs",
        "entries": shown,
        "most": max((entry.high or 0.0 for entry in shown), default=0.0) or 1.0,
        "paging": paging,
        "heads": sort_heads(request, TITLES, sort, is_descending),
        "wanted": wanted,
        "sort": sort,
        "order": "down" if is_descending else "up",
        "verbs": _values(every, "verb", wanted.verb),
        "media": _values(every, "medium", wanted.medium),
        "statuses": _values(every, "status", wanted.status),
        "all": len(every),
        "running": [entry for entry in every if entry.state == "running" and not entry.fault],
        "counts": {word: sum(entry.status == word for entry in every) for word in ("violation", "pass", "inconclusive")},
    }
    return page(request, "runs.html.j2", context)


def _values(entries: Sequence[StoreEntry], name: str, wanted: str) -> list[str]:
    """All values of the store, and the one that is asked for even if there is none of it."""
    return sorted({value for value in (*(str(getattr(entry, name)) for entry in entries), wanted) if value})


ROUTES = [Route("/", runs)]
