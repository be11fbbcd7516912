"""Stores for a dashboard to show: a small project with its scan, ordinary or hostile, a thousand runs, a search of a million findings."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

import evenhand as eh
from evenhand.disk import sealed
from evenhand.domain.project_file import save_project
from evenhand.domain.project_sections import DataSource, ModelSource, Project, ScanSettings
from evenhand.engine import witness
from evenhand.engine.store import ROWS_TOGETHER
from evenhand.models.dense import DenseNet
from evenhand.verbs.scan import Options


@dataclass(frozen=True)
class PlaceNames:
    """What everything in a project is called."""

    sex: str = "sex"
    town: str = "town"
    income: str = "income"
    label: str = "loan"
    values: tuple[str, ...] = ("woman", "man")
    towns: tuple[str, ...] = ("north", "south", "east")
    classes: tuple[str, str] = ("refused", "granted")
    file: str = "people"


ORDINARY = PlaceNames()
SCRIPT = "<script>document.title='owned'</script>"
IMAGE = '"><img src=x onerror="document.title=\'owned\'">'
HOSTILE = PlaceNames(
    sex=f"sex{SCRIPT}",
    town="' onfocus='document.title=1' autofocus='{{7*7}}",
    income="=cmd|' /C calc'!A0",
    label="loan</title></textarea><svg onload=document.title='owned'>",
    values=(IMAGE, "\u202eעברית\u202c man"),
    towns=("long " * 300, "@SUM(1+1)*cmd", "]]></style><b>"),
    classes=(f"no{SCRIPT}", "+granted' onmouseover='document.title=2"),
    file="x'&quot;<img src=x onerror=alert(1)>",
)
"""Markup, quotes, text from right to left, formulas of spreadsheets, and very long words."""


def write_project(folder: Path, names: PlaceNames = ORDINARY) -> Path:
    """A project whose model looks at the protected column; the path of its file."""
    folder.mkdir(parents=True, exist_ok=True)
    domain = eh.TabularDomain(
        (
            eh.Column(names.sex, "category", names.values),
            eh.Column(names.town, "category", names.towns),
            eh.Column(names.income, "integer", low=0, high=99),
        ),
        (names.sex,),
        eh.Label(names.label, names.classes, names.classes[1:]),
    )
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 2, 400), rng.integers(0, len(names.towns), 400), rng.integers(0, 100, 400)]).astype(float)
    frame = domain.decode(rows)
    frame[names.label] = np.where(rows[:, 2] > 50, names.classes[1], names.classes[0])
    frame.to_parquet(folder / f"{names.file}.parquet", index=False)
    weights = np.array([[-0.4, 0.4], [0.0, 0.0], [-0.1, 0.1]], dtype=np.float32)
    DenseNet((weights,), (np.array([5.0, -5.0], dtype=np.float32),), names.classes).save(folder / "model.npz")
    data = DataSource(folder / f"{names.file}.parquet")
    project = Project(domain, data, ModelSource(path=folder / "model.npz"), ScanSettings(runs=folder / "runs", rate_rows=400))
    save_project(project, folder / "evenhand.yaml")
    return folder / "evenhand.yaml"


def scan_project(file: Path, candidates: int = 600) -> Path:
    """A scan of it, left as the command leaves it; the result's path."""
    from evenhand.cli.output import free_path, say_json
    from evenhand.cli.project import load_all

    loaded = load_all(file)
    options = Options(rate_rows=400, most_witnesses=6, folder=file.parent / "runs")
    result = eh.scan(loaded.model, loaded.data, methods=["themis"], budget=eh.Budget(candidates=candidates), options=options)
    for kept in result.witnesses:
        witness.save(kept, file.parent / "runs" / "witnesses")
    path = free_path(file.parent / "runs" / "result.json")
    say_json(result.as_dict(), path)
    return path


def many_runs(store: Path, like: Path, count: int) -> None:
    """Results of forty projects, with rates that move from run to run."""
    content = json.loads(like.read_text(encoding="utf-8"))
    content.pop("checksum", None)
    rng = np.random.default_rng(1)
    for number in range(count):
        told = json.loads(json.dumps(content))
        share = float(np.clip(rng.normal(0.05 + 0.002 * (number % 40), 0.01), 0.001, 0.2))
        told["body"]["rates"][0] |= {"estimate": share, "low": share * 0.8, "high": share * 1.25}
        told["header"]["data"]["name"] = f"table {number % 40}"
        told["outcome"] = ("violation", "pass", "inconclusive")[number % 3]
        home = store / f"team-{number % 40:02d}" / f"run-{number:04d}"
        home.mkdir(parents=True, exist_ok=True)
        (home / "result.json").write_text(sealed(told), encoding="utf-8")
        os.utime(home / "result.json", (1_700_000_000 + 3600 * number,) * 2)


def many_findings(search: Path, like: Path, count: int, per_part: int = 100_000) -> None:
    """A search folder with this many findings in parts, each a finding of another search drawn again with another income and gap."""
    (search / "findings").mkdir(parents=True, exist_ok=True)
    (search / "journal").mkdir(exist_ok=True)
    header = json.loads((like / "header.json").read_text(encoding="utf-8"))
    header.pop("checksum")
    (search / "header.json").write_text(sealed(header | {"seed": 99}), encoding="utf-8")
    (search / "log.jsonl").write_text('{"time": "2026-01-01T00:00:00+00:00", "event": "interrupted"}\n', encoding="utf-8")
    found = parquet.read_table(next((like / "findings").glob("*.parquet")))
    rng = np.random.default_rng(2)
    for number in range(-(-count // per_part)):
        part = found.take(rng.integers(0, found.num_rows, min(per_part, count - number * per_part)))
        place = part.column_names.index("evenhand.gap")
        part = part.set_column(place, "evenhand.gap", pa.array(rng.random(part.num_rows)))
        content = io.BytesIO()
        parquet.write_table(part, content, compression="zstd", row_group_size=ROWS_TOGETHER)
        (search / "findings" / f"part-{number + 1:06d}.parquet").write_bytes(content.getvalue())


@dataclass(frozen=True)
class Served:
    """A dashboard that answers in a thread of this process."""

    address: str
    token: str
    port: int
    dashboard: Any

    def get(self, path: str) -> Any:
        """The status, the first byte's time in milliseconds, and the page."""
        import http.client
        import time

        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        started = time.perf_counter()
        link.request("GET", path, headers={"x-evenhand-token": self.token})
        answer = link.getresponse()
        first = answer.read(1)
        spent = 1000 * (time.perf_counter() - started)
        text = (first + answer.read()).decode("utf-8", "replace")
        link.close()
        return answer.status, spent, text


@contextmanager
def served(store: Path, is_trusted: bool = False) -> Iterator[Served]:
    """The dashboard of a store, on a free port."""
    import threading
    import time

    import uvicorn

    from evenhand.dashboard.guard import Credentials
    from evenhand.dashboard.server import listen
    from evenhand.dashboard.site import build

    listening = listen(0)
    keys = Credentials(hashlib.sha256(str(store).encode()).hexdigest(), listening.getsockname()[1])
    app = build(store, keys, is_trusted)
    settings = uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=1, lifespan="off")
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield Served(f"http://127.0.0.1:{keys.port}", keys.token, keys.port, app.state.dashboard)
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        listening.close()


def pages_of(served_store: Served) -> list[str]:
    """The address of every kind of page that the store offers, with a result, a search and a project of it."""
    catalogue = served_store.dashboard.catalogue
    catalogue.refresh(wait=True)
    entries = catalogue.entries()
    results = [e for e in entries if e.kind == "result" and not e.fault]
    near = [e for e in results if catalogue.project_near(e) is not None] or results
    searches = [s for e in results for s in catalogue.searches_of(e)] + [e for e in entries if e.kind == "search"]
    projects = catalogue.projects()
    found = ["/", "/?sort=rate&order=up&verb=scan&page=2", "/?q=table", "/trends", "/compare", "/what-if", "/start", "/projects"]
    found += [f"/runs/{near[0].id}", f"/runs/{near[0].id}/pairs", f"/runs/{near[0].id}/as/json"] if near else []
    found += [f"/compare?first={results[0].id}&second={results[-1].id}"] if len(results) > 1 else []
    found += ["/compare?" + "&".join(f"run={entry.id}" for entry in results[:40])] if len(results) > 2 else []
    for search in searches[:1]:
        found += [f"/runs/{search.id}", f"/runs/{search.id}/findings", f"/runs/{search.id}/findings?sort=evenhand.gap&order=down"]
    found += [f"/projects/{projects[0].id}", f"/what-if?project={projects[0].id}", f"/start?project={projects[0].id}"] if projects else []
    return found


def times_of(served_store: Served, paths: list[str], times: int = 3) -> dict[str, float]:
    """The median time to the first byte of every page, in milliseconds, with nothing of a page kept from one time to the next."""
    found = {}
    for path in paths:
        spent = []
        for _ in range(times):
            forget()
            served_store.dashboard.catalogue._walked = -math.inf  # every page walks through the whole store
            status, milliseconds, _ = served_store.get(path)
            assert status in (200, 303), (path, status)
            spent.append(milliseconds)
        found[path] = float(np.median(spent))
    return found


def forget() -> None:
    """Throw away what pages keep of results and findings; the list of the store stays."""
    from evenhand.dashboard import comparison_view, found_rows, run_state, run_view

    comparison_view._series_told.cache_clear()
    for kept in (run_view.loaded, run_view._shown, comparison_view._told, found_rows._table, found_rows._names, run_state.rows_in):
        kept.cache_clear()
    for kept in (found_rows._ordered, found_rows._first, found_rows._passing, found_rows._column):
        kept.cache_clear()


def figures(folder: Path, runs: int = 1000, findings: int = 1_000_000) -> dict[str, float]:
    """page_ms_max_1000_runs: the slowest page of a thousand runs.  findings_page_ms_million: of a search of a million findings."""
    store = folder / "store"
    result = scan_project(write_project(store / "project"))
    many_runs(store, result, runs)
    with served(store) as running:
        slowest = times_of(running, pages_of(running))
    vast = folder / "vast"
    file = write_project(vast)
    scan_project(file)
    first = next((vast / "runs").glob("themis-*"))
    many_findings(vast / "runs" / "themis-000000000000", first, findings)
    with served(vast) as running:
        running.dashboard.catalogue.refresh(wait=True)
        large = max(running.dashboard.catalogue.entries(), key=lambda e: e.kind == "search" and e.seed == 99)
        pages = [
            f"/runs/{large.id}/findings{query}" for query in ("", "?page=15000", "?sort=evenhand.gap&order=down", "?where=town&value=north")
        ]
        slow = times_of(running, pages, 1)
    return {"page_ms_max_1000_runs": round(max(slowest.values()), 1), "findings_page_ms_million": round(max(slow.values()), 1)}
