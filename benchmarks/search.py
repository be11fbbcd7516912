"""What the search can show: speed beside FairSIFT and AFT, the engine on boosted trees, certify on a hundred trees.

The figures of `parts/search_speed.py`; those of naturalness, rates and budgets are made by parts of their own and belong here too.
"""

# ruff: noqa: I001  (common comes first: it fixes the number of threads)

from __future__ import annotations

import sys

from parts import common

from parts.search_speed import speed_figures

QUICK_SEED = 900_000
"""Quick runs begin here; full ones stay below."""


def main() -> int:
    """Measure and write."""
    given = common.options(__doc__ or "")
    common.write_figures(speed_figures(given.seed + (QUICK_SEED if given.quick else 0), given.quick), given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
