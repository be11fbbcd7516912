"""From an evenhand.yaml to the things it names: the table as a data set, and the model behind its adapter."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.domain.project_file import ModelSource, Project
from evenhand.errors import DomainError

if TYPE_CHECKING:
    from evenhand.contract import Model
    from evenhand.datasets.dataset import Dataset
    from evenhand.domain.tabular import TabularDomain

DEFAULT_FILE = Path("evenhand.yaml")


@dataclass(frozen=True)
class Loaded:
    """A project whose data has been read and whose model is ready."""

    project: Project
    data: Dataset
    model: Model


def load_data(file: Path) -> tuple[Project, Dataset]:
    """The project and its data."""
    from evenhand.verbs.open import open_project

    opened = open_project(file)
    return opened.project, opened.data


def load_all(file: Path, model: str | None = None, trusted: bool = False) -> Loaded:
    """The project, its table and its model; `model` replaces the file's."""
    project, data = load_data(file)
    source = project.model
    if model is not None:
        given = {"url": model} if model.startswith(("http://", "https://")) else {"path": Path(model)}
        source = ModelSource(**given, trusted=trusted)
    if source is None:
        raise DomainError("the file names no model; add `model: model.skops` (or .onnx, a URL, ...), or pass --model", file=str(file))
    return Loaded(project, data, open_model(source, project.domain, trusted))


def open_model(source: ModelSource, domain: TabularDomain, trusted: bool = False) -> Model:
    """The model of a project file."""
    from evenhand.models.http import HttpModel
    from evenhand.models.wrap import wrap

    inner: Any = source.path
    if source.url is not None:
        inner = HttpModel(url=source.url, **source.http)
    return wrap(inner, domain, classes=source.classes, takes=source.takes, returns=source.returns, trusted=source.trusted or trusted)
