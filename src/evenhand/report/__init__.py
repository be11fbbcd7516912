"""Any result as a page, a table, or a file that another tool reads.  Renderings compute nothing, ask no model and judge nothing.

`write(result, path)` picks the format by the file's ending; `load(path)` reads the JSON that every verb keeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.errors import InvalidArgument

__all__ = ["format_for", "known_formats", "load", "render", "schema", "write"]


def known_formats() -> dict[str, tuple[str, ...]]:
    """Every format by name, with the endings that stand for it."""
    from evenhand.report.formats import FORMATS

    return {name: entry.make().endings for name, entry in FORMATS.entries().items()}


def format_for(path: str | Path, name: str | None = None) -> str:
    """The name of the format: the given one, or the one that the file's ending stands for."""
    from evenhand.report.formats import FORMATS

    if name is not None:
        return FORMATS.entry(name).name
    file = Path(path).name.lower()
    fitting = [(len(ending), each) for each, endings in known_formats().items() for ending in endings if file.endswith(ending)]
    if not fitting:
        known = ", ".join(f"{'/'.join(endings)} ({each})" for each, endings in known_formats().items())
        raise InvalidArgument(f"path={str(path)!r} must end in one of {known}; or name the format")
    return max(fitting)[1]


def render(result: Mapping[str, Any], name: str = "html", beside: Path | None = None) -> str:
    """A result as text in the named format; `beside` is the folder whose pictures it may name."""
    from evenhand.report.formats import FORMATS
    from evenhand.report.record import read
    from evenhand.report.shown import with_pictures

    made = FORMATS.make(name)
    return made.render(read(with_pictures(result, [beside]) if beside is not None else result))


def write(result: Mapping[str, Any], path: str | Path, name: str | None = None, beside: str | Path | None = None) -> Path:
    """Render a result into this file, in the named format or in the one that the file's ending stands for.

    beside: the folder that holds the pictures which the result names; by default the file's own.
    """
    from evenhand.report.writing import save

    chosen = format_for(path, name)
    folder = Path(beside) if beside is not None else Path(path).parent
    return save(render(result, chosen, None if chosen == "json" else folder), Path(path))


def schema() -> dict[str, Any]:
    """The JSON Schema of a result, version 2."""
    from evenhand.report import record

    return record.schema()


def load(path: str | Path) -> dict[str, Any]:
    """Read a result.json of version 2 or 1; a file that is none is named with what is wrong."""
    from evenhand.report import record

    return record.load(Path(path))
