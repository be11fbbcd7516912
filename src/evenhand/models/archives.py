"""Archives that model files are: refused where they unfold to far more than they take on disk."""

from __future__ import annotations

import zipfile
from pathlib import Path

from evenhand.errors import ModelFailed

MOST_UNFOLDED = 200 << 20
UNFOLDED_TIMES = 50
"""An archive may unfold to so many bytes, or to so many times its size on disk."""


def check_archive(path: Path, what: str) -> None:
    """ModelFailed, in one line, for what is no archive or unfolds without measure; a file that is not there is left to others."""
    if not path.is_file():
        return
    try:
        with zipfile.ZipFile(path) as archive:
            total = sum(member.file_size for member in archive.infolist())
    except Exception as fault:  # a crafted directory makes zipfile raise anything
        raise ModelFailed(f"{path.name} is not {what}: {' '.join(str(fault).split())[:200]}") from None
    most = max(MOST_UNFOLDED, UNFOLDED_TIMES * path.stat().st_size)
    if total > most:
        raise ModelFailed(f"{path.name} unfolds to {total:,} bytes; a model file of its size may unfold to {most:,}")
