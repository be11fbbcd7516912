"""`evenhand dashboard`: pages over a folder of results, for this machine only."""

from __future__ import annotations

from pathlib import Path

import typer

from evenhand.cli.output import tell
from evenhand.errors import require


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("dashboard")(dashboard_command)


def dashboard_command(
    store: Path = typer.Option(Path("."), "--store", help="The folder with projects, runs and results; default: this one."),
    port: int = typer.Option(None, min=0, max=65535, help="The port on 127.0.0.1; default: the first free one from 8765 on, 0 for any."),
    trusted: bool = typer.Option(False, "--trusted", help="Allow what-if and scans to load files that can run code: pickles, torch files."),
) -> None:
    """Show all runs, start and stop scans, and ask the model what if.  Prints the address; Ctrl-C ends it."""
    require("starlette", "dashboard")
    require("uvicorn", "dashboard")
    from evenhand.dashboard.server import serve

    serve(store, port, trusted, tell)
