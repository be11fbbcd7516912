"""Renderings of any result, one file each, found by name: a module with the endings of its files and `render`."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from evenhand.registry import Registry
from evenhand.report.record import Record


@runtime_checkable
class Format(Protocol):
    """One way to render a result."""

    endings: tuple[str, ...]

    def render(self, record: Record) -> str:
        """The rendering as text; equal results give equal text."""


FORMATS: Registry[Format] = Registry("report format", __name__, Format)
