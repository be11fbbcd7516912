"""Projects to try everything on, one file for each medium, found by name: data and a model of known bias, written as a person's own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from evenhand.domain.project_sections import Project
from evenhand.registry import Registry


@dataclass(frozen=True)
class DemoProject:
    """A project whose data and model are in files, and what a reader should know before it is scanned."""

    project: Project
    lines: tuple[str, ...]


class Demo(Protocol):
    """Writes a project's data and model into a folder."""

    kind: ClassVar[str]
    candidates: ClassVar[int]

    def write(self, folder: Path, seed: int) -> DemoProject:
        """The files, and the project that names them; the project file itself is written by the caller."""


DEMOS: Registry[Demo] = Registry("demo", __name__, Demo)
