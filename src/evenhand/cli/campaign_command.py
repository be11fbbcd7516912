"""`evenhand campaign`: every run of a campaign file, estimated, made, continued, extended, in one report."""

from __future__ import annotations

from pathlib import Path

import typer

from evenhand.campaign.conduct import RUNS
from evenhand.campaign.executors import executor_for
from evenhand.cli import output
from evenhand.cli.output import AFRESH, AS_JSON, CLUSTER, QUIET, REPORTS, WORKERS, err, out, say_json, watching
from evenhand.verbs.campaign import CampaignOptions, CampaignResult, estimated, run_campaign


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("campaign")(campaign_command)


def campaign_command(
    file: Path = typer.Argument(..., help="The campaign file: data, protected, models, methods, seeds, budgets."),
    estimate: bool = typer.Option(False, "--estimate", help="Only say what it would take: runs, model rows, money, time."),
    workers: int = WORKERS,
    cluster: str = CLUSTER,
    retry: bool = typer.Option(False, "--retry", help="Run again what failed before."),
    fresh: bool = AFRESH,
    keep_findings: bool = typer.Option(False, "--keep-findings", help="Keep every run's findings, as Parquet in the folder."),
    report: list[Path] = REPORTS,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
) -> None:
    """Make every run of a campaign file; the same command continues it, and an extended file adds only what is new.

    Exits with 0 pass, 1 violation, 2 usage, 3 inconclusive, 130 interrupted.
    """
    if estimate:
        told = estimated(file)
        say_json(told.as_dict()) if as_json else out.print(told.sentence(workers or 1), highlight=False, soft_wrap=True)
        return
    try:
        with watching(quiet or as_json, only=RUNS) as watch:
            result = run_campaign(file, CampaignOptions(executor_for(workers, cluster), watch, retry, keep_findings, fresh))
    except KeyboardInterrupt:
        err.print("interrupted: what was finished is kept, and the same command continues it", soft_wrap=True)
        raise typer.Exit(output.INTERRUPTED) from None
    pages = output.written(result, report)
    _tell(result, pages, as_json)
    raise typer.Exit(output.INTERRUPTED if result.is_interrupted else output.BY_OUTCOME[result.outcome])


def _tell(result: CampaignResult, pages: list[Path], as_json: bool) -> None:
    if as_json:
        say_json(result.as_dict())
        return
    out.print(result.summary(), highlight=False, markup=False, soft_wrap=True)
    if pages:
        out.print(f"\nReport: {', '.join(map(str, pages))}", highlight=False, markup=False, soft_wrap=True)
