"""`evenhand bench`: methods side by side under one budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from evenhand.benching import Arena, Bout, bench
from evenhand.cli.output import INTERRUPTED, as_budget, err, out, say_json, watching
from evenhand.errors import DomainError, InvalidArgument

if TYPE_CHECKING:
    from evenhand.datasets.dataset import Dataset
    from evenhand.models.abilities import Model


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bench")(bench_command)


def bench_command(
    method: list[str] = typer.Argument(..., help="Methods to compare."),
    dataset: str = typer.Option("adult", help="An embedded table, a CSV or Parquet file (with --label), or an evenhand.yaml."),
    protected: str = typer.Option(None, help="Protected columns, separated by commas; default: the data set's own."),
    model: str = typer.Option("mlp", help="mlp, forest, boosting, svm, or a model file or URL."),
    label: str = typer.Option(None, help="The label column of a table file."),
    coding: str = typer.Option("readable", help="readable, or papers: the integer coding of the published methods."),
    candidates: int = typer.Option(None, min=1, help="Budget: candidates."),
    model_rows: int = typer.Option(None, min=1, help="Budget: rows asked of the model."),
    seconds: float = typer.Option(None, min=0.001, help="Budget: seconds."),
    seed: list[int] = typer.Option([0], help="Seed; repeat for several."),
    trusted: bool = typer.Option(False, "--trusted", help="Allow a pickle: loading one runs code."),
    json_file: Path = typer.Option(None, "--json", help="Write the records as JSON."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress, no table."),
) -> None:
    """Run methods under one budget, one counting rule and one oracle."""
    data = open_dataset(dataset, label, coding)
    columns = tuple(name.strip() for name in protected.split(",")) if protected else data.domain.protected
    if not columns:
        raise InvalidArgument(f"{dataset} has no protected column by default; name one with --protected")
    data = data.protect(*columns)
    arena = Arena(data, columns, open_model(model, data, trusted), model)
    budget = as_budget(candidates, model_rows, seconds)
    with watching(budget, quiet) as watch:
        start = None if watch is None else (lambda name, seed: watch(f"{name} (seed {seed})"))
        records = bench(method, arena, Bout(budget, tuple(seed)), start)
    if json_file:
        say_json(records, json_file)
    if not quiet:
        _tell(records, json_file)
    if records[-1]["ended"] == "interrupted":
        err.print("interrupted: the last record is of an unfinished run, and the runs after it are missing", soft_wrap=True)
        raise typer.Exit(INTERRUPTED)


def open_dataset(name: str, label: str | None, coding: str) -> Dataset:
    """An embedded table by name, or a user's own by file."""
    from evenhand import datasets
    from evenhand.cli.project import load_data
    from evenhand.datasets.dataset import from_frame
    from evenhand.domain.frames import read_table
    from evenhand.domain.infer import infer

    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        return load_data(path)[1]
    if path.suffix:
        if label is None:
            raise InvalidArgument(f"--label is needed to read {name}: which column does the model predict?")
        frame = read_table(path)
        return from_frame(frame, infer(frame, label=label), path.stem)
    if coding not in ("readable", "papers"):
        raise InvalidArgument(f"--coding {coding!r} must be readable or papers")
    return datasets.load(name, coding)  # type: ignore[arg-type]


def open_model(name: str, data: Dataset, trusted: bool) -> Model:
    """A trained family by name, or a user's own by file or URL."""
    from evenhand.models import zoo
    from evenhand.models.wrap import wrap

    if name in zoo.FAMILIES:
        if data.domain.label is None:
            raise DomainError(f"{data.name} has no label, so that no model can be trained on it")
        return zoo.load_or_train(name, data.rows, data.labels, data.domain, seed=0)
    if "/" not in name and not Path(name).suffix:
        raise InvalidArgument(f"--model {name!r} must be one of {', '.join(zoo.FAMILIES)}, or a model file or URL")
    return wrap(name, data.domain, trusted=trusted)


def _tell(records: list[dict[str, Any]], json_file: Path | None) -> None:
    """A table for a person; the records themselves where standard output is no terminal and no file was named."""
    if out.is_terminal or json_file is not None:
        _show(records)
    else:
        say_json(records)


def _show(records: list[dict[str, Any]]) -> None:
    first = records[0]
    rate = first["rate"]
    out.print(
        f"{first['dataset']}, protected {first['protected']}, model {first['model']}; "
        f"rate in population “{rate['population']}” {rate['estimate']:.2%} ({rate['low']:.2%} to {rate['high']:.2%})",
        highlight=False,
    )
    table = Table(
        "method",
        "seed",
        "candidates",
        "findings",
        "duplicates",
        "model rows",
        "CPU s",
        "findings / CPU s",
        "valid",
        box=None,
        pad_edge=False,
    )
    for entry in records:
        pace = entry["findings_per_cpu_second"]
        table.add_row(
            entry["method"],
            str(entry["seed"]),
            f"{entry['candidates']:,}",
            f"{entry['findings']:,}",
            f"{entry['duplicates']:,}",
            f"{entry['model_rows']:,}",
            f"{entry['cpu_seconds']:.2f}",
            "-" if pace is None else f"{pace:,.0f}",
            "-" if entry["valid_share"] is None else f"{entry['valid_share']:.1%}",
        )
    out.print(table)
