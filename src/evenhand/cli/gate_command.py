"""`evenhand gate`: does the model keep the project's policy?  For builds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer

from evenhand.cli.completion import oracle_names
from evenhand.cli.flags import ModelFlags, unfolded
from evenhand.cli.output import AS_JSON, QUIET, REPORTS, Leaving, leave, names_in, wants_json, watching
from evenhand.cli.project import DEFAULT_FILE, ORACLE_HELP, PROTECTED, load_all
from evenhand.models.budget import Budget


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("gate")(unfolded(gate_command))


def gate_command(
    file: Path = typer.Argument(DEFAULT_FILE, help="The project file; its section `gate` is the policy."),
    baseline: Path = typer.Option(None, help="An earlier result of `gate`, `scan` or `measure`: only what is new or worse fails."),
    witnesses: Path = typer.Option(None, help="A folder of kept pairs that are asked again first, instead of the file's."),
    tolerance: float = typer.Option(0.0, min=0.0, max=0.999, help="By how much a rate may rise above the baseline's."),
    protected: list[str] = PROTECTED,
    oracle: str = typer.Option(None, "--oracle", "-o", help=ORACLE_HELP, autocompletion=oracle_names),
    *,
    wired: ModelFlags,
    candidates: int = typer.Option(5_000, min=1, help="Budget of the search: candidates."),
    seconds: float = typer.Option(None, min=0.001, help="Budget of the search: seconds, instead of candidates."),
    seed: int = typer.Option(None, min=0, help="Seed of everything random."),
    report: list[Path] = REPORTS,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
) -> None:
    """Judge a model by the project's policy: kept pairs, a short search, groups where the policy names them.

    Exits with 0 pass, 1 violation, 2 usage, 3 inconclusive, 4 model failed.
    """
    from evenhand.verbs.build_gate import GateOptions, gate, policy_of

    as_json = wants_json(as_json)
    loaded = load_all(file, wired)
    settings = loaded.project.gate
    options = GateOptions(
        witnesses or settings.witnesses,
        baseline or settings.baseline,
        Budget(seconds=seconds) if seconds is not None else Budget(candidates=candidates),
        oracle=oracle or loaded.project.oracle,
        rate_rows=loaded.project.scan.rate_rows,
        tolerance=tolerance,
    )
    with watching(quiet or as_json) as watch:
        used = loaded.project.scan.seed if seed is None else seed
        result = gate(
            loaded.model, loaded.data, policy_of(settings), protected=names_in(protected), seed=used, options=replace(options, watch=watch)
        )
    leave(result, Leaving(loaded.project.scan.runs, "gate", report, as_json, loaded.place))
