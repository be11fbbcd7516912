"""What a store holds: results of every verb and medium, searches in their folders, and project files; read once, then only what changed."""

from __future__ import annotations

import hashlib
import json
import math
import os
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from evenhand.dashboard.run_state import read_log, state_of
from evenhand.disk import private_folder, read_sealed, write_whole
from evenhand.errors import EvenhandError
from evenhand.report import version_1

DEEPEST_FOLDER = 8
MOST_FILES = 200_000
READ_AT_ONCE = 25
"""So many new results are read while a page waits; more are read beside it."""
SETTLED_SECONDS = 0.5
"""A walk through the store counts for this long."""
SNIFFED = 2_000
PRIVATE = ".evenhand"
"""The folder in the store where the dashboard keeps what is its own."""
FIXED = ("evenhand", "seed", "budget", "data", "domain", "model", "medium", "oracle")
"""What a result and the searches behind it have in common."""


class Stamp(NamedTuple):
    """When and how large: a file with an equal stamp is not read again."""

    modified: int
    size: int


@dataclass(frozen=True)
class StoreEntry:
    """One line of the list: a result, or a search that has left none yet.

    key: equal for a result and for the searches behind it.  fault: why it cannot be read; empty where it can.
    """

    id: str
    path: str  # below the store
    kind: str  # result or search
    verb: str = ""
    medium: str = "table"
    data: str = ""
    model: str = ""
    protected: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    outcome: str = ""
    state: str = "finished"
    reason: str = ""
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    population: str = ""
    pairs: int = 0
    moment: float = 0.0
    seed: int | None = None
    key: str = ""
    fault: str = ""

    @property
    def status(self) -> str:
        """One word for the list: the outcome of what is finished, else where it stands."""
        return "unreadable" if self.fault else self.outcome or self.state


@dataclass(frozen=True)
class ProjectPlace:
    """A project file in the store."""

    id: str
    path: str  # below the store


@dataclass(frozen=True)
class StoreWalk:
    """What one walk found: files with their stamps, and project files."""

    results: dict[str, Stamp] = field(default_factory=dict)
    searches: dict[str, Stamp] = field(default_factory=dict)
    projects: tuple[str, ...] = ()


def place_id(path: str) -> str:
    """Ten hexadecimal digits that stand for a place in the store; a page never names a path."""
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:10]


class Catalogue:
    """The entries of one store.  Every page asks it again; a walk takes milliseconds, and only what has changed is read."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._lock = threading.Lock()
        self._known: dict[str, StoreEntry] = {}
        self._stamps: dict[str, Stamp] = {}
        self._projects: tuple[ProjectPlace, ...] = ()
        self._walked, self._waiting = -math.inf, 0
        self._reader: threading.Thread | None = None
        self._recall()

    @property
    def waiting(self) -> int:
        """How many results are still to be read."""
        return self._waiting

    @property
    def private(self) -> Path:
        """Where the dashboard keeps what is its own."""
        return private_folder(self.root / PRIVATE)

    def entries(self) -> list[StoreEntry]:
        """Everything, the newest first; a search whose result is there stands for itself only while it is unfinished."""
        known = self._known_now()
        told = {entry.key for entry in known if entry.kind == "result" and entry.key}
        shown = [e for e in known if e.kind == "result" or e.state != "finished" or e.key not in told]
        return sorted(shown, key=lambda entry: (-entry.moment, entry.path))

    def _known_now(self) -> list[StoreEntry]:
        """Every result and every search, while another thread may be reading more."""
        self.refresh()
        return list(self._known.values())

    def entry(self, identity: str) -> StoreEntry | None:
        """The entry of this id."""
        return next((entry for entry in self._known_now() if entry.id == identity), None)

    def path(self, entry: StoreEntry | ProjectPlace) -> Path:
        """Where it is."""
        return self.root / entry.path

    def searches_of(self, entry: StoreEntry) -> list[StoreEntry]:
        """The searches behind a result: those with the same header that lie near it."""
        if entry.kind == "search":
            return [entry]
        near = Path(entry.path).parent
        known = [e for e in self._known_now() if e.kind == "search" and e.key == entry.key]
        beside = [e for e in known if Path(e.path).is_relative_to(near) or near.is_relative_to(Path(e.path).parent)]
        return sorted(beside or known, key=lambda search: search.methods)

    def projects(self) -> tuple[ProjectPlace, ...]:
        """The project files."""
        self.refresh()
        return self._projects

    def project(self, identity: str) -> ProjectPlace | None:
        """The project file of this id."""
        return next((place for place in self.projects() if place.id == identity), None)

    def project_near(self, entry: StoreEntry) -> ProjectPlace | None:
        """The project file that a result most likely belongs to: in its folder, or in the nearest one above."""
        known = {Path(place.path).parent: place for place in self.projects()}
        around = [Path(entry.path).parent, *Path(entry.path).parent.parents]
        return next((known[folder] for folder in around if folder in known), None)

    def refresh(self, wait: bool = False) -> None:
        """Look what has changed; many new results are read by a thread of their own unless this is to wait."""
        with self._lock:
            if not wait and time.monotonic() - self._walked < SETTLED_SECONDS:
                return
            seen = walk(self.root)
            self._projects = tuple(ProjectPlace(place_id(path), path) for path in seen.projects)
            stamps = seen.results | seen.searches
            for gone in self._known.keys() - stamps.keys():
                del self._known[gone]
            # A search whose process was killed leaves no trace of that, so what seemed to run is looked at again.
            running = {path for path, entry in self._known.items() if entry.state == "running"}
            due = [path for path, stamp in stamps.items() if path in running or self._stamps.get(path) != stamp or path not in self._known]
            self._read(due, seen, wait)
            self._walked = time.monotonic()

    def _read(self, due: list[str], seen: StoreWalk, wait: bool) -> None:
        """Searches are small and read at once; results at once as long as they are few."""
        results = [path for path in due if path in seen.results]
        for path in due:
            if path in seen.searches:
                self._keep(path, search_entry(self.root, path), seen.searches[path])
        if wait or len(results) <= READ_AT_ONCE:
            self._read_results(results, seen)
        elif self._reader is None or not self._reader.is_alive():
            self._waiting = len(results)
            self._reader = threading.Thread(target=self._read_results, args=(results, seen), daemon=True)
            self._reader.start()

    def _read_results(self, paths: list[str], seen: StoreWalk) -> None:
        for count, path in enumerate(paths, 1):
            self._keep(path, result_entry(self.root, path), seen.results[path])
            self._waiting = len(paths) - count
        if len(paths) > READ_AT_ONCE:
            self._remember()

    def _keep(self, path: str, entry: StoreEntry, stamp: Stamp) -> None:
        self._known[path], self._stamps[path] = entry, stamp

    def _recall(self) -> None:
        """What an earlier dashboard read; anything odd in it is as good as nothing."""
        try:
            kept = read_sealed(self.root / PRIVATE / "index.json")
            for path, line in kept["entries"].items():
                entry = {**line["entry"], "protected": tuple(line["entry"]["protected"]), "methods": tuple(line["entry"]["methods"])}
                self._keep(path, StoreEntry(**entry), Stamp(*line["stamp"]))
        except (EvenhandError, KeyError, TypeError, AttributeError):
            self._known, self._stamps = {}, {}

    def _remember(self) -> None:
        """For the next start; a store that cannot be written to is read again then."""
        from evenhand.disk import sealed

        known = {path: entry for path, entry in list(self._known.items()) if entry.kind == "result"}
        lines = {path: {"entry": asdict(e), "stamp": [self._stamps[path].modified, self._stamps[path].size]} for path, e in known.items()}
        try:
            write_whole(self.private / "index.json", sealed({"entries": lines}), private=True)
        except OSError:
            return


def walk(root: Path) -> StoreWalk:
    """Every result, search and project file below a folder; hidden folders and links to folders are passed over."""
    results: dict[str, Stamp] = {}
    searches: dict[str, Stamp] = {}
    projects: list[str] = []
    for inside, files in _folders(str(root)):
        if "header.json" in files and "log.jsonl" in files:
            searches[inside.rstrip("/")] = _stamp_of_search(files)
            continue
        for name, file in files.items():
            if name.endswith(".json") and not inside.endswith("/witnesses/"):
                results[inside + name] = _stamp(file)
            elif name == "evenhand.yaml" or name.endswith(".evenhand.yaml"):
                projects.append(inside + name)
    found = {path: stamp for path, stamp in results.items() if _is_result(f"{root}/{path}", stamp)}
    return StoreWalk(found, searches, tuple(sorted(projects)))


Listing = dict[str, os.DirEntry[str]]


def _folders(root: str) -> Iterator[tuple[str, Listing]]:
    """Folders below the root, each with a slash behind it, and their files; a search's own parts are left out.

    Texts instead of paths: a store of a thousand runs is walked through for every page.
    """
    waiting, count = [("", 0)], 0
    while waiting and count < MOST_FILES:
        inside, depth = waiting.pop()
        try:
            with os.scandir(f"{root}/{inside}") as listed:
                there = list(listed)
        except OSError:
            continue
        count += len(there)
        files = {each.name: each for each in there if each.is_file(follow_symlinks=False)}
        yield inside, files
        if "header.json" not in files and depth < DEEPEST_FOLDER and len(files) < len(there):
            inner = [each.name for each in there if each.is_dir(follow_symlinks=False) and not each.name.startswith((".", "__"))]
            waiting += [(f"{inside}{name}/", depth + 1) for name in inner if name not in ("node_modules", "answers")]


def _stamp(file: os.DirEntry[str]) -> Stamp:
    try:
        told = file.stat(follow_symlinks=False)
    except OSError:
        return Stamp(0, 0)
    return Stamp(told.st_mtime_ns, told.st_size)


def _stamp_of_search(files: Listing) -> Stamp:
    """Changes with every event and every part."""
    stamps = [_stamp(files[name]) for name in ("log.jsonl", "checksums.json", "result.json", "lock") if name in files]
    return Stamp(max(stamp.modified for stamp in stamps), sum(stamp.size for stamp in stamps))


_SNIFFED: dict[tuple[str, Stamp], bool] = {}


def _is_result(path: str, stamp: Stamp) -> bool:
    """Whether the beginning of a file looks like a result's; asked once for each state of a file."""
    if (path, stamp) not in _SNIFFED:
        _SNIFFED[path, stamp] = _looks_like_result(path)
    return _SNIFFED[path, stamp]


def _looks_like_result(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            head = file.read(SNIFFED)
    except OSError:
        return False
    return any(f'"{key}"'.encode() in head for key in version_1.KEYS)


def result_entry(root: Path, path: str) -> StoreEntry:
    """The line of a result; one that cannot be read says why."""
    moment = _moment(root / path)
    try:
        content = read_sealed(root / path, required=False)
        return _result_line(version_1.converted(content), path, moment)
    except (EvenhandError, version_1.NotConvertible, AttributeError, KeyError, TypeError, ValueError) as fault:
        return StoreEntry(place_id(path), path, "result", moment=moment, fault=str(fault) or type(fault).__name__)


def _result_line(content: Mapping[str, Any], path: str, moment: float) -> StoreEntry:
    header, body = _part(content, "header"), _part(content, "body")
    rate = _first(body.get("rates")) or _proven(_part(body, "certificate"))
    runs = body.get("runs") if isinstance(body.get("runs"), list) else []
    return StoreEntry(
        id=place_id(path),
        path=path,
        kind="result",
        verb=str(content["verb"]),
        outcome=str(content["outcome"]),
        reason=str(content.get("reason", ""))[:400],
        methods=tuple(str(run.get("method", ""))[:80] for run in runs or [] if isinstance(run, Mapping)),
        estimate=_number(rate.get("estimate")),
        low=_number(rate.get("low")),
        high=_number(rate.get("high")),
        population=str(rate.get("population", ""))[:80],
        pairs=len(content.get("witnesses") or []),
        moment=moment,
        **_about(header),
    )


def search_entry(root: Path, path: str) -> StoreEntry:
    """The line of a search."""
    folder = root / path
    log = read_log(folder)
    moment = log[-1].moment if log else _moment(folder)
    try:
        header = read_sealed(folder / "header.json")
        state = state_of(folder, log)
        detail = log[-1].detail if log and state == "failed" else ""
        about = _about(header)
        return StoreEntry(
            place_id(path), path, "search", verb="scan", methods=(str(header["method"])[:80],), state=state, reason=detail[:400],
            moment=moment, **about,
        )  # fmt: skip
    except (EvenhandError, AttributeError, KeyError, TypeError, ValueError) as fault:
        return StoreEntry(place_id(path), path, "search", moment=moment, fault=str(fault) or type(fault).__name__)


def _about(header: Mapping[str, Any]) -> dict[str, Any]:
    """What the header of a result or of a search says of its subject."""
    data, domain, medium, model = (_part(header, name) for name in ("data", "domain", "medium", "model"))
    seed = header.get("seed")
    return {
        "medium": str(medium.get("kind") or "table")[:40],
        "data": str(data.get("name") or "")[:200],
        "model": str(model.get("digest") or "")[:80],
        "protected": tuple(str(name)[:200] for name in domain.get("protected") or ()),
        "seed": seed if isinstance(seed, int) else None,
        "key": header_key(header),
    }


def header_key(header: Mapping[str, Any]) -> str:
    """Equal for a result and the searches behind it; empty where the header does not say enough."""
    if not all(name in header for name in FIXED):
        return ""
    return hashlib.sha256(json.dumps([header[name] for name in FIXED], sort_keys=True, default=str).encode()).hexdigest()[:16]


def _part(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = content.get(name)
    return found if isinstance(found, Mapping) else {}


def _first(found: object) -> Mapping[str, Any]:
    return found[0] if isinstance(found, list) and found and isinstance(found[0], Mapping) else {}


def _proven(certificate: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a certificate bounds: an interval without an estimate."""
    return {"low": certificate.get("lower"), "high": certificate.get("upper"), "population": "domain"} if certificate else {}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) else None


def _moment(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
