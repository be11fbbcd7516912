"""`evenhand demo`: everything on the embedded default, ending with a report to open."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import typer

from evenhand import witness
from evenhand.cli.output import err, free_path, out, say_json, watching
from evenhand.models.budget import Budget
from evenhand.scanning import DEFAULT_METHODS, Options, scan


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
    out.print(f"Adult census: {len(adult):,} people, {len(adult.domain.columns)} columns; does the model treat women and men alike?", highlight=False)
    with err.status("training the papers' network [64, 32, 16, 8, 4] (kept for the next time)"):
        train, test = adult.split(0.25, np.random.default_rng(seed))
        model = zoo.load_or_train("mlp", train.rows, train.labels, adult.domain, np.random.default_rng(seed))
    accuracy = float(np.mean(model.scores(test.rows).argmax(axis=1) == test.labels))
    out.print(f"The model predicts the income of people it has not seen with an accuracy of {accuracy:.1%}.", highlight=False)
    budget = Budget(candidates=candidates)
    with watching(budget, quiet=False) as watch:
        result = scan(
            model, test, protected=["sex"], methods=DEFAULT_METHODS, budget=budget, seed=seed, options=Options(folder=folder / "runs", watch=watch)
        )
    for kept in result.witnesses:
        witness.save(kept, folder / "witnesses")
    say_json(result.as_dict(), free_path(folder / "result.json"))
    page = result.report(free_path(folder / "report.html"))
    out.print()
    out.print(result.summary(), markup=False, highlight=False)
    out.print(f"\nOpen the report: {page.resolve()}", markup=False, highlight=False, soft_wrap=True)
