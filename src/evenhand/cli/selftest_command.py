"""`evenhand selftest`: does every method find more than random search does, and does every plug-in keep its promises?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer
from rich.table import Table

from evenhand.checks.power import Power, Trial, power_table
from evenhand.cli.output import INCONCLUSIVE, VIOLATION, err, out, say_json, watching
from evenhand.methods import METHODS, working_on


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("selftest")(selftest)


def selftest(
    name: list[str] = typer.Argument(None, help="Methods, or plug-ins of the kind, to test; all of them by default."),
    kind: str = typer.Option(
        "", help="Check the promises of a kind of plug-in instead: method, oracle, medium, synthesiser, repair, editor, operator, ..."
    ),
    candidates: int = typer.Option(10_000, min=100, help="Budget of each run."),
    seeds: int = typer.Option(3, min=1, help="How many seeds."),
    json_file: Path = typer.Option(None, "--json", help="Write the table as JSON."),
) -> None:
    """Print the power table: findings on every planted shape against random search at equal budget; or check your own plug-ins."""
    if kind:
        _check_promises(kind, name or [], json_file)
        return
    for each in name or ():
        METHODS.entry(each)  # an unknown one is named before anything runs
    chosen = list(name or working_on("table"))
    trial = Trial(candidates, tuple(range(seeds)))
    with watching(quiet=False) as watch:
        table = power_table(chosen, trial, watch)
    if json_file:
        say_json([_record(entry) for entry in table], json_file)
    if out.is_terminal or json_file:
        _show(table, chosen, trial)
    else:
        say_json([_record(entry) for entry in table])
    if any(entry.failure for entry in table):
        raise typer.Exit(INCONCLUSIVE)


def _check_promises(kind: str, names: list[str], json_file: Path | None) -> None:
    """Every promise of the plug-ins of a kind; the command fails where one is broken."""
    from evenhand.checks.conformance import conformance

    kept = []
    with err.status("checking") as status:
        for each in conformance(kind, names):
            status.update(f"{each.name}: {each.promise.replace('_', ' ')}")
            kept.append(each)
    if json_file:
        say_json([asdict(each) for each in kept], json_file)
    for each in kept:
        if each.broken or each.skipped:
            told = f"broken: {each.broken}" if each.broken else f"not tried: {each.skipped}"
            out.print(f"{each.name}: {each.promise.replace('_', ' ')}: {told}", highlight=False, markup=False, soft_wrap=True)
    broken, tried = sum(bool(each.broken) for each in kept), sum(not each.skipped for each in kept)
    out.print(f"{tried - broken} of {tried} promises of {len({each.name for each in kept})} plug-ins are kept", highlight=False)
    if broken:
        raise typer.Exit(VIOLATION)


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
