"""`evenhand init` and `evenhand doctor`: from a table to a project file, and from there to a model that is wired right."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from evenhand.cli.output import MODEL_FAILED, out, say_json, wants_json
from evenhand.cli.project import DEFAULT_FILE, load_all
from evenhand.domain.infer import InferWishes, Proposal, propose
from evenhand.errors import StoreError


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("init")(init)
    app.command("doctor")(doctor)


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


def doctor(
    file: Path = typer.Argument(DEFAULT_FILE, help="The project file."),
    model: str = typer.Option(None, help="A model file or URL instead of the file's."),
    trusted: bool = typer.Option(False, "--trusted", help="Allow a pickle: loading one runs code."),
    candidates: int = typer.Option(100_000, min=1, help="Say what a scan of this many candidates would cost."),
    as_json: bool = typer.Option(None, "--json/--text", help="JSON or text; default: text on a terminal, else JSON."),
) -> None:
    """Check the model's wiring before anything is trusted."""
    as_json = wants_json(as_json)
    from evenhand.verbs.doctor import examine

    loaded = load_all(file, model, trusted)
    domain = loaded.project.domain
    labels = loaded.data.labels if domain.label else None
    examination = examine(loaded.model, domain, loaded.data.rows, labels)
    cost = examination.cost(candidates)
    if as_json:
        broken = domain.broken_shares(loaded.data.rows)
        say_json({"checks": [asdict(check) for check in examination.checks], "cost": asdict(cost), "data_breaks": broken})
    else:
        for check in examination.checks:
            mark = {"ok": "[green]ok  [/]", "warn": "[yellow]warn[/]", "fail": "[red]fail[/]"}[check.status]
            out.print(mark, check.name, end=": ")
            out.print(check.sentence, markup=False, highlight=False, soft_wrap=True)
        for rule, share in domain.broken_shares(loaded.data.rows).items():
            out.print(f"data {rule}: broken by {share:.2%} of the rows", markup=False, highlight=False, soft_wrap=True)
        if loaded.data.left_out:
            out.print(f"data {loaded.data.left_out:,} rows lie outside the domain and are left out", markup=False, highlight=False)
        out.print(f"cost {cost}", markup=False, highlight=False)
    if any(check.status == "fail" for check in examination.checks):
        raise typer.Exit(MODEL_FAILED)
