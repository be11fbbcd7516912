"""Results over time: how often `compare A B C` calls a model worse that is not, and lets one pass that is; subjects with a known truth.

python benchmarks/series.py --quick --json series.json
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

import evenhand as eh
from evenhand.verbs.compare_series import SeriesTerms, series_of_results
from parts.common import options, write_figures
from parts.simulated_series import SUBJECTS, KnownSeries, SeriesPlan, content_of, silent_change, simulated

PLANS = [SeriesPlan(k, n, whole) for k in (3, 8) for n in (1_000, 10_000) for whole in (True, False)]
TOLERANCES = (0.001, 0.01)
SHARES = (0.002, 0.005, 0.02)


@dataclass
class Tally:
    """Outcomes, and how many of them contradict the truth."""

    series: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    false_worse: int = 0
    false_pass: int = 0

    def add(self, known: KnownSeries, tolerance: float) -> None:
        """One series, judged."""
        names = [str(at) for at in range(len(known.contents))]
        outcome = series_of_results(known.contents, names, SeriesTerms(0.95, tolerance)).outcome
        is_worse = known.rise > tolerance + 1e-12
        self.series += 1
        self.outcomes[outcome] += 1
        self.false_worse += outcome == "violation" and not is_worse
        self.false_pass += outcome == "pass" and is_worse

    def told(self, name: str) -> str:
        """A line for a reader."""
        shares = ", ".join(f"{self.outcomes[word] / self.series:6.1%} {word}" for word in ("pass", "violation", "inconclusive"))
        return f"{name:58} {shares}; wrong: worse {self.false_worse / self.series:.1%}, pass {self.false_pass / self.series:.1%}"


def trained_anew(runs: int, seed: int) -> dict[tuple[str, SeriesPlan, float], Tally]:
    """Every subject, under every plan and tolerance."""
    tallies: dict[tuple[str, SeriesPlan, float], Tally] = {}
    for number, (name, rates) in enumerate(SUBJECTS.items()):
        for plan in PLANS:
            for tolerance in TOLERANCES:
                rng = np.random.default_rng([seed, number, plan.results, plan.rows, plan.is_whole])
                tally = tallies.setdefault((name, plan, tolerance), Tally())
                for _ in range(runs):
                    tally.add(simulated(rates(plan), plan, rng), tolerance)
    return tallies


def nightly(rows: int, is_whole: bool, runs: int, rng: np.random.Generator) -> Tally:
    """One model that nobody touched, looked at three times with the same seed."""
    tally = Tally()
    for _ in range(runs):
        unfair = rng.random(rows) < 0.05
        seen = np.flatnonzero(unfair) if is_whole else None
        tally.add(KnownSeries([content_of(int(unfair.sum()), rows, "model", seen)] * 3, [0.05] * 3), 0.001)
    return tally


def silent(runs: int, seed: int) -> dict[tuple[float, bool], tuple[Tally, int]]:
    """Models changed where their digest may not look: on all rows of a table, and on 2,000 drawn ones; how many digests saw nothing."""
    data, found = eh.open("bank", protected=["marital"]), {}
    for share in SHARES:
        for is_whole in (True, False):
            rng, tally, unseen = np.random.default_rng([seed, int(1e4 * share), is_whole]), Tally(), 0
            for _ in range(runs):
                drawn = None if is_whole else rng.choice(len(data.rows), min(2_000, len(data.rows)), replace=False)
                known = silent_change(data, share, rng).series(drawn)
                unseen += known.contents[0]["header"]["model"] == known.contents[2]["header"]["model"]
                tally.add(known, 0.001)
            found[share, is_whole] = tally, unseen
    return found


def most(shares: Iterable[float]) -> float:
    """The largest share."""
    return round(max(shares), 4)


def main() -> None:
    """Print the table and write the figures."""
    asked = options(__doc__ or "")
    runs = 200 if asked.quick else 1_000
    made = trained_anew(runs, asked.seed)
    for (name, plan, tolerance), tally in made.items():
        rows = "the same rows" if plan.is_whole else "new people"
        print(tally.told(f"{name}, {plan.results} results, {plan.rows:,} of {rows}, {tolerance:.1%}"), flush=True)
    rng = np.random.default_rng([asked.seed, 99])
    kept = {(rows, whole): nightly(rows, whole, runs, rng) for rows in (500, 10_000) for whole in (True, False)}
    for (rows, whole), tally in kept.items():
        print(tally.told(f"one model, nobody touched it, {rows:,} rows, {'all' if whole else 'drawn'}"), flush=True)
    hidden = silent(50 if asked.quick else 400, asked.seed)
    for (share, whole), (tally, unseen) in hidden.items():
        seen = f"{'all rows' if whole else '2,000 drawn'}, {unseen} digests equal"
        print(tally.told(f"changed in {share:.1%} of the rows, {seen}"), flush=True)
    write_figures(
        {
            "series_runs_each": runs,
            "series_false_worse_max": most(t.false_worse / t.series for t in made.values()),
            "series_false_pass_max": most(t.false_pass / t.series for t in made.values()),
            "series_jump_found": made["jumped", SeriesPlan(8, 10_000, False), 0.01].outcomes["violation"] / runs,
            "series_drift_found": made["drifting", SeriesPlan(8, 10_000, False), 0.01].outcomes["violation"] / runs,
            "series_repaired_passes": made["became fair", SeriesPlan(3, 1_000, False), 0.001].outcomes["pass"] / runs,
            "series_untouched_passes": kept[500, True].outcomes["pass"] / runs,
            "series_silent_false_pass_max": most(tally.false_pass / tally.series for tally, _ in hidden.values()),
            "series_silent_digests_equal": sum(unseen for _, unseen in hidden.values()),
        },
        asked.json,
    )


if __name__ == "__main__":
    main()
