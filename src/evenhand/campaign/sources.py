"""What a campaign is fought on, named so that any process can open it: a table, its protected columns, a model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from evenhand.campaign.bench_records import Arena
from evenhand.domain.project_file import read_project
from evenhand.engine.digest import domain_digest, rows_digest
from evenhand.errors import DomainError, InvalidArgument
from evenhand.models.paid_answers import is_asked_remotely

PROJECT_MODEL = "project"
"""Stands for the model that a project file names."""

if TYPE_CHECKING:
    from evenhand.contract import Model
    from evenhand.datasets.dataset import Dataset


class ArenaSource(Protocol):
    """Something that becomes an arena; it must survive pickling where there are several processes."""

    @property
    def is_remote(self) -> bool:
        """Whether its model is asked over a network."""

    def describe(self) -> dict[str, str]:
        """dataset, protected and model, as far as they are known unopened."""

    def check(self) -> None:
        """Raise for what the user can mend before anything runs."""

    def open(self) -> Arena:
        """Load the table and the model."""

    def digest(self) -> str:
        """What tells it from other sources, their content included, without opening the model."""


@dataclass(frozen=True)
class Named:
    """A table and a model by name, file or URL."""

    dataset: str
    protected: tuple[str, ...] = ()  # none: the data set's own
    model: str = "mlp"
    label: str | None = None
    coding: str = "readable"
    trusted: bool = False

    @cached_property
    def is_remote(self) -> bool:
        """Whether its model is a URL, its own or the project's."""
        if self.model != PROJECT_MODEL:
            return self.model.startswith(("http://", "https://"))
        source = read_project(Path(self.dataset)).model
        return source is not None and source.url is not None

    def describe(self) -> dict[str, str]:
        """As named; the file's stem for a table file."""
        stem = Path(self.dataset).stem if Path(self.dataset).suffix else self.dataset
        return {"dataset": stem, "protected": ",".join(self.protected), "model": self.model}

    def check(self) -> None:
        """The table is there and has these columns, and the model's name is one."""
        data = self._data()
        if self.model != PROJECT_MODEL:
            check_model(self.model, data)
        elif Path(self.dataset).suffix not in (".yaml", ".yml"):
            raise InvalidArgument(f"--model {PROJECT_MODEL} stands for the model of a project file, which {self.dataset} is not")

    def _data(self) -> Dataset:
        data = open_dataset(self.dataset, self.label, self.coding)
        columns = self.protected or data.domain.protected
        if not columns:
            raise InvalidArgument(f"{self.dataset} has no protected column by default; name one with --protected")
        return data.protect(*columns)

    def open(self) -> Arena:
        """Load the table; load or train the model."""
        data = self._data()
        return Arena(data, data.domain.protected, self._model(data), self.model)

    def _model(self, data: Dataset) -> Model:
        if self.model != PROJECT_MODEL:
            return open_model(self.model, data, self.trusted)
        from evenhand.campaign.opened_project import project_model

        source = read_project(Path(self.dataset)).model
        if source is None:
            raise InvalidArgument(f"{self.dataset} names no model; add `model: model.skops` (or .onnx, a URL, ...)")
        return project_model(source, data, self.trusted)

    def digest(self) -> str:
        """As named, with the content of every file that is named."""
        named = [self.dataset, self.protected, self.model, self.label, self.coding]
        return hashlib.sha256(repr([*named, content_digest(self.dataset), content_digest(self.model)]).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Given:
    """An arena that is already in memory."""

    arena: Arena

    @property
    def is_remote(self) -> bool:
        """Whether its model is asked over a network."""
        return is_asked_remotely(self.arena.model)

    def describe(self) -> dict[str, str]:
        """As opened."""
        return {"dataset": self.arena.data.name, "protected": ",".join(self.arena.protected), "model": self.arena.model_name}

    def check(self) -> None:
        """Nothing to check: it is open."""

    def open(self) -> Arena:
        """The arena itself."""
        return self.arena

    def digest(self) -> str:
        """Of rows, labels, domain and model."""
        data, domain = self.arena.data, self.arena.data.domain.protect(*self.arena.protected)
        parts = [data.name, self.arena.model_name, rows_digest(data.rows), domain_digest(domain), self.arena.model.fingerprint()]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def content_digest(name: str) -> str:
    """Of a file, of a folder's files, or of a project file with the data and the model that it names; empty for other names."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml") and path.is_file():
        project = read_project(path)
        parts = [path, project.data.path if project.data else None, project.model.path if project.model else None]
        return _digest_of_files([part for part in parts if part is not None and part.exists()])
    return _digest_of_files([path]) if (path.suffix and path.is_file()) or path.is_dir() else ""


def _digest_of_files(parts: Sequence[Path]) -> str:
    told = hashlib.sha256()
    for part in parts:
        for file in sorted(each for each in part.rglob("*") if each.is_file()) if part.is_dir() else [part]:
            told.update(file.name.encode())
            with file.open("rb") as opened:
                told.update(hashlib.file_digest(opened, "sha256").digest())
    return told.hexdigest()


def open_dataset(name: str, label: str | None, coding: str) -> Dataset:
    """An embedded table by name, or a user's own by file: a table, or a project with data of any medium."""
    from evenhand.campaign.opened_project import editor_tools, open_project
    from evenhand.contract import DataWishes
    from evenhand.datasets.dataset import from_frame
    from evenhand.datasets.large_dataset import is_large
    from evenhand.datasets.loaders.streamed_tables import StreamedTables
    from evenhand.domain.databases import is_database
    from evenhand.domain.frames import read_table
    from evenhand.domain.infer import infer

    path = Path(name)
    if path.suffix in (".yaml", ".yml") and path.is_file():
        return open_project(path).data
    if is_database(name) or (path.exists() and is_large(path)):
        return StreamedTables().load(name, DataWishes(editor_tools(0), label))
    if path.suffix:
        if label is None:
            raise InvalidArgument(f"--label is needed to read {name}: which column does the model predict?")
        frame = read_table(path)
        return from_frame(frame, infer(frame, label=label), path.stem)
    if coding not in ("readable", "papers"):
        raise InvalidArgument(f"--coding {coding!r} must be readable or papers")
    return _embedded(name, coding)


@lru_cache(maxsize=8)
def _embedded(name: str, coding: str) -> Dataset:
    from evenhand import datasets

    return datasets.load(name, coding)  # type: ignore[arg-type]


def usual_model(dataset: str) -> str:
    """The model of a project file that names one; else a family that is trained on the table."""
    path = Path(dataset)
    is_project = path.suffix in (".yaml", ".yml") and path.is_file()
    return PROJECT_MODEL if is_project and read_project(path).model is not None else "mlp"


def check_model(name: str, data: Dataset) -> None:
    """Raise unless the name is a family that can be trained on the data, or looks like a file or URL."""
    from evenhand.models import zoo

    if name in zoo.FAMILIES and data.domain.label is None:
        raise DomainError(f"{data.name} has no label, so that no model can be trained on it")
    if name in zoo.FAMILIES and data.domain.label is not None and data.domain.label.is_amount:
        label = data.domain.label.column
        raise InvalidArgument(f"--model {name!r} is a family of classifiers, and the label {label!r} is an amount: name a model's file")
    if name in zoo.FAMILIES and data.domain.numbers_things:
        raise InvalidArgument(f"--model {name!r} is a family of models of tables; {data.name} is {data.medium.kind} data: name its model")
    if name not in zoo.FAMILIES and not {"/", ":"} & set(name) and not Path(name).suffix:
        raise InvalidArgument(f"--model {name!r} must be one of {', '.join(zoo.FAMILIES)}, a model file, a URL, or package.module:name")


def open_model(name: str, data: Dataset, trusted: bool) -> Model:
    """A trained family by name, or a user's own by file or URL."""
    from evenhand.models import zoo
    from evenhand.models.wrap import wrap

    check_model(name, data)
    if name in zoo.FAMILIES:
        return zoo.load_or_train(name, data.rows, data.labels, data.domain, seed=0)
    return wrap(name, data, trusted=trusted)
