"""The latent spaces side by side on Adult: what fitting costs, and how near samples and decoded latents come to the data.

`python benchmarks/limi_spaces.py --epochs 15 --seeds 0 1`.  "Sampled" draws every cell by its probability; "decoded" is the row that a
latent stands for, the likeliest cell of each column in the two nets' spaces, which is what LIMI works with.
"""

# ruff: noqa: I001  (common comes first: it fixes the number of threads)

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from parts.common import cpu, write_figures

import numpy as np
from parts.limi_data import SHIPPED, table, trained

from evenhand.arrays import Rows
from evenhand.datasets.dataset import Dataset
from evenhand.measures.naturalness import atn, two_sample_auc
from evenhand.synthesis.copula import Copula
from evenhand.synthesis.ctgan import Ctgan, CtganSettings
from evenhand.synthesis.latent import LatentSpace
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.tvae import Tvae, TvaeSettings

Fit = Callable[[Dataset, np.random.Generator], LatentSpace]


def spaces(epochs: int) -> dict[str, Fit]:
    """Every space by what the table calls it."""
    settings = CtganSettings(epochs=epochs)
    return {
        "chained trees": lambda data, rng: ChainedTrees.fit(data.rows, data.domain, rng),
        "copula": lambda data, rng: Copula.fit(data.rows, data.domain, rng),
        f"CTGAN, {epochs} epochs": lambda data, rng: Ctgan.fit(data.rows, data.domain, rng, settings),
        f"CTGAN, {epochs} epochs, last step": lambda data, rng: Ctgan.fit(
            data.rows, data.domain, rng, CtganSettings(epochs=epochs, average=0.0)
        ),
        f"TVAE, {epochs} epochs": lambda data, rng: Tvae.fit(data.rows, data.domain, rng, TvaeSettings(epochs=epochs)),
    }


def worth(rows: Rows, data: Dataset, seed: int) -> tuple[float, float]:
    """ATN and two-sample AUC."""
    auc = two_sample_auc(data.rows[:10_000], rows[:10_000], np.random.default_rng(seed))
    return atn(data.rows, rows, data.domain), auc


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2,000 rows and two epochs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as one flat object")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--ship", action="store_true", help="only train the CTGAN of 300 epochs that stands in this folder")
    chosen = parser.parse_args()
    data = table("adult", "sex")
    if chosen.ship:
        trained(data, 300, 0).save(SHIPPED)
        return
    if chosen.quick:
        data, chosen.epochs = replace(data, frame=data.frame[:2_000]), 2
    write_figures(compared(data, chosen.epochs, chosen.seeds), chosen.json)


def compared(data: Dataset, epochs: int, seeds: Sequence[int]) -> dict[str, float]:
    """A line per space and seed; what the first seed gave, by name."""
    found: dict[str, float] = {}
    print("| space | seed | fit, CPU-seconds | sampled: ATN | AUC | decoded: ATN | AUC |\n|---|---|---|---|---|---|---|")
    for name, fit in spaces(epochs).items():
        for seed in seeds:
            seconds, space = cpu(partial(fit, data, np.random.default_rng(seed)))
            rng = np.random.default_rng(seed)
            made = space.sample(len(data.rows), rng), space.decode(space.latents(len(data.rows), rng))
            values = [value for rows in made for value in worth(rows, data, seed)]
            print(f"| {name} | {seed} | {seconds:.1f} | {' | '.join(f'{value:.3f}' for value in values)} |", flush=True)
            stem = name.lower().replace(f", {epochs} epochs", "").replace(", ", "_").replace(" ", "_")
            told = ("fit_cpu_s", "sampled_atn", "sampled_auc", "decoded_atn", "decoded_auc")
            found = {f"{stem}_{what}": value for what, value in zip(told, (seconds, *values), strict=True)} | found
    return found


if __name__ == "__main__":
    main()
