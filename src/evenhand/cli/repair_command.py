"""`evenhand repair`: mend a model in several ways, compare them without fooling oneself, and write the best one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evenhand.cli.completion import one_of, repair_names
from evenhand.cli.flags import ModelFlags, unfolded
from evenhand.cli.output import (
    AS_JSON,
    BY_OUTCOME,
    CLUSTER,
    FRESH,
    QUIET,
    REPORTS,
    WORKERS,
    Leaving,
    free_path,
    named_parameters,
    names_in,
    out,
    say_json,
    tell,
    told,
    wants_json,
    watching,
    written,
)
from evenhand.cli.project import DEFAULT_FILE, PROTECTED, load_all
from evenhand.disk import whole_file
from evenhand.errors import InvalidArgument, StoreError, UnknownName

if TYPE_CHECKING:
    from evenhand.campaign.repair_comparison import RepairComparison
    from evenhand.repairs.parts.case import Repair


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("repair")(unfolded(repair_command))


def repair_command(
    file: Path = typer.Argument(DEFAULT_FILE, help="The project file."),
    repair: list[str] = typer.Option(
        None,
        "--repair",
        "-r",
        help="A way to repair the model; repeat for several.  Default: all that fit the model.",
        autocompletion=repair_names,
    ),
    write: str = typer.Option(None, "--write", help="The repair whose model is written; default: the one shown to be best, else none."),
    protected: list[str] = PROTECTED,
    *,
    wired: ModelFlags,
    train_method: str = typer.Option(None, help="The method whose findings train."),
    judge_method: str = typer.Option(None, help="The method whose findings judge."),
    seeds: int = typer.Option(8, min=1, help="How many times everything is repeated."),
    seed: int = typer.Option(0, min=0, help="The first seed."),
    candidates: int = typer.Option(20_000, min=1, help="Candidates of each search."),
    tolerance: float = typer.Option(
        0.01, min=0.0, max=1.0, help="How much accuracy may be lost; of amounts, how much of the explained share of their variance."
    ),
    goal: str = typer.Option(
        "flips",
        help="What must improve: flips (single people), groups (the gap between them) or worst_case.",
        autocompletion=one_of("flips", "groups", "worst_case"),
    ),
    floor: float = typer.Option(None, min=0.0, max=1.0, help="The accuracy that must be kept, beside the tolerated loss."),
    most_error: float = typer.Option(None, min=0.0, help="For amounts: the mean error that is allowed, in the label's unit."),
    oracle: str = typer.Option(None, help="For amounts: what counts as different, such as amounts:tolerance=500; else the label's own."),
    workers: int = WORKERS,
    cluster: str = CLUSTER,
    fresh: bool = FRESH,
    setting: list[str] = typer.Option(None, "--set", help="A parameter of the one named repair, name=value."),
    output: Path = typer.Option(Path("repair"), "--output", "-o", help="The folder for model and comparison; never overwritten."),
    report: list[Path] = REPORTS,
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
    list_them: bool = typer.Option(False, "--list", help="Say which repairs there are and stop."),
) -> None:
    """Repair the model and say what that is worth.  Exits with 0 where a repair is shown to be better, 3 where none is.

    Finished seeds are kept: after an interruption the same command goes on with the others.
    """
    if list_them:
        _list()
        return
    from evenhand.campaign.executors import executor_for
    from evenhand.campaign.repair_comparison import RepairTerms
    from evenhand.campaign.repair_trial import Effort
    from evenhand.verbs.repair import RepairOptions
    from evenhand.verbs.repair import repair as compare

    as_json = wants_json(as_json)
    chosen = _chosen(repair or [], setting or [])
    loaded = load_all(file, wired)
    with watching(quiet or as_json) as watch:
        result = compare(
            loaded.model,
            loaded.data,
            protected=names_in(protected),
            repairs=chosen,
            options=RepairOptions(
                train_method,
                judge_method,
                seeds,
                seed,
                Effort(candidates),
                RepairTerms(tolerance=tolerance, goal=goal, floor=floor, most_error=most_error),
                watch,
                executor_for(workers, cluster, loaded.model),
                loaded.project.scan.runs,
                oracle,
                fresh,
            ),
        )
    written(result, report, Leaving(output, place=loaded.place))
    _leave(result, write, free_path(output), as_json)


def _list() -> None:
    import inspect

    from evenhand.repairs import REPAIRS

    for name, entry in REPAIRS.entries().items():
        role = getattr(entry.make, "role", "repair")
        told = (inspect.getdoc(entry.make) or "").split("\n")[0] if role == "control" else entry.summary
        out.print(f"{name:22} {role:9} {told}", markup=False, highlight=False, soft_wrap=True)


def _chosen(names: list[str], setting: list[str]) -> list[str | Repair] | None:
    """The named repairs; `--set` belongs to the only one."""
    from evenhand.repairs import REPAIRS

    known = REPAIRS.entries()
    for name in names:
        if name not in known:
            raise UnknownName("repair", name, known)
    if not setting:
        return list(names) or None
    if len(names) != 1:
        raise InvalidArgument("--set needs exactly one --repair that it belongs to")
    return [known[names[0]].with_parameters(named_parameters(setting))]


def _leave(result: RepairComparison, wanted: str | None, folder: Path, as_json: bool) -> None:
    """Write the comparison, and the model where one is wanted or shown to be better."""
    try:
        folder.mkdir(parents=True)
    except OSError as fault:
        raise StoreError(f"cannot make the folder {folder}: {fault.strerror or fault}") from fault
    say_json(result.as_dict(), folder / "comparison.json")
    with whole_file(folder / "comparison.parquet") as new:
        result.frame().to_parquet(new, index=False)
    page = result.report(folder / "comparison.html")
    name = wanted or (result.best.name if result.best else None)
    saved = result.save(name, folder / "model") if name else None
    if as_json:
        content = result.as_dict()
        content["body"]["written"] = {"model": str(saved) if saved else None, "page": str(page)}
        say_json(content)
    else:
        tell(told(result))
        left = (
            f"\nModel of {name}: {saved}"
            if saved
            else "\nNo model was written: none is shown to be better (--write NAME writes one anyway)."
        )
        tell(f"{left}\nComparison: {page}")
    raise typer.Exit(BY_OUTCOME[result.outcome])
