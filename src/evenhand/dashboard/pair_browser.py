"""The pairs that a result keeps, as the report's cards, a few on a page: pictures, scenes and texts side by side."""

from __future__ import annotations

from dataclasses import replace

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evenhand.dashboard.run_view import found_entry, shown_of
from evenhand.dashboard.templating import Paging, dashboard_of, page, refused
from evenhand.report.lead import nouns
from evenhand.report.sections.witness_cards import PairCard, pairs_of

PER_PAGE = 12


async def pairs(request: Request) -> Response:
    """The cards."""
    return await run_in_threadpool(_pairs, request)


def _pairs(request: Request) -> Response:
    entry = found_entry(request)
    if entry is None or entry.kind != "result" or entry.fault:
        return refused(request, "There is no such result in this store.")
    dashboard = dashboard_of(request)
    record = shown_of(dashboard.catalogue.path(entry), entry.id).record
    cards = pairs_of(record)
    changes, wanted = sorted({card.headline for card in cards}), request.query_params.get("change", "")
    found = [card for card in cards if not wanted or card.headline == wanted]
    paging = Paging.of(request, len(found), PER_PAGE)
    context = {
        "title": "Pairs",
        "entry": entry,
        "cards": [_addressed(card, entry.id) for card in found[paging.start : paging.last]],
        "changes": changes,
        "wanted": wanted,
        "paging": paging,
        "one": nouns(record)[0],
        "project": dashboard.catalogue.project_near(entry),
    }
    return page(request, "pairs.html.j2", context)


def _addressed(card: PairCard, identity: str) -> PairCard:
    """The card with the addresses of its pictures."""
    return replace(card, pictures={side: f"/runs/{identity}/pictures/{card.number - 1}/{side}" for side in card.pictures})


ROUTES = [Route("/runs/{run}/pairs", pairs)]
