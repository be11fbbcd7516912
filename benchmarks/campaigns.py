"""What sharing work out costs and stands: `python benchmarks/campaigns.py --quick --json FILE`.

faults_injected           kills and other faults at random moments of scans of every medium, of other verbs and of campaigns
findings_lost, findings_doubled   against the undisturbed runs, bit for bit; a run that differs in anything counts as lost
dask_equals_serial        1.0 where a cluster of two worker processes, one of them killed, finds exactly what one process finds
speedup_2_workers         seconds on the wall of the search of a forest in one process over those in two, workers started, same shards
speedup_2_workers_cpu     the same by CPU-seconds: all of one process over the busiest of driver and two workers; what idle cores allow
shard_overhead_ms         seconds on the wall beyond the work itself for each of many empty shards, workers started
chunked_peak_mb           peak memory of init, fit, measure, scan and synth on 20,000,000 x 20 rows of Parquet
cost_per_row_20m_over_1m  CPU-seconds a row of init, open and measure there over those on 1,000,000 rows

campaign_runs, campaign_wall_s, campaign_driver_growth_mb   a campaign of 1,000 runs on two processes in one report; how much the
                          driver's memory grows from run 200 to run 1,000

The last five take long: with --quick they are those of the last full run, kept in parts/campaigns_full.json with its date.  Faults
are the same with --quick; a full run keeps them slice by slice in parts/campaigns_faults.json, and `python -m parts.faults` prints these
as docs/scaling.md has them.
`--only PART` measures one part: faults, dask, speedup, overhead, runs or large.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.campaign.executors.dask import Dask
from evenhand.campaign.executors.local import Local
from evenhand.campaign.executors.serial import Serial
from evenhand.campaign.sharded_run import SearchWork, shard_plans
from evenhand.contract import Executor, Work
from evenhand.engine.subject import Plan, subject_of
from evenhand.methods import METHODS
from evenhand.models import zoo
from parts import fault_cases, faults
from parts.common import options, write_figures

KEPT = Path(__file__).parent / "parts" / "campaigns_full.json"
PARTS, LONG = ("faults", "dask", "speedup", "overhead", "runs", "large"), ("runs", "large")
STREAMED = ("init_cpu_s", "open_cpu_s", "measure_cpu_s")


@dataclass(frozen=True)
class Warm:
    """Work whose first tasks are waited for: workers are started and have everything loaded before the clock is."""

    work: Work

    def open(self) -> Callable[[Any], Any]:
        """Each task tells its own CPU-seconds and its process."""
        do = self.work.open()

        def told(task: Any) -> dict[str, float]:
            started = time.process_time()
            if task is not None:
                do(task)
            else:
                time.sleep(0.3)  # so that every worker gets one of the first
            return {"process": os.getpid(), "cpu": time.process_time() - started}

        return told


@dataclass(frozen=True)
class Nothing:
    """A shard without work."""

    def open(self) -> Callable[[Any], Any]:
        """Answers at once."""
        return lambda task: task


@dataclass(frozen=True)
class Clocked:
    """Seconds from the first real task's end of warming to the last end; CPU-seconds of each process, the driver among them."""

    wall: float
    cpu: dict[float, float]

    @property
    def busiest(self) -> float:
        """CPU-seconds of the process that had most to do."""
        return max(self.cpu.values())


def clocked(executor: Executor, work: Work, tasks: list[Any], workers: int) -> Clocked:
    """Carry tasks out behind a few that only warm up."""
    warming, cpu, started, driver = 4 * workers, {}, 0.0, 0.0
    ends = executor.carry_out(Warm(work), [*[None] * warming, *tasks])
    for place, end in enumerate(ends):
        if end.fault is not None:
            raise end.fault
        if place == warming - 1:
            started, driver = time.perf_counter(), time.process_time()
        if end.place >= warming:
            cpu[end.answer["process"]] = cpu.get(end.answer["process"], 0.0) + end.answer["cpu"]
    wall, own = time.perf_counter() - started, time.process_time() - driver
    if os.getpid() not in cpu:
        cpu[os.getpid()] = own
    return Clocked(wall, cpu)


def speedup(candidates: int) -> dict[str, float]:
    """A forest on adult, searched in the same shards by one process and by two."""
    data = eh.open("adult", protected=["sex"])
    forest = zoo.load_or_train("forest", data.rows, data.labels, data.domain, seed=0)
    subject = subject_of(forest, data, None)
    work = SearchWork(METHODS.make("evenhand"), subject, 0)
    plans = shard_plans(Plan(0, eh.Budget(candidates=candidates)), workers=2)
    one, two = clocked(Local(1), work, plans, 1), clocked(Local(2), work, plans, 2)
    return {"speedup_2_workers": round(one.wall / two.wall, 2), "speedup_2_workers_cpu": round(sum(one.cpu.values()) / two.busiest, 2)}


def shard_overhead(count: int = 400) -> float:
    """Milliseconds for each of many shards without work."""
    return round(1_000 * clocked(Local(2), Nothing(), list(range(count)), 2).wall / count, 2)


def dask_equals_serial(folder: Path) -> float:
    """A cluster of two processes, one of which is killed in the middle."""
    from distributed import LocalCluster

    table = fault_cases.FaultCase("table", fault_cases.standard_subject, 12_000)
    whole = table.scan(folder / "serial", Serial())
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:

        class Disturbed(Dask):
            """Kills a worker after the first answer."""

            def carry_out(self, work: Any, tasks: Any) -> Any:
                for place, end in enumerate(super().carry_out(work, tasks)):
                    if place == 0:
                        os.kill(next(iter(cluster.workers.values())).pid, 9)
                    yield end

        found = table.scan(folder / "dask", Disturbed(cluster.scheduler_address))
    return float(fault_cases.digest(whole) == fault_cases.digest(found))


def large_tables(folder: Path) -> dict[str, Any]:
    """Both lengths, each in a process of its own."""
    told = {}
    for rows in (1_000_000, 20_000_000):
        line = [sys.executable, "-m", "parts.large_run", str(rows), str(folder)]
        told[rows] = json.loads(subprocess.run(line, check=True, stdout=subprocess.PIPE, cwd=Path(__file__).parent).stdout)
    return full_figures(told[1_000_000], told[20_000_000])


def full_figures(short: dict[str, Any], long: dict[str, Any]) -> dict[str, Any]:
    """The figures of a full run, with its date and every step's seconds."""
    cost = [sum(each[name] for name in STREAMED) / each["rows"] for each in (short, long)]
    told = {"chunked_peak_mb": long["peak_mb"], "cost_per_row_20m_over_1m": round(cost[1] / cost[0], 3)}
    return {**told, "date": today(), "steps_1m": short, "steps_20m": long}


def fault_figures(is_kept: bool) -> dict[str, Any]:
    """What was injected slice by slice, each by a seed of its own, and what was lost or doubled."""
    made = [each.made() for each in faults.SLICES]
    if is_kept:
        faults.KEPT.write_text(json.dumps({"date": today(), "slices": made}, indent=2) + "\n", encoding="utf-8")
    lost, doubled = sum(each["lost"] + each["differing"] for each in made), sum(each["doubled"] for each in made)
    return {"faults_injected": sum(each["faults"] for each in made), "findings_lost": lost, "findings_doubled": doubled}


def today() -> str:
    """As figures are dated."""
    return datetime.now(UTC).date().isoformat()


def many_runs(runs: int) -> dict[str, Any]:
    """A campaign of many runs in one report, in a process of its own."""
    line = [sys.executable, "-m", "parts.thousand_runs", str(runs)]
    told = json.loads(subprocess.run(line, check=True, stdout=subprocess.PIPE, cwd=Path(__file__).parent).stdout)
    return {f"campaign_{name}": value for name, value in told.items()}


def kept_figures() -> dict[str, Any]:
    """The last full run's."""
    return json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}


def main() -> None:
    """Measure and write."""
    chosen = options(__doc__ or "", PARTS)
    wanted, quick = chosen.only or [part for part in PARTS if not (chosen.quick and part in LONG)], chosen.quick
    figures: dict[str, Any] = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        makers: dict[str, Callable[[], dict[str, Any]]] = {
            "faults": lambda: fault_figures(is_kept=not quick),
            "dask": lambda: {"dask_equals_serial": dask_equals_serial(folder)},
            "speedup": lambda: speedup(200_000 if quick else 800_000),
            "overhead": lambda: {"shard_overhead_ms": shard_overhead()},
            "runs": lambda: many_runs(100 if quick else 1_000),
            "large": lambda: large_tables(folder),
        }
        for part in wanted:
            made = makers[part]()
            figures |= made
            if part in LONG and not quick:
                dated = made if "date" in made else {**made, "runs_date": today()}
                KEPT.write_text(json.dumps(kept_figures() | dated, indent=2) + "\n", encoding="utf-8")
    kept = kept_figures()
    figures = {each: value for each, value in kept.items() if each.startswith(("chunked_", "cost_", "campaign_"))} | figures
    figures = {each: value for each, value in figures.items() if not isinstance(value, dict) and each not in ("date", "runs_date")}
    figures["full_run_date"] = kept.get("date")
    write_figures(figures, chosen.json)


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
