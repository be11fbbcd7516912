"""`evenhand demo`: a project of any medium, scanned, ending with a report to open."""

from __future__ import annotations

from pathlib import Path

import typer

from evenhand.cli.completion import one_of
from evenhand.cli.output import err, free_path, out, say_json, told, watching
from evenhand.engine import witness


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    what: str = typer.Argument(
        "table", help="The medium: table, pictures, scenes or text.", autocompletion=one_of("table", "pictures", "scenes", "text")
    ),
    folder: Path = typer.Option(None, help="Where everything goes; default: evenhand-demo, or evenhand-demo-pictures and so on."),
    candidates: int = typer.Option(None, min=1, help="Try at most this many candidates."),
    seed: int = typer.Option(7, min=0, help="Seed of everything random."),
) -> None:
    """Write a project of one medium into a folder, and look for unfair treatment: of people in a table, pictures, scenes or texts."""
    from evenhand.verbs import demo as verb

    with err.status("preparing data and model"):
        written = verb.demo_project(what, folder, seed)
    for line in written.lines:
        _say(line)
    with watching(quiet=False) as watch:
        shown = verb.demo(what, folder, candidates=candidates, seed=seed, watch=watch)
    for kept in shown.result.witnesses:
        witness.save(kept, shown.folder / "runs" / "witnesses")
    say_json(shown.result.as_dict(), free_path(shown.folder / "result.json"))
    page = shown.result.report(free_path(shown.folder / "report.html"))
    _say("")
    _say(told(shown.result))
    _say(f"\nA project to play with is in {shown.folder}: `cd {shown.folder}`, then `evenhand scan`.")
    if shown.replay_line:
        _say(f"Ask the model again about the first pair: `{shown.replay_line}`")
    _say(f"Open the report: {page.resolve()}")


def _say(line: str) -> None:
    out.print(line, markup=False, highlight=False, soft_wrap=True)
