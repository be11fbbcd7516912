"""init, fit, measure, scan and synth on a Parquet file of any length, in a process of its own: CPU-seconds of each step, and peak memory.

`python -m parts.large_run ROWS FOLDER` prints one JSON object; the file is made in the folder where it is not there.
"""

from __future__ import annotations

import json
import resource
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

CATEGORIES = (2, 3, 5, 8, 12, 20, 4, 6)
ROWS_AT_ONCE = 500_000
SYNTHETIC_ROWS = 100_000


def write_people(rows: int, path: Path, seed: int = 0) -> Path:
    """A table of 20 columns: texts, whole and real numbers, and a decision that leans by sex."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rng, writer = np.random.default_rng(seed), None
    for at in range(0, rows, ROWS_AT_ONCE):
        table = pa.table(_part(min(ROWS_AT_ONCE, rows - at), rng))
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table, row_group_size=250_000)
    assert writer is not None
    writer.close()
    return path


def _part(rows: int, rng: np.random.Generator) -> dict[str, Any]:
    is_female, age = rng.random(rows) < 0.5, rng.integers(18, 90, rows)
    income = np.round(np.exp(rng.normal(10, 0.5, rows)) + age * 50, 2)
    cells: dict[str, Any] = {"sex": np.where(is_female, "f", "m"), "age": age, "income": income}
    for place, count in enumerate(CATEGORIES):
        cells[f"c{place}"] = np.array([f"{place}-{value}" for value in range(count)])[rng.integers(0, count, rows)]
    cells |= {f"n{place}": rng.integers(0, 1_000 * (place + 1), rows) for place in range(5)}
    cells |= {f"x{place}": rng.normal(size=rows) for place in range(3)}
    granted = income / 20_000 + age / 100 - 0.3 * is_female + rng.normal(0, 0.3, rows) > 2.0
    return {**cells, "granted": np.where(granted, "yes", "no")}


def steps(path: Path, folder: Path) -> dict[str, Any]:
    """Every step with its CPU-seconds and its seconds on the wall; then the peak of memory."""
    import evenhand as eh
    from evenhand.datasets import large_dataset
    from evenhand.models import zoo
    from evenhand.synthesis.chained_trees import ChainedTrees
    from evenhand.verbs.init import init

    large_dataset.ROWS_IN_MEMORY = 100_000  # short files go the same way as long ones
    told: dict[str, Any] = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        cpu, wall = time.process_time(), time.perf_counter()
        made = work()
        told[f"{name}_cpu_s"], told[f"{name}_wall_s"] = round(time.process_time() - cpu, 2), round(time.perf_counter() - wall, 2)
        print(name, told[f"{name}_cpu_s"], told[f"{name}_wall_s"], _peak(), file=sys.stderr, flush=True)
        return made

    wishes = {"label": "granted", "favourable": "yes", "protected": ["sex"]}
    timed("init", lambda: init(path, **wishes, file=folder / "evenhand.yaml"))
    data = timed("open", lambda: eh.open(path, **wishes))
    model = zoo.train("mlp", data.rows[:20_000], data.labels[:20_000], data.domain, np.random.default_rng(0))
    timed("fit", lambda: ChainedTrees.fit(data.rows, data.domain, np.random.default_rng(0)))
    options = eh.MeasureOptions(draws=199, groups_only=True, natural_candidates=0)
    measured = timed("measure", lambda: eh.measure(model, data, options=options))
    timed("scan", lambda: eh.scan(model, data, budget=eh.Budget(candidates=20_000)))
    timed("synth", lambda: eh.synth(data, SYNTHETIC_ROWS, seed=0).write(folder / "synthetic.parquet"))
    asked = measured.individual[0].rate.interval.n
    assert asked == data.total, f"{asked} of {data.total} rows were asked"
    return {"rows": data.total, **told, "peak_mb": _peak()}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    """Make the file, go through it, tell."""
    rows, base = int(sys.argv[1]), Path(sys.argv[2])
    path, folder = base / f"people-{rows}.parquet", base / f"made-{rows}"
    if not path.exists():
        write_people(rows, path)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    print(json.dumps(steps(path, folder)))


if __name__ == "__main__":
    main()
