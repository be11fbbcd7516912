"""`evenhand report`: a stored result in another format."""

from __future__ import annotations

from pathlib import Path

import typer

from evenhand.cli.output import tell
from evenhand.errors import StoreError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report_command)


def report_command(
    source: Path = typer.Argument(..., help="A result.json, or the folder that holds it."),
    target: Path = typer.Argument(Path("report.html"), help="What to write: .html, .md, .xml (JUnit), .sarif, .json or .csv (pairs)."),
    name: str = typer.Option(None, "--format", help="The format, whatever the file's ending: html, md, junit, sarif, json or csv."),
) -> None:
    """Render a stored result of any verb, of this version or the one before."""
    from evenhand.report import load, write

    if target.exists():
        raise StoreError(f"{target} exists already and is not overwritten; name another file")
    path = source / "result.json" if source.is_dir() else source
    tell(f"Written: {write(load(path), target, name, beside=path.parent)}")
