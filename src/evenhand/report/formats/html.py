"""One self-contained page for people who decide."""

from __future__ import annotations

from evenhand.report import page
from evenhand.report.record import Record

endings = (".html", ".htm")


def render(record: Record) -> str:
    """The page as text."""
    return page.render(record)
