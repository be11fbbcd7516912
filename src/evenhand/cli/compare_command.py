"""`evenhand compare`: two results, or two models on one project: better, worse, new, gone; more results as a trend."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from evenhand.cli.flags import ModelFlags, unfolded
from evenhand.cli.output import AS_JSON, REPORTS, Leaving, leave, names_in, wants_json
from evenhand.cli.project import DEFAULT_FILE, PROTECTED, load_all
from evenhand.contract import Result
from evenhand.errors import InvalidArgument


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(unfolded(compare_command, without=("model",)))


def compare_command(
    first: str = typer.Argument(..., help="Before: a result.json, a folder with one, or a model file or URL."),
    second: str = typer.Argument(..., help="After: the same kind of thing."),
    further: list[str] = typer.Argument(None, help="Later results, the newest last: shown as a trend, in which the newest is judged."),
    file: Path = typer.Option(DEFAULT_FILE, "--project", "-p", help="The project file whose data two models are asked about."),
    protected: list[str] = PROTECTED,
    *,
    wired: ModelFlags,
    tolerance: float = typer.Option(0.001, min=0.0, max=0.999, help="By how much the rate may rise."),
    rate_rows: int = typer.Option(None, min=1, help="How many people two models are asked about; default: 10,000, or all real rows."),
    seed: int = typer.Option(0, min=0, help="Seed of the people that are drawn."),
    folder: Path = typer.Option(Path("runs"), help="Where comparison.json and its page go; results: never overwritten."),
    report: list[Path] = REPORTS,
    as_json: bool = AS_JSON,
) -> None:
    """Say whether the second, or the newest, is worse.  Exits with 0 no worse, 1 worse, 2 usage, 3 inconclusive, 4 model failed."""
    from evenhand.verbs.compare import CompareOptions, compare, compare_over_time

    options = CompareOptions(rate_rows=rate_rows, tolerance=tolerance)
    result: Result
    if further:
        result = compare_over_time(_results_only([first, second, *further]), options=options)
    elif _is_result(first) and _is_result(second):
        result = compare(first, second, options=options)
    else:
        old, new = (load_all(file, replace(wired, model=each)) for each in (first, second))
        result = compare(old.model, new.model, new.data, protected=names_in(protected), seed=seed, options=options)
    leave(result, Leaving(folder, "comparison", report, wants_json(as_json)))


def _results_only(given: list[str]) -> list[str]:
    for each in given:
        if not _is_result(each):
            raise InvalidArgument(
                f"{each!r} is no result: more than two are compared as results, each a result.json or a folder with one.  Scan every model "
                "first, or compare two models"
            )
    return given


def _is_result(given: Any) -> bool:
    path = Path(given)
    return path.suffix == ".json" or (path / "result.json").exists()
