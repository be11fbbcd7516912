"""Verdicts on repairs whose worth is known: how often one that does nothing is called better, and how often one that helps is seen.

Every simulated comparison holds twelve repairs that do nothing beside the one in question, so that it is corrected for as many as a user's
own.  Seeds differ as fitted nets do (a lognormal factor on the share of flips), held-out people are counted, and the share of a new search
that succeeds jumps by two from search to search, as that of a few walks does.

python benchmarks/repair_verdicts.py --quick --json repair_verdicts.json
"""

# ruff: noqa: I001  (common comes first: it fixes the number of threads)

from __future__ import annotations

from dataclasses import dataclass

from parts.common import options, write_figures

import numpy as np

from evenhand.campaign.repair_comparison import RepairRole, RepairTerms, compare
from evenhand.campaign.repair_trial import SeedOutcome
from evenhand.engine.header import Header

OTHERS = 12
SPREAD = 0.35
"""Of the logarithm of the share of flips between nets that were fitted with different seeds."""
ACCURACY, ACCURACY_SPREAD = 0.82, 0.004
SPD, SPD_SPREAD = 0.3, 0.02
DOMAIN_ROWS, TRIED = 10_000, 3_000
"""Inputs of the whole domain, and candidates of a new search, on each seed."""
HEADER = Header("repair", "0", "", "", 0, {}, {"name": "simulated"}, {"protected": ["group"]}, {"kind": "net"}, {"kind": "table"}, "", {})


@dataclass(frozen=True)
class SimulatedRepair:
    """What a repair does: by how much it multiplies flips and gaps, how much more its seeds differ, whether it works on half of them, and
    whether on people only that are held out, of the table at hand."""

    factor: float = 1.0
    erratic: float = 1.0
    is_two_humped: bool = False
    lost: float = 0.0
    helps_only_the_held_out: bool = False

    def factors(self, seeds: int, rng: np.random.Generator) -> np.ndarray:
        """For every seed; the mean of two humps is no change."""
        humps = np.where(rng.random(seeds) < 0.5, 3.0, 1 / 3) if self.is_two_humped else 1.0
        return self.factor * humps * np.exp(rng.normal(0.0, SPREAD * self.erratic, seeds))


NULLS = {
    "does nothing": SimulatedRepair(),
    "does nothing, three times as unsteady": SimulatedRepair(erratic=3.0),
    "helps half of the seeds as much as it harms the others": SimulatedRepair(is_two_humped=True),
    "divides by 10 among people of the table, and nowhere else": SimulatedRepair(1 / 10, helps_only_the_held_out=True),
}
HELPS = {
    "halves": SimulatedRepair(1 / 2),
    "divides by 4": SimulatedRepair(1 / 4),
    "divides by 10": SimulatedRepair(1 / 10),
    "divides by 75": SimulatedRepair(1 / 75),
}
COSTLY = {
    "divides by 75, for five points": SimulatedRepair(1 / 75, lost=0.05),
    "divides by 75, for just what is tolerated": SimulatedRepair(1 / 75, lost=0.01),
}


@dataclass(frozen=True)
class RepairDesign:
    """One comparison: seeds, people held out of how many there are, the share of flips before, and the goal."""

    seeds: int
    held_out: int
    before: float
    goal: str = "flips"

    def figures(self, repair: SimulatedRepair, rng: np.random.Generator) -> list[dict[str, float]]:
        """What one repair gives, seed by seed."""
        told, n = repair.factors(self.seeds, rng), self.held_out
        flips = rng.binomial(n, np.clip(self.before * told, 0, 1)) / n
        beyond = told / repair.factor if repair.helps_only_the_held_out else told
        domain = rng.binomial(DOMAIN_ROWS, np.clip(self.before * beyond / 2, 0, 1)) / DOMAIN_ROWS
        jumps = np.where(rng.random(self.seeds) < 0.5, 1.0, 2.0)
        found = rng.binomial(TRIED, np.clip(1.5 * self.before * beyond * jumps, 0, 1)) / TRIED
        right = ACCURACY - repair.lost + ACCURACY_SPREAD * rng.standard_normal(self.seeds)
        gap = np.abs(
            SPD * (repair.factor if self.goal == "groups" and not repair.helps_only_the_held_out else 1.0)
            + SPD_SPREAD * repair.erratic * rng.standard_normal(self.seeds)
        )
        same = {"worst_group_accuracy": 0.7, "still_found": 0.5, "worst_gap": 0.9, "one_answer": 0.7}
        return [
            {"accuracy": right[k], "if_o": flips[k], "if_r": domain[k], "found_anew": found[k], "spd": gap[k], "aod": gap[k], **same}
            for k in range(self.seeds)
        ]

    def verdict(self, repair: SimulatedRepair, rng: np.random.Generator) -> tuple[str, list[str]]:
        """What is said of the repair, and of those beside it that do nothing."""
        others = [f"other_{k}" for k in range(OTHERS)]
        roles = {"no_change": RepairRole("control"), "refit_again": RepairRole("control", True)}
        roles |= {name: RepairRole("repair", True) for name in ("this", *others)}
        made = {name: self.figures(repair if name == "this" else SimulatedRepair(), rng) for name in (*roles, "as_given")}
        made["no_change"] = made["refit_again"] = self.figures(SimulatedRepair(), rng)
        facts = {"seed": {"held_out": self.held_out, "rows_to_train": 3 * self.held_out}}
        outcomes = [SeedOutcome({name: rows[k] for name, rows in made.items()}, {}, facts) for k in range(self.seeds)]
        found = compare(outcomes, roles, HEADER, RepairTerms(goal=self.goal))
        return found["this"].verdict, [found[name].verdict for name in others]


@dataclass(frozen=True)
class VerdictShares:
    """Over many comparisons: how often a repair was called better (at a price too), and how often any idle one beside it was."""

    better: float
    any_better: float
    idle_better: float

    @classmethod
    def of(cls, design: RepairDesign, repair: SimulatedRepair, runs: int, rng: np.random.Generator) -> VerdictShares:
        """Simulate so many comparisons."""
        told = [design.verdict(repair, rng) for _ in range(runs)]
        idle = [any(each.startswith("better") for each in others) for _, others in told]
        return cls(np.mean([v == "better" for v, _ in told]), np.mean([v.startswith("better") for v, _ in told]), np.mean(idle))


def main() -> None:
    """Print the tables and write the figures."""
    asked = options(__doc__ or "")
    runs = 60 if asked.quick else 400
    rng = np.random.default_rng([asked.seed, 21])
    designs = [RepairDesign(s, n, p) for s in (5, 8) for n in (250, 2_000) for p in ((0.13,) if asked.quick else (0.13, 0.03))]
    designs += [RepairDesign(s, 250, 0.13, "groups") for s in (5, 8)]
    wrong, idle, cheap, power = 0.0, 0.0, 0.0, {}
    for design in designs:
        told = {name: VerdictShares.of(design, each, runs, rng) for name, each in (NULLS | HELPS | COSTLY).items()}
        print(f"goal {design.goal}, {design.seeds} seeds, {design.held_out:,} held out, {design.before:.0%} flips before")
        for name, shares in told.items():
            line = f"better {shares.better:6.1%}, better or at a price {shares.any_better:6.1%}"
            print(f"    {name:58} {line}, some idle one beside it {shares.idle_better:5.1%}", flush=True)
        wrong = max(wrong, *(told[name].any_better for name in NULLS))
        cheap = max(cheap, *(told[name].better for name in COSTLY))
        idle = max(idle, *(shares.idle_better for shares in told.values()))
        power[design] = told
    usual = [told for design, told in power.items() if design.seeds == 8]
    figures = {
        "repair_comparisons": runs * len(designs) * (len(NULLS) + len(HELPS) + len(COSTLY)),
        "idle_called_better_max": round(float(wrong), 4),
        "some_idle_called_better_max": round(float(idle), 4),
        "costly_called_better_max": round(float(cheap), 4),
        "tenfold_seen_min_8_seeds": round(float(min(told["divides by 10"].better for told in usual)), 3),
        "gone_seen_min_8_seeds": round(float(min(told["divides by 75"].better for told in usual)), 3),
        "gone_seen_min_5_seeds": round(float(min(t["divides by 75"].better for d, t in power.items() if d.seeds == 5)), 3),
    }
    write_figures(figures, asked.json)


if __name__ == "__main__":
    main()
