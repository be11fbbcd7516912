"""How often the bounds of a class's factor miss the truth: `python -m parts.factor_bounds` in `benchmarks/`, seed 1, about 15 CPU-seconds.

Losses come in scenes and objects: each scene and each object has an ease of its own that no covariate tells.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Reals
from evenhand.statistics.adjusted import AdjustedGroup, adjusted_group, bent, expected_events

RUNS, OBJECTS, REPEATS, LEVEL = 400, 3, 4, 0.025
FACTORS, SCENES = (1.0, 1.5, 3.0), (30, 80)


def one_run(factor: float, scenes: int, rng: np.random.Generator) -> tuple[AdjustedGroup, float]:
    """A class that is lost so many times as often as others, and the factor that its objects really have."""
    things = np.repeat(np.arange(scenes * OBJECTS), REPEATS)
    clusters = things // OBJECTS
    covariate, own, in_class = rng.normal(size=things.max() + 1), rng.normal(size=things.max() + 1), rng.random(things.max() + 1) < 0.2
    ease = -2.2 + 0.7 * covariate[things] + 0.6 * own[things] + 0.5 * rng.normal(size=scenes)[clusters]
    plain = 1 / (1 + np.exp(-ease))
    group = in_class[things]
    chance: Reals = np.where(group, np.minimum(factor * plain, 0.98), plain)
    design = np.hstack([np.ones((len(things), 1)), bent(covariate[things], 2)])
    fit = expected_events(rng.random(len(things)) < chance, design, clusters.astype(np.intp), things.astype(np.intp))
    return adjusted_group(fit, group), float(chance[group].sum() / plain[group].sum())


def main() -> None:
    """A line for each factor and number of scenes."""
    rng = np.random.default_rng(1)
    for factor in FACTORS:
        for scenes in SCENES:
            found = [one_run(factor, scenes, rng) for _ in range(RUNS)]
            bounds = [(*group.bounds(LEVEL), truth) for group, truth in found]
            high = np.mean([truth < low for low, _, truth in bounds])
            low = np.mean([truth > upper for _, upper, truth in bounds])
            print(
                f"factor {factor:g}, {scenes} scenes: lower bound too high in {high:.1%}, upper bound too low in {low:.1%} of {RUNS} runs"
            )


if __name__ == "__main__":
    main()
