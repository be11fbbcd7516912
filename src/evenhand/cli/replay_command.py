"""`evenhand replay`: ask the model again about pairs that were kept."""

from __future__ import annotations

from pathlib import Path

import typer

from evenhand.cli.flags import ModelFlags, PictureFlags, unfolded
from evenhand.cli.output import AS_JSON, BY_OUTCOME, REPORTS, Leaving, placed, say_json, tell, told, wants_json, written
from evenhand.cli.project import DEFAULT_FILE, load_all


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay")(unfolded(replay_command))


def replay_command(
    which: str = typer.Argument(..., metavar="ID", help="A witness id, a witness file, or a folder of them."),
    file: Path = typer.Option(DEFAULT_FILE, "--project", "-p", help="The project file."),
    *,
    wired: ModelFlags,
    pictures: PictureFlags,
    report: list[Path] = REPORTS,
    as_json: bool = AS_JSON,
) -> None:
    """Ask the model again about a witness.  Exits with 1 when any pair is still treated differently, 0 when none is, 2 usage, 4 model."""
    from evenhand.verbs.replay import replay

    loaded = load_all(file, wired, pictures=pictures)
    result = replay(which, loaded.model, loaded.data, folders=(loaded.project.scan.runs, Path.cwd()))
    where = Leaving(loaded.project.scan.runs, place=loaded.place)
    pages = written(result, report, where)
    if wants_json(as_json):
        say_json(placed(result, where))
    else:
        tell("\n".join([told(result), *(f"Report: {page}" for page in pages)]))
    raise typer.Exit(BY_OUTCOME[result.outcome])
