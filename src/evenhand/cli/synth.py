"""`evenhand synth`: realistic rows that the user controls, and a picture and table of where they come from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from evenhand.cli.output import err, free_path, out
from evenhand.errors import InvalidArgument

if TYPE_CHECKING:
    from evenhand.datasets.dataset import Dataset
    from evenhand.synthesis.constraint_graph import ConstraintGraph
    from evenhand.synthesis.wishes import Wishes


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("synth")(synth)


def synth(
    data: str = typer.Argument("adult", help="An embedded table, a CSV or Parquet file, or an evenhand.yaml."),
    rows: int = typer.Option(1_000, min=1, help="How many rows."),
    output: Path = typer.Option(Path("synthetic.parquet"), "--out", "-o", help="A .parquet or .csv file; an existing one is kept."),
    synthesiser: str = typer.Option("trees", help="A synthesiser by name; trees: chained trees, graph: AITEST's constraint graph."),
    wishes: Path | None = typer.Option(None, help="Your constraints: a .yaml file, or the edited .csv table of --explain."),
    preset: list[str] = typer.Option([], help="A what-if, as '1:1 sex', 'income up 20 %', 'region X only'; repeat for several."),
    unfitted: str = typer.Option("range", help="graph: numbers that no distribution fits come from their range, or by quantiles."),
    explain: Path | None = typer.Option(None, help="Write the graph as picture and editable table into this folder, and no rows."),
    label: str | None = typer.Option(None, help="The label column of a table file; it is not synthesised."),
    seed: int = typer.Option(0, help="The same seed gives the same rows."),
) -> None:
    """Write any number of realistic rows, learnt from a table and steered by your constraints."""
    import numpy as np

    from evenhand import synthesis

    kind = synthesis.synthesiser(synthesiser)
    if unfitted not in ("range", "quantiles"):
        raise InvalidArgument(f"--unfitted {unfitted!r} must be range or quantiles")
    table = _open(data, label)
    rng = np.random.default_rng(seed)
    if explain is not None:
        _explain(_graph(table, wishes, preset, unfitted, rng), table, explain, rng)
        return
    if kind.name == "constraint graph":
        source: Any = _graph(table, wishes, preset, unfitted, rng)
        left_out = [table.domain.names[at] for at in source.graph.dropped]
    else:
        wished = _wishes(table, wishes, preset, None)
        left_out = [wish.column for wish in wished.wishes if wish.action == "delete" and not wish.source]
        source = synthesis.fit_steered(kind, table.rows, table.domain, wished, rng)
    _write(source, rows, free_path(output), left_out, rng)


def _open(name: str, label: str | None) -> Dataset:
    from evenhand.cli.bench import open_dataset
    from evenhand.datasets.dataset import from_frame
    from evenhand.domain.frames import read_table
    from evenhand.domain.infer import infer

    path = Path(name)
    if path.suffix in (".csv", ".parquet") and label is None:
        frame = read_table(path)
        return from_frame(frame, infer(frame), path.stem)
    return open_dataset(name, label, "readable")


def _wishes(table: Dataset, file: Path | None, presets: list[str], graph: ConstraintGraph | None) -> Wishes:
    from evenhand.synthesis.table import read_wishes
    from evenhand.synthesis.wishes import Wishes

    found = Wishes()
    if file is not None and file.suffix == ".csv":
        if graph is None:
            raise InvalidArgument(f"{file}: an edited table belongs to --synthesiser graph")
        found = read_wishes(file, graph.graph, table.domain)
    elif file is not None:
        found = Wishes.load(file, table.domain)
    for text in presets:
        found += Wishes.preset(text, table.domain)
    return found


def _graph(table: Dataset, file: Path | None, presets: list[str], unfitted: str, rng: Any) -> ConstraintGraph:
    from evenhand.synthesis.constraint_graph import ConstraintGraph

    graph = ConstraintGraph.fit(table.rows, table.domain, rng, unfitted)  # type: ignore[arg-type]
    wishes = _wishes(table, file, presets, graph)
    return graph.steered(wishes, rng) if wishes.wishes or wishes.rules else graph


def _write(source: Any, rows: int, path: Path, left_out: list[str], rng: Any) -> None:
    from rich.progress import Progress

    from evenhand.synthesis.chunks import Stream, write_rows

    with Progress(console=err, disable=not err.is_terminal) as progress:
        bar = progress.add_task("rows", total=rows)
        written = write_rows(source, rows, Stream(path, left_out, lambda done: progress.update(bar, completed=done)), rng)
    columns = f"{len(written.columns)} column{'s' if len(written.columns) != 1 else ''}"
    told = f"{written.rows:,} rows of {columns} from {source.name}: {written.path}"
    out.print(told, highlight=False, soft_wrap=True)


def _explain(graph: ConstraintGraph, table: Dataset, folder: Path, rng: Any) -> None:
    from evenhand.measures.naturalness import pair_scores
    from evenhand.report.charts.canvas import standalone
    from evenhand.report.sections.synthesis_fit import columns_picture, graph_picture, pairs_picture
    from evenhand.synthesis.fit_facts import columns_told, graph_told, pairs_told
    from evenhand.synthesis.table import write_table

    folder.mkdir(parents=True, exist_ok=True)
    drawn = graph.sample(min(5_000, max(1_000, len(table.rows))), rng)
    pictures = {
        "graph.svg": graph_picture(graph_told(graph.graph, graph.plan, graph.domain)),
        "columns.svg": columns_picture(columns_told(table.rows, drawn, graph.domain)),
        "pairs.svg": pairs_picture(pairs_told(pair_scores(table.rows, drawn, graph.domain), graph.domain.names)),
    }
    for name, picture in pictures.items():
        (folder / name).write_text(standalone(picture), encoding="utf-8")
    write_table(graph.graph, graph.domain, folder / "constraints.csv")
    out.print(
        f"{len(graph.graph.edges)} associations between {len(graph.domain.columns)} columns, in {folder}:", highlight=False, soft_wrap=True
    )
    out.print("  graph.svg        the constraint graph; dark edges are used", highlight=False)
    out.print("  columns.svg      real and synthetic rows, column by column", highlight=False)
    out.print("  pairs.svg        how alike the relation of every two columns is", highlight=False)
    out.print("  constraints.csv  edit it and pass it back: --synthesiser graph --wishes constraints.csv", highlight=False, soft_wrap=True)
