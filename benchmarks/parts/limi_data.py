"""The tables of the LIMI paper as this package codes them, with the columns that the paper calls numerical, and the trained CTGANs.

`python benchmarks/limi_spaces.py --ship` trains the CTGAN of 300 epochs that stands beside the scripts (minutes to hours, resumable).
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from evenhand import datasets
from evenhand.contract import Headway
from evenhand.datasets.dataset import Dataset
from evenhand.domain.columns import Column
from evenhand.synthesis.ctgan import Ctgan, CtganSettings
from evenhand.synthesis.learning import Schedule, cache_folder, digest

NUMBERS = {
    "adult": ("age", "fnlwgt", "capital_gain", "capital_loss", "hours_per_week"),
    "credit": ("duration", "credit_amount", "installment_rate", "residence_since", "age", "existing_credits", "num_dependents"),
    "bank": ("age", "balance", "day", "duration", "campaign", "pdays"),
    "meps": ("AGE", "PCS42", "MCS42", "K6SUM42"),
}
EXPGA_RANKS = {"credit": 14, "bank": 10}
"""Among how many first columns ExpGA's authors want the protected attribute on these tables; elsewhere 7 of 13 in proportion."""
SHIPPED = Path(__file__).resolve().parents[1] / "ctgan_adult.npz"


def table(name: str, *protected: str) -> Dataset:
    """A table in the papers' coding; columns that the paper calls categorical are categories with the same codes."""
    data = datasets.load(name, "papers")
    columns = tuple(c if c.name in NUMBERS[name] else _category(c) for c in data.domain.columns)
    frame = data.frame[data.inside].reset_index(drop=True)  # without the 2,427 census rows that the published code book leaves out
    return replace(data, frame=frame, domain=replace(data.domain, columns=columns)).protect(*protected)


def _category(column: Column) -> Column:
    assert column.low == 0
    return Column(column.name, "category", tuple(range(int(column.high or 0) + 1)), dtype=column.dtype)


def seconds_per_epoch(data: Dataset, epochs: int, seed: int) -> float:
    """CPU-seconds of one epoch of CTGAN training, set-up aside."""
    spent = []
    for count in (1, epochs + 1):
        begun = time.process_time()
        Ctgan.fit(data.rows, data.domain, np.random.default_rng(seed), CtganSettings(epochs=count))
        spent.append(time.process_time() - begun)
    return (spent[1] - spent[0]) / epochs


def trained(data: Dataset, epochs: int, seed: int) -> Ctgan:
    """The CTGAN of a table from the cache ($EVENHAND_CACHE or the user's), or a new one, which takes minutes."""
    settings = CtganSettings(epochs=epochs)
    key = digest(data.rows, data.domain, settings, seed)
    path = cache_folder() / "ctgan" / f"{key}.npz"
    if path.exists():
        return Ctgan.load(path, data.domain)
    print(f"  training a CTGAN on {data.name} for {epochs} epochs; kept in {path.parent}", flush=True)
    schedule = Schedule(watch=_say, checkpoint=path.with_suffix(".checkpoint.npz"))
    space = Ctgan.fit(data.rows, data.domain, np.random.default_rng(seed), settings, schedule)
    space.save(path)
    path.with_suffix(".checkpoint.npz").unlink(missing_ok=True)
    return space


def _say(headway: Headway) -> None:
    if headway.done % 10 == 0 or headway.done == headway.total:
        print(f"    epoch {headway.done} of {headway.total}", flush=True)
