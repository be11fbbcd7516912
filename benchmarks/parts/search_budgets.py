"""Whether every method keeps the seconds that it is given, on narrow and wide tables: `time_budgets.py` with the search's own plan.

Seconds are those of the clock, and in figures of their own those of the processor: on a machine that is busy with other things only the
latter tell what a method itself does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from parts.time_budgets import SOME, TimedScans, overrun_figures

COLUMNS, SHORT, LONG = (14, 70, 300), (0.5, 2.0), 10.0


def budget_figures(seed: int, quick: bool) -> dict[str, Any]:
    """The worst excess as a share of the budget, that of half a second apart.

    A quick run has every method for half a CPU-second on every width, a few of them for longer, and fewer by the clock, of which
    `wiring.py` has more.
    """
    if not quick:
        by_clock = tuple(TimedScans(columns, (*SHORT, LONG)) for columns in COLUMNS)
        by_processor = tuple(replace(plan, of_processor=True) for plan in by_clock)
    else:
        by_clock = tuple(TimedScans(columns, SHORT, SOME) for columns in COLUMNS)
        every = tuple(TimedScans(columns, SHORT[:1], of_processor=True) for columns in COLUMNS)
        by_processor = every + tuple(TimedScans(columns, (SHORT[1], LONG), SOME[:2], of_processor=True) for columns in COLUMNS)
    return {**_figures(by_clock, seed, "budget"), **_figures(by_processor, seed, "cpu_budget")}


def _figures(plans: tuple[TimedScans, ...], seed: int, name: str) -> dict[str, Any]:
    told = overrun_figures(plans, seed)
    return {
        f"{name}_overrun_max": round(max(0.0, told["seconds_budget_overrun_max"] - 1.0), 3),
        f"{name}_overrun_half_second_max": round(max(0.0, told["half_second_overrun_max"] - 1.0), 3),
        f"{name}_overrun_worst": told["seconds_budget_overrun_worst"],
        f"{name}_scans": told["seconds_budget_scans"],
    }
