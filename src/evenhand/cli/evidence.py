"""`evenhand replay` and `evenhand report`: ask again, and show again."""

from __future__ import annotations

from pathlib import Path

import typer

from evenhand.cli.output import PASS, VIOLATION, out, say_json, wants_json
from evenhand.cli.project import DEFAULT_FILE, load_all
from evenhand.engine import witness
from evenhand.errors import StoreError


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("replay")(replay)
    app.command("report")(report)


def replay(
    which: str = typer.Argument(..., metavar="ID", help="A witness id, a witness file, or a folder of them."),
    file: Path = typer.Option(DEFAULT_FILE, "--project", "-p", help="The project file."),
    model: str = typer.Option(None, help="A model file or URL instead of the file's."),
    trusted: bool = typer.Option(False, "--trusted", help="Allow a pickle: loading one runs code."),
    as_json: bool = typer.Option(None, "--json/--text", help="JSON or text; default: text on a terminal, else JSON."),
) -> None:
    """Ask the model again about a witness.  Exits with 1 when any pair is still treated differently, 0 when none is."""
    as_json = wants_json(as_json)
    loaded = load_all(file, model, trusted)
    paths = witness.find(which, [loaded.project.scan.runs, Path.cwd()])
    replays = [witness.replay(witness.load(path), loaded.project.domain, loaded.model) for path in paths]
    if as_json:
        say_json([_record(again) for again in replays])
    else:
        for again in replays:
            _show(again)
        unfair = sum(again.is_unfair for again in replays)
        out.print(f"{unfair} of {len(replays)} pairs are treated differently.", highlight=False)
    raise typer.Exit(VIOLATION if any(again.is_unfair for again in replays) else PASS)


def _record(again: witness.Replay) -> dict[str, object]:
    return {
        "id": again.witness.id,
        "unfair": again.is_unfair,
        "outcome": again.outcome,
        "twin_outcome": again.twin_outcome,
        "before": [again.witness.outcome, again.witness.twin_outcome],
    }


def _show(again: witness.Replay) -> None:
    kept = again.witness
    word = "[red]still unfair[/]" if again.is_unfair else "[green]fair now[/]"
    out.print(f"[bold]{kept.id}[/] {word}", end="  ")
    differing = {name: (kept.person[name], kept.twin[name]) for name in kept.person if kept.person[name] != kept.twin[name]}
    change = ", ".join(f"{name} {a!r} to {b!r}" for name, (a, b) in differing.items())
    out.print(f"{change}: the model says {again.outcome!r} and {again.twin_outcome!r}", markup=False, highlight=False)


def report(
    source: Path = typer.Argument(..., help="A result.json, or the folder that holds it."),
    target: Path = typer.Argument(Path("report.html"), help="What to write: .html, .md, .xml (JUnit), .sarif, .json or .csv (pairs)."),
    name: str = typer.Option(None, "--format", help="The format, whatever the file's ending: html, md, junit, sarif, json or csv."),
) -> None:
    """Render a stored result of any verb, of this version or the one before."""
    from evenhand.report import load, write

    if target.exists():
        raise StoreError(f"{target} exists already and is not overwritten; name another file")
    path = source / "result.json" if source.is_dir() else source
    out.print(f"Written: {write(load(path), target, name, beside=path.parent)}", markup=False)
