"""Ways to open data, one file each, found by name: tables, albums of pictures, portraits, texts."""

from __future__ import annotations

from typing import Any

from evenhand.contract import Loader
from evenhand.errors import UnknownName
from evenhand.registry import Entry, Registry

LOADERS: Registry[Loader] = Registry("loader", __name__, Loader)


def loader_of_kind(kind: str) -> Entry[Loader]:
    """The loader of a medium's kind, as a project file names it."""
    kinds = {_kind(entry): entry for entry in LOADERS.entries().values()}
    if kind not in kinds:
        raise UnknownName("kind of medium", kind, kinds)
    return kinds[kind]


def _kind(entry: Entry[Loader]) -> str:
    make: Any = entry.make
    return str(make.kind)
