"""`evenhand scan`: search, measure, judge, and leave a report."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import typer

from evenhand.campaign.executors import executor_for
from evenhand.cli.completion import method_names, oracle_names
from evenhand.cli.flags import ModelFlags, PictureFlags, unfolded
from evenhand.cli.output import (
    AS_JSON,
    CANDIDATES,
    CLUSTER,
    FRESH,
    MODEL_ROWS,
    QUIET,
    REPORTS,
    SECONDS,
    WORKERS,
    Leaving,
    announce,
    as_budget,
    err,
    leave,
    named_parameters,
    names_in,
    wants_json,
    watching,
)
from evenhand.cli.project import DEFAULT_FILE, ORACLE_HELP, PROTECTED, Loaded, load_all
from evenhand.contract import Method, Watch
from evenhand.domain.project_sections import MethodChoice
from evenhand.engine import witness
from evenhand.engine.gate import Gate
from evenhand.errors import InvalidArgument
from evenhand.methods import METHODS
from evenhand.verbs.announced_rows import scan_in_words
from evenhand.verbs.build_gate import policy_of, ruled
from evenhand.verbs.scan import DEFAULT_METHODS, Options, scan

MANY_ROWS = 200_000
"""Rows of a table from which on its cells are let go before a search."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("scan")(unfolded(scan_command))


def scan_command(
    file: Path = typer.Argument(DEFAULT_FILE, help="The project file."),
    method: list[str] = typer.Option(None, "--method", "-m", help="Search method; repeat for several.", autocompletion=method_names),
    oracle: str = typer.Option(None, "--oracle", "-o", help=ORACLE_HELP, autocompletion=oracle_names),
    protected: list[str] = PROTECTED,
    *,
    wired: ModelFlags,
    pictures: PictureFlags,
    candidates: int = CANDIDATES,
    model_rows: int = MODEL_ROWS,
    seconds: float = SECONDS,
    seed: int = typer.Option(None, min=0, help="Seed of everything random."),
    workers: int = WORKERS,
    cluster: str = CLUSTER,
    fresh: bool = FRESH,
    setting: list[str] = typer.Option(None, "--set", help="A parameter of the method, name=value."),
    baseline: Path = typer.Option(None, help="An earlier result: only what is new or worse fails."),
    report: list[Path] = REPORTS,
    annotated: Path = typer.Option(None, help="Scenes: a folder for the changed pictures of all findings, with COCO annotations."),
    yes: bool = typer.Option(False, "--yes", help="Do not ask before a service is called that is paid for each picture."),
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
) -> None:
    """Search for unfair treatment.  Exits with 0 pass, 1 violation, 2 usage, 3 inconclusive, 4 model failed, 130 interrupted."""
    as_json = wants_json(as_json)
    loaded = load_all(file, wired, pictures=pictures)
    _confirm_price(loaded, yes)
    loaded = _lightened(loaded)
    _give_back()
    settings = loaded.project.scan
    given = as_budget(
        candidates or settings.candidates if not (model_rows or seconds) else candidates,
        model_rows or (None if candidates or seconds else settings.model_rows),
        seconds or (None if candidates or model_rows else settings.seconds),
    )
    announce(scan_in_words(loaded.model, loaded.data, given, settings.rate_rows))
    with watching(quiet or as_json) as watch:
        result = scan(
            loaded.model,
            loaded.data,
            protected=names_in(protected),
            methods=_methods(method, setting, loaded),
            oracle=oracle or loaded.project.oracle,
            budget=given,
            seed=settings.seed if seed is None else seed,
            options=replace(_options(loaded, watch), executor=executor_for(workers, cluster, loaded.model), fresh=fresh),
        )
    for kept in result.witnesses:
        witness.save(kept, settings.runs / "witnesses")
    if annotated is not None:
        err.print(f"changed pictures with annotations: {result.annotated(annotated)}", markup=False, highlight=False, soft_wrap=True)
    ruling = ruled(result.as_dict(), replace(policy_of(loaded.project.gate), groups=()), baseline or loaded.project.gate.baseline)
    leave(result, Leaving(settings.runs, "result", report, as_json, loaded.place, ruling))


def _lightened(loaded: Loaded) -> Loaded:
    """A search reads codes and no cells; of a large table, these would take as much memory again."""
    is_large = loaded.project.medium is None and len(loaded.data) >= MANY_ROWS
    return replace(loaded, data=loaded.data.without_cells()) if is_large else loaded


def _give_back() -> None:
    """What pyarrow keeps of cells that nobody holds any more."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


def _confirm_price(loaded: Loaded, yes: bool) -> None:
    """Say what a service that is paid for each picture would cost at most, and go on only when that is wanted."""
    price = float(getattr(getattr(loaded.model, "recogniser", None), "price_per_thousand", 0.0))
    if not price or yes:
        return
    most = len(loaded.data.domain.columns[0].values) * (len(loaded.data.domain.columns[1].values) + 1)
    cost = f"at most {most:,} pictures, about {most * price / 1000:.2f} USD at list price; answers that are kept cost nothing"
    if not sys.stdin.isatty():
        raise InvalidArgument(f"the model is a paid service ({cost}); pass --yes to call it")
    if not typer.confirm(f"The model is a paid service: {cost}.  Call it?"):
        raise InvalidArgument("the paid service was not called")


def _methods(names: list[str] | None, setting: list[str] | None, loaded: Loaded) -> list[Method]:
    changed = named_parameters(setting or [])
    choices = [MethodChoice(name) for name in names] if names else list(loaded.project.scan.methods)
    choices = choices or [MethodChoice(name) for name in DEFAULT_METHODS]
    if changed and len(choices) > 1:
        raise InvalidArgument("--set is ambiguous with several methods; name one with --method")
    return [_method(choice, changed, loaded.project.scan.population) for choice in choices]


def _method(choice: MethodChoice, changed: dict[str, str], population: str | None) -> Method:
    """A method with the file's and the command's parameters; the file's population for one that samples a chosen one."""
    known = METHODS.entries()
    samples = choice.name in known and "population" in known[choice.name].parameters
    common = {"population": population} if population and samples else {}
    return METHODS.make(choice.name, {**common, **choice.parameters, **changed})


def _options(loaded: Loaded, watch: Watch | None) -> Options:
    gate, settings = loaded.project.gate, loaded.project.scan
    return Options(
        rate_rows=settings.rate_rows,
        gate=Gate(gate.max_rate, gate.confidence, gate.resolution),
        folder=settings.runs,
        watch=watch,
    )
