"""Project files: edited with the error beside its line, saved whole, with every earlier version to go back to."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from evenhand.dashboard.catalogue import Catalogue, ProjectPlace
from evenhand.dashboard.guard import form_of
from evenhand.dashboard.templating import dashboard_of, page, refused
from evenhand.disk import digest_of, private_folder, read_bytes, write_whole
from evenhand.domain.project_file import project_of
from evenhand.domain.project_sections import Project
from evenhand.errors import DomainError, EvenhandError, StoreError

MOST_VERSIONS = 50
MOST_BYTES = 1_000_000


@dataclass(frozen=True)
class RuleFault:
    """What is wrong with a project file, and in which line; 0 where it is the whole file."""

    line: int
    message: str


@dataclass(frozen=True)
class KeptVersion:
    """An earlier state of a project file."""

    name: str
    moment: float


def check(text: str, file: Path) -> RuleFault | None:
    """The first fault of a text as a project file in this place; None where there is none."""
    try:
        project_of(text, file)
    except DomainError as fault:
        return RuleFault(fault.line, fault.message)
    except (EvenhandError, OSError) as fault:
        return RuleFault(0, str(fault))
    return None


@dataclass(frozen=True)
class Editing:
    """One project file and its earlier versions."""

    catalogue: Catalogue
    place: ProjectPlace

    @property
    def file(self) -> Path:
        """Where it is."""
        return self.catalogue.path(self.place)

    @property
    def text(self) -> str:
        """As it is on the disk."""
        return read_bytes(self.file, MOST_BYTES).decode("utf-8-sig", "replace")

    @property
    def history(self) -> Path:
        """Where its earlier versions are."""
        return self.catalogue.private / "history" / self.place.id

    def versions(self) -> list[KeptVersion]:
        """The newest first."""
        files = sorted(self.history.glob("*.yaml"), reverse=True)
        return [KeptVersion(file.name, int(file.stem.partition("-")[0]) / 1000) for file in files if file.stem.partition("-")[0].isdigit()]

    def save(self, text: str, based_on: str) -> None:
        """The file appears whole, and what it was is kept; refuses where somebody else has changed it meanwhile."""
        before = self.text
        if digest_of(before.encode()) != based_on:
            raise StoreError("the file has been changed by somebody else since this page was loaded; load the page again")
        if before == text:
            return
        private_folder(self.history)
        write_whole(self.history / f"{time.time_ns() // 1_000_000}-{digest_of(before.encode())[:8]}.yaml", before, private=True)
        write_whole(self.file, text)
        for old in self.versions()[MOST_VERSIONS:]:
            (self.history / old.name).unlink(missing_ok=True)

    def version(self, name: str) -> str | None:
        """An earlier text; only a name of the list leads anywhere."""
        known = {each.name for each in self.versions()}
        return read_bytes(self.history / name, MOST_BYTES).decode("utf-8", "replace") if name in known else None


def _editing(request: Request) -> Editing | None:
    catalogue = dashboard_of(request).catalogue
    place = catalogue.project(request.path_params["project"])
    return Editing(catalogue, place) if place is not None else None


async def projects(request: Request) -> Response:
    """All project files of the store."""
    return await run_in_threadpool(lambda: page(request, "projects.html.j2", _listed(request)))


def _listed(request: Request) -> dict[str, Any]:
    catalogue = dashboard_of(request).catalogue
    return {"title": "Projects", "projects": catalogue.projects()}


async def edit(request: Request) -> Response:
    """The file in a form; what was sent is checked, and saved where it has no fault."""
    body = await request.body()
    return await run_in_threadpool(_edit, request, form_of(body))


def _edit(request: Request, form: dict[str, str]) -> Response:
    editing = _editing(request)
    if editing is None:
        return refused(request, "There is no such project file in this store.")
    if request.method == "POST":
        return _saved(request, editing, form)
    earlier = editing.version(request.query_params.get("version", ""))
    text = editing.text if earlier is None else earlier
    return _shown(request, editing, text, said="" if earlier is None else "An earlier version; save it to go back to it.")


def _saved(request: Request, editing: Editing, form: dict[str, str]) -> Response:
    text = form.get("text", "").replace("\r\n", "\n")
    fault = check(text, editing.file)
    if fault is not None and form.get("anyway") != "yes":
        return _shown(request, editing, text, fault, status=422)
    try:
        editing.save(text, form.get("based_on", ""))
    except (StoreError, OSError) as refusal:
        return _shown(request, editing, text, RuleFault(0, str(refusal)), status=409)
    return RedirectResponse(f"/projects/{editing.place.id}?saved=yes", 303)


def _shown(request: Request, editing: Editing, text: str, fault: RuleFault | None = None, said: str = "", status: int = 200) -> Response:
    fault = fault or check(text, editing.file)
    context = {
        "title": "Edit rules",
        "place": editing.place,
        "text": text,
        "based_on": digest_of(editing.text.encode()),
        "fault": fault,
        "line_text": _line(text, fault),
        "versions": editing.versions(),
        "said": said or ("Saved." if request.query_params.get("saved") == "yes" else ""),
        "facts": _facts(text, editing.file) if fault is None else [],
    }
    return page(request, "rules.html.j2", context, status)


def _line(text: str, fault: RuleFault | None) -> str:
    lines = text.splitlines()
    return lines[fault.line - 1] if fault is not None and 0 < fault.line <= len(lines) else ""


def _facts(text: str, file: Path) -> list[str]:
    """What a file without faults says, in a few words."""
    project: Project = project_of(text, file)
    domain = project.declared
    told = [f"medium: {project.medium.kind}" if project.medium else f"{len(domain.columns)} columns" if domain else ""]
    if domain is not None:
        told += [f"protected: {', '.join(domain.protected) or 'nothing yet'}", f"{len(domain.constraints)} rules"]
    told += [f"model: {project.model.path.name if project.model.path else project.model.url}"] if project.model else ["no model yet"]
    return [each for each in told if each]


async def checked(request: Request) -> Response:
    """The fault of a text that is being written."""
    form = form_of(await request.body())
    return await run_in_threadpool(_checked, request, form)


def _checked(request: Request, form: dict[str, str]) -> Response:
    editing = _editing(request)
    if editing is None:
        return JSONResponse({"line": 0, "message": "there is no such project file"}, 404)
    fault = check(form.get("text", "").replace("\r\n", "\n"), editing.file)
    return JSONResponse({"line": fault.line if fault else 0, "message": fault.message if fault else ""})


ROUTES = [
    Route("/projects", projects),
    Route("/projects/{project}", edit, methods=["GET", "POST"]),
    Route("/projects/{project}/check", checked, methods=["POST"]),
]
