"""Starting, stopping and continuing commands from a page; every one is a process of the same CLI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from evenhand.dashboard.catalogue import ProjectPlace, StoreEntry
from evenhand.dashboard.guard import form_of
from evenhand.dashboard.run_view import found_entry
from evenhand.dashboard.templating import dashboard_of, page, refused
from evenhand.disk import read_sealed
from evenhand.errors import EvenhandError, InvalidArgument, UnknownName
from evenhand.methods import METHODS
from evenhand.oracles import ORACLES, oracle_of

VERBS = {
    "scan": "search for unfair treatment, measure the rate, judge",
    "measure": "rates and gaps between groups, without a search",
    "certify": "bounds that are proven, for trees and small nets",
    "doctor": "examine how the model is wired",
    "repair": "compare ways to repair the model",
}
BUDGETS = ("candidates", "model_rows", "seconds")
PARTS_OF_MAIN = {"measure": ("seed",), "certify": ("seconds",), "doctor": ("candidates",), "repair": ("candidates", "seed")}


def words_of_form(form: Mapping[str, str], file: str, is_trusted: bool) -> list[str]:
    """The command line that a form asks for; what is wrong in it is named."""
    verb = form.get("verb", "")
    if verb not in VERBS:
        raise UnknownName("verb", verb, VERBS)
    allowed = (*BUDGETS, "seed") if verb == "scan" else PARTS_OF_MAIN[verb]
    words = [verb, file, "--text"]
    words += [f"--{name.replace('_', '-')}={_amount(name, form[name])}" for name in allowed if form.get(name, "").strip()]
    if verb == "scan":
        words += [f"--method={METHODS.entry(name).name}" for name in form.get("method", "").split("\n") if name.strip()]
        words += [f"--oracle={_oracle(form['oracle'])}"] if form.get("oracle", "").strip() else []
    return words + (["--trusted"] if is_trusted else [])


def _amount(name: str, text: str) -> str:
    text = text.strip().replace(",", "").replace("_", "")
    is_fine = text.replace(".", "", 1).isdigit() if name == "seconds" else text.isdigit()
    if not is_fine or not text.isascii() or len(text) > 15 or (name != "seed" and float(text) <= 0):
        kind = "a positive number" if name == "seconds" else "a whole number of at least 0" if name == "seed" else "a positive whole number"
        raise InvalidArgument(f"{name.replace('_', ' ')}: {text!r} must be {kind}")
    return text


def _oracle(text: str) -> str:
    oracle_of(text.strip())
    return text.strip()


def words_of_header(header: Mapping[str, Any], file: str, is_trusted: bool) -> list[str]:
    """The command line that continues a search: its method with its parameters, seed, budget and oracle."""
    budget = header.get("budget") or {}
    words = ["scan", file, "--text", f"--method={header['method']}", f"--seed={header.get('seed', 0)}"]
    words += [f"--{name.replace('_', '-')}={budget[name]}" for name in BUDGETS if budget.get(name)]
    words += [f"--oracle={header['oracle']}"] if header.get("oracle") else []
    words += [f"--protected={','.join((header.get('domain') or {}).get('protected') or [])}"]
    usual = METHODS.entry(str(header["method"])).parameters if header["method"] in METHODS.entries() else {}
    words += _settings(header.get("parameters") or {}, usual)
    return words + (["--trusted"] if is_trusted else [])


def _settings(parameters: Mapping[str, Any], usual: Mapping[str, Any]) -> list[str]:
    """Only what is not as usual: a parameter that cannot be written on a line is then rarely in the way."""
    changed = {name: value for name, value in parameters.items() if _plain(value) != _plain(usual.get(name))}
    return [f"--set={name}={value}" for name, value in changed.items() if isinstance(value, str | int | float | bool)]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


async def start(request: Request) -> Response:
    """The form; what it asks for is started."""
    return await run_in_threadpool(_start, request, form_of(await request.body()))


def _start(request: Request, form: dict[str, str]) -> Response:
    dashboard = dashboard_of(request)
    if request.method == "GET":
        return _form(request, dict(request.query_params))
    place = dashboard.catalogue.project(form.get("project", ""))
    if place is None:
        return _form(request, form, "Choose a project file of this store.", 422)
    try:
        words = words_of_form(form, place.path.rpartition("/")[2], dashboard.is_trusted)
        made = dashboard.commands.start(place.path, words)
    except (EvenhandError, OSError) as fault:
        return _form(request, form, str(fault), 422)
    return RedirectResponse(f"/commands/{made.id}", 303)


def _form(request: Request, form: Mapping[str, str], fault: str = "", status: int = 200) -> Response:
    dashboard = dashboard_of(request)
    given = {name: form.get(name, "") for name in ("project", "verb", "oracle", "seed", *BUDGETS)}
    context = {
        "title": "Start",
        "verbs": VERBS,
        "projects": dashboard.catalogue.projects(),
        "methods": sorted(METHODS.entries()),
        "oracles": sorted(ORACLES.entries()),
        "given": given,
        "chosen": form.get("method", "").split("\n"),
        "fault": fault,
        "commands": dashboard.commands.all()[:20],
    }
    return page(request, "start.html.j2", context, status)


async def command(request: Request) -> Response:
    """One command: how far it has come, and what it says."""
    return await run_in_threadpool(_command, request)


def _command(request: Request) -> Response:
    dashboard = dashboard_of(request)
    found = dashboard.commands.find(request.path_params["command"])
    if found is None:
        return refused(request, "There is no such command.")
    near = _results_of(dashboard.catalogue.entries(), found.project, found.started) if found.code is not None else []
    context = {
        "title": found.words[0].capitalize(),
        "command": found,
        "news": dashboard.commands.news(found),
        "output": dashboard.commands.output(found),
        "project": next((place for place in dashboard.catalogue.projects() if place.path == found.project), None),
        "results": near,
    }
    return page(request, "command.html.j2", context)


def _results_of(entries: Sequence[StoreEntry], project: str, since: float) -> list[StoreEntry]:
    """What a command has left: results below its project's folder that are newer than its start."""
    folder = project.rpartition("/")[0]
    return [e for e in entries if e.moment >= since - 1 and (not folder or e.path.startswith(f"{folder}/"))][:5]


async def stop(request: Request) -> Response:
    """Ctrl-C for a command."""
    dashboard, identity = dashboard_of(request), request.path_params["command"]
    await run_in_threadpool(dashboard.commands.stop, identity)
    return RedirectResponse(f"/commands/{identity}", 303)


async def resume(request: Request) -> Response:
    """The same command again, which goes on where the first one stopped."""
    return await run_in_threadpool(_resume, request)


def _resume(request: Request) -> Response:
    dashboard = dashboard_of(request)
    found = dashboard.commands.find(request.path_params["command"])
    if found is None:
        return refused(request, "There is no such command.")
    return RedirectResponse(f"/commands/{dashboard.commands.start(found.project, found.words).id}", 303)


async def resume_search(request: Request) -> Response:
    """A search that was interrupted, wherever it was started, goes on."""
    return await run_in_threadpool(_resume_search, request)


def _resume_search(request: Request) -> Response:
    dashboard, entry = dashboard_of(request), found_entry(request)
    place: ProjectPlace | None = dashboard.catalogue.project_near(entry) if entry is not None else None
    if entry is None or entry.kind != "search" or place is None:
        return refused(request, "There is no such search, or no project file near it.")
    header = read_sealed(dashboard.catalogue.path(entry) / "header.json")
    words = words_of_header(header, place.path.rpartition("/")[2], dashboard.is_trusted)
    return RedirectResponse(f"/commands/{dashboard.commands.start(place.path, words).id}", 303)


ROUTES = [
    Route("/start", start, methods=["GET", "POST"]),
    Route("/commands/{command}", command),
    Route("/commands/{command}/stop", stop, methods=["POST"]),
    Route("/commands/{command}/resume", resume, methods=["POST"]),
    Route("/runs/{run}/resume", resume_search, methods=["POST"]),
]
