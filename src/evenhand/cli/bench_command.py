"""`evenhand bench`: methods side by side under one budget, over any number of tables, protected columns, models and seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.table import Table

from evenhand.campaign.conduct import RUNS, Settings
from evenhand.campaign.contest import DONE, INTERRUPTED
from evenhand.campaign.executors import executor_for
from evenhand.campaign.executors.serial import Serial
from evenhand.campaign.sources import Named, open_dataset, open_model, usual_model
from evenhand.campaign.standings import Standings
from evenhand.cli import output
from evenhand.cli.completion import method_names
from evenhand.cli.output import AFRESH, BUDGET, CANDIDATES, CLUSTER, MODEL_ROWS, SECONDS, err, out, say_json, watching
from evenhand.contract import population_words
from evenhand.errors import InvalidArgument
from evenhand.models.budget import Budget
from evenhand.verbs.bench import BenchOptions, BenchResult, bench

__all__ = ["bench_command", "open_dataset", "open_model", "register"]

FEW_RUNS = 12
"""Runs that get a bar each."""
MOST_LINES = 60
"""Runs that a terminal shows one by one; of more, the standings alone."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bench")(bench_command)


def bench_command(
    method: list[str] = typer.Argument(..., help="Methods to compare; `all` for every one.", autocompletion=method_names),
    dataset: list[str] = typer.Option(
        ["adult"], help="An embedded table, a CSV or Parquet file (with --label), or an evenhand.yaml; repeat for several."
    ),
    protected: list[str] = typer.Option(
        [], help="Protected columns, separated by commas; repeat for several sets; `adult:sex` for one data set only. Default: its own."
    ),
    model: list[str] = typer.Option(
        [], help="mlp, forest, boosting, svm, or a model file or URL; repeat for several.  Default: the project file's own, else mlp."
    ),
    label: str = typer.Option(None, help="The label column of a table file."),
    coding: str = typer.Option("readable", help="readable, or papers: the integer coding of the published methods."),
    candidates: int = CANDIDATES,
    model_rows: int = MODEL_ROWS,
    seconds: float = SECONDS,
    cpu_seconds: float = typer.Option(None, min=0.001, help="Stop after this many CPU-seconds.", rich_help_panel=BUDGET),
    seed: list[int] = typer.Option([0], help="Seed; repeat for several."),
    oracle: str = typer.Option(None, help="What counts as unfair: flip, gap:threshold=0.1, ...; default: what fits the model."),
    workers: int = typer.Option(
        1, "--workers", "--processes", min=1, help="Runs made at the same time, each in a process; the findings do not depend on it."
    ),
    cluster: str = CLUSTER,
    folder: Path = typer.Option(None, help="Keep every run's record here as it is made; the same command continues an interrupted one."),
    keep_findings: bool = typer.Option(False, "--keep-findings", help="Keep the findings too, as Parquet in the folder."),
    retry: bool = typer.Option(False, "--retry", help="Run again what failed before."),
    fresh: bool = AFRESH,
    likeness: bool = typer.Option(True, help="Also measure ATN and two-sample AUC, which takes a second or two for each run."),
    repair: bool = typer.Option(False, "--repair", help="Also retrain the model on each run's findings; takes as long as training it."),
    trusted: bool = typer.Option(False, "--trusted", help="Allow a file that can run code when loaded: pickles, torch files."),
    json_file: Path = typer.Option(None, "--json", help="Write the records as JSON."),
    parquet: Path = typer.Option(None, help="Write the records as Parquet."),
    report: list[Path] = output.REPORTS,
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress, no table."),
) -> None:
    """Run methods under one budget, one counting rule and one oracle.

    Exits with 0, 2 usage, 3 a run failed, 4 all failed, 130 interrupted.
    """
    budget = (
        output.as_budget(candidates, model_rows, seconds) if cpu_seconds is None else Budget(candidates, model_rows, seconds, cpu_seconds)
    )
    sources = [
        Named(table, columns, name, label, coding, trusted)
        for table, columns in chosen_tables(dataset, protected)
        for name in dict.fromkeys(model or [usual_model(table)])
    ]
    methods, seeds = chosen_methods(method), tuple(dict.fromkeys(seed))
    few = workers == 1 and not cluster and len(methods) * len(sources) * len(seeds) <= FEW_RUNS
    executor = executor_for(None if cluster else workers, cluster) or Serial()
    try:
        with watching(quiet, only=None if few else RUNS) as watch:
            options = BenchOptions(oracle, likeness, repair, Settings(executor, folder, keep_findings, retry, watch, fresh))
            result = bench(methods, sources, budget=budget, seeds=seeds, options=options)
    except KeyboardInterrupt:
        err.print(
            f"interrupted{f': {folder} keeps what was finished, and the same command continues it' if folder else ''}", soft_wrap=True
        )
        raise typer.Exit(output.INTERRUPTED) from None
    _write(result, json_file, parquet, report)
    if not quiet:
        _tell(result, json_file)
    _leave(result, folder)


def chosen_methods(names: Sequence[str]) -> list[str]:
    """The methods by name; every one that works on tables for `all`."""
    from evenhand.methods import working_on

    return working_on("table") if list(names) == ["all"] else list(dict.fromkeys(names))


def chosen_tables(datasets: Sequence[str], protected: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Every table with every protected set that is meant for it."""
    chosen = []
    for table in datasets:
        sets = [text for each in protected if (text := _meant_for(table, each, datasets)) is not None]
        if protected and not sets:
            raise InvalidArgument(f"--protected names no columns for {table}; add `--protected {table}:COLUMN`")
        chosen += [(table, _columns(text)) for text in sets] or [(table, ())]
    return list(dict.fromkeys(chosen))


def _meant_for(table: str, text: str, datasets: Sequence[str]) -> str | None:
    """The columns of a protected set for this table; None when it is for another one."""
    for other in datasets:
        if text.startswith(f"{other}:"):
            return text.removeprefix(f"{other}:") if other == table else None
    return text


def _columns(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def _write(result: BenchResult, json_file: Path | None, parquet: Path | None, reports: Sequence[Path]) -> None:
    if json_file:
        say_json([dict(record) for record in result.records], json_file)
    if parquet:
        from evenhand.campaign.campaign_folder import write_parquet

        write_parquet(result.records, parquet)
    output.written(result, reports)


def _leave(result: BenchResult, folder: Path | None) -> NoReturn:
    """Say what was not finished, and leave with the code for it."""
    if result.is_interrupted:
        goes_on = "; the same command continues it" if folder else ", and the runs after it are missing"
        err.print(f"interrupted: the last record is of an unfinished run{goes_on}", soft_wrap=True)
        raise typer.Exit(output.INTERRUPTED)
    if result.all_failed:
        why = result.records[0]["reason"]
        err.print(f"error: every run failed; the first one: {why}", soft_wrap=True, markup=False, style="red")
        raise typer.Exit(output.MODEL_FAILED)
    raise typer.Exit(output.BY_OUTCOME[result.outcome])


def _tell(result: BenchResult, json_file: Path | None) -> None:
    """A table for a person; the result itself where standard output is no terminal and no file was named."""
    if not (out.is_terminal or json_file is not None):
        say_json(result.as_dict())
        return
    standings, records = result.standings, list(result.records)
    if len(records) <= MOST_LINES:
        for ground in standings.grounds:
            _show([r for r in records if (r["dataset"], r["protected"], r["model"]) == ground])
    if len(standings.methods) > 1 and len(records) > len(standings.methods):
        _show_standings(standings)


def _show(records: Sequence[Mapping[str, Any]]) -> None:
    first = records[0]
    rate = next((r["rate"] for r in records if r["status"] == DONE), None)
    told = (
        f"; rate among {population_words(rate['population'])} {rate['estimate']:.2%} ({rate['low']:.2%} to {rate['high']:.2%})"
        if rate
        else ""
    )
    out.print(f"{first['dataset']}, protected {first['protected']}, model {first['model']}{told}", highlight=False, markup=False)
    if first.get("reading"):
        out.print(f"The model's answers: {first['reading']}.", highlight=False, markup=False, soft_wrap=True)
    heads = (
        "method",
        "seed",
        "candidates",
        "findings",
        "duplicates",
        "CPU s",
        "findings / CPU s",
        "natural, valid / CPU s",
        "rules",
        "valid",
    )
    table = Table(*heads, box=None, pad_edge=False)
    finished = [entry for entry in records if entry["status"] in (DONE, INTERRUPTED)]
    for entry in finished:
        table.add_row(entry["method"], str(entry["seed"]), *_figures(entry))
    if finished:
        out.print(table)
    for entry in records:
        if entry not in finished:
            told = f"{entry['method']} (seed {entry['seed']}) {entry['status']}: {entry['reason']}"
            out.print(told, highlight=False, markup=False, soft_wrap=True)


def _figures(entry: Mapping[str, Any]) -> list[str]:
    rules = "-" if entry["rules"] is None else f"{entry['rules']}/{entry['rules_total']}"
    valid = "-" if entry["valid_share"] is None else f"{entry['valid_share']:.1%}"
    paces = ["-" if entry[name] is None else f"{entry[name]:,.0f}" for name in ("findings_per_cpu_second", "natural_valid_per_cpu_second")]
    counts = [f"{entry[name]:,}" for name in ("candidates", "findings", "duplicates")]
    return [*counts, f"{entry['cpu_seconds']:.2f}", *paces, rules, valid]


def _show_standings(standings: Standings) -> None:
    """Mean ranks and first places over all grounds."""
    told = standings.as_dict()["rankings"]
    table = Table("method", box=None, pad_edge=False)
    for figure in told:
        table.add_column(f"rank in {figure.replace('_', ' ')}", justify="right")
        table.add_column("wins", justify="right")
    for name in standings.methods:
        cells = []
        for groups in told.values():
            ranked = list(groups.values())[-1]
            rank = ranked.get("mean_ranks", {}).get(name)
            cells += ["-" if rank is None else f"{rank:.2f}", f"{ranked['wins'][name]} of {ranked['grounds']}"]
        table.add_row(name, *cells)
    out.print(table)
