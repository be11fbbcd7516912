"""demo(): a project of one medium, written into a folder as a person's own, and scanned there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from evenhand.campaign.opened_project import open_project
from evenhand.contract import Watch
from evenhand.domain.project_file import save_project
from evenhand.errors import InvalidArgument, UnknownName
from evenhand.models.budget import Budget
from evenhand.models.wrap import wrap
from evenhand.planted.demos import DEMOS, Demo
from evenhand.registry import Entry
from evenhand.verbs.open import PROJECT
from evenhand.verbs.scan import Options, scan
from evenhand.verbs.scan_result import ScanResult


@dataclass(frozen=True)
class PreparedDemo:
    """The folder of a project, and what a person should know of it."""

    folder: Path
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Demonstration:
    """The folder of the project, and what a scan of it found."""

    folder: Path
    result: ScanResult

    @property
    def replay_line(self) -> str:
        """A command that asks the model again about the first pair; empty where there is none."""
        return f"cd {self.folder} && evenhand replay {self.result.witnesses[0].id}" if self.result.witnesses else ""


def demos() -> dict[str, Entry[Demo]]:
    """Every demo by the medium that it shows."""
    return {entry.make().kind: entry for entry in DEMOS.entries().values()}


def demo(
    what: str = "table",
    folder: str | Path | None = None,
    *,
    candidates: int | None = None,
    seed: int = 7,
    watch: Watch | None = None,
) -> Demonstration:
    """Write a project of this medium into a folder, and scan it.

    what: table, pictures, scenes or text.  folder: where everything goes.  candidates: how many are tried.  seed: of everything random.
    watch: shows the progress.
    """
    home = demo_project(what, folder, seed).folder
    opened = open_project(home / PROJECT)
    if opened.project.model is None or opened.project.model.path is None:
        raise InvalidArgument(f"{home / PROJECT} names no model file; move it away, and the demo writes its own")
    model = wrap(opened.project.model.path, opened.data)
    options = replace(Options(), folder=home / "runs", watch=watch, rate_rows=opened.project.scan.rate_rows)
    result = scan(model, opened.data, budget=Budget(candidates=candidates or demos()[what].make().candidates), seed=seed, options=options)
    return Demonstration(home, result)


def demo_project(what: str = "table", folder: str | Path | None = None, seed: int = 7) -> PreparedDemo:
    """Write the files of the project alone; one that is there already is used as it is."""
    if what not in demos():
        raise UnknownName("demo", what, demos())
    home = Path(folder or ("evenhand-demo" if what == "table" else f"evenhand-demo-{what}"))
    home.mkdir(parents=True, exist_ok=True)
    if (home / PROJECT).exists():
        return PreparedDemo(home, (f"{home / PROJECT} is there already and is used as it is.",))
    written = demos()[what].make().write(home, seed)
    save_project(replace(written.project, scan=replace(written.project.scan, runs=home / "runs")), home / PROJECT)
    return PreparedDemo(home, tuple(written.lines))
