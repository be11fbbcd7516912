"""Whether measured figures can be trusted: false alarms, power, coverage, agreement with Fairlearn, and exact shares of tree ensembles.

Every figure is simulated from models whose unfairness is known.  --pictures FOLDER writes the power curve.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from evenhand import datasets, wrap
from evenhand.measures.group import BY_NAME, SHARES, Outcomes
from evenhand.measures.group_curve import ProtectedNumber, curve_figure
from evenhand.measures.group_figures import SAME_TEST, GroupSettings, corrected, figure
from evenhand.measures.groups import Grouping
from evenhand.measures.rates import judge_all, uniform_sample
from evenhand.oracles.flip import LabelFlip
from evenhand.planted.shapes import shapes
from evenhand.statistics import gaps
from evenhand.statistics.anytime import beta_mixture_bounds
from evenhand.statistics.intervals import clopper_pearson
from evenhand.statistics.permutation import Stratum, shares_test
from evenhand.statistics.weighted import Draws, weighted_interval
from parts.common import cpu, options, write_figures  # before NumPy: one thread

LEVEL = 0.05
TESTED = [metric for metric in SHARES if metric.name not in SAME_TEST]
GROUPS = (2, 3, 6)
FAST = GroupSettings(draws=199)
"""A permutation test has its level at any number of deals; more of them only make it sharper."""


def people(groups: int, gap: float, rng: np.random.Generator) -> tuple[Outcomes, Grouping]:
    """Groups of 100 to 1,000 people and a model; with a gap, the last group gets the favourable outcome so much more often."""
    sizes = rng.integers(100, 1001, groups)
    codes = np.repeat(np.arange(groups), sizes)
    score = rng.beta(2, 3, len(codes))
    truth = (rng.random(len(codes)) < score).astype(np.int8)
    chosen = score > rng.uniform(0.3, 0.6)
    lucky = (codes == groups - 1) & ~chosen & (rng.random(len(codes)) < gap / max(1e-9, 1 - chosen.mean()))
    return Outcomes(chosen | lucky, truth, score), Grouping("group", codes, tuple(f"g{i}" for i in range(groups)))


def false_alarms(models: int, seed: int) -> float:
    """The largest share of fair models that are convicted: by one test, and by all figures of a measurement together."""
    worst = 0.0
    for groups in GROUPS:
        rng = np.random.default_rng([seed, groups])
        single = np.mean([_one_test(groups, rng) <= LEVEL for _ in range(4 * models)])
        family = np.mean([_family(groups, rng) for _ in range(models)])
        worst = max(worst, float(single), float(family))
        print(f"{groups} groups, fair: one test convicts {single:.2%} of {4 * models:,}, a whole measurement {family:.2%} of {models:,}")
    return worst


def _one_test(groups: int, rng: np.random.Generator) -> float:
    sizes = rng.integers(100, 1001, groups)
    return shares_test([Stratum(rng.binomial(sizes, rng.uniform(0.05, 0.6)), sizes)], rng, FAST.draws).p_value


def _family(groups: int, rng: np.random.Generator) -> bool:
    """Whether any figure of a fair model is called different, after correction for all of them."""
    outcomes, grouping = people(groups, 0.0, rng)
    figures = [each for metric in TESTED if (each := figure(metric, outcomes, grouping, FAST, rng))]
    return any(each.verdict == "different" for each in corrected(figures))


def flat_curves(models: int, seed: int) -> float:
    """How often a model that ignores age is convicted by the curve along age."""
    rng = np.random.default_rng([seed, 11])
    convicted = 0
    for _ in range(models):
        n = int(rng.integers(200, 2001))
        age = np.clip(rng.gamma(6, 6.5, n), 17, 90).round()
        each = curve_figure(BY_NAME["statistical_parity"], Outcomes(rng.random(n) < 0.3), ProtectedNumber("age", age), FAST, rng)
        convicted += each is not None and each.test.p_value <= LEVEL
    print(f"curve along age, fair: convicts {convicted / models:.2%} of {models:,}")
    return convicted / models


def power(models: int, seed: int) -> dict[int, list[tuple[float, float]]]:
    """The share of unfair models that are convicted, by the size of the planted gap of one group."""
    curve: dict[int, list[tuple[float, float]]] = {}
    for groups in GROUPS:
        rng = np.random.default_rng([seed, 20, groups])
        curve[groups] = [(gap, float(np.mean([_noticed(groups, gap, rng) for _ in range(models)]))) for gap in np.arange(0, 0.21, 0.02)]
        print(f"{groups} groups, power by gap: " + ", ".join(f"{gap:.0%} {share:.0%}" for gap, share in curve[groups]))
    return curve


def _noticed(groups: int, gap: float, rng: np.random.Generator) -> bool:
    outcomes, grouping = people(groups, gap, rng)
    found = figure(BY_NAME["statistical_parity"], outcomes, grouping, FAST, rng)
    return found is not None and found.test.p_value <= LEVEL


def interval_coverage(runs: int, seed: int) -> float:
    """The smallest share of runs whose fixed-size interval contains the planted rate or gap."""
    found = {f"rate, {name}": _rate_coverage(name, 10 * runs, seed) for name in shapes()}
    found |= {f"gap, {groups} groups": _gap_coverage(groups, runs, seed) for groups in GROUPS}
    found |= {f"weighted rate {rate:.1%}": _weighted_coverage(rate, runs, seed) for rate in (0.005, 0.05)}
    for name, share in found.items():
        print(f"interval coverage, {name}: {share:.2%}")
    return min(found.values())


def _rate_coverage(name: str, runs: int, seed: int, n: int = 100) -> float:
    """Runs of 100 people each, judged by the model itself; the planted rate is counted exactly."""
    planted = shapes()[name]
    sample = uniform_sample(planted.domain, runs * n, np.random.default_rng([seed, 30]))
    unfair = judge_all(sample.rows, planted.domain, planted.model, LabelFlip()).unfair.reshape(runs, n).sum(axis=1)
    known = {int(hits): clopper_pearson(int(hits), n) for hits in np.unique(unfair)}
    return float(np.mean([float(planted.rate) in known[int(hits)] for hits in unfair]))


def _gap_coverage(groups: int, runs: int, seed: int) -> float:
    rng = np.random.default_rng([seed, 40, groups])
    inside = 0
    for _ in range(runs):
        sizes, rates = rng.integers(100, 1001, groups), rng.uniform(0.05, 0.6) + rng.uniform(0, 0.3, groups)
        size = gaps.gap(gaps.share_bounds(rng.binomial(sizes, rates), sizes, gaps.each_confidence(0.95, groups)))
        inside += size.low <= np.ptp(rates) <= size.high
    return inside / runs


def _weighted_coverage(rate: float, runs: int, seed: int) -> float:
    """Half of the draws from the population, half from its unfair part, as the natural rate does it."""
    rng = np.random.default_rng([seed, 50])
    return float(np.mean([rate in weighted_interval(_weighted_draws(rate, 1_000, rng)) for _ in range(runs)]))


def _weighted_draws(rate: float, n: int, rng: np.random.Generator) -> Draws:
    unfair = np.where(rng.random(n) < 0.5, rng.random(n) < rate, rng.random(n) < 0.9)
    target = np.where(unfair, rate, 1 - rate)
    return Draws(target / (0.5 * target + 0.5 * np.where(unfair, 0.9, 0.1)), unfair, 2.0)


def anytime_coverage(runs: int, seed: int, most: int = 2_000) -> float:
    """The smallest share of runs whose bounds contain the planted rate at every single one of 2,000 moments."""
    smallest = 1.0
    for name, planted in shapes().items():
        sample = uniform_sample(planted.domain, runs * most, np.random.default_rng([seed, 60]))
        unfair = judge_all(sample.rows, planted.domain, planted.model, LabelFlip()).unfair.reshape(runs, most)
        low, high = _bounds(unfair.cumsum(axis=1), most)
        held = float(((low <= float(planted.rate)) & (float(planted.rate) <= high)).all(axis=1).mean())
        print(f"anytime coverage, {name}: {held:.2%} of {runs}, at all of {most:,} moments")
        smallest = min(smallest, held)
    return smallest


def _bounds(hits: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The bounds of every count, computed once for each pair of hits and draws that occurs."""
    draws = np.broadcast_to(np.arange(1, most + 1), hits.shape)
    pairs, back = np.unique(hits.astype(np.int64) * (most + 1) + draws, return_inverse=True)
    low, high = beta_mixture_bounds(pairs // (most + 1), pairs % (most + 1))
    return low[back].reshape(hits.shape), high[back].reshape(hits.shape)


def fairlearn_error(tables: int, seed: int) -> float:
    """The largest difference from Fairlearn's values, over groups, gaps and ratios, with and without weights."""
    worst = 0.0
    for table in range(tables):
        rng = np.random.default_rng([seed, 70, table])
        outcomes, grouping = people(int(rng.integers(2, 7)), 0.1, rng)
        weights = rng.uniform(0.2, 3, len(grouping.codes)) if table % 2 else None
        outcomes = Outcomes(outcomes.chosen, outcomes.truth, outcomes.score, weights=weights)
        worst = max([worst, *(abs(a - b) for a, b in _both(outcomes, grouping))])
    return worst


def _both(outcomes: Outcomes, grouping: Grouping) -> list[tuple[float, float]]:
    """Our value and Fairlearn's, of every figure that both have."""
    import fairlearn.metrics as theirs
    import sklearn.metrics as others

    settings, rng = GroupSettings(draws=9), np.random.default_rng(0)
    sample = {} if outcomes.weights is None else {"sample_weight": outcomes.weights}
    pairs: list[tuple[float, float]] = []
    for metric in BY_NAME.values():
        ours = figure(metric, outcomes, grouping, settings, rng)
        if not metric.fairlearn or ours is None or metric.name == "disparate_impact":
            continue
        said = outcomes.score if metric.name == "mean_score" else outcomes.chosen.astype(int)
        function = getattr(theirs, metric.fairlearn, None) or getattr(others, metric.fairlearn)
        frame = theirs.MetricFrame(
            metrics=function, y_true=outcomes.truth, y_pred=said, sensitive_features=grouping.codes, sample_params=sample
        )
        pairs += [(part.estimate, float(frame.by_group[code])) for code, part in enumerate(ours.groups)]
        pairs.append((ours.every, float(frame.difference())))
    named = {"disparate_impact": theirs.demographic_parity_ratio, "statistical_parity": theirs.demographic_parity_difference,
             "equalized_odds": theirs.equalized_odds_difference, "equal_opportunity": theirs.equal_opportunity_difference,
             "average_odds": lambda *a, **k: theirs.equalized_odds_difference(*a, **k, agg="mean")}  # fmt: skip
    for name, function in named.items():
        ours = figure(BY_NAME[name], outcomes, grouping, settings, rng)
        value = function(outcomes.truth, outcomes.chosen.astype(int), sensitive_features=grouping.codes, **sample)
        pairs.append((ours.every, float(value)))
    return pairs


def fairlearn_speedup(seed: int, resamples: int) -> float:
    """CPU time of Fairlearn's bootstrap of the parity gap over ours of its test and its bounds, on the same people."""
    from fairlearn.metrics import MetricFrame, selection_rate

    rng = np.random.default_rng([seed, 80])
    outcomes, grouping = people(6, 0.1, rng)
    said = outcomes.chosen.astype(int)
    settings = GroupSettings(draws=resamples - 1)

    def theirs() -> Any:
        frame = MetricFrame(
            metrics=selection_rate, y_true=said, y_pred=said, sensitive_features=grouping.codes, n_boot=resamples,
            ci_quantiles=[0.025, 0.975], random_state=0,
        )  # fmt: skip
        return frame.difference_ci()

    slow, interval = cpu(theirs)
    fast, ours = cpu(lambda: figure(BY_NAME["statistical_parity"], outcomes, grouping, settings, np.random.default_rng(0)), 20)
    print(f"{len(said):,} rows, 6 groups: Fairlearn's bootstrap of {resamples:,} {slow:.2f} s ({interval[0]:.3f} to {interval[1]:.3f}), "
          f"ours {fast * 1000:.1f} ms ({ours.size.low:.3f} to {ours.size.high:.3f}, {resamples - 1:,} deals)")  # fmt: skip
    return slow / fast


def exact_share(seed: int, sample: int) -> tuple[float | None, bool | None]:
    """The exact share of gradient boosting with 30 trees of depth 3 on Adult, beside a Monte-Carlo interval of the same."""
    try:
        from evenhand.measures.proofs import certify
    except ImportError:
        print("certify is not installed: its figures are not measured")
        return None, None
    from sklearn.ensemble import GradientBoostingClassifier

    adult = datasets.adult(coding="papers")
    domain = adult.domain.protect("sex")
    trees = GradientBoostingClassifier(n_estimators=30, max_depth=3, random_state=seed).fit(adult.rows, adult.labels)
    model = wrap(trees, domain, takes="codes")
    spent, answer = cpu(lambda: certify(model, domain))
    rate = judge_all(uniform_sample(domain, sample, np.random.default_rng([seed, 90])).rows, domain, model, LabelFlip()).unfair
    drawn = clopper_pearson(int(rate.sum()), sample, 0.99)
    low, high = float(answer.lower), float(answer.upper)
    print(f"certify: {low:.6%} to {high:.6%} in {spent:.2f} CPU-s; Monte Carlo {drawn.low:.4%} to {drawn.high:.4%} (99 %, n = {sample:,})")
    return spent if answer.is_exact else None, bool(answer.is_exact and drawn.low <= low and high <= drawn.high)


def picture(curve: dict[int, list[tuple[float, float]]], folder: Path) -> Path:
    """The power curve as an SVG."""
    lines = []
    for place, (groups, points) in enumerate(curve.items()):
        way = " ".join(f"{60 + gap * 2600:.1f},{250 - share * 220:.1f}" for gap, share in points)
        colour = ("#1d4f91", "#b4560f", "#17623a")[place]
        lines.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        lines.append(f'<text x="350" y="{170 + 20 * place}" fill="{colour}">{groups} groups of 100 to 1,000 people</text>')
    grid = "".join(
        f'<line x1="60" x2="580" y1="{250 - share * 220}" y2="{250 - share * 220}" stroke="#d9dbd6"/>'
        f'<text x="52" y="{254 - share * 220}" text-anchor="end">{share:.0%}</text>' for share in (0, 0.25, 0.5, 0.75, 1)
    )  # fmt: skip
    ticks = "".join(f'<text x="{60 + gap * 2600}" y="270" text-anchor="middle">{gap:.0%}</text>' for gap in (0, 0.05, 0.1, 0.15, 0.2))
    level = f'<line x1="60" x2="580" y1="{250 - LEVEL * 220}" y2="{250 - LEVEL * 220}" stroke="#a3161d" stroke-dasharray="5 4"/>'
    title = '<text x="60" y="20" font-weight="600">Unfair models convicted, by the planted gap (dashed: 5 %)</text>'
    text = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 290" font-family="sans-serif" font-size="13">'
        f'<rect width="640" height="290" fill="white"/>{grid}{ticks}{level}{"".join(lines)}{title}</svg>\n'
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "measure-power.svg"
    path.write_text(text, encoding="utf-8")
    return path


def _timed(what: Callable[[], Any]) -> Any:
    spent, result = cpu(what)
    print(f"  ({spent:.1f} CPU-seconds)", flush=True)
    return result


def main() -> None:
    """Measure and write."""
    folder = Path(sys.argv.pop(sys.argv.index("--pictures") + 1)) if "--pictures" in sys.argv else None
    if folder:
        sys.argv.remove("--pictures")
    chosen = options(__doc__ or "")
    started, seed, quick = time.process_time(), chosen.seed, chosen.quick
    figures: dict[str, Any] = {"false_alarm_max": _timed(lambda: false_alarms(1_000, seed))}
    _timed(lambda: flat_curves(100 if quick else 1_000, seed))
    curve = _timed(lambda: power(100 if quick else 400, seed))
    figures["interval_coverage_min"] = _timed(lambda: interval_coverage(500, seed))
    figures["anytime_coverage_min"] = _timed(lambda: anytime_coverage(500, seed))
    figures["fairlearn_max_error"] = _timed(lambda: fairlearn_error(4 if quick else 20, seed))
    figures["fairlearn_speedup"] = _timed(lambda: fairlearn_speedup(seed, 200 if quick else 1_000))
    figures["certify_cpu_s"], figures["certify_inside_monte_carlo"] = _timed(lambda: exact_share(seed, 500_000 if quick else 3_000_000))
    if folder:
        print(f"written: {picture(curve, folder)}")
    print(f"{time.process_time() - started:.0f} CPU-seconds")
    write_figures(figures, chosen.json)


if __name__ == "__main__":
    main()
