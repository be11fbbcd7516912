"""Whether the verdicts on pictures of people hold: fair classifiers that are blamed, and planted leanings that are found.

false_alarm_max          the largest share of fair classifiers that is blamed, over editors and changes
false_alarm_upper        the upper end of its 95 % interval
editors_calibrated       editors and changes that were tried
power_at_10_points_min   of classifiers with a planted net change of ten points, the share that is found, wherever a verdict is allowed:
                         with exact twins, under each learned editor, and over all changes where so many pictures would show ten points
                         in four cases of five
editors                  are the named ones, whose verdicts are those of benchmarks/picture_calibration.py, kept beside it, and what is
                         tried here in addition
verdicts_by_learned_twins  how often a learned editor was allowed a verdict at all (violation or pass) on fair classifiers
group_metric_max_error   the largest difference of a group's value from Fairlearn's, photographs and portraits
group_coverage_min       how often the bounds of all groups hold together, simulated; group_false_alarm_max: fair answers that are blamed
classes_false_alarm_max  fair answers about age groups, of which none is favourable, that are blamed, simulated with ages that are alike and
                         unlike in the groups; classes_power_20_points_min: planted ones that are found
ages_false_alarm         the same of ages in years, groups being of unlike age; ages_power_5_years: of five years too many said in one group
photographs_conclusive   the share of runs on photographs that end in pass or violation; the net is a torch module, and an ONNX file
photograph_twins_found   of nets of photographs with a leaning built in, torch and ONNX, the share that twins in skin tone show
tone_right_min           of drawn portraits whose tone was read and is sure, the share that is right, in the worst of five lights
kruskal_max_error, adequacy_cpu_s    DeepFAIT's statistics against scipy's, and the time of its five measures
chain_cpu_s, cyclegan_confirmed_share, peak_mb_224    too long for --quick, which takes them from benchmarks/pictures_kept.json and says so

Fair classifiers are of three architectures, tested on portraits whose age says nothing about tone or group and on portraits where it does.
Nothing here was used to choose a constant but the size of the portraits.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np

from evenhand.measures.neurons.adequacy import Ruler, adequacy
from evenhand.measures.neurons.kruskal import kruskal_wallis
from evenhand.statistics.intervals import clopper_pearson
from parts.common import options, write_figures
from parts.picture_groups import MIXES, half_trained, largest_difference, simulated, simulated_ages, simulated_classes, untwinned
from parts.picture_photographs import FOLDER, GENDER, runs, twin_runs
from parts.picture_robustness import grouped, judged
from parts.picture_tones import tone_figures
from parts.picture_verdicts import ARCHITECTURES, fair, leaning, opened, verdict
from picture_calibration import kept_verdicts

PAIRS, CHANGED = 700, 6_000
KEPT = Path(__file__).with_name("pictures_kept.json")
DETECTABLE = 0.10
AGE_DRAWS = 10
"""So many more draws of fair regressions: a share near the limit of 6 % is not told from it by sixty."""


def outcomes(editor: str, seeds: range, points: float = 0.0, architectures: tuple[str, ...] = tuple(ARCHITECTURES)) -> list[str]:
    """The verdict on one classifier of each architecture, on each kind of album, for each seed."""
    found = []
    for architecture, correlated, seed in product(architectures, (False, True), seeds):
        model = fair(architecture, seed)
        model = leaning(model, points, seed) if points else model
        said = verdict(model, opened(editor, PAIRS, seed, correlated), seed)
        print(f"{editor:18} {architecture:10} {'with tone' if correlated else 'alone':9} {points:4.0%}  {said.outcome}: {said.reason}")
        found.append(said.outcome)
    return found


def changes(seeds: range, points: float, architectures: tuple[str, ...]) -> dict[str, list[str]]:
    """The outcomes of every change; with planted points, only of those where so many pictures would show them."""
    found = defaultdict(list)
    for architecture, correlated, seed in product(architectures, (False, True), seeds):
        for one in judged(fair(architecture, seed), grouped(CHANGED, seed, correlated), seed, points):
            if not points or one.detectable <= DETECTABLE:
                found[one.change].append(one.outcome)
    for name, said in found.items():
        print(f"{name:18} {points:4.0%}  {', '.join(f'{outcome} {said.count(outcome)}' for outcome in sorted(set(said)))}")
    return dict(found)


def groups(draws: int, seed: int) -> dict[str, float]:
    """Fairlearn's values, bounds that hold together, and fair answers that are blamed."""
    found: dict[str, float] = {}
    if FOLDER.is_dir():
        data = untwinned(str(FOLDER), ("race", "age_group"), "female")
        found["group_metric_max_error"] = largest_difference(half_trained(data, seed), data, seed)
    sizes = np.array([60, 60, 120, 180])
    told = [simulated(rights, sizes, draws, seed) for rights in (np.full(4, 0.9), np.array([0.8, 0.9, 0.9, 0.9]))]
    found |= {"group_coverage_min": min(one["coverage"] for one in told), "group_false_alarm_max": told[0]["blamed"]}
    fairly, planted = ([simulated_classes(mix, points, 2 * draws, seed) for mix in MIXES] for points in (0.0, 0.2))
    found |= {"classes_false_alarm_max": max(fairly), "classes_power_20_points_min": min(planted)}
    ages = [simulated_ages(years, many, seed) for years, many in ((0.0, AGE_DRAWS * draws), (5.0, draws))]
    return found | {"ages_false_alarm": ages[0], "ages_power_5_years": ages[1]}


def photographs(seeds: range, editors: tuple[str, ...]) -> dict[str, float]:
    """Whole runs on real photographs; nothing where they are not at hand."""
    if not (FOLDER.is_dir() and GENDER.is_file()):
        print("photographs: not at hand, skipped")
        return {}
    every = [run for editor in editors for seed in seeds for run in runs(seed, editor)]
    for run in every:
        print(f"photographs, {run.kind}: {run.outcome}: {run.reason}; twins confirmed {run.confirmed:.1%}")
    turned = [run for seed in seeds for run in twin_runs(seed)]
    for run in turned:
        print(f"photographs, skin in another shade, {run.kind}: {run.twins}: {run.twins_reason}; twins confirmed {run.confirmed:.1%}")
    leaning = [run for run in turned if run.kind.startswith("leaning")]
    return {
        "photographs_conclusive": sum(run.is_conclusive for run in every) / len(every),
        "photograph_twins_found": sum(run.twins == "violation" for run in leaning) / len(leaning),
    }


def statistics() -> dict[str, float]:
    """DeepFAIT's Kruskal-Wallis against scipy's, and the time of its five measures."""
    from scipy import stats

    rng = np.random.default_rng(0)
    values = np.maximum(rng.standard_normal((10_000, 64), dtype=np.float32), 0).astype(np.float64)
    unfair = rng.random(10_000) < 0.3
    theirs = np.array([stats.kruskal(values[unfair, j], values[~unfair, j]).statistic for j in range(64)])
    first = np.maximum(rng.standard_normal((10_000, 4096), dtype=np.float32), 0)
    second = np.maximum(first + np.float32(0.3) * rng.standard_normal(first.shape, dtype=np.float32), 0)
    start = time.process_time()
    found = adequacy(first, second, np.arange(10))
    Ruler.of(found).coverages(found)
    spent = time.process_time() - start
    return {"kruskal_max_error": float(np.abs(kruskal_wallis(values, unfair).corrected - theirs).max()), "adequacy_cpu_s": spent}


def long_figures(is_quick: bool) -> dict[str, object]:
    """What takes long: measured now, or taken from the last run that measured it, with its date."""
    if is_quick:
        found: dict[str, object] = {}
        for run in json.loads(KEPT.read_text(encoding="utf-8"))["runs"]:
            print(f"kept from {run['date']}, {run['command']}: {', '.join(run['figures'])}")
            found |= run["figures"]
        return found
    home = Path(__file__).parent
    peak = subprocess.run([sys.executable, home / "parts" / "picture_memory.py", "2000"], capture_output=True, text=True, check=True)
    faces = home / "faces-now.json"
    subprocess.run([sys.executable, home / "faces.py", "--quick", "--json", faces], capture_output=True, text=True, check=True)
    told = json.loads(faces.read_text(encoding="utf-8"))
    faces.unlink()
    return {"peak_mb_224": float(peak.stdout.split()[-1]), **{name: told[name] for name in ("chain_cpu_s", "cyclegan_confirmed_share")}}


def change_figures(seeds: range, architectures: tuple[str, ...]) -> dict[str, object]:
    """Of the exact changes alone: how often fair classifiers are blamed, and planted ones named where that could be hoped for."""
    fairly, planted = (changes(seeds, points, architectures) for points in (0.0, DETECTABLE))
    blamed, found = (
        {f"{figure}_{name}": said.count("violation") / len(said) for name, said in every.items()}
        for figure, every in (("false_alarm", fairly), ("power", planted))
    )
    return {**blamed, **found}


def main() -> None:
    """Measure and write."""
    chosen = options(__doc__ or "", ("changes",))
    warnings.filterwarnings("ignore", module="sklearn")
    started = time.process_time()
    few, many = (range(chosen.seed, chosen.seed + n) for n in ((1, 1) if chosen.quick else (4, 8)))
    some = tuple(ARCHITECTURES)[:1] if chosen.quick else tuple(ARCHITECTURES)
    if chosen.only:
        write_figures(change_figures(few, some), chosen.json)
        return
    fairly = {"rerender": outcomes("rerender", many)}
    fairly |= {name: outcomes(name, few, architectures=some) for name in ("latent_difference", "reflection")}
    learned = [said for name, every in fairly.items() if name != "rerender" for said in every]
    fairly |= changes(few, 0.0, some)
    print("kept from benchmarks/picture_calibration.py: verdicts under every editor")
    kept = kept_verdicts()
    fairly |= {name: [*fairly.get(name, []), *each.fair] for name, each in kept.items() if each.fair}
    seen = [outcome for said in changes(few, 0.10, some).values() for outcome in said]
    planted = {name: each.planted for name, each in kept.items() if each.planted}
    planted |= {"rerender": [*planted["rerender"], *outcomes("rerender", few, 0.10)], "changes": seen}
    blamed = [clopper_pearson(said.count("violation"), len(said)) for said in fairly.values()]
    worst = max(blamed, key=lambda share: (share.estimate, share.high))
    figures: dict[str, object] = {
        "false_alarm_max": worst.estimate,
        "false_alarm_upper": worst.high,
        "editors_calibrated": len(fairly),
        "power_at_10_points_min": min(said.count("violation") / len(said) for said in planted.values()),
        "verdicts_by_learned_twins": sum(said != "inconclusive" for said in learned) / len(learned),
        **groups(60 if chosen.quick else 400, chosen.seed),
        **photographs(few, ("latent_difference",) if chosen.quick else ("latent_difference", "autoencoder")),
        **statistics(),
        **tone_figures(300 if chosen.quick else 2_000, chosen.seed),
        **long_figures(chosen.quick),
    }
    print(f"{time.process_time() - started:.0f} CPU-seconds")
    write_figures(figures, chosen.json)


if __name__ == "__main__":
    main()
