"""What a scan costs against rows, columns, protected values, methods and workers, in CPU-seconds: the tables of docs/scaling.md.

`python -m parts.scaling_costs` prints them as Markdown; every cell is one scan of a small forest with a fixed number of candidates.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

import evenhand as eh
from evenhand.campaign.executors.serial import Serial
from evenhand.campaign.sharded_run import sharded_run
from evenhand.datasets.dataset import Dataset, from_frame
from evenhand.domain.infer import infer
from evenhand.engine.run import run
from evenhand.engine.subject import Plan, subject_of
from evenhand.methods import METHODS
from evenhand.models import zoo

CANDIDATES = 5_000


def people(rows: int, columns: int = 10, values: int = 2, seed: int = 0) -> Dataset:
    """So many rows, columns and protected values; the decision leans by the protected one."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, values, rows)
    cells: dict[str, Any] = {"group": [f"g{value}" for value in group]}
    cells |= {f"n{place}": rng.integers(0, 50, rows) for place in range(columns - 1)}
    frame = pd.DataFrame(cells)
    frame["granted"] = np.where(frame["n0"] + 5 * (group == 0) + rng.normal(0, 5, rows) > 27, "yes", "no")
    domain = infer(frame, label="granted", favourable="yes", protected=["group"], numbers=[f"n{place}" for place in range(columns - 1)])
    return from_frame(frame, domain, "people")


def cost(data: Dataset, method: str = "evenhand", shards: bool = False) -> dict[str, float]:
    """CPU-seconds of one search, and the model rows that it asked."""
    forest = zoo.train("forest", data.rows[:2_000], data.labels[:2_000], data.domain, np.random.default_rng(0))
    subject, plan = subject_of(forest, data, None), Plan(0, eh.Budget(candidates=CANDIDATES))
    started = time.process_time()
    done = sharded_run(METHODS.make(method), subject, plan, Serial()) if shards else run(METHODS.make(method), subject, plan)
    return {"CPU-seconds": time.process_time() - started, "model rows": done.ledger.model_rows, "findings": done.ledger.findings}


def table(title: str, cells: Iterable[Any]) -> None:
    """As Markdown."""
    print(f"\n| {title} | CPU-seconds | model rows | findings |\n|---|---|---|---|")
    for name, told in cells:
        print(f"| {name} | {told['CPU-seconds']:.2f} | {told['model rows']:,} | {told['findings']:,} |", flush=True)


def main() -> None:
    """All tables, or those that are named."""
    wanted = sys.argv[1:] or ["rows", "columns", "values", "methods", "shards"]
    base = people(5_000)
    cost(base, "themis")  # what a process loads once
    makers = {
        "rows": lambda: ((f"{n:,}", cost(people(n))) for n in (1_000, 10_000, 100_000)),
        "columns": lambda: ((n, cost(people(5_000, columns=n))) for n in (5, 10, 20, 40)),
        "values": lambda: ((n, cost(people(5_000, values=n))) for n in (2, 4, 8, 16)),
        "methods": lambda: ((name, cost(base, name)) for name in ("themis", "chains", "fairsift_batched", "evenhand")),
        "shards": lambda: ((name, cost(base, shards=name == "4 shards")) for name in ("one search", "4 shards")),
    }
    for name in wanted:
        table(name, makers[name]())


if __name__ == "__main__":
    main()
