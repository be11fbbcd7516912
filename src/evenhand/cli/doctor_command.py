"""`evenhand doctor`: is the model wired right, and what would a scan cost?"""

from __future__ import annotations

from pathlib import Path

import typer

from evenhand.cli.flags import ModelFlags, unfolded
from evenhand.cli.output import AS_JSON, BY_OUTCOME, MODEL_FAILED, REPORTS, Leaving, err, placed, say_json, tell, told, wants_json, written
from evenhand.cli.project import DEFAULT_FILE, load_all


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(unfolded(doctor_command))


def doctor_command(
    file: Path = typer.Argument(DEFAULT_FILE, help="The project file."),
    *,
    wired: ModelFlags,
    candidates: int = typer.Option(100_000, min=1, help="Say what a scan of this many candidates would cost."),
    report: list[Path] = REPORTS,
    as_json: bool = AS_JSON,
) -> None:
    """Check the model's wiring before anything is trusted.

    Exits with 0 when every check holds, 2 usage, 3 where one keeps it from passing, 4 where one fails.
    """
    from evenhand.verbs.announced_rows import examined_rows
    from evenhand.verbs.doctor import doctor

    loaded = load_all(file, wired)
    if getattr(loaded.model, "is_costly", False):
        err.print(f"The model is asked about at most {examined_rows(loaded.model, loaded.data):,} rows.", soft_wrap=True)
    result = doctor(loaded.model, loaded.data, candidates=candidates)
    where = Leaving(loaded.project.scan.runs, place=loaded.place)
    pages = written(result, report, where)
    if wants_json(as_json):
        say_json(placed(result, where))
    else:
        tell("\n".join([told(result), *(f"Report: {page}" for page in pages)]))
    raise typer.Exit(MODEL_FAILED if result.failed else BY_OUTCOME[result.outcome])
