"""Writes a rendering to disk in one piece.  Knows nothing of what is in it."""

from __future__ import annotations

from pathlib import Path

from evenhand.disk import write_whole
from evenhand.errors import StoreError


def save(text: str, path: Path) -> Path:
    """Write UTF-8 text under a temporary name, then give it its own: readers never see half a report."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise StoreError(f"cannot write the report to {path}: it is a folder; name a file in it")
        write_whole(path, text)
    except OSError as fault:
        raise StoreError(f"cannot write the report to {path}: {fault.strerror or fault}; name a place that can be written to") from fault
    return path
