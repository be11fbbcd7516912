"""The truth that rare shares are held against: what plain draws count, where there are enough of them, and not what a wide window gives."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from evenhand.datasets.dataset import Dataset
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.synthesis.level_chain import LevelChain

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from parts import rare_truth
from parts.rare_places import RIM, Ground, Place

DOMAIN = TabularDomain(
    (Column("sex", "category", ("f", "m")), *(Column(f"x{at}", "real", low=0.0, high=1.0) for at in range(3))),
    protected=("sex",),
    label=Label("loan", ("no", "yes"), ("yes",)),
)
GROUND = Ground("uniform", (("x2", 0.7),), "x1", 1.0)
DENSITIES = {"thin": 0.05, "pocket": 0.02, "rim": 0.02}
"""Far below the true ones, so that what is planted as rare is common enough to be counted."""


@dataclass(frozen=True, eq=False)
class Spike(Place):
    """Log-odds that lie more densely the nearer they are to zero."""

    family: str = field(default="spike")

    def log_odds(self, rows: np.ndarray) -> np.ndarray:
        far = rows[:, 1] + rows[:, 2] - 1.0
        return far * (0.5 + 4000.0 * far**2)


def test_a_counted_share_is_what_plain_draws_say(monkeypatch):
    rng = np.random.default_rng(0)
    rows = DOMAIN.sample(800, rng)
    frame = DOMAIN.decode(rows)
    frame["loan"] = "no"
    place = Spike(GROUND, Dataset("uniform", frame, DOMAIN), LevelChain.fit(rows, DOMAIN, rng), None)
    monkeypatch.setattr(rare_truth, "opened", lambda ground, family: place)
    monkeypatch.setattr(rare_truth, "densities", lambda ground, family: DENSITIES)
    monkeypatch.setattr(rare_truth, "AT_ONCE", 4_000)
    monkeypatch.setattr(rare_truth, "FRESH", rare_truth.Branching(near=1.0, chance=0.3, copies=4, reach=1.0))
    monkeypatch.setattr(rare_truth, "LOCAL", rare_truth.Branching(near=0.05, chance=0.3, copies=4, reach=0.1))
    told = rare_truth.true_shares.__wrapped__(GROUND, "spike", drawn=60_000)

    plain = place.chain.unscored.drawn(150_000, rng).rows
    distance, inside = np.abs(place.log_odds(plain)), place.pocket(plain)
    reach = {"thin": 1.0, "pocket": inside * 1.0, "rim": np.where(inside, 1.0, RIM)}
    for kind, rate in [(kind, rate) for kind in DENSITIES for rate in (1e-3, 1e-4)]:
        hits = int((distance < rate / DENSITIES[kind] / 2 * reach[kind]).sum())
        counted = told[kind, rate]
        assert counted.share == pytest.approx(hits / len(plain), rel=4 * np.hypot(counted.error, hits**-0.5))
        assert hits > 100
        assert counted.error < 0.13
    assert told["thin", 1e-4].share > 0.15 * told["thin", 1e-3].share, "a density that is the same at every width would be no test"
