"""How rates went over time: one picture for all measurements of one thing, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evenhand.dashboard.catalogue import StoreEntry
from evenhand.dashboard.templating import Paging, dashboard_of, page
from evenhand.report import words
from evenhand.report.charts.courses import CoursePoint, RateCourse, course

PER_PAGE = 8
MOST_LINES = 12
MOST_JUDGED = 40
"""Measurements of one thing that stand below its picture in words; all of them are drawn."""


@dataclass(frozen=True)
class Thing:
    """What one curve is about."""

    data: str
    verb: str
    medium: str
    protected: tuple[str, ...]
    population: str

    @property
    def title(self) -> str:
        """For a reader."""
        return f"{words.text(self.data or 'unnamed data', 80)}: {words.text(', '.join(self.protected) or 'nothing protected', 80)}"


@dataclass(frozen=True)
class RateTrend:
    """All measurements of one thing, the oldest first."""

    thing: Thing
    entries: tuple[StoreEntry, ...]

    @property
    def picture(self) -> Markup:
        """Estimates as a line in the band of their intervals; the number of the run goes across."""
        points = [CoursePoint(e.estimate or 0.0, _bound(e.low, e), _bound(e.high, e)) for e in self.entries]
        return course(RateCourse(self.thing.title, self.sentence, points))

    @property
    def sentence(self) -> str:
        """What the picture shows, for those who cannot see it."""
        first, last = self.entries[0], self.entries[-1]
        return (
            f"Rate of {self.thing.title} over {words.plural(len(self.entries), 'run', 'runs')}: "
            f"{words.percent(first.estimate)} at first, {words.percent(last.estimate)} at last."
        )

    @property
    def address(self) -> str:
        """Where the newest of these runs is judged against the others."""
        return "/compare?" + urlencode([("run", entry.id) for entry in self.entries[-MOST_JUDGED:]])

    @property
    def newest(self) -> tuple[StoreEntry, ...]:
        """The last measurements, the newest first."""
        return self.entries[: -MOST_LINES - 1 : -1]


def _bound(value: float | None, entry: StoreEntry) -> float:
    return value if value is not None else entry.estimate or 0.0


def trends_of(entries: Sequence[StoreEntry]) -> list[RateTrend]:
    """Every thing that was measured at least twice, the one with most runs first."""
    found: dict[Thing, list[StoreEntry]] = {}
    for entry in sorted(entries, key=lambda each: each.moment):
        if entry.estimate is not None and not entry.fault:
            thing = Thing(entry.data, entry.verb, entry.medium, entry.protected, entry.population)
            found.setdefault(thing, []).append(entry)
    several = [RateTrend(thing, tuple(each)) for thing, each in found.items() if len(each) > 1]
    return sorted(several, key=lambda trend: (-len(trend.entries), trend.thing.title))


async def trends(request: Request) -> Response:
    """All curves, a few on a page."""
    return await run_in_threadpool(_trends, request)


def _trends(request: Request) -> Response:
    words_wanted = request.query_params.get("q", "")[:200].casefold().split()
    every = trends_of(dashboard_of(request).catalogue.entries())
    found = [trend for trend in every if all(word in trend.thing.title.casefold() for word in words_wanted)]
    paging = Paging.of(request, len(found), PER_PAGE)
    shown = found[paging.start : paging.last]
    context = {"title": "Trends", "trends": shown, "paging": paging, "q": request.query_params.get("q", "")[:200], "all": len(every)}
    return page(request, "trends.html.j2", context)


ROUTES = [Route("/trends", trends)]
