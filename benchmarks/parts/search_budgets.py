"""Whether every method keeps the seconds that it is given, on narrow and wide tables: `time_budgets.py` with the search's own plan."""

from __future__ import annotations

from typing import Any

from parts.time_budgets import SOME, TimedScans, overrun_figures

COLUMNS, SHORT, LONG = (14, 70, 300), (0.5, 2.0), 10.0


def budget_figures(seed: int, quick: bool) -> dict[str, Any]:
    """The worst excess as a share of the budget, that of half a second apart; ten seconds with a few methods in a quick run."""
    plans = [TimedScans(columns, SHORT if quick else (*SHORT, LONG)) for columns in COLUMNS]
    plans += [TimedScans(columns, (LONG,), SOME[:2]) for columns in COLUMNS[1:] if quick]
    told = overrun_figures(tuple(plans), seed)
    return {
        "budget_overrun_max": round(max(0.0, told["seconds_budget_overrun_max"] - 1.0), 3),
        "budget_overrun_half_second_max": round(max(0.0, told["half_second_overrun_max"] - 1.0), 3),
        "budget_overrun_worst": told["seconds_budget_overrun_worst"],
        "budget_scans": told["seconds_budget_scans"],
    }
