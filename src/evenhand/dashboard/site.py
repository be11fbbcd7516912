"""The dashboard as one application: every view's routes behind the guard, and what the views share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from evenhand.dashboard import (
    comparison_view,
    findings_view,
    live_view,
    overview,
    pair_browser,
    rate_trends,
    rule_editor,
    run_view,
    start_form,
    static_files,
    what_if,
)
from evenhand.dashboard.catalogue import Catalogue
from evenhand.dashboard.commands import Commands
from evenhand.dashboard.guard import Credentials, Guard
from evenhand.dashboard.opened_subjects import OpenedSubjects
from evenhand.dashboard.templating import refused
from evenhand.errors import EvenhandError

VIEWS = (
    overview,
    rate_trends,
    run_view,
    findings_view,
    pair_browser,
    what_if,
    comparison_view,
    start_form,
    live_view,
    rule_editor,
    static_files,
)


@dataclass(frozen=True)
class Dashboard:
    """What all pages share: the store, who may ask, commands that were started, and models that were opened."""

    catalogue: Catalogue
    credentials: Credentials
    is_trusted: bool = False
    commands: Commands = field(init=False)
    subjects: OpenedSubjects = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "commands", Commands(self.catalogue, self.is_trusted))
        object.__setattr__(self, "subjects", OpenedSubjects(self.catalogue, self.is_trusted))


def build(store: Path, credentials: Credentials, is_trusted: bool = False) -> Starlette:
    """The application over a store."""
    routes: list[Route | Mount] = [route for view in VIEWS for route in view.ROUTES]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, credentials=credentials)],
        exception_handlers={HTTPException: _no_page, EvenhandError: _fault},
    )
    app.state.is_ending = lambda: False  # the server that answers says when
    app.state.dashboard = Dashboard(Catalogue(store), credentials, is_trusted)
    return app


async def _no_page(request: Request, fault: Exception) -> Response:
    status = fault.status_code if isinstance(fault, HTTPException) else 500
    return refused(request, "There is no such page; the list of runs leads to all that there are.", status)


async def _fault(request: Request, fault: Exception) -> Response:
    """What went wrong on purpose is told in words."""
    return refused(request, str(fault), 422)
