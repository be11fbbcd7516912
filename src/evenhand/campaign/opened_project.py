"""A project file with its data read, whatever the medium: what verbs and campaigns start from, in any process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.contract import DataWishes, DifferentiablePictureModel, EditorTools, Loader, Model
from evenhand.datasets.dataset import Dataset, from_frame
from evenhand.datasets.large_dataset import is_large, large_in_domain
from evenhand.datasets.loaders import loader_of_kind
from evenhand.domain.project_file import read_project
from evenhand.domain.project_sections import MediumSource, ModelSource, Project
from evenhand.errors import DomainError, EvenhandError
from evenhand.media.album import Album

DIMENSIONS = 40
"""Of the latent spaces that editors are given, at most."""


@dataclass(frozen=True)
class OpenedProject:
    """A project whose data has been read; its domain is the data's."""

    project: Project
    data: Dataset


def open_project(file: str | Path, settings: Mapping[str, Any] | None = None) -> OpenedProject:
    """The project in an evenhand.yaml, and its data; `settings` go before those of its medium."""
    project = read_project(file)
    if settings and project.medium is None:
        raise DomainError(f"{', '.join(settings)}: for pictures, and the file describes a table", file=str(file))
    if project.medium is not None:
        if settings:
            project = replace(project, medium=replace(project.medium, settings={**project.medium.settings, **settings}))
        assert project.medium is not None
        data = _in_medium(project.medium, project, Path(file))
        return OpenedProject(replace(project, declared=data.domain), data)
    if project.data is None:
        raise DomainError("the file names no data; add `data: table.csv` (or .parquet)", file=str(file))
    if is_large(project.data.source):
        return OpenedProject(project, large_in_domain(project.data.source, project.domain))
    return OpenedProject(project, from_frame(project.table(), project.domain, project.data.path.stem))


def _in_medium(medium: MediumSource, project: Project, file: Path) -> Dataset:
    """The data of a medium; whatever is wrong with its settings is told with their line."""
    try:
        loader = _configured(medium)
        tools = editor_tools(project.scan.seed, file.parent)
        wishes = DataWishes(tools, medium.label, medium.favourable, medium.protected, file.parent)
        return loader.load(project.data.path if project.data else medium.kind, wishes)
    except DomainError:
        raise
    except EvenhandError as fault:
        named = next((name for name in medium.settings if repr(name) in str(fault) or f"{name}=" in str(fault)), "kind")
        raise DomainError(str(fault), file=str(file), line=medium.line(named)) from fault


def _configured(medium: MediumSource) -> Loader:
    return loader_of_kind(medium.kind).with_parameters(medium.settings)


def editor_tools(seed: int, folder: Path | None = None) -> EditorTools:
    """What editors are made with: latent spaces and classifiers of attributes, which are fitted and trained here."""
    kept = folder / "editors" if folder is not None else None
    return EditorTools(np.random.default_rng([seed, 6]), _attribute_reader, _latent, kept)


def _latent(name: str, album: Album, rng: np.random.Generator) -> Any:
    from evenhand.synthesis.picture_latent import fitted_space

    return fitted_space(name, album.pictures, max(1, min(DIMENSIONS, len(album) // 4)), rng)


def _attribute_reader(album: Album, attribute: str, rng: np.random.Generator) -> DifferentiablePictureModel:
    from evenhand.errors import require

    require("torch", "torch")
    from evenhand.models.picture_training import train

    return train("vgg", replace(album, label=album.attribute(attribute)), rng)


def project_model(source: ModelSource, data: Dataset, trusted: bool = False, answers: Path | None = None) -> Model:
    """The model of a project file, asked about what the data shows; a recogniser's answers are kept in the folder `answers`."""
    from evenhand.models.http import HttpModel
    from evenhand.models.model_wishes import ObjectSettings
    from evenhand.models.preparation import Preparation
    from evenhand.models.wrap import wrap

    inner: Any = file_or_name(source.path) if source.path is not None else None
    if source.url is not None:
        inner = HttpModel(url=source.url, **source.http)
    return wrap(
        inner,
        data,
        classes=source.classes,
        takes=source.takes,
        returns=source.returns,
        threshold=source.threshold,
        output=source.output,
        trusted=source.trusted or trusted,
        prepare=Preparation(**_tuples(source.prepare)) if source.prepare else None,
        objects=ObjectSettings(**{"cache": answers if data.medium.kind == "scenes" else None, **_tuples(source.objects)}),
    )


def check_model_opens(source: ModelSource, trusted: bool = False) -> None:
    """Tell what is wrong with a model's file or name before pictures or scenes are read, which may take long."""
    from evenhand.models.own_parts import PartWishes, is_own_part, opened_part

    given = None if source.path is None else file_or_name(source.path)
    if given is not None and is_own_part(str(given)):
        opened_part(str(given), PartWishes("model", trusted=source.trusted or trusted))


def _tuples(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}


def file_or_name(path: Path) -> Path | str:
    """The file, or, where there is none and it has no ending, the name of a recogniser or of a Python object."""
    return path if path.exists() or (path.suffix and ":" not in path.name) else path.name
