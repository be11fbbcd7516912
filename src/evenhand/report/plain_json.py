"""The whole result as versioned JSON, in the form that `load` reads: strict, with null where nothing was measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.report import writing
from evenhand.report.record import plain, read


def write(result: Mapping[str, Any], path: Path) -> Path:
    """Write the result unabridged."""
    read(result)
    # ASCII, so that text with broken characters can be written and read back as it was.
    return writing.save(json.dumps(plain(result), indent=2, allow_nan=False) + "\n", Path(path))
