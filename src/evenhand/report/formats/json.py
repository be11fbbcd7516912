"""The whole result, versioned: strict JSON with null where nothing was measured."""

from __future__ import annotations

import json

from evenhand.report.record import Record

endings = (".json",)


def render(record: Record) -> str:
    """The result unabridged, in the form that `evenhand.report.load` reads."""
    # ASCII, so that text with broken characters can be written and read back as it was.
    return json.dumps(record.model_dump(exclude_unset=True), indent=2, allow_nan=False) + "\n"
