"""Small real results of every verb on every medium, each medium's project written and opened once.  A table's are in `verb_results`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import evenhand as eh
from evenhand.campaign.arena_ground import Arena
from evenhand.campaign.opened_project import open_project
from evenhand.campaign.repair_trial import Effort
from evenhand.campaign.sources import Given
from evenhand.contract import Model
from evenhand.datasets.dataset import Dataset
from evenhand.errors import InvalidArgument, MissingAbility
from evenhand.verbs.bench import BenchOptions
from evenhand.verbs.compare import CompareOptions, compare
from evenhand.verbs.doctor import doctor
from evenhand.verbs.repair import RepairOptions
from evenhand.verbs.replay import replay
from evenhand.verbs.scan import Options

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "media"))
from road_projects import PROJECTS, write_project

MEDIA = tuple(kind for kind in PROJECTS if kind != "table")
FEW = eh.Budget(candidates=60)
ROWS = 40


@dataclass(frozen=True)
class OpenedMedium:
    """A medium's project, ready to be asked about."""

    kind: str
    data: Dataset
    model: Model


@cache
def opened(kind: str) -> OpenedMedium:
    """A project of this medium in a folder of its own."""
    folder = Path(mkdtemp()) / kind
    write_project(kind, folder)
    sys.modules.pop("reader", None)  # every project calls its model so
    sys.path.insert(0, str(folder))
    try:
        project = open_project(folder / "evenhand.yaml")
        return OpenedMedium(kind, project.data, eh.wrap(project.project.model.path, project.data))
    finally:
        sys.path.remove(str(folder))


def _ground(on: OpenedMedium) -> Given:
    return Given(Arena(on.data, on.data.domain.protected, on.model, "reader"))


@cache
def result(verb: str, kind: str) -> Any:
    """A verb's result on a medium; None where the verb refuses the medium in words, as `certify` does with what it cannot look into."""
    try:
        return MAKERS[verb](opened(kind))
    except (MissingAbility, InvalidArgument):
        return None


MAKERS: dict[str, Callable[[OpenedMedium], Any]] = {
    "scan": lambda on: eh.scan(on.model, on.data, methods=["themis"], budget=FEW, options=Options(rate_rows=ROWS, most_witnesses=2)),
    "measure": lambda on: eh.measure(
        on.model, on.data, options=eh.MeasureOptions(rate_rows=ROWS, natural_candidates=0, null_draws=1, compare_rows=ROWS, draws=99)
    ),
    "certify": lambda on: eh.certify(on.model, on.data),
    "repair": lambda on: eh.repair(on.model, on.data, options=RepairOptions(seeds=2, effort=Effort(100))),
    "bench": lambda on: eh.bench(["themis"], [_ground(on)], budget=FEW, options=BenchOptions(pool_rows=100)),
    "synth": lambda on: eh.synth(on.data, ROWS),
    "doctor": lambda on: doctor(on.model, on.data),
    "compare": lambda on: compare(on.model, on.model, on.data, options=CompareOptions(rate_rows=ROWS)),
    "replay": lambda on: replay(result("scan", on.kind).witnesses[0], on.model, on.data),
    "gate": lambda on: eh.gate(on.model, on.data, eh.Policy(eh.Gate(max_rate=0.1)), options=eh.GateOptions(budget=FEW, rate_rows=ROWS)),
}
