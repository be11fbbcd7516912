"""A scan's result as a page, a table, or a file that another tool reads.  Renderings compute nothing about the model.

`write(result, path)` picks the format by the file's ending; `load(path)` reads the JSON that a scan keeps.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.errors import InvalidArgument, UnknownName

__all__ = ["FORMATS", "Format", "format_for", "load", "write"]


@dataclass(frozen=True)
class Format:
    """One way to render a result."""

    name: str
    endings: tuple[str, ...]
    module: str
    summary: str

    def write(self, result: Mapping[str, Any], path: str | Path) -> Path:
        """Render the result into this file."""
        render: Callable[[Mapping[str, Any], Path], Path] = importlib.import_module(self.module).write
        return render(result, Path(path))


FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        Format("html", (".html", ".htm"), "evenhand.report.html", "one self-contained page for people who decide"),
        Format("md", (".md", ".markdown"), "evenhand.report.markdown", "a short summary for a pull request or a wiki"),
        Format("junit", (".xml",), "evenhand.report.junit", "test cases for a build server"),
        Format("sarif", (".sarif", ".sarif.json"), "evenhand.report.sarif", "findings for code-scanning tools (SARIF 2.1.0)"),
        Format("json", (".json",), "evenhand.report.plain_json", "the whole result, versioned"),
    )
}


def format_for(path: str | Path, name: str | None = None) -> Format:
    """The format of this name, or the one that the file's ending stands for."""
    if name is not None:
        if name not in FORMATS:
            raise UnknownName("report format", name, FORMATS)
        return FORMATS[name]
    file = Path(path).name.lower()
    fitting = [(len(ending), each) for each in FORMATS.values() for ending in each.endings if file.endswith(ending)]
    if not fitting:
        known = ", ".join(f"{'/'.join(each.endings)} ({each.name})" for each in FORMATS.values())
        raise InvalidArgument(f"path={str(path)!r} must end in one of {known}; or name the format")
    return max(fitting, key=lambda pair: pair[0])[1]


def write(result: Mapping[str, Any], path: str | Path, name: str | None = None) -> Path:
    """Render a result in the named format, or in the one that the file's ending stands for."""
    return format_for(path, name).write(result, path)


def load(path: str | Path) -> dict[str, Any]:
    """Read a result.json; a file that is none is named with what is wrong."""
    read: Callable[[Path], dict[str, Any]] = importlib.import_module("evenhand.report.record").load
    return read(Path(path))
