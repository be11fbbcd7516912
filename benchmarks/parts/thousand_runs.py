"""A campaign of many runs on two processes, in one report: its seconds, and how much the driver's memory grows from a fifth of it on.

`python -m parts.thousand_runs RUNS` prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

import evenhand as eh
from evenhand.campaign.executors.local import Local
from evenhand.contract import Headway
from evenhand.verbs.campaign import CampaignOptions
from parts.scaling_costs import people


def main() -> None:
    """Make it and tell."""
    runs = int(sys.argv[1])
    memory: dict[int, int] = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        people(2_000).frame.to_csv(folder / "people.csv", index=False)
        plan = f"data: {{file: people.csv, label: granted}}\nprotected: group\nmodels: forest\nmethods: themis\nseeds: {runs}\n"
        (folder / "night.yaml").write_text(plan + "budgets: {candidates: 100}\n", encoding="utf-8")

        def watch(headway: Headway) -> None:
            memory[headway.done] = psutil.Process().memory_info().rss

        started = time.perf_counter()
        result = eh.run_campaign(folder / "night.yaml", CampaignOptions(Local(2), watch))
        seconds = time.perf_counter() - started
        page = result.report(folder / "report.html").stat().st_size
    assert len(result.records) == runs, "every run has one record"
    assert all(record["status"] == "done" for record in result.records), "every run was made"
    growth = (memory[runs] - memory[max(1, runs // 5)]) / 1e6
    course = {done: round(memory[done] / 1e6) for done in range(max(1, runs // 10), runs + 1, max(1, runs // 10))}
    told = {
        "runs": runs,
        "driver_mb_by_runs": course,
        "wall_s": round(seconds, 1),
        "driver_mb": round(memory[runs] / 1e6),
        "driver_growth_mb": round(growth, 1),
    }
    print(json.dumps({**told, "report_kb": page // 1000}))


if __name__ == "__main__":
    main()
