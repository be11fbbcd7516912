"""`evenhand init`: from data to a project file that a person reads and corrects."""

from __future__ import annotations

from pathlib import Path

import typer

from evenhand.cli.output import out
from evenhand.cli.project import DEFAULT_FILE
from evenhand.domain.infer import InferWishes, Proposal, propose
from evenhand.errors import StoreError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("init")(init)


def init(
    data: Path = typer.Argument(..., help="A CSV or Parquet table."),
    label: str = typer.Option(None, help="The column that the model predicts."),
    favourable: str = typer.Option(None, help="The outcome that a person hopes for."),
    protected: str = typer.Option(None, help="Protected columns, separated by commas."),
    model: str = typer.Option(None, help="The model file or URL."),
    keep: list[str] = typer.Option(None, help="A column to keep although it looks useless; repeat for several."),
    numbers: list[str] = typer.Option(None, help="A column of few whole numbers that are counts, not codes; repeat for several."),
    out_file: Path = typer.Option(DEFAULT_FILE, "--out", "-o", help="The project file to write."),
) -> None:
    """Look at a table and write evenhand.yaml: columns, ranges, protected candidates, constraints."""
    from evenhand.domain.project_file import DataSource, ModelSource, Project, save_project

    if out_file.exists():
        raise StoreError(f"{out_file} exists already and is not overwritten; move it away, or write elsewhere with --out")
    names = tuple(name.strip() for name in protected.split(",")) if protected else ()
    wishes = InferWishes(label, favourable, names, tuple(keep or ()), tuple(numbers or ()))
    proposal = propose(data, wishes)
    is_url = model is not None and model.startswith(("http://", "https://"))
    source = None if model is None else ModelSource(url=model) if is_url else ModelSource(path=Path(model))
    save_project(Project(proposal.domain, DataSource(data), source), out_file, proposal)
    _explain(proposal, out_file)


def _explain(proposal: Proposal, file: Path) -> None:
    domain = proposal.domain
    out.print(
        f"{len(domain.columns)} columns" + (f", label {domain.label.column!r}" if domain.label else ", no label (name it with --label)"),
        markup=False,
    )
    for name, why in proposal.left_out.items():
        out.print(f"left out: {name!r}, {why}", markup=False)
    for note in proposal.notes:
        out.print(f"note: {note}", markup=False)
    if proposal.protected_candidates:
        out.print(f"columns that look protected: {', '.join(proposal.protected_candidates)}", markup=False)
    for suggestion in proposal.constraints[:10]:
        out.print(f"constraint suggested by the data: {suggestion.text}  (broken by {suggestion.broken:.2%} of the rows)", markup=False)
    out.print(f"\nWritten: {file}.  Read it, correct it, then `evenhand doctor` and `evenhand scan`.", markup=False)
