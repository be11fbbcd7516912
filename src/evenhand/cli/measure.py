"""`evenhand measure`: how unfair, to individuals and to groups, with every number's uncertainty."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from evenhand.cli.output import BY_OUTCOME, err, free_path, out, say_json, wants_json
from evenhand.cli.project import DEFAULT_FILE, Loaded, open_model
from evenhand.domain.causal_graph import CausalGraph
from evenhand.domain.project_file import ModelSource, read_project
from evenhand.errors import DomainError
from evenhand.verbs.measure import Measurement, MeasureOptions, measure


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("measure")(measure_command)


def measure_command(
    file: Path = typer.Argument(DEFAULT_FILE, help="The project file."),
    protected: str = typer.Option(None, help="Protected columns, separated by commas, instead of the file's."),
    model: str = typer.Option(None, help="A model file or URL instead of the file's."),
    trusted: bool = typer.Option(False, "--trusted", help="Allow a pickle: loading one runs code."),
    weights: str = typer.Option(None, help="A column of the table that holds the rows' weights."),
    graph: Path = typer.Option(None, help="A causal graph (YAML: `column: [cause, ...]`) for the resampled oracle."),
    smallest_gap: float = typer.Option(0.1, help="The gap between groups that matters."),
    max_gap: float = typer.Option(0.0, help="The gap that is tolerated; 0: any proven difference is a violation."),
    max_rate: float = typer.Option(0.0, help="The share of real people treated differently that is tolerated."),
    confidence: float = typer.Option(0.95, help="Of every interval, and of all tests together."),
    metric: list[str] = typer.Option(None, "--metric", help="One more metric of Fairlearn or scikit-learn; repeat for several."),
    null_draws: int = typer.Option(19, min=0, help="Shuffles behind the null of the proxy effect."),
    seed: int = typer.Option(None, min=0, help="Seed of everything random."),
    report: Path = typer.Option(None, help="Where to write the HTML page; default: in the runs folder."),
    as_json: bool = typer.Option(None, "--json/--text", help="JSON or text; default: text on a terminal, else JSON."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress."),
) -> None:
    """Measure how unfair a model is.  Exits with 0 pass, 1 violation, 2 usage, 3 inconclusive, 4 model failed."""
    as_json = wants_json(as_json)
    loaded = load_tolerant(file, model, trusted)
    columns = [name.strip() for name in protected.split(",")] if protected else None
    settings = loaded.project.scan
    chosen: dict[str, Any] = {
        "weights": weights, "graph": CausalGraph.load(graph) if graph else None, "smallest_gap": smallest_gap, "max_gap": max_gap,
        "max_rate": max_rate, "confidence": confidence, "extra": tuple(metric or ()), "null_draws": null_draws,
        "rate_rows": settings.rate_rows or 10_000,
    }  # fmt: skip
    used_seed = settings.seed if seed is None else seed
    if quiet or as_json or not err.is_terminal:
        result = measure(loaded.model, loaded.data, protected=columns, seed=used_seed, options=MeasureOptions(**chosen))
    else:
        with err.status("asking the model") as status:
            options = MeasureOptions(**chosen, watch=status.update)
            result = measure(loaded.model, loaded.data, protected=columns, seed=used_seed, options=options)
    _leave(result, settings.runs, report, as_json)


def load_tolerant(file: Path, model: str | None, trusted: bool) -> Loaded:
    """The project, its table and its model; rows may lack their label, which only the figures that need one leave out."""
    from evenhand.datasets.dataset import Dataset
    from evenhand.domain.frames import as_frame

    project = read_project(file)
    if project.data is None:
        raise DomainError("the file names no data; add `data: table.csv` (or .parquet)", file=str(file))
    data = Dataset(project.data.path.stem, as_frame(project.data.read()), project.domain)
    source = project.model
    if model is not None:
        given = {"url": model} if model.startswith(("http://", "https://")) else {"path": Path(model)}
        source = ModelSource(**given, trusted=trusted)
    if source is None:
        raise DomainError("the file names no model; add `model: model.skops` (or .onnx, a URL, ...), or pass --model", file=str(file))
    return Loaded(project, data, open_model(source, project.domain, trusted))


def _leave(result: Measurement, runs: Path, report: Path | None, as_json: bool) -> None:
    """Keep the result and its page; say where they are; exit with the verdict."""
    say_json(result.as_dict(), free_path(runs / "measurement.json"))
    page = result.report(free_path(report or runs / "measurement.html"))
    if as_json:
        say_json(result.as_dict())
    else:
        out.print(result.summary(), markup=False, highlight=False, soft_wrap=True)
        out.print(f"\nPage: {page}", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(BY_OUTCOME[result.outcome])
