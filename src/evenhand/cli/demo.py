"""`evenhand demo`: everything on the embedded default, ending with a report to open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer

from evenhand.cli.output import err, free_path, out, say_json, watching
from evenhand.engine import witness
from evenhand.models.budget import Budget
from evenhand.verbs.scan import DEFAULT_METHODS, Options, scan

if TYPE_CHECKING:
    from evenhand.contract import Model
    from evenhand.datasets.dataset import Dataset


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    folder: Path = typer.Option(Path("evenhand-demo"), help="Where the report goes."),
    candidates: int = typer.Option(100_000, min=1, help="How many candidates are tried."),
    seed: int = typer.Option(7, min=0, help="Seed of everything random."),
) -> None:
    """Train a model on the embedded Adult census table, and look for people whom it treats differently because of their sex."""
    from evenhand import datasets
    from evenhand.models import zoo

    adult = datasets.adult()
    out.print(
        f"Adult census: {len(adult):,} people, {len(adult.domain.columns)} columns; does the model treat women and men alike?",
        highlight=False,
    )
    with err.status("training the papers' network [64, 32, 16, 8, 4] (kept for the next time)"):
        train, test = adult.split(0.25, np.random.default_rng(seed))
        model = zoo.load_or_train("mlp", train.rows, train.labels, adult.domain, seed)
    accuracy = float(np.mean(model.scores(test.rows).argmax(axis=1) == test.labels))
    out.print(f"The model predicts the income of people it has not seen with an accuracy of {accuracy:.1%}.", highlight=False)
    budget = Budget(candidates=candidates)
    with watching(quiet=False) as watch:
        result = scan(
            model,
            test,
            protected=["sex"],
            methods=DEFAULT_METHODS,
            budget=budget,
            seed=seed,
            options=Options(folder=folder / "runs", watch=watch),
        )
    for kept in result.witnesses:
        witness.save(kept, folder / "runs" / "witnesses")
    say_json(result.as_dict(), free_path(folder / "result.json"))
    page = result.report(free_path(folder / "report.html"))
    _leave_project(folder, test, model)
    out.print()
    out.print(result.summary(), markup=False, highlight=False, soft_wrap=True)
    out.print(
        f"\nA project to play with is in {folder}: `cd {folder}`, then `evenhand replay {result.witnesses[0].id}` or `evenhand scan`."
        if result.witnesses
        else "",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    out.print(f"Open the report: {page.resolve()}", markup=False, highlight=False, soft_wrap=True)


def _leave_project(folder: Path, people: Dataset, model: Model) -> None:
    """The same test as files: what a person's own project looks like."""
    from evenhand.domain.project_file import DataSource, ModelSource, Project, ScanSettings, save_project

    if (folder / "evenhand.yaml").exists():
        return
    columns = [*people.domain.names, people.label]
    people.frame[columns].to_parquet(folder / "people.parquet", index=False)
    model.save(folder / "model.npz")  # type: ignore[attr-defined]
    project = Project(
        people.domain.protect("sex"),
        DataSource(folder / "people.parquet"),
        ModelSource(path=folder / "model.npz"),
        ScanSettings(runs=folder / "runs"),
    )
    save_project(project, folder / "evenhand.yaml")
