"""Rare shares, a hundred runs of each planting: `--minutes` of them, the cheap ones first, taken up again by the next call; then what all
kept runs say.  `--quick` makes none, and tells what is kept.

`--development` runs the generated table instead, on which constants may be chosen, and keeps nothing.  Those in force (`REACHED`, `ALIKE`)
were chosen on the plantings that are reported.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from parts import common
from parts.rare_places import DEVELOPMENT
from parts.search_rare import KEPT, KeptRuns, RareCell, Told, covered_cells, timed_cells

AT_A_TIME = 10
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
    kept, until = KeptRuns(None if given.development else KEPT), time.monotonic() + 60 * given.minutes * (not given.quick)
    cells = covered_cells(DEVELOPMENT, (1e-4, 1e-5)) if given.development else [*covered_cells(), *timed_cells()]
    asked: dict[RareCell, int] = {cell: min(given.runs, 20) if cell.is_timed else given.runs for cell in cells}
    for cell in sorted(asked, key=lambda cell: (cell.people, cell.family != "net")):
        for first in range(0, asked[cell], AT_A_TIME):
            kept.runs(cell, range(first, min(first + AT_A_TIME, asked[cell])), until)
    found = {cell: made for cell, runs in asked.items() if (made := kept.runs(cell, range(runs), 0.0))}
    told = {cell: Told.of(cell, made) for cell, made in found.items()}
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
