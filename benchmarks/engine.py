"""What the engine costs, and whether it measures right.

1. THEMIS on the papers' census network, protected sex, against a bare NumPy loop that only predicts the twins, and a loop over single rows.
2. The discrimination of random inputs of ADF's published nets against the figures seen on the same nets.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np

from evenhand import datasets
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.run import Plan, Run, Subject, run
from evenhand.measures.rates import discrimination_rate, uniform_sample
from evenhand.methods.themis import Themis
from evenhand.models.budget import Budget
from evenhand.models.dense import DenseNet
from evenhand.models.meter import Meter
from evenhand.oracles.flip import LabelFlip
from parts.common import cpu, options, papers_data, write_figures

SEEN = {  # percent of random inputs that ADF's published nets treat unfairly, as seen on those nets
    ("census", "age"): 10.66,
    ("census", "race"): 9.99,
    ("census", "sex"): 3.01,
    ("bank", "age"): 4.49,
    ("credit", "age"): 28.49,
    ("credit", "sex"): 7.62,
}
TOLERANCE = 0.4  # points
TABLES = {"census": datasets.adult, "bank": datasets.bank, "credit": datasets.credit}


def census_net(domain: TabularDomain, seed: int) -> DenseNet:
    """ADF's published census net, or a random one of the same shape where that is absent: speed does not depend on the weights."""
    data = papers_data()
    if data is not None:
        return DenseNet.from_npz(data / "models" / "ADF_census.npz")
    rng = np.random.default_rng(seed)
    widths = (len(domain.columns), 64, 32, 16, 8, 4, 2)
    kernels = tuple(rng.normal(size=pair).astype(np.float32) * (2 / pair[0]) ** 0.5 for pair in pairwise(widths))
    return DenseNet(kernels, tuple(np.zeros(width, dtype=np.float32) for width in widths[1:]))


class BareNet:
    """The same network as plainly as NumPy says it."""

    def __init__(self, net: DenseNet) -> None:
        self.layers = list(zip(net.kernels, net.biases, strict=True))

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Labels of a batch."""
        hidden = rows.astype(np.float32)
        for kernel, bias in self.layers[:-1]:
            hidden = np.maximum(hidden @ kernel + bias, 0)
        kernel, bias = self.layers[-1]
        return (hidden @ kernel + bias).argmax(axis=1)


def bare_loop(net: BareNet, rows: np.ndarray, sex: int, batch: int = 4096) -> int:
    """Only what cannot be left out: both twins predicted, in batches."""
    found = 0
    for at in range(0, len(rows), batch):
        some = rows[at : at + batch]
        other = some.copy()
        other[:, sex] = 1 - other[:, sex]
        found += int((net.predict(some) != net.predict(other)).sum())
    return found


def row_loop(net: DenseNet, domain: TabularDomain, rows: np.ndarray) -> int:
    """The same model, twins and judgement, one candidate at a time, as the published codes go about it."""
    meter, oracle = Meter(net), LabelFlip()
    return sum(int(oracle.judge(row[None], domain, meter).unfair[0]) for row in rows)


def bare_row_loop(net: BareNet, rows: np.ndarray, sex: int) -> int:
    """Nothing but the two predictions, one row at a time: the least that a loop over rows can cost."""
    found = 0
    for row in rows:
        other = row.copy()
        other[sex] = 1 - other[sex]
        found += int(net.predict(row[None])[0] != net.predict(other[None])[0])
    return found


def search(domain: TabularDomain, net: DenseNet, candidates: int, seed: int) -> Run:
    """THEMIS through the engine."""
    return run(Themis(margin=0.0), Subject(domain, net), Plan(seed, Budget(candidates=candidates)))


def speed(candidates: int, seed: int) -> dict[str, float]:
    """The engine beside the bare loop and the row loop, in alternating turns."""
    domain = datasets.adult(coding="papers").domain.protect("sex")
    net = census_net(domain, seed)
    bare, sex = BareNet(net), domain.place("sex")
    rows = domain.sample(candidates, np.random.default_rng(seed))
    few = rows[: candidates // 200]
    turns = [(cpu(lambda: search(domain, net, candidates, seed))[0], cpu(lambda: bare_loop(bare, rows, sex))[0]) for _ in range(8)]
    engine, plain = (min(times) for times in zip(*turns, strict=True))
    rowwise, barest = (
        best * len(rows) / len(few)
        for best in (cpu(lambda: row_loop(net, domain, few), 3)[0], cpu(lambda: bare_row_loop(bare, few, sex), 3)[0])
    )
    print(f"{candidates:,} candidates: engine {engine:.2f} s; bare NumPy, which only predicts the twins in batches, {plain:.2f} s")
    print(
        f"one at a time (from {len(few):,} rows): the same judgement {rowwise:.0f} s, "
        f"two bare predictions {barest:.0f} s = {barest / engine:.0f} times the engine"
    )
    return {"engine_over_bare": plain / engine, "engine_over_rowwise": rowwise / engine}


def peak_megabytes(candidates: int, seed: int) -> float:
    """The largest resident size of a process of its own that does nothing but this search."""
    command = [sys.executable, __file__, "--memory", str(candidates), str(seed)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


def published_rates(n: int, seed: int) -> int | None:
    """How many of the six published rates lie within the tolerance of ours."""
    data = papers_data()
    if data is None:
        print("the published nets are not here: their rates are not compared")
        return None
    inside = 0
    for (table, protected), seen in SEEN.items():
        domain = TABLES[table](coding="papers").domain.protect(protected)
        net = DenseNet.from_npz(data / "models" / f"ADF_{table}.npz")
        rate = discrimination_rate(uniform_sample(domain, n, np.random.default_rng(seed)), domain, net, LabelFlip()).interval
        agrees = abs(100 * rate.estimate - seen) <= TOLERANCE
        inside += agrees
        print(
            f"{table:7} {protected:5} seen {seen:5.2f} %  ours {rate.estimate:7.2%} ({rate.low:.2%} to {rate.high:.2%})  "
            f"{'agrees' if agrees else 'DIFFERS'}"
        )
    return inside


def main() -> None:
    """Measure and write."""
    if "--memory" in sys.argv:
        candidates, seed = (int(word) for word in sys.argv[sys.argv.index("--memory") + 1 :])
        domain = datasets.adult(coding="papers").domain.protect("sex")
        search(domain, census_net(domain, seed), candidates, seed)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    chosen = options(__doc__ or "")
    started = time.process_time()
    figures: dict[str, object] = dict(speed(1_000_000, chosen.seed))
    figures["peak_mb"] = peak_megabytes(1_000_000, chosen.seed)
    figures["published_rates_inside"] = published_rates(100_000 if chosen.quick else 1_000_000, chosen.seed)
    print(f"{time.process_time() - started:.0f} CPU-seconds")
    write_figures(figures, chosen.json)


if __name__ == "__main__":
    main()
