"""What init takes for a table of a million rows, and whether scans keep the seconds that they are given.

The table is drawn here: 12 numbers, 10 whole numbers, 12 texts, a protected column, yes and no, padded codes, dates, an identifier, a
label.  Scans are of a net trained on drawn rows of 14, 70, 300 and 1,000 columns, with every method that works on tables (in the quick
table all of them for half a second, some for longer); the first scan of a process, which loads the libraries, is not counted.  A scan
that took a fiftieth more than it was given is made up to three times, and the shortest counts: a machine that is busy with other things
stops any clock.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

MILLION = 1_000_000
SOME = ("chains", "evenhand", "themis")
"""Methods that stand for the others where there is no time for all."""


@dataclass(frozen=True)
class TimedScans:
    """Scans of so many columns, for each of these seconds, with these methods; none for every one."""

    columns: int
    seconds: tuple[float, ...]
    methods: tuple[str, ...] = ()
    of_processor: bool = False  # CPU-seconds, which other programs take nothing of, instead of the clock's


QUICK = (TimedScans(14, (0.5,)), TimedScans(300, (0.5,)), TimedScans(70, (2.0, 10.0), SOME[1:2]), TimedScans(1_000, (2.0,), SOME))
FULL = tuple(TimedScans(columns, (0.5, 2.0, 10.0)) for columns in (14, 70, 300, 1_000))
TRAINING_ROWS = 3_000
TRIES, NOTICED = 3, 1.02
WIDE = 300
"""Columns from which on memory is a figure of its own."""


def init_figures(rows: int = MILLION, seed: int = 0) -> dict[str, Any]:
    """CPU-seconds and memory of `evenhand init`, and of `evenhand scan` for a handful of candidates, from start to end."""
    with tempfile.TemporaryDirectory(prefix="evenhand-million-") as folder:
        table = Path(folder) / "million.csv"
        _write_table(table, rows, seed)
        told = json.loads(_in_a_child(_INIT, str(table), str(Path(folder) / "evenhand.yaml")))
        (Path(folder) / "million_model.py").write_text(_MODEL)
        begun = json.loads(_in_a_child(_BEGIN, folder))
    return {
        "init_cpu_s_million_x_40": round(told["cpu"], 2),
        "init_megabytes_million_x_40": round(told["megabytes"], 1),
        "scan_start_cpu_s_million_x_40": round(begun["cpu"] - begun["searched"], 2),
        "scan_whole_cpu_s_million_x_40": round(begun["cpu"], 2),
        "scan_start_megabytes_million_x_40": round(begun["megabytes"], 1),
    }


_INIT = """
import contextlib, io, json, resource, sys
sys.argv = ["evenhand", "init", sys.argv[1], "--label", "y", "--favourable", "1", "--protected", "sex", "--out", sys.argv[2]]
from evenhand.cli.main import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main()
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"cpu": used.ru_utime + used.ru_stime, "megabytes": used.ru_maxrss / 1024}))
"""


_MODEL = """
def model(frame):
    return 0.3 + 0.4 * (frame["num0"] > 50) * (frame["int1"] > 20) + 0.1 * (frame["sex"] == "male")
"""
_BEGIN = """
import contextlib, io, json, os, resource, sys
os.chdir(sys.argv[1])
sys.path.insert(0, sys.argv[1])
sys.argv = ["evenhand", "scan", "--model", "million_model:model", "--candidates", "200", "--quiet", "--json"]
from evenhand.cli.main import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as said:
    main()
used = resource.getrusage(resource.RUSAGE_SELF)
searched = json.loads(said.getvalue())["body"]["runs"][0]["cpu_seconds"]
print(json.dumps({"cpu": used.ru_utime + used.ru_stime, "megabytes": used.ru_maxrss / 1024, "searched": searched}))
"""


def _in_a_child(code: str, *words: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip().splitlines()[-1]


def _write_table(path: Path, rows: int, seed: int) -> None:
    """In parts, so that this process stays small."""
    import pandas as pd

    for begin in range(0, rows, 100_000):
        n = min(100_000, rows - begin)
        rng = np.random.default_rng([seed, begin])
        cells: dict[str, Any] = {f"num{at}": np.round(rng.normal(50, 10, n), 2) for at in range(12)}
        cells |= {f"int{at}": rng.integers(0, 5 + at * 300, n) for at in range(10)}
        cells |= {f"cat{at}": rng.choice([f"value {k}" for k in range(3 + at * 5)], n) for at in range(12)}
        cells |= {"sex": rng.choice(["female", "male"], n), "flag": rng.choice(["Y", "N"], n)}
        cells |= {"zip": rng.choice([f"{k:05d}" for k in range(1, 99_999, 200)], n), "id": np.arange(begin, begin + n)}
        cells |= {"date": (pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), unit="D")).strftime("%Y-%m-%d")}
        pd.DataFrame(cells | {"y": rng.integers(0, 2, n)}).to_csv(path, mode="a", header=not begin, index=False)


def overrun_figures(plans: tuple[TimedScans, ...], seed: int = 0) -> dict[str, Any]:
    """The worst share of elapsed to given seconds over all methods and widths, in a process of its own for each width."""
    worst, name, megabytes, wide, scans, short = 0.0, "", 0.0, 0.0, 0, 0.0
    for plan in plans:
        columns = plan.columns
        told = json.loads(_in_a_child(_SCANS, str(Path(__file__).parent.parent), json.dumps(asdict(plan)), str(seed)))
        for each in told["scans"]:
            print(
                f"{each['overrun']:6.3f} of {each['seconds']:g} s {columns:4} columns {each['method']:14} {each['candidates']:,} candidates"
            )
        scans += len(told["scans"])
        short = max([short, *(each["overrun"] for each in told["scans"] if each["seconds"] < 1)])
        longer = [each for each in told["scans"] if each["seconds"] >= 1]
        most = max(longer, key=lambda each: each["overrun"]) if longer else {"overrun": 0.0}
        if most["overrun"] > worst:
            worst, name = most["overrun"], f"{most['method']}, {columns} columns, {most['seconds']:g} s"
        print(f"{columns:4} columns: {told['megabytes']:,.0f} MB at most")
        megabytes = max(megabytes, told["megabytes"])
        wide = max(wide, told["megabytes"] if columns >= WIDE else 0.0)
    return {
        "seconds_budget_overrun_max": round(worst, 3),
        "seconds_budget_overrun_worst": name,
        "half_second_overrun_max": round(short, 3),
        "seconds_budget_scans": scans,
        "seconds_budget_megabytes_max": round(megabytes, 1),
        "wide_megabytes_max": round(wide, 1),
    }


_SCANS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from parts.time_budgets import TimedScans, timed_scans
print(json.dumps(timed_scans(TimedScans(**json.loads(sys.argv[2])), int(sys.argv[3]))))
"""


def timed_scans(plan: TimedScans, seed: int) -> dict[str, Any]:
    """The methods on a net over so many columns, each for each number of seconds."""
    import evenhand as eh
    from evenhand.methods import working_on
    from evenhand.models.zoo import train

    data = _drawn(plan.columns, seed)
    model = train("mlp", data.rows, data.labels, data.domain, np.random.default_rng(seed))
    names = sorted(plan.methods or working_on("table"))
    clock = time.process_time if plan.of_processor else time.monotonic

    def budget(seconds: float) -> eh.Budget:
        return eh.Budget(cpu_seconds=seconds) if plan.of_processor else eh.Budget(seconds=seconds)

    eh.scan(model, data, methods=names, budget=budget(1.0))  # loads what they need
    scans = []
    for name in names:
        for given in plan.seconds:
            tries = []
            while not tries or (min(tries)[0] > NOTICED and len(tries) < TRIES):
                started = clock()
                done = eh.scan(model, data, methods=[name], budget=budget(given))
                tries.append(((clock() - started) / given, done.runs[0].ledger.candidates))
                del done  # nobody keeps the findings of one scan while the next one runs
            overrun, candidates = min(tries)
            scans.append({"method": name, "seconds": given, "overrun": overrun, "candidates": candidates})
    return {"scans": scans, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _drawn(columns: int, seed: int) -> Any:
    """Half numbers, half categories, one protected column, and a label that all of them decide."""
    from evenhand.datasets.dataset import Dataset
    from evenhand.domain.columns import Column
    from evenhand.domain.tabular import Label, TabularDomain

    rng = np.random.default_rng([seed, columns])
    drawn = [
        Column(f"n{at}", "integer", low=0, high=50) if at % 2 else Column(f"c{at}", "category", tuple("abcdef"))
        for at in range(columns - 1)
    ]
    sex = Column("sex", "category", ("f", "m"))
    domain = TabularDomain((*drawn, sex), protected=("sex",), label=Label("y", ("no", "yes"), ("yes",)))
    rows = domain.sample(TRAINING_ROWS, rng)
    lead = ((rows - rows.mean(axis=0)) / rows.std(axis=0)) @ np.append(rng.normal(size=columns - 1) / np.sqrt(columns), 0.5)
    frame = domain.decode(rows)
    frame["y"] = np.where(lead > rng.logistic(size=len(rows)) / 3, "yes", "no")
    return Dataset(f"drawn, {columns} columns", frame, domain)
