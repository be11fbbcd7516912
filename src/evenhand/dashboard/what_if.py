"""What-if: a witness, a finding or a real row, edited cell by cell; the model is asked, and all its twins are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from evenhand.arrays import Rows
from evenhand.dashboard.asked_twins import AskedTwins, ask, cell_code, cell_text, fields_of
from evenhand.dashboard.catalogue import ProjectPlace
from evenhand.dashboard.found_rows import FoundRows
from evenhand.dashboard.guard import form_of
from evenhand.dashboard.opened_subjects import OpenedSubject
from evenhand.dashboard.run_view import load
from evenhand.dashboard.templating import Paging, dashboard_of, fragment, page, refused, whole
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.exhibits import restore_pair
from evenhand.errors import EvenhandError, StoreError

SOON = 2
"""Seconds after which a page that waits for its model looks again."""


@dataclass(frozen=True)
class EditStart:
    """Where an edit begins: the project, and a pair of a result, a finding of a search, or a row of the data."""

    project: str
    run: str = ""
    pair: str = ""
    finding: str = ""
    row: str = ""

    @classmethod
    def of(cls, request: Request) -> EditStart:
        """By the address."""
        return cls(*(request.query_params.get(name, "")[:40] for name in ("project", "run", "pair", "finding", "row")))

    @property
    def query(self) -> str:
        """The same as an address."""
        told = {name: value for name, value in vars(self).items() if value}
        return urlencode(told)

    @property
    def words(self) -> str:
        """For a reader."""
        if self.pair:
            return f"pair {self.pair}"
        return f"finding {int(self.finding) + 1:,}" if self.finding.isdigit() else f"row {whole(self.row, 0):,} of the data"


@dataclass(frozen=True)
class EditedRow:
    """What stands in the form: texts, their codes, and which cannot be read."""

    domain: TabularDomain
    base: Rows
    texts: tuple[str, ...]
    codes: Rows
    faults: Mapping[int, str]


async def what_if(request: Request) -> Response:
    """The form, and the answers."""
    return await run_in_threadpool(_what_if, request, form_of(await request.body()))


def _what_if(request: Request, form: dict[str, str]) -> Response:
    dashboard, start = dashboard_of(request), EditStart.of(request)
    place = dashboard.catalogue.project(start.project) or _guessed(request, start)
    if place is None:
        return _choose(request)
    if not start.project:
        return RedirectResponse(f"/what-if?{urlencode({'project': place.id})}&{start.query}", 303)
    subject = dashboard.subjects.of(place)
    if not subject.has_data or not (subject.is_ready or subject.fault):
        return _waiting(request, place, subject)
    try:
        edited = _edited(request, start, subject, form)
    except (EvenhandError, KeyError, IndexError, ValueError, TypeError) as fault:
        return refused(request, f"This row cannot be edited with this project: {fault}", 422)
    asked, trouble = _asked(subject, edited)
    context = {"asked": asked, "trouble": trouble, "medium": subject.medium.kind if subject.medium else "table"}
    if form.get("part") == "answers":
        return HTMLResponse(fragment("answers.html.j2", context))
    texts_before = [cell_text(column, code) for column, code in zip(edited.domain.columns, edited.base[0], strict=True)]
    fields = fields_of(edited.domain, edited.texts, texts_before, edited.faults)
    told = {"title": "What if", "place": place, "start": start, "fields": fields, "rows": _rows(subject), **context}
    return page(request, "what_if.html.j2", told)


def _asked(subject: OpenedSubject, edited: EditedRow) -> tuple[AskedTwins | None, str]:
    if edited.faults:
        names = [edited.domain.columns[place].name for place in edited.faults]
        return None, f"The model was not asked: {'; '.join(f'{n} {why}' for n, why in zip(names, edited.faults.values(), strict=True))}."
    try:
        return ask(subject, edited.domain, edited.codes, edited.base), ""
    except Exception as fault:  # a model is foreign code: whatever it raises belongs on the page
        return None, f"The model could not be asked: {fault or type(fault).__name__}"


def _rows(subject: OpenedSubject) -> int:
    return len(subject.opened.data.rows) if subject.opened is not None else 0


def _guessed(request: Request, start: EditStart) -> ProjectPlace | None:
    """The project near the run, or the only one that there is."""
    catalogue = dashboard_of(request).catalogue
    entry = catalogue.entry(start.run) if start.run else None
    known = catalogue.projects()
    return catalogue.project_near(entry) if entry is not None else known[0] if len(known) == 1 else None


def _choose(request: Request) -> Response:
    """Which project, where the address does not say."""
    projects = dashboard_of(request).catalogue.projects()
    paging = Paging.of(request, len(projects), 50)
    return page(request, "what_if_choice.html.j2", {"title": "What if", "projects": projects[paging.start : paging.last], "paging": paging})


def _waiting(request: Request, place: ProjectPlace, subject: OpenedSubject) -> Response:
    """Data and model are opened beside the page, which looks again by itself."""
    context = {"title": "What if", "place": place, "fault": subject.fault}
    made = page(request, "what_if_waiting.html.j2", context, 422 if subject.fault else 200)
    if not subject.fault:
        made.headers["refresh"] = str(SOON)
    return made


def _edited(request: Request, start: EditStart, subject: OpenedSubject, form: dict[str, str]) -> EditedRow:
    domain, base = _base(request, start, subject)
    texts = [cell_text(column, code) for column, code in zip(domain.columns, base[0], strict=True)]
    codes, faults = base.copy(), {}
    for place, column in enumerate(domain.columns):
        written = form.get(f"c{place}")
        if written is None or written == texts[place]:
            continue
        texts[place] = written[:400]
        try:
            codes[0, place] = cell_code(column, written)
        except EvenhandError as fault:
            faults[place] = str(fault)
    return EditedRow(domain, base, tuple(texts), codes, faults)


def _base(request: Request, start: EditStart, subject: OpenedSubject) -> tuple[TabularDomain, Rows]:
    """The row to begin with, in the domain that it was judged in."""
    catalogue = dashboard_of(request).catalogue
    entry = catalogue.entry(start.run) if start.run else None
    if entry is not None and start.pair:
        return _of_pair(load(catalogue.path(entry)), start.pair, subject)
    domain = subject.domain
    if entry is not None and start.finding.isdigit():
        codes = FoundRows.below(catalogue.path(entry)).codes(int(start.finding))
        if len(codes) != len(domain.columns):
            raise StoreError("the finding has other columns than the project; has the project file changed?")
        protected = entry.protected if all(name in domain.names for name in entry.protected) else domain.protected
        return domain.protect(*protected), np.array([codes])
    assert subject.opened is not None
    rows = subject.opened.data.rows
    return domain, rows[[min(whole(start.row, 0), len(rows) - 1)]].astype(np.float64)


def _of_pair(result: Mapping[str, Any], pair: str, subject: OpenedSubject) -> tuple[TabularDomain, Rows]:
    found = next((each for each in result["witnesses"] if each["id"] == pair), None)
    if found is None:
        raise StoreError("the result has no such pair")
    domain = subject.domain.protect(*found["protected"]) if found.get("protected") else subject.domain
    both = np.array([[column.code(found[who].get(column.name)) for column in domain.columns] for who in ("person", "twin")])
    if not domain.inside(both).all():
        raise StoreError("the pair does not fit the project any more; has the project file changed?")
    restore_pair(both, dict(found.get("pictures") or {}), subject.medium)
    return domain, both[:1]


ROUTES = [Route("/what-if", what_if, methods=["GET", "POST"])]
