"""Writes a rendering to disk in one piece.  Knows nothing of what is in it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from evenhand.errors import StoreError


def save(text: str, path: Path) -> Path:
    """Write UTF-8 text under a temporary name, then give it its own: readers never see half a report."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise StoreError(f"cannot write the report to {path}: it is a folder; name a file in it")
        _replace(text, path)
    except OSError as fault:
        raise StoreError(f"cannot write the report to {path}: {fault.strerror or fault}; name a place that can be written to") from fault
    return path


def _replace(text: str, path: Path) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".evenhand-", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
