"""What the search can show: natural findings, what it knows of its own list, budgets, speed beside FairSIFT and AFT, the engine, certify.

Each group of figures is made by a part of its own: `parts/search_natural.py`, `search_known.py`, `search_rare.py`,
`search_budgets.py`, `search_speed.py`.
"""

# ruff: noqa: I001  (common comes first: it fixes the number of threads)

from __future__ import annotations

import sys

from parts import common

from parts.search_budgets import budget_figures
from parts.search_known import known_figures
from parts.search_natural import natural_figures, search_constants
from parts.search_rare import rare_figures
from parts.search_speed import certify_ratios, speed_figures

QUICK_SEED = 900_000
"""Quick runs begin here; full ones stay below."""
PARTS = {
    "natural": natural_figures,
    "constants": search_constants,
    "known": known_figures,
    "rare": rare_figures,
    "budgets": budget_figures,
    "speed": speed_figures,
    "certify": certify_ratios,
}


def main() -> int:
    """Measure and write."""
    given = common.options(__doc__ or "", tuple(PARTS))
    seed = given.seed + (QUICK_SEED if given.quick else 0)
    figures = {}
    for part in given.only or PARTS:
        figures |= PARTS[part](seed, given.quick)
    common.write_figures(figures, given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
