"""`evenhand certify`: the exact share of discriminatory inputs of the domain, or bounds that tighten while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from evenhand.cli.output import BY_OUTCOME, INTERRUPTED, err, free_path, out, say_json, wants_json
from evenhand.cli.project import DEFAULT_FILE, load_all

if TYPE_CHECKING:
    from evenhand.measures.proofs.branch_and_bound import Progress as Watch
    from evenhand.measures.proofs.branch_and_bound import Step


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("certify")(certify_command)


def certify_command(
    file: Path = typer.Argument(DEFAULT_FILE, help="The project file."),
    protected: str = typer.Option(None, help="Protected columns, separated by commas, instead of the file's."),
    model: str = typer.Option(None, help="A model file instead of the file's."),
    trusted: bool = typer.Option(False, "--trusted", help="Allow a pickle: loading one runs code."),
    seconds: float = typer.Option(60.0, min=0.001, help="Time for tightening the bounds."),
    boxes: int = typer.Option(None, min=1, help="Stop after this many boxes."),
    gap: float = typer.Option(0.0, min=0.0, max=0.999, help="Stop when the bounds are this close."),
    max_rate: float = typer.Option(None, min=0.0, max=0.999, help="Tolerated share, instead of the file's gate."),
    report: Path = typer.Option(None, help="Where to write the page (.html) or summary (.md); default: in the runs folder."),
    as_json: bool = typer.Option(None, "--json/--text", help="JSON or text; default: text on a terminal, else JSON."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress."),
) -> None:
    """Prove how much of the domain is treated differently: tree ensembles exactly or by bounds, small ReLU networks by bounds.

    Exits with 0 proved within the tolerated share, 1 proved above it, 2 usage, 3 inconclusive, 4 model refused or failed, 130 interrupted.
    """
    from evenhand.measures.proofs import ProofLimits, certify
    from evenhand.report import write

    as_json = wants_json(as_json)
    loaded = load_all(file, model, trusted)
    columns = [name.strip() for name in protected.split(",")] if protected else None
    with _watching(quiet or as_json) as progress:
        found = certify(loaded.model, loaded.data.domain, protected=columns, limits=ProofLimits(seconds, boxes, gap), progress=progress)
    gate = loaded.project.gate
    outcome, reason = found.decide(gate.max_rate if max_rate is None else max_rate, gate.resolution if max_rate is None else 0.0)
    content: dict[str, Any] = found.as_dict() | {"outcome": outcome, "reason": reason}
    written = write(content, free_path(report or loaded.project.scan.runs / "certificate.html"))
    if as_json:
        say_json(content)
    else:
        out.print(f"{outcome.upper()}: {reason}.\n{found.summary()}\n\nReport: {written}", markup=False, highlight=False, soft_wrap=True)
    if found.ended == "interrupted":
        err.print("interrupted: the bounds so far hold", soft_wrap=True)
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(BY_OUTCOME[outcome])


@contextmanager
def _watching(quiet: bool) -> Iterator[Watch | None]:
    """The bounds so far in one line; nothing where nobody watches."""
    if quiet or not err.is_terminal:
        yield None
        return
    with Progress(SpinnerColumn(), TextColumn("{task.fields[bounds]}"), TimeElapsedColumn(), console=err) as bar:
        task = bar.add_task("certify", total=None, bounds="reading the model")

        def show(step: Step) -> None:
            bounds = f"between {step.lower:.4%} and {step.upper:.4%}; {step.boxes:,} boxes, {step.open:,} open"
            bar.update(task, bounds=bounds)

        yield show
