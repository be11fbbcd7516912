"""What people see: how long pages take.

page_ms_max_1000_runs     the slowest page of a dashboard over 1,000 runs: milliseconds to the first byte, the median of three, every time
                          with nothing of the page kept and the whole store walked through
findings_page_ms_million  the slowest page of the findings of a search with a million of them, sorted and filtered, asked for the first time
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from parts import dashboard_store
from parts.common import options, write_figures


def figures() -> dict[str, Any]:
    """All figures by name."""
    with tempfile.TemporaryDirectory() as folder:
        return dashboard_store.figures(Path(folder))


if __name__ == "__main__":
    given = options(__doc__)
    write_figures(figures(), given.json)
