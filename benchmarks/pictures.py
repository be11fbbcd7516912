"""Whether the verdict on pictures of people holds: fair classifiers that are blamed, and planted leanings that are found.

false_alarm_max          the largest share of fair classifiers that is blamed, over the editors
false_alarm_upper        the upper end of its 95 % interval
editors_calibrated       editors that were tried
power_at_10_points_min   of classifiers with a planted net change of ten points, the share that is found with exact twins
verdicts_by_learned_twins  how often a learned editor was allowed a verdict at all (violation or pass) on fair classifiers

Fair classifiers are of three architectures, tested on portraits whose age says nothing about tone and on portraits where it does.
Nothing here was used to choose a constant but the size of the portraits.
"""

from __future__ import annotations

import time
import warnings
from itertools import product

from evenhand.statistics.intervals import clopper_pearson
from parts.common import options, write_figures
from parts.picture_verdicts import ARCHITECTURES, fair, leaning, opened, verdict

PAIRS = 700


def outcomes(editor: str, seeds: range, points: float = 0.0) -> list[str]:
    """The verdict on one classifier of each architecture, on each kind of album, for each seed."""
    found = []
    for architecture, correlated, seed in product(ARCHITECTURES, (False, True), seeds):
        model = fair(architecture, seed)
        model = leaning(model, points, seed) if points else model
        said = verdict(model, opened(editor, PAIRS, seed, correlated), seed)
        print(f"{editor:18} {architecture:10} {'with tone' if correlated else 'alone':9} {points:4.0%}  {said.outcome}: {said.reason}")
        found.append(said.outcome)
    return found


def main() -> None:
    """Measure and write."""
    chosen = options(__doc__ or "")
    warnings.filterwarnings("ignore", module="sklearn")
    started = time.process_time()
    few, many = (range(chosen.seed, chosen.seed + n) for n in ((1, 2) if chosen.quick else (4, 8)))
    fairly = {"rerender": outcomes("rerender", many)} | {name: outcomes(name, few) for name in ("latent_difference", "reflection")}
    planted = outcomes("rerender", few, 0.10)
    blamed = {name: clopper_pearson(said.count("violation"), len(said)) for name, said in fairly.items()}
    worst = max(blamed.values(), key=lambda share: share.estimate)
    learned = [said for name, every in fairly.items() if name != "rerender" for said in every]
    figures: dict[str, object] = {
        "false_alarm_max": worst.estimate,
        "false_alarm_upper": worst.high,
        "editors_calibrated": len(fairly),
        "power_at_10_points_min": planted.count("violation") / len(planted),
        "verdicts_by_learned_twins": sum(said != "inconclusive" for said in learned) / len(learned),
    }
    print(f"{time.process_time() - started:.0f} CPU-seconds")
    write_figures(figures, chosen.json)


if __name__ == "__main__":
    main()
