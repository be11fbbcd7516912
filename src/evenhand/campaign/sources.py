"""What a campaign is fought on, named so that any process can open it: a table, its protected columns, a model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from evenhand.campaign.bench_records import Arena
from evenhand.errors import DomainError, InvalidArgument

if TYPE_CHECKING:
    from evenhand.contract import Model
    from evenhand.datasets.dataset import Dataset


class ArenaSource(Protocol):
    """Something that becomes an arena; it must survive pickling where there are several processes."""

    def describe(self) -> dict[str, str]:
        """dataset, protected and model, as far as they are known unopened."""

    def check(self) -> None:
        """Raise for what the user can mend before anything runs."""

    def open(self) -> Arena:
        """Load the table and the model."""


@dataclass(frozen=True)
class Named:
    """A table and a model by name, file or URL."""

    dataset: str
    protected: tuple[str, ...] = ()  # none: the data set's own
    model: str = "mlp"
    label: str | None = None
    coding: str = "readable"
    trusted: bool = False

    def describe(self) -> dict[str, str]:
        """As named; the file's stem for a table file."""
        stem = Path(self.dataset).stem if Path(self.dataset).suffix else self.dataset
        return {"dataset": stem, "protected": ",".join(self.protected), "model": self.model}

    def check(self) -> None:
        """The table is there and has these columns, and the model's name is one."""
        check_model(self.model, self._data())

    def _data(self) -> Dataset:
        data = open_dataset(self.dataset, self.label, self.coding)
        columns = self.protected or data.domain.protected
        if not columns:
            raise InvalidArgument(f"{self.dataset} has no protected column by default; name one with --protected")
        return data.protect(*columns)

    def open(self) -> Arena:
        """Load the table; load or train the model."""
        data = self._data()
        return Arena(data, data.domain.protected, open_model(self.model, data, self.trusted), self.model)


@dataclass(frozen=True)
class Given:
    """An arena that is already in memory."""

    arena: Arena

    def describe(self) -> dict[str, str]:
        """As opened."""
        return {"dataset": self.arena.data.name, "protected": ",".join(self.arena.protected), "model": self.arena.model_name}

    def check(self) -> None:
        """Nothing to check: it is open."""

    def open(self) -> Arena:
        """The arena itself."""
        return self.arena


def open_dataset(name: str, label: str | None, coding: str) -> Dataset:
    """An embedded table by name, or a user's own by file: a table, or a project with data of any medium."""
    from evenhand.campaign.opened_project import open_project
    from evenhand.datasets.dataset import from_frame
    from evenhand.domain.frames import read_table
    from evenhand.domain.infer import infer

    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        return open_project(path).data
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


def check_model(name: str, data: Dataset) -> None:
    """Raise unless the name is a family that can be trained on the data, or looks like a file or URL."""
    from evenhand.models import zoo

    if name in zoo.FAMILIES and data.domain.label is None:
        raise DomainError(f"{data.name} has no label, so that no model can be trained on it")
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
