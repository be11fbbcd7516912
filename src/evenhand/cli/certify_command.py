"""`evenhand certify`: the exact share of discriminatory inputs of the domain, or bounds that tighten while it runs."""

from __future__ import annotations

from pathlib import Path

import typer

from evenhand.cli.flags import ModelFlags, unfolded
from evenhand.cli.output import AS_JSON, CLUSTER, QUIET, REPORTS, WORKERS, Leaving, leave, names_in, wants_json, watching
from evenhand.cli.project import DEFAULT_FILE, PROTECTED, load_all


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("certify")(unfolded(certify_command))


def certify_command(
    file: Path = typer.Argument(DEFAULT_FILE, help="The project file."),
    protected: list[str] = PROTECTED,
    *,
    wired: ModelFlags,
    seconds: float = typer.Option(60.0, min=0.001, help="Time for tightening the bounds."),
    boxes: int = typer.Option(None, min=1, help="Stop after this many boxes."),
    gap: float = typer.Option(0.0, min=0.0, max=0.999, help="Stop when the bounds are this close."),
    max_rate: float = typer.Option(None, min=0.0, max=0.999, help="Tolerated share, instead of the file's gate."),
    oracle: str = typer.Option(None, help="For amounts: what counts as different, such as amounts:tolerance=500; else the label's own."),
    workers: int = WORKERS,
    cluster: str = CLUSTER,
    report: list[Path] = REPORTS,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
) -> None:
    """Prove how much of the domain is treated differently: tree ensembles exactly or by bounds, small ReLU networks by bounds.

    Trees may say classes or amounts; of amounts it also tells how far apart twins are at worst.

    Exits with 0 proved within the tolerated share, 1 proved above it, 2 usage, 3 inconclusive, 4 model refused or failed, 130 interrupted.
    """
    from evenhand.campaign.executors import executor_for
    from evenhand.engine.gate import Gate
    from evenhand.measures.proofs import ProofLimits
    from evenhand.verbs.certify import certify

    as_json = wants_json(as_json)
    loaded = load_all(file, wired)
    given = loaded.project.gate
    gate = Gate(given.max_rate, given.confidence, given.resolution) if max_rate is None else Gate(max_rate, given.confidence, 0.0)
    with watching(quiet or as_json) as watch:
        limits = ProofLimits(seconds, boxes, gap)
        found = certify(
            loaded.model,
            loaded.data,
            protected=names_in(protected),
            limits=limits,
            gate=gate,
            watch=watch,
            executor=executor_for(workers, cluster),
            folder=loaded.project.scan.runs,
            oracle=oracle,
        )
    leave(found, Leaving(loaded.project.scan.runs, "certificate", report, as_json, loaded.place))
