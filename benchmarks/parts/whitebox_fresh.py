"""Power on models that nothing was chosen by: planted shapes with drawn sizes, and networks trained on drawn rules.

The power table on the standing shapes served while NeuronFair's rule for vanished gradients was chosen; these models did not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.contract import Model
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.run import Plan, Subject, run
from evenhand.methods import METHODS
from evenhand.methods.themis import Themis
from evenhand.models.budget import Budget
from evenhand.models.fitting_again import fit_dense
from evenhand.planted.shapes import band, pocket

DRAW = 20261116
HIDDEN = ((16, 8), (32, 16), (64, 32, 16))


@dataclass(frozen=True)
class Fresh:
    """A model, its domain, and what it is."""

    name: str
    domain: TabularDomain
    model: Model


def drawn_shapes(count: int) -> Iterator[Fresh]:
    """Bands of drawn place and width, boxes with drawn walls."""
    rng = np.random.default_rng(DRAW)
    for _ in range(count):
        threshold, width = int(rng.integers(15, 40)), int(rng.integers(1, 6))
        made = band("band", threshold, width, "drawn")
        yield Fresh(f"band {threshold} {width}", made.domain, made.model)
    for _ in range(count):
        columns = rng.choice(["f1", "f2", "f3", "f4", "f5", "f6"], size=int(rng.integers(1, 4)), replace=False)
        lows = rng.integers(0, 7, size=len(columns))
        walls = {str(c): (int(low), int(low + rng.integers(1, 4))) for c, low in zip(columns, lows, strict=True)}
        made = pocket("box", walls, "drawn")
        yield Fresh("box " + " ".join(f"{c}:{low}-{high}" for c, (low, high) in walls.items()), made.domain, made.model)


def trained_networks(count: int) -> Iterator[Fresh]:
    """Networks of three sizes, trained on 4,000 rows whose label follows drawn weights, the group's among them, and noise."""
    domain = band("domain", 28, 3, "its columns").domain
    for place in range(count):
        rng = np.random.default_rng([DRAW, place])
        rows = domain.sample(4_000, rng)
        weights = rng.normal(size=len(domain.columns))
        weights[0] = 3.0 * rng.normal()
        pull = (rows - rows.mean(axis=0)) @ weights + rng.normal(0, 2.0, len(rows))
        hidden = HIDDEN[place % len(HIDDEN)]
        yield Fresh(f"trained {hidden} {place}", domain, fit_dense(rows, (pull > 0).astype(np.intp), (0, 1), rng, hidden=hidden))


def fresh_power(methods: Sequence[str], count: int, seeds: Sequence[int], candidates: int = 10_000) -> dict[str, tuple[int, int]]:
    """For every method, on how many of the models it beats random search with every seed."""
    won = dict.fromkeys(methods, 0)
    models = [*drawn_shapes(count), *trained_networks(count)]
    for fresh in models:
        subject = Subject(fresh.domain, fresh.model, fresh.domain.sample(1_000, np.random.default_rng(DRAW)))
        plans = [Plan(seed, Budget(candidates=candidates)) for seed in seeds]
        random = [run(Themis(margin=0.0), subject, plan).ledger.findings for plan in plans]
        shown = []
        for name in methods:
            runs = [run(METHODS.make(name), subject, plan) for plan in plans]
            found = [done.ledger.findings for done in runs]
            wins = all(mine > other for mine, other in zip(found, random, strict=True))
            won[name] += wins
            shown.append(f"{name} {np.mean(found):,.0f}{'' if wins else ' (not with every seed)'}{_lost(runs[0].facts)}")
        print(f"  {fresh.name:26} random {np.mean(random):7,.0f}; " + "; ".join(shown), flush=True)
    return {name: (count_won, len(models)) for name, count_won in won.items()}


def _lost(facts: dict[str, dict[str, int]]) -> str:
    """The share of local steps without a gradient, where it matters."""
    steps = facts.get("gradients", {}).get("local_steps", 0)
    share = facts["gradients"]["local_without_gradient"] / steps if steps else 0.0
    return f" [{share:.0%} of local steps without gradient]" if share > 0.05 else ""
