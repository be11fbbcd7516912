"""The tables that are ready offline, by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from evenhand.contract import DataWishes
from evenhand.datasets import ALIASES, Coding, load, names
from evenhand.datasets.dataset import Dataset
from evenhand.errors import InvalidArgument


@dataclass(frozen=True)
class EmbeddedTables:
    """Reads an embedded table; `coding` is "readable", or "papers" for the integer coding that the published methods were measured on."""

    kind: ClassVar[str] = "embedded"

    coding: Coding = "readable"

    def claims(self, source: object) -> int:
        """A known name that no file here has."""
        return 2 if isinstance(source, str) and source in (*names(), *ALIASES) and not Path(source).exists() else 0

    def load(self, source: object, wishes: DataWishes) -> Dataset:
        """The table in the domain of its card; other columns may be protected."""
        data = load(str(source), self.coding)
        if wishes.label not in (None, data.label):
            raise InvalidArgument(f"label={wishes.label!r}: the label of the embedded table {data.name!r} is {data.label!r}")
        return data.protect(*wishes.protected_names) if wishes.protected else data
