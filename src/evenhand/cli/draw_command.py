"""`evenhand draw`: pictures that the package makes itself, written with their annotations."""

from __future__ import annotations

from pathlib import Path

import typer

from evenhand.cli.output import out

app = typer.Typer(no_args_is_help=True, help="Draw pictures whose truth is known, with their annotations.")


def register(parent: typer.Typer) -> None:
    """Add the commands as `evenhand draw ...`."""
    parent.add_typer(app, name="draw")


@app.command()
def streets(
    folder: Path = typer.Argument(..., help="Where pictures and annotations go."),
    count: int = typer.Option(12, min=1, help="How many streets."),
    seed: int = typer.Option(0, min=0, help="Seed of everything random."),
) -> None:
    """Synthetic streets as PNG files, with COCO annotations beside them."""
    from evenhand.verbs.draw import draw_streets

    written = draw_streets(folder, count, seed)
    out.print(f"{count} synthetic streets in {written.parent / 'images'}, annotations in {written}", markup=False, highlight=False)


@app.command()
def portraits(
    folder: Path = typer.Argument(..., help="Where pictures and attributes go."),
    count: int = typer.Option(40, min=1, help="How many portraits."),
    size: int = typer.Option(64, min=16, max=1024, help="Side of a portrait in pixels."),
    seed: int = typer.Option(0, min=0, help="The same seed gives the same portraits."),
) -> None:
    """Synthetic portraits as PNG files, with a table of their attributes beside them: an album."""
    from evenhand.verbs.draw import draw_portraits

    table = draw_portraits(folder, count, size, seed)
    out.print(f"{count} synthetic portraits in {table.parent / 'portraits'}, attributes in {table}", markup=False, highlight=False)
