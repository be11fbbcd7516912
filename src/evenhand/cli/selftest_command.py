"""`evenhand selftest`: does every method find what is planted, and more than random search does?"""

from __future__ import annotations

from pathlib import Path

import typer
from rich.table import Table

from evenhand.checks.power import Power, Trial, power_table
from evenhand.cli.output import INCONCLUSIVE, err, out, say_json
from evenhand.errors import UnknownName
from evenhand.methods import METHODS, working_on


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("selftest")(selftest)


def selftest(
    method: list[str] = typer.Argument(None, help="Methods to test; all of them by default."),
    candidates: int = typer.Option(10_000, min=100, help="Budget of each run."),
    seeds: int = typer.Option(3, min=1, help="How many seeds."),
    json_file: Path = typer.Option(None, "--json", help="Write the table as JSON."),
) -> None:
    """Print the power table: findings on every planted shape against random search at equal budget."""
    for name in method or ():
        if name not in METHODS.entries():
            raise UnknownName("method", name, METHODS.entries())
    chosen = list(method or working_on("table"))
    trial = Trial(candidates, tuple(range(seeds)))
    with err.status("planting") as status:
        table = power_table(chosen, trial, lambda name, shape: status.update(f"{name} on {shape}"))
    if json_file:
        say_json([_record(entry) for entry in table], json_file)
    if out.is_terminal or json_file:
        _show(table, chosen, trial)
    else:
        say_json([_record(entry) for entry in table])
    if any(entry.failure for entry in table):
        raise typer.Exit(INCONCLUSIVE)


def _record(entry: Power) -> dict[str, object]:
    return {
        "method": entry.method,
        "shape": entry.shape,
        "rate": entry.rate,
        "findings": entry.findings,
        "random": entry.random,
        "beats_random": entry.beats_random,
        "failure": entry.failure or None,
    }


def _show(table: list[Power], methods: list[str], trial: Trial) -> None:
    shown = Table("shape", "share", "random", *methods, box=None, pad_edge=False)
    for shape in dict.fromkeys(entry.shape for entry in table):
        row = {entry.method: entry for entry in table if entry.shape == shape}
        first = next(iter(row.values()))
        shown.add_row(shape, f"{first.rate:.3%}", f"{first.random_mean:,.0f}", *(_cell(row[name]) for name in methods))
    out.print(
        f"Findings per {trial.candidates:,} candidates, mean of {len(trial.seeds)} seeds (green: more than random search with every seed)\n"
    )
    out.print(shown)
    for entry in table:
        if entry.failure:
            err.print(f"[red]{entry.method} on {entry.shape} failed:[/] {entry.failure}")


def _cell(entry: Power) -> str:
    if entry.failure:
        return "[red]failed[/]"
    text = f"{entry.mean:,.0f}"
    return f"[green]{text}[/]" if entry.beats_random else text
