"""What the notes beyond single tables compute: natural shares, the rule of the mean, rates by population, what retraining changes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from cells import Cells
from hunts import net_folder

from evenhand.measures.rates import judge_all
from evenhand.oracles.flip import LabelFlip
from evenhand.statistics.intervals import clopper_pearson
from evenhand.statistics.multiplicity import benjamini_hochberg
from evenhand.statistics.shares import above_others
from evenhand.synthesis.chained_trees import ChainedTrees
from parts.limi_data import table
from parts.natural_judges import judges
from parts.whitebox_tables import TABLES, net

RETRAINED_SEEDS = 5
Found = Mapping[str, Sequence[Sequence[Sequence[float]]]]


def natural_shares(cells: Cells, data: str, protected: str, found: Found) -> dict[str, dict[str, list[float]]]:
    """By method and judge, the natural share of each seed's findings."""
    content = hashlib.sha256(
        repr({name: [np.asarray(rows).tobytes() for rows in seeds] for name, seeds in found.items()}).encode()
    ).hexdigest()
    parameters = {"data": data, "protected": protected, "findings": content}
    shares: dict[str, dict[str, list[float]]] = cells.take("natural", parameters, lambda: _natural(data, protected, found))
    return shares


def _natural(data: str, protected: str, found: Found) -> dict[str, dict[str, list[float]]]:
    given = table(data, protected)
    every = judges(given.rows, given.domain, np.random.default_rng(0))
    return {
        name: {kind: [float(judge.natural(np.asarray(rows)).mean()) for rows in seeds if len(rows)] for kind, judge in every.items()}
        for name, seeds in found.items()
    }


def mean_rule(classes: int, objects: int, rate: float, runs: int, seed: int) -> dict[str, float]:
    """Fair recognisers: shares of classes, and of runs, that the rule of the mean and the exact rule blame."""
    errors = np.random.default_rng(seed).binomial(objects, rate, (runs, classes))
    above = errors > errors.mean(axis=1, keepdims=True)
    exact = np.array([benjamini_hochberg(above_others(line, np.full(classes, objects))) <= 0.05 for line in errors[:2_000]])
    return {
        "mean": float(above.mean()),
        "any_mean": float(above.any(axis=1).mean()),
        "exact": float(exact.mean()),
        "any_exact": float(exact.any(axis=1).mean()),
    }


def population_rates(data: str, protected: str, n: int, seed: int) -> dict[str, list[float]]:
    """The unfair share of uniform inputs, of the table's rows, and of samples of chained trees, each with its interval."""
    given = TABLES[data]("papers")
    domain, model = given.domain.protect(protected), net(net_folder(), "ADF", data)
    rng = np.random.default_rng(seed)
    inside = given.rows[domain.contains(given.rows)]
    rows = {"uniform": domain.sample(n, rng), "real": inside, "trees": ChainedTrees.fit(inside, domain, rng).sample(n, rng)}
    told = {}
    for name, sample in rows.items():
        unfair = judge_all(sample, domain, model, LabelFlip()).unfair
        interval = clopper_pearson(int(unfair.sum()), len(unfair))
        told[name] = [interval.estimate, interval.low, interval.high]
    return told


def retraining_falls(cells: Cells, is_quick: bool) -> dict[str, dict[str, list[float]]]:
    """By net, for each table and seed: the fall of IF_r and IF_o in percent of the untreated net, and the change of accuracy in points."""
    import repair

    work = repair.QUICK if is_quick else repair.FULL
    falls: dict[str, dict[str, list[float]]] = {}
    for pair in work.pairs[:1] if is_quick else work.pairs:
        for seed in range(RETRAINED_SEEDS):
            found = retraining_cell(cells, pair, seed, is_quick)
            for name, figures in found.items():
                told = falls.setdefault(name, {"if_r": [], "if_o": [], "acc": []})
                for figure in ("if_r", "if_o"):
                    told[figure].append(100 * (1 - figures[figure] / max(found["before"][figure], 1e-9)))
                told["acc"].append(100 * (figures["acc"] - found["before"]["acc"]))
    return {name: told for name, told in falls.items() if name != "before"}


def retraining_cell(cells: Cells, pair: tuple[str, str], seed: int, is_quick: bool) -> dict[str, Any]:
    """One table and seed of LIMI's Table 4."""
    import repair

    work = repair.QUICK if is_quick else repair.FULL
    found: dict[str, Any] = cells.take(
        "retraining", {"pair": pair, "seed": seed, "effort": repr(work)}, lambda: repair.one_seed(pair, work, seed)
    )
    return found
