"""`evenhand measure`: how unfair, to individuals and to groups, with every number's uncertainty."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from evenhand.campaign.executors import executor_for
from evenhand.cli.completion import oracle_names, study_names
from evenhand.cli.flags import PICTURE_PANEL, ModelFlags, PictureFlags, unfolded
from evenhand.cli.output import (
    AS_JSON,
    CLUSTER,
    FRESH,
    QUIET,
    REPORTS,
    WORKERS,
    Leaving,
    announce,
    leave,
    names_in,
    tell,
    wants_json,
    watching,
)
from evenhand.cli.project import DEFAULT_FILE, ORACLE_HELP, PROTECTED, load_all
from evenhand.domain.causal_graph import CausalGraph
from evenhand.engine import witness
from evenhand.verbs.announced_rows import measurement_in_words
from evenhand.verbs.build_gate import every_group, policy_of, ruled
from evenhand.verbs.measure import measure
from evenhand.verbs.measure_result import MeasureOptions

STUDY_HELP = (
    "One more study, such as AITEST's independent_groups, prominent_changes or accuracy; repeat for several.  "
    "A parameter may follow: independent_groups:privileged=sex == 'Male'; repeat the study for a further one.  "
    "Scenes: distrofair:beside=other.onnx,third.onnx is the paper's campaign over several recognisers.  "
    "`evenhand methods --studies` explains them."
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("measure")(unfolded(measure_command))


def measure_command(
    file: Path = typer.Argument(DEFAULT_FILE, help="The project file."),
    oracle: str = typer.Option(None, "--oracle", "-o", help=ORACLE_HELP, autocompletion=oracle_names),
    protected: list[str] = PROTECTED,
    *,
    wired: ModelFlags,
    pictures: PictureFlags,
    weights: str = typer.Option(None, help="A column of the table that holds the rows' weights."),
    graph: Path = typer.Option(None, help="A causal graph (YAML: `column: [cause, ...]`) for the resampled oracle."),
    smallest_gap: float = typer.Option(0.1, help="The gap between groups that matters."),
    max_gap: float = typer.Option(0.0, help="The gap that is tolerated; 0: any proven difference is a violation."),
    max_rate: float = typer.Option(0.0, help="The share of real people treated differently that is tolerated."),
    leaning: float = typer.Option(0.05, help="Pictures: the net change of a class between two protected values that is tolerated."),
    ordered: bool = typer.Option(False, "--ordered", help="Pictures: the classes have an order, as age groups have."),
    confidence: float = typer.Option(0.95, help="Confidence of every interval, and of all tests together."),
    metric: list[str] = typer.Option(None, "--metric", help="One more metric of Fairlearn or scikit-learn; repeat for several."),
    study: list[str] = typer.Option(None, "--study", help=STUDY_HELP, autocompletion=study_names),
    null_draws: int = typer.Option(19, min=0, help="Shuffles behind the null of the proxy effect."),
    rare_people: int = typer.Option(0, min=0, help="Judge this many plausible people, for a share down to one in a million; 0: none."),
    seed: int = typer.Option(None, min=0, help="Seed of everything random."),
    save_pairs: Path = typer.Option(
        None,
        "--save-pairs",
        help="Pictures: a folder for every twin as a file, and pairs.csv with both answers.",
        rich_help_panel=PICTURE_PANEL,
    ),
    workers: int = WORKERS,
    cluster: str = CLUSTER,
    fresh: bool = FRESH,
    baseline: Path = typer.Option(None, help="An earlier result: only what is new or worse fails."),
    report: list[Path] = REPORTS,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
) -> None:
    """Measure how unfair a model is.  Exits with 0 pass, 1 violation, 2 usage, 3 inconclusive, 4 model failed."""
    as_json = wants_json(as_json)
    loaded = load_all(file, wired, may_lack_labels=True, pictures=pictures)
    settings = loaded.project.scan
    chosen: dict[str, Any] = {
        "weights": weights, "graph": CausalGraph.load(graph) if graph else None, "smallest_gap": smallest_gap, "max_gap": max_gap,
        "max_rate": max_rate, "confidence": confidence, "extra": tuple(metric or ()), "studies": tuple(study or ()),
        "null_draws": null_draws, "rare_people": rare_people, "leaning": leaning, "ordered": ordered,
        "rate_rows": settings.rate_rows,
    }  # fmt: skip
    judge = oracle or loaded.project.oracle
    used_seed = settings.seed if seed is None else seed
    with watching(quiet or as_json) as watch:
        executor = executor_for(workers, cluster, loaded.model)
        options = MeasureOptions(**chosen, watch=watch, executor=executor, folder=settings.runs, fresh=fresh)
        announce(measurement_in_words(loaded.model, loaded.data, options))
        result = measure(loaded.model, loaded.data, protected=names_in(protected), oracle=judge, seed=used_seed, options=options)
    if save_pairs is not None:
        from evenhand.verbs.save_pairs import save_pairs as saved

        table = saved(loaded.model, loaded.data, save_pairs)
        if not as_json:
            tell(f"Pairs: {table}")
    policy = every_group(policy_of(replace(loaded.project.gate, max_rate=max_rate)), result.as_dict(), max_gap)
    ruling = ruled(result.as_dict(), policy, baseline or loaded.project.gate.baseline)
    for kept in result.witnesses:
        witness.save(kept, settings.runs / "witnesses")
    leave(result, Leaving(settings.runs, "measurement", report, as_json, loaded.place, ruling))
