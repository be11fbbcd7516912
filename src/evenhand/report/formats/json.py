"""The whole result, versioned: strict JSON with null where nothing was measured, sealed by a checksum."""

from __future__ import annotations

from evenhand.disk import sealed
from evenhand.report.record import Record

endings = (".json",)


def render(record: Record) -> str:
    """The result unabridged, in the form that `evenhand.report.load` reads."""
    # ASCII, so that text with broken characters can be written and read back as it was.
    return sealed(record.model_dump(exclude_unset=True))
