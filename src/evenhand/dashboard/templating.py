"""Pages from templates with everything escaped, in the look of the report; what every page shares is put in here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from evenhand.contract import population_words
from evenhand.report import frame
from evenhand.report.lead import SYMBOLS

if TYPE_CHECKING:
    from evenhand.dashboard.site import Dashboard

STATES = {
    "running": "Running",
    "finished": "Finished",
    "interrupted": "Interrupted",
    "failed": "Failed",
    "stopped": "Stopped",
    "pass": "Pass",
    "violation": "Violation",
    "inconclusive": "Inconclusive",
    "unreadable": "Unreadable",
}
SIGNS = {**SYMBOLS, "running": "▸", "finished": "■", "interrupted": "‖", "failed": "✕", "stopped": "‖", "unreadable": "!"}
TONES = {"running": "going", "finished": "plain", "interrupted": "inconclusive", "failed": "violation", "stopped": "inconclusive"}


@cache
def environment() -> Environment:
    """Our templates, and the report's behind them."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader("evenhand.dashboard", "templates"), PackageLoader("evenhand.report", "templates")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= frame.environment().filters | {"moment": moment, "ago": ago}
    made.globals |= {"states": STATES, "signs": SIGNS, "tones": TONES, "population_words": population_words}
    return made


def moment(seconds: float) -> str:
    """A moment in the reader's own time, to the minute."""
    try:
        return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M") if seconds else ""
    except (OverflowError, OSError, ValueError):
        return ""


def ago(seconds: float) -> str:
    """A length of time in one or two words."""
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {name}{'s' if count > 1 else ''}"
    return f"{max(0, int(seconds))} seconds"


def dashboard_of(request: Request) -> Dashboard:
    """What the request is asked of."""
    made: Dashboard = request.app.state.dashboard
    return made


def page(request: Request, template: str, context: Mapping[str, Any], status: int = 200) -> HTMLResponse:
    """A whole page."""
    dashboard = dashboard_of(request)
    shared = {
        "form_token": dashboard.credentials.form_token,
        "here": request.url.path,
        "store_name": dashboard.catalogue.root.name or str(dashboard.catalogue.root),
        "waiting": dashboard.catalogue.waiting,
        "is_trusted": dashboard.is_trusted,
    }
    return HTMLResponse(environment().get_template(template).render({**shared, **context}), status)


def fragment(template: str, context: Mapping[str, Any]) -> str:
    """A part of a page."""
    return environment().get_template(template).render(context)


def refused(request: Request, why: str, status: int = 404) -> HTMLResponse:
    """A page that says what is not there or not allowed."""
    return page(request, "refused.html.j2", {"title": "Not found" if status == 404 else "Refused", "why": why}, status)


@dataclass(frozen=True)
class Paging:
    """Which page of how many, and the addresses of its neighbours; everything else in the address stays as it is."""

    number: int
    count: int
    total: int
    first: int  # of the lines on this page, counted from 1
    last: int
    query: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, request: Request, total: int, length: int) -> Paging:
        """By the address; a page that there is not is the nearest one."""
        count = max(1, -(-total // length))
        number = min(max(1, whole(request.query_params.get("page", "1"), 1)), count)
        rest = tuple((name, value) for name, value in request.query_params.multi_items() if name != "page")
        return cls(number, count, total, min(total, (number - 1) * length + 1), min(total, number * length), rest)

    @property
    def start(self) -> int:
        """The place of the first line, counted from 0."""
        return max(0, self.first - 1)

    def address(self, number: int) -> str:
        """Of another page."""
        return "?" + urlencode([*self.query, ("page", str(number))])


@dataclass(frozen=True)
class SortHead:
    """A head of a table that sorts by its column when it is followed."""

    name: str
    title: str
    address: str
    direction: str  # ascending, descending, or none where the table is sorted by another column


def sort_heads(request: Request, titles: Mapping[str, str], sort: str, is_descending: bool) -> Sequence[SortHead]:
    """The heads of a table; a second click turns the order round."""
    kept = [(name, value) for name, value in request.query_params.multi_items() if name not in ("sort", "order", "page")]
    heads = []
    for name, title in titles.items():
        is_here = name == sort
        order = "up" if is_here and is_descending else "down"
        direction = ("descending" if is_descending else "ascending") if is_here else "none"
        heads.append(SortHead(name, title, "?" + urlencode([*kept, ("sort", name), ("order", order)]), direction))
    return heads


def whole(text: str, otherwise: int) -> int:
    """A whole number that a person wrote; something else where it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else otherwise
