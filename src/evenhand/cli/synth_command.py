"""`evenhand synth`: realistic rows that the user controls, and a picture and table of where they come from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from evenhand.cli.flags import Trusted
from evenhand.cli.output import CLUSTER, REPORTS, WORKERS, free_path, names_in, opening, out, tell, watching, written
from evenhand.cli.stored_draws import PATHS, StoredDraw, TableAsked, complete, draw_from, keep_model, open_table, write_paths, write_suite
from evenhand.disk import write_whole

if TYPE_CHECKING:
    from evenhand.datasets.dataset import Dataset
    from evenhand.synthesis.constraint_graph import ConstraintGraph


WORK_FOLDER = ".evenhand"
"""Beside the file that is written: where what is finished is kept."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("synth")(synth_command)


def synth_command(
    data: str = typer.Argument("adult", help="An embedded table, a CSV or Parquet file, or an evenhand.yaml."),
    rows: int = typer.Option(1_000, min=1, help="How many rows."),
    output: Path = typer.Option(Path("synthetic.parquet"), "--out", "-o", help="A .parquet or .csv file; an existing one is kept."),
    synthesiser: str = typer.Option("trees", help="A synthesiser by name; trees: chained trees, graph: AITEST's constraint graph."),
    wishes: Path | None = typer.Option(None, help="Your constraints: a .yaml file, or the edited .csv table of --explain."),
    preset: list[str] = typer.Option([], help="A what-if, as '1:1 sex', 'income up 20 %', 'region X only'; repeat for several."),
    unfitted: str = typer.Option("range", help="graph: numbers that no distribution fits come from their range, or by quantiles."),
    explain: Path | None = typer.Option(None, help="Write the graph as picture and editable table into this folder, and no rows."),
    label: str | None = typer.Option(None, help="The label column of a table file; it is not synthesised."),
    protected: list[str] = typer.Option(
        None, help="Protected columns, separated by commas or with the option repeated: their gaps in the label are kept and told of."
    ),
    most_rows: int = typer.Option(1_000_000, min=1, help="Rows to learn from at most, drawn evenly; a larger file is read in pieces."),
    seed: int = typer.Option(0, help="The same seed gives the same rows."),
    quality: bool = typer.Option(True, help="Measure the fit on held-out rows and print it; costs a second fit."),
    save: Path | None = typer.Option(
        None, help="Also keep what was learnt in this file, to draw more rows later (arrays and JSON, no code)."
    ),
    model: Path | None = typer.Option(None, help="Draw from a file of --save; no table is read."),
    given: Path | None = typer.Option(None, help="A .csv or .parquet file of partial rows: each is completed, empty cells are made up."),
    beside: bool = typer.Option(True, help="Make up identifiers, codes and free text too, which no model should learn from."),
    suite: str | None = typer.Option(
        None, help="Instead of a sample, rows for tests: boundary, negative, pairs, triples; with a project file, paths of its model."
    ),
    trusted: Trusted = False,
    workers: int = WORKERS,
    cluster: str = CLUSTER,
    report: list[Path] = REPORTS,
) -> None:
    """Write any number of realistic rows, learnt from a table and steered by your constraints.

    What is learnt and every 100,000 rows are kept until the file is there: after an interruption the same command goes on.
    """
    import numpy as np

    from evenhand.campaign.executors import executor_for
    from evenhand.verbs.synth import SynthOptions, steered_graph, synth

    draw = StoredDraw(rows, output, given, seed, bool(wishes or preset))
    if model is not None:
        draw_from(model, draw)
        return
    names = tuple(names_in(protected) or ())
    if suite == PATHS:
        write_paths(data, SynthOptions(synthesiser, wishes, tuple(preset), unfitted), draw, trusted)  # type: ignore[arg-type]  # checked there
        return
    opened = open_table(TableAsked(data, label, names, beside and given is None, most_rows, seed))
    table = opened.data
    if suite is not None:
        write_suite(suite, table, draw)
        return
    executor = executor_for(workers, cluster)
    folder = output.parent / WORK_FOLDER
    options = SynthOptions(synthesiser, wishes, tuple(preset), unfitted, opened.companions, executor, folder)  # type: ignore[arg-type]  # checked there
    if explain is not None:
        rng = np.random.default_rng(seed)
        _explain(steered_graph(table, options, rng), table, explain, rng)
        return
    with opening():
        result = synth(table, rows, seed=seed, options=options)
    if save is not None:
        tell(f"Model: {keep_model(result.source, free_path(save))}")
    if given is not None:
        complete(result.source, draw)
        return
    with watching(quiet=False) as watch:
        left = result.write(free_path(output), watch)
    tell(f"{result.reason}: {left.path}")
    if result.caution:
        tell(f"Warning: {result.caution}")
    for override in result.overridden:
        tell(f"Warning: {override}")
    for each in result.companions:
        tell(f"note: {each.note}")
    if quality and result.quality is not None:
        tell(f"Fit: {result.quality.sentence()}")
        for warning in result.quality.warnings:
            tell(f"Warning: {warning}")
    for page in written(result, report):
        tell(f"Report: {page}")


def _explain(graph: ConstraintGraph, table: Dataset, folder: Path, rng: Any) -> None:
    from evenhand.measures.naturalness import pair_scores
    from evenhand.report.charts.canvas import standalone
    from evenhand.report.sections.synthesis_fit import columns_picture, graph_picture, pairs_picture
    from evenhand.synthesis.constraint_table import write_table
    from evenhand.synthesis.fit_facts import columns_told, graph_told, pairs_told

    folder.mkdir(parents=True, exist_ok=True)
    drawn = graph.sample(min(5_000, max(1_000, len(table.rows))), rng)
    pictures = {
        "graph.svg": graph_picture(graph_told(graph.graph, graph.plan, graph.domain)),
        "columns.svg": columns_picture(columns_told(table.rows, drawn, graph.domain)),
        "pairs.svg": pairs_picture(pairs_told(pair_scores(table.rows, drawn, graph.domain), graph.domain.names)),
    }
    for name, picture in pictures.items():
        write_whole(folder / name, standalone(picture))
    write_table(graph.graph, graph.domain, folder / "constraints.csv")
    out.print(
        f"{len(graph.graph.edges)} associations between {len(graph.domain.columns)} columns, in {folder}:", highlight=False, soft_wrap=True
    )
    out.print("  graph.svg        the constraint graph; dark edges are used", highlight=False)
    out.print("  columns.svg      real and synthetic rows, column by column", highlight=False)
    out.print("  pairs.svg        how alike the relation of every two columns is", highlight=False)
    out.print("  constraints.csv  edit it and pass it back: --synthesiser graph --wishes constraints.csv", highlight=False, soft_wrap=True)
