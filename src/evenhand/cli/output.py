"""What all commands share: the console, the exit codes, progress bars, and paths that never overwrite."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import typer
import typer.main
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column

from evenhand.contract import Headway, Result, Watch
from evenhand.disk import private_folder, sealed, write_whole
from evenhand.engine.policy import PolicyRuling
from evenhand.errors import BudgetSpent, EvenhandError, InvalidArgument, MethodError, ModelError, StoreError, UnclearAnswers
from evenhand.models.budget import Budget
from evenhand.values import watched

PASS, VIOLATION, USAGE, INCONCLUSIVE, MODEL_FAILED, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
BY_OUTCOME = {"pass": PASS, "violation": VIOLATION, "inconclusive": INCONCLUSIVE}

REPORT_HELP = (
    "A file to write, by its ending: .html, .md, .card.md (model card), .xml (JUnit), .sarif, .json, .csv, or an evidence "
    "pack (.nyc144.md, .four-fifths.md, .twin-tests.md, .eu-ai-act.md); repeat for several."
)
DOUBLE_ENDINGS = (".card.md", ".sarif.json")


def known_endings(paths: Sequence[Path] | None) -> Sequence[Path]:
    """The given files, each of whose endings stands for a format: a wrong one is told before hours of work."""
    from evenhand.report import format_for

    for path in paths or ():
        format_for(path)
    return paths or ()


LEFT = "What is printed and written"
REPORTS: Any = typer.Option(None, "--report", help=REPORT_HELP, callback=known_endings, rich_help_panel=LEFT)
AS_JSON: Any = typer.Option(None, "--json/--text", help="JSON or text; default: text on a terminal, else JSON.", rich_help_panel=LEFT)
QUIET: Any = typer.Option(False, "--quiet", "-q", help="No progress.", rich_help_panel=LEFT)
"""The options of every command that leaves a result."""

BUDGET = "Budget"
CANDIDATES: Any = typer.Option(None, min=1, help="Judge at most this many candidates.", rich_help_panel=BUDGET)
MODEL_ROWS: Any = typer.Option(
    None, min=1, help="Ask the model about at most this many rows in the search; checks and rates come on top.", rich_help_panel=BUDGET
)
SECONDS: Any = typer.Option(None, min=0.001, help="Stop after this many seconds.", rich_help_panel=BUDGET)
"""The options of every command with a budget; the first one reached ends a run."""
WORK = "Work sharing"
WORKERS: Any = typer.Option(
    None, min=1, help="Split the work among this many processes; what is found does not depend on it.", rich_help_panel=WORK
)
CLUSTER: Any = typer.Option(
    None, help="Split the work over a Dask cluster: its scheduler's address, tcp://HOST:8786.", rich_help_panel=WORK
)
FRESH: Any = typer.Option(
    False,
    "--fresh",
    help="Ask a model behind a URL everything again, for it was changed on purpose; what was kept of it before stays aside.",
)
"""The option of every command that keeps what endpoints answer."""
AFRESH: Any = typer.Option(
    False, "--fresh", help="Make every run again, asking every endpoint again; what was made before stays aside in the folder."
)
"""The option of every command that keeps records of many runs."""

PATIENCE = 0.5

HEADWAY_FILE = "EVENHAND_HEADWAY"
"""The environment variable that names a file for the headway, where another program watches instead of a person."""

out = Console()
err = Console(stderr=True)

# typer carries its own copy of click from 0.29 on, and the running command is known to that copy only.
_typer = vars(typer.main)
current_context: Any = _typer.get("get_current_context") or _typer["click"].get_current_context


def exit_code(fault: EvenhandError) -> int:
    """2 for what the user can correct, 3 where no verdict was possible, 4 where the model failed."""
    if isinstance(fault, ModelError):
        return MODEL_FAILED
    return INCONCLUSIVE if isinstance(fault, MethodError | BudgetSpent) else USAGE


def say_json(content: Any, path: Path | None = None) -> None:
    """JSON to a file or to standard output, with nothing around it."""
    told = _finite(content)
    text = json.dumps(told, indent=2, default=_plain, allow_nan=False) + "\n"
    if path is None:
        sys.stdout.write(text)
        return
    is_result = isinstance(told, dict) and "evenhand_result" in told  # which shows people's rows
    if is_result:
        text = sealed(told, _plain)
    try:
        private_folder(path.parent)
        write_whole(path, text, private=is_result)
    except OSError as fault:
        raise StoreError(f"cannot write {path}: {fault.strerror or fault}") from fault


def wants_json(chosen: bool | None) -> bool:
    """What the user chose with --json or --text; else JSON where no person reads: standard output is no terminal."""
    return not out.is_terminal if chosen is None else chosen


def free_path(path: Path) -> Path:
    """The path itself, or with -2, -3, ... before its ending where it exists: results are never overwritten."""
    if not path.exists():
        return path
    ending = next((each for each in DOUBLE_ENDINGS if path.name.endswith(each)), path.suffix)
    stem = path.name.removesuffix(ending)
    return next(p for n in range(2, 1_000_000) if not (p := path.with_name(f"{stem}-{n}{ending}")).exists())


@dataclass(frozen=True)
class Leaving:
    """Where a command leaves its result: `result.json` and a report below a folder, under the verb's own name where it is no scan."""

    folder: Path
    name: str = "result"
    reports: Sequence[Path] | None = None  # files to write instead of the page, each in the format of its ending
    as_json: bool = False
    place: Mapping[str, Any] = field(default_factory=dict)  # the project file and its lines
    ruling: PolicyRuling | None = None  # what a policy says with its baseline and waivers, in place of the result's own


def leave(result: Result, where: Leaving) -> NoReturn:
    """Keep the result and its page, say what it is and where they are, and exit with its outcome."""
    pages = kept(result, where)
    if where.as_json:
        say_json(placed(result, where))
    else:
        ruled = f"{where.ruling.outcome.upper()} by the policy: {where.ruling.reason}.\n\n" if where.ruling else ""
        tell(f"{ruled}{told(result)}\n\nReport: {', '.join(str(page) for page in pages)}")
    if getattr(result, "is_interrupted", False):
        err.print("interrupted: everything so far is kept; the same command continues where it stopped", soft_wrap=True)
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(BY_OUTCOME[where.ruling.outcome if where.ruling else result.outcome])


def kept(result: Result, where: Leaving) -> list[Path]:
    """Write the result and its pages, none over anything that is there; the pages' paths."""
    say_json(placed(result, where), free_path(where.folder / f"{where.name}.json"))
    page = "report" if where.name == "result" else where.name
    return written(result, where.reports or [where.folder / f"{page}.html"], where)


def written(result: Result, reports: Sequence[Path] | None, where: Leaving | None = None) -> list[Path]:
    """Write the result to each of these files in the format of its ending, over nothing that is there."""
    from evenhand.report import write

    content = placed(result, where or Leaving(Path()))
    return [write(content, free_path(path)) for path in reports or ()]


def placed(result: Result, where: Leaving) -> dict[str, Any]:
    """The result's dictionary with what a policy says of it, and with the project file, so that other tools can point at its lines."""
    content, place = result.as_dict(), where.place
    content = where.ruling.on(content) if where.ruling else content
    if not place:
        return content
    header = content["header"]
    return {**content, "header": {**header, "details": {**header["details"], "project": dict(place)}}}


def tell_choices(fault: EvenhandError) -> None:
    """The lines for evenhand.yaml that an error proposes."""
    if isinstance(fault, UnclearAnswers) and fault.choices:
        blocks = ["\n".join(f"  {line}" for line in lines) for lines in fault.choices]
        text = "\n".join(["", "Below `model:` in evenhand.yaml, beside its path: or url:, write one of these:", "\n  # or\n".join(blocks)])
        err.print(text, markup=False, highlight=False, soft_wrap=True)


def told(result: Result) -> str:
    """The result's summary, above a line that says how the model's answers were read."""
    reading = result.header.details.get("reading")
    return f"{result.summary()}\nThe model's answers: {reading}." if reading else result.summary()


def tell(text: str) -> None:
    """Text as it is: no markup, no highlighting, no line broken."""
    out.print(text, markup=False, highlight=False, soft_wrap=True)


def names_in(given: Sequence[str] | None) -> list[str] | None:
    """The names that an option was given, each time one or several separated by commas; None where nothing was given."""
    found = [name.strip() for text in given or () for name in text.split(",")]
    return found or None


def as_budget(candidates: int | None, model_rows: int | None, seconds: float | None) -> Budget:
    """The budget that the options describe; 100,000 candidates when they say nothing."""
    if candidates is None and model_rows is None and seconds is None:
        candidates = 100_000
    return Budget(candidates, model_rows, seconds)


def named_parameters(given: list[str]) -> dict[str, str]:
    """`--set name=value` options as a mapping."""
    pairs = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise InvalidArgument(f"--set {item!r} must read name=value")
        pairs[name.strip()] = value.strip()
    return pairs


@contextmanager
def watching(quiet: bool, only: str | None = None) -> Iterator[Watch | None]:
    """A bar for everything long that tells of its headway, or only for what is named so; nothing where nobody watches."""
    if file := os.environ.get(HEADWAY_FILE):
        show = HeadwayFile(Path(file)).show
        with watched(show):
            yield show
    elif quiet or not err.is_terminal:
        yield None
    else:
        with _progress() as progress, watched(Bars(progress, only, PATIENCE).show):
            yield Bars(progress, only).show


def announce(sentence: str) -> None:
    """Something to know before a model is asked; nothing where there is nothing to say."""
    if sentence:
        err.print(sentence, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def opening() -> Iterator[None]:
    """Bars for what is read and learnt before a verb begins; they leave nothing behind."""
    context = current_context(silent=True)
    chosen = context.params if context is not None else {}
    if os.environ.get(HEADWAY_FILE) or chosen.get("quiet") or chosen.get("as_json") or not err.is_terminal:
        yield
        return
    with _progress(is_passing=True) as progress, watched(Bars(progress).show):
        yield


def _progress(is_passing: bool = False) -> Progress:
    """Bars with what is done, its pace and an estimate of what is left."""
    columns = (
        SpinnerColumn(),
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    # A long note is cut; without a share of its own it would squeeze the bar and the estimate out of a narrow terminal.
    note = TextColumn("{task.fields[note]}", markup=False, table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"))
    return Progress(*columns, note, console=err, transient=is_passing, expand=True)


@dataclass
class HeadwayFile:
    """Keeps the last headway in a file, for the program that started this one; what cannot be written is not told."""

    path: Path
    written: float = 0.0

    def show(self, headway: Headway) -> None:
        """Write what is new, at most a few times a second."""
        now = time.monotonic()
        if now - self.written < 0.3 and headway.done != headway.total:
            return
        self.written = now
        told = {"what": headway.what, "done": headway.done, "total": headway.total, "note": headway.note}
        temporary = self.path.with_suffix(".part")
        with suppress(OSError):
            temporary.write_text(json.dumps(told, default=_plain), encoding="utf-8")
            os.replace(temporary, self.path)


@dataclass
class Bars:
    """One bar for each thing at work, refreshed a few times a second, with its pace."""

    progress: Progress
    only: str | None = None
    patience: float = 0.0  # seconds that something must take before it has a bar
    bars: dict[str, Bar] = field(default_factory=dict)
    met: dict[str, float] = field(default_factory=dict)

    def show(self, headway: Headway) -> None:
        """Draw what is new."""
        if self.only is not None and headway.what != self.only:
            return
        now = time.monotonic()
        if now - self.met.setdefault(headway.what, now) < self.patience and headway.what not in self.bars:
            return
        if headway.what not in self.bars:
            self.bars[headway.what] = Bar(self.progress.add_task(headway.what, total=headway.total, note=""), now)
        bar = self.bars[headway.what]
        if now - bar.shown < 0.1 and headway.done != headway.total and headway.note == bar.note:
            return
        bar.shown, bar.note = now, headway.note
        pace = f", {headway.done / (now - bar.begun):,.0f}/s" if headway.done > now - bar.begun > 0.5 else ""
        self.progress.update(bar.task, completed=headway.done, total=headway.total, note=f"{headway.note}{pace}")


@dataclass
class Bar:
    """A task of the progress display, since when it is there, when it was last drawn, and the words beside it."""

    task: TaskID
    begun: float
    shown: float = 0.0
    note: str = ""


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: what is not known is null."""
    if isinstance(value, dict):
        return {str(name): _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    return str(value)
