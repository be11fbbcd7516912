"""`evenhand methods`: what there is to search with."""

from __future__ import annotations

from typing import Any

import typer
from rich.table import Table

from evenhand.cli.output import AS_JSON, out, say_json, wants_json
from evenhand.contract import media_of
from evenhand.errors import UnknownName
from evenhand.measures.studies import STUDIES
from evenhand.methods import METHODS
from evenhand.oracles import ORACLES
from evenhand.registry import Entry, Registry


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("methods")(methods)


def methods(
    name: str = typer.Argument("", help="Show one method with its parameters and its paper."),
    oracles: bool = typer.Option(False, "--oracles", help="List the oracles instead: what counts as unfair, for `scan --oracle`."),
    studies: bool = typer.Option(False, "--studies", help="List the studies instead: what `measure` can look at besides."),
    as_json: bool = AS_JSON,
) -> None:
    """List the search methods, what each needs of a model and works on, and its published parameters; or the oracles, or the studies."""
    as_json = wants_json(as_json)
    registry: Registry[Any] = ORACLES if oracles else STUDIES if studies else METHODS
    known = registry.entries()
    if name and name not in known:
        raise UnknownName(registry.kind, name, known)
    chosen = {name: known[name]} if name else known
    if as_json:
        say_json([_facts(entry) for entry in chosen.values()])
    elif name:
        _show(known[name], "name:parameter=value" if oracles else "--set name=value")
    else:
        _list(chosen)


def _facts(entry: Entry[Any]) -> dict[str, object]:
    """What JSON tells of a method or an oracle; only methods need something of a model."""
    needs = getattr(entry.make, "needs", None)
    told: dict[str, object] = {"name": entry.name, "summary": entry.summary, "paper": entry.paper}
    if needs is not None:
        told |= {"needs": needs.__name__, "works_on": list(media_of(entry.make)) or ["every medium"]}
    return told | {"parameters": entry.parameters}


def _list(entries: dict[str, Entry[Any]]) -> None:
    told = [_facts(entry) for entry in entries.values()]
    extra = ["needs", "works_on"] if all("needs" in facts for facts in told) else []
    table = Table("name", *(name.replace("_", " ") for name in extra), "what it does", box=None, pad_edge=False)
    for facts in told:
        cells = [", ".join(cell) if isinstance(cell := facts[name], list) else str(cell) for name in extra]
        table.add_row(f"[bold]{facts['name']}[/]", *cells, str(facts["summary"]))
    out.print(table)
    out.print("\n`evenhand methods NAME` shows the parameters of one.", style="dim")


def _show(entry: Entry[Any], syntax: str) -> None:
    out.print(f"[bold]{entry.name}[/]  {entry.summary}\n")
    if entry.paper:
        out.print(f"Paper: {entry.paper}\n")
    table = Table("parameter", "default", box=None, pad_edge=False)
    for parameter, default in entry.parameters.items():
        table.add_row(parameter, repr(default))
    out.print(table)
    out.print(f"\nChange one with `{syntax}`.", style="dim")
