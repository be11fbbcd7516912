"""From an evenhand.yaml to the things it names: the data of whatever medium, and the model behind its adapter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from evenhand.cli.flags import ModelFlags, PictureFlags
from evenhand.cli.output import opening
from evenhand.domain.project_sections import Project
from evenhand.errors import DomainError

if TYPE_CHECKING:
    from evenhand.contract import Model
    from evenhand.datasets.dataset import Dataset

DEFAULT_FILE = Path("evenhand.yaml")

ORACLE_HELP = (
    "What counts as unfair, instead of the file's: flip, gap:threshold=0.2, amounts:tolerance=500, direct, resampled, neighbour, "
    "robustness, counts, objects.  `evenhand methods --oracles` explains them."
)


@dataclass(frozen=True)
class Loaded:
    """A project whose data has been read and whose model is ready."""

    project: Project
    data: Dataset
    model: Model
    place: Mapping[str, Any] = field(default_factory=dict)  # the file as another tool names it, and the lines of its parts


PROTECTED: Any = typer.Option(
    None, "--protected", help="Protected columns instead of the file's, separated by commas or with the option repeated."
)
"""The option of every command that compares people."""


def load_all(file: Path, flags: ModelFlags | None = None, *, may_lack_labels: bool = False, pictures: PictureFlags | None = None) -> Loaded:
    """The project, its data and its model, which `flags` may replace.  Rows of a table may lack their label where that is allowed."""
    from evenhand.campaign.opened_project import open_project, project_model
    from evenhand.datasets.large_dataset import LargeDataset

    flags = flags or ModelFlags()
    _check_openable(file, flags)
    with opening():
        opened = open_project(file, pictures.settings(flags.trusted) if pictures else None)
    may_lack_labels = may_lack_labels and opened.project.medium is None and not isinstance(opened.data, LargeDataset)
    data = _with_unlabelled(opened.project) if may_lack_labels else opened.data
    source = flags.over(opened.project.model, data.domain.label.values if data.domain.label else ())
    if source is None:
        raise DomainError("the file names no model; add `model: model.skops` (or .onnx, a URL, ...), or pass --model", file=str(file))
    answers = opened.project.scan.runs / "answers"
    return Loaded(opened.project, data, project_model(source, data, flags.trusted, answers), place_of(file))


def _check_openable(file: Path, flags: ModelFlags) -> None:
    """Before pictures or scenes are read."""
    from evenhand.campaign.opened_project import check_model_opens
    from evenhand.domain.project_file import read_project

    project = read_project(file)
    source = flags.over(project.model, ())
    if project.medium is not None and source is not None:
        check_model_opens(source, flags.trusted)


def place_of(file: Path) -> dict[str, Any]:
    """The project file, named from here where it lies below, and the line of each of its sections and columns."""
    from evenhand.domain.yamltext import read_yaml

    lines = read_yaml(file.read_text(encoding="utf-8"), str(file)).lines
    named = {".".join(str(part) for part in path): line for path, line in lines.items() if len(path) == 1 or path[:1] == ("columns",)}
    here, whole = Path.cwd(), file.resolve()
    shown = whole.relative_to(here).as_posix() if whole.is_relative_to(here) else file.name
    return {"file": shown, "lines": {name: line for name, line in named.items() if name.count(".") <= 1}}


def _with_unlabelled(project: Project) -> Dataset:
    """The table with the rows that have no label too."""
    from evenhand.datasets.dataset import Dataset
    from evenhand.domain.frames import as_frame

    assert project.data is not None
    return Dataset(project.data.path.stem, as_frame(project.table()), project.domain)
