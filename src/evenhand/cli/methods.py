"""`evenhand methods`: what there is to search with."""

from __future__ import annotations

import typer
from rich.table import Table

from evenhand.cli.output import out, say_json, wants_json
from evenhand.contract import Method, media_of
from evenhand.errors import UnknownName
from evenhand.methods import METHODS
from evenhand.registry import Entry


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("methods")(methods)


def methods(
    name: str = typer.Argument("", help="Show one method with its parameters and its paper."),
    as_json: bool = typer.Option(None, "--json/--text", help="JSON or text; default: text on a terminal, else JSON."),
) -> None:
    """List the search methods, what each needs of a model and works on, and its published parameters."""
    as_json = wants_json(as_json)
    known = METHODS.entries()
    if name and name not in known:
        raise UnknownName("method", name, known)
    chosen = {name: known[name]} if name else known
    if as_json:
        say_json([_facts(entry) for entry in chosen.values()])
    elif name:
        _show(known[name])
    else:
        _list(chosen)


def _facts(entry: Entry[Method]) -> dict[str, object]:
    return {
        "name": entry.name,
        "summary": entry.summary,
        "paper": entry.paper,
        "needs": entry.make.needs.__name__,  # type: ignore[attr-defined]
        "works_on": list(media_of(entry.make)) or ["every medium"],
        "parameters": entry.parameters,
    }


def _list(entries: dict[str, Entry[Method]]) -> None:
    table = Table("method", "needs", "works on", "what it does", box=None, pad_edge=False)
    for entry in entries.values():
        table.add_row(
            f"[bold]{entry.name}[/]", str(_facts(entry)["needs"]), ", ".join(media_of(entry.make)) or "every medium", entry.summary
        )
    out.print(table)
    out.print("\n`evenhand methods NAME` shows the parameters of one.", style="dim")


def _show(entry: Entry[Method]) -> None:
    out.print(f"[bold]{entry.name}[/]  {entry.summary}\n")
    if entry.paper:
        out.print(f"Paper: {entry.paper}\n")
    table = Table("parameter", "default", box=None, pad_edge=False)
    for parameter, default in entry.parameters.items():
        table.add_row(parameter, repr(default))
    out.print(table)
    out.print("\nChange one with `--set name=value`.", style="dim")
