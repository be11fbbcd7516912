"""The two constants of rare shares, tried on a generated table: how deep the levels go, and by how much the islands' error is stretched.

Nothing that is tried here is reported: the reported plantings are on the census table, in other pockets.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import numpy as np

from evenhand.arrays import Reals
from evenhand.measures.rare_rate import PlainStage, RareRateSettings, RareSearch, together
from parts.rare_places import DEVELOPMENT, FAMILIES, KINDS, PlantedRate, densities, opened
from parts.rare_truth import true_shares

RATE, PEOPLE = 1e-5, 300_000
REACHED, ALIKE = (0.001, 0.003, 0.01), (1.0, 1.25, 1.5, 2.0)


@dataclass(frozen=True, eq=False)
class IslandsTold:
    """What the islands of one run said, before anything is made of it."""

    shares: Reals
    plain: PlainStage
    truth: float

    @property
    def error(self) -> float:
        """Of the islands' mean, as a share of the truth."""
        return float(self.shares.mean() / self.truth - 1)

    def covers(self, alike: float) -> bool | None:
        """Whether the interval so stretched holds the true share; None where the plain draws spoke alone."""
        self.plain.settings = replace(self.plain.settings, alike=alike)
        told = together(self.shares, self.plain, 1)
        return None if told is None else told.interval.low <= self.truth <= told.interval.high


def islands_told(family: str, kind: str, reached: float, seed: int) -> IslandsTold | None:
    """One run; None where some island had nobody."""
    place = opened(DEVELOPMENT, family)
    model = PlantedRate(place, kind, RATE / densities(DEVELOPMENT, family)[kind], is_shared=True)
    search = RareSearch(place.chain.unscored, model, RareRateSettings(people=PEOPLE, reached=reached), np.random.default_rng([seed, 34]))
    plain = search.plain()
    islands = plain.islands(search.rng)
    if islands is None:
        return None
    search.climb(islands)
    return IslandsTold(search.shares(islands), plain, true_shares(DEVELOPMENT, family)[kind, RATE].share)


def choose(runs: int) -> dict[str, float]:
    """For every depth the error of the islands' mean and, for every stretch, how often the interval holds the share."""
    figures: dict[str, float] = {}
    for reached in REACHED:
        made = [islands_told(family, kind, reached, seed) for family in FAMILIES for kind in KINDS for seed in range(runs)]
        told = [each for each in made if each is not None]
        errors = np.array([each.error for each in told])
        figures[f"error_{reached:g}"] = round(float(np.abs(errors).mean()), 3)
        figures[f"bias_{reached:g}"] = round(float(errors.mean()), 3)
        for alike in ALIKE:
            spoke = [covered for each in told if (covered := each.covers(alike)) is not None]
            figures[f"covered_{reached:g}_{alike:g}"] = round(float(np.mean(spoke)), 3) if spoke else float("nan")
            figures[f"spoke_{reached:g}_{alike:g}"] = round(len(spoke) / len(made), 3)
        print({name: value for name, value in figures.items() if f"_{reached:g}" in name}, file=sys.stderr, flush=True)
    return figures
