"""Rare shares, a hundred runs of each planting: `--minutes` of them, some of every planting first, taken up again by the next call; then
what all kept runs say.  `--quick` makes none, and tells what is kept.

`--development` tries the two constants (`RareRateSettings.reached`, `alike`) on the generated table instead, on other pockets, and keeps
nothing.  Those in force were first chosen on the reported plantings, and looked at again there.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from parts import common
from parts.rare_choice import choose
from parts.search_rare import KeptRuns, RareCell, covered_cells, timed_cells

AT_A_TIME = 5
"""Runs of a planting before they are written."""


def main() -> int:
    """Run, keep, tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tell what is kept")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as one flat object")
    parser.add_argument("--minutes", type=float, default=8.0, help="when to stop; 0 tells what is kept")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--development", action="store_true", help="the generated table; runs are not kept")
    given = parser.parse_args()
    if given.development:
        common.write_figures(choose(given.runs), given.json)
        return 0
    kept, until = KeptRuns(), time.monotonic() + 60 * given.minutes * (not given.quick)
    asked: dict[RareCell, int] = {cell: min(given.runs, 20) if cell.is_timed else given.runs for cell in (*covered_cells(), *timed_cells())}
    for first in range(0, given.runs, AT_A_TIME):  # some of every planting before more of any
        for cell, runs in asked.items():
            kept.runs(cell, range(first, min(first + AT_A_TIME, runs)), until)
    found = {cell: made for cell, runs in asked.items() if (made := kept.runs(cell, range(runs), 0.0))}
    told = {cell: kept.told(cell, made) for cell, made in found.items()}
    figures = {
        "rare_plantings": len(asked),
        "rare_plantings_begun": len(found),
        "rare_runs_kept": sum(map(len, found.values())),
        "rare_coverage_lowest_begun": min((float(each.covered.mean()) for each in told.values()), default=None),
    }
    common.write_figures(figures, given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
