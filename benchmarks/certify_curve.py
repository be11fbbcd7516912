"""How certify's bounds tighten on ensembles of 100 trees of depth 6 on Adult, as figures and as a picture.

python benchmarks/certify_curve.py --seconds 120 --json curve.json --picture docs/pictures/certify-curve.svg

`--fixed` tells instead how many boxes bounds take at least that are close (with numba, which loops are compiled by).
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import evenhand as eh
from evenhand.datasets import papers
from evenhand.measures.proofs import ProofLimits, certify
from evenhand.report.charts.canvas import Axis, standalone, tone
from evenhand.report.charts.plots import WIDE, Line, Plot, plot
from parts.common import write_figures
from parts.fixed_axes import fixed_axes

FIXED_BOXES = 500
"""Drawn for each number of fixed axes."""
NAMES = ("random forest", "LightGBM", "XGBoost", "gradient boosting")


def models(trees: int, depth: int) -> dict[str, Any]:
    """The ensembles, all with seed 0 and otherwise with their libraries' defaults."""
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from xgboost import XGBClassifier

    return {
        "random forest": RandomForestClassifier(trees, max_depth=depth, random_state=0),
        "LightGBM": LGBMClassifier(n_estimators=trees, max_depth=depth, num_leaves=2**depth, random_state=0, n_jobs=1, verbose=-1),
        "XGBoost": XGBClassifier(n_estimators=trees, max_depth=depth, random_state=0, n_jobs=1),
        "gradient boosting": GradientBoostingClassifier(n_estimators=trees, max_depth=depth, random_state=0),
    }


def picture(curves: dict[str, Any]) -> str:
    """Upper and lower bounds over the boxes looked at; the lower ones are dashed."""
    lines = []
    for number, (name, found) in enumerate(curves.items()):
        words = f"{name}: {found['lower']:.2%} to {found['upper']:.1%}, {found['cpu_seconds']:.0f} CPU-s"
        for side in ("upper", "lower"):
            points = [(max(step["boxes"], 1), step[side]) for step in found["curve"]]
            lines.append(Line(words if side == "upper" else "", points, tone(number), is_dashed=side == "lower"))
    across = Axis.decades([x for line in lines for x, _ in line.points], "boxes looked at")
    chart = Plot("Bounds of certify tighten while it runs", across, Axis(0.0, 1.0, unit="share"), lines, frame=WIDE, names_inside=True)
    return standalone(plot(chart))


def measured(name: str, seconds: float) -> dict[str, Any]:
    """One model's bounds and how they came."""
    data = papers.dataset("adult")
    estimator = models(100, 6)[name].fit(data.rows, data.labels)
    model = eh.wrap(estimator, data.domain, takes="codes", classes=list(data.domain.label.values))
    found = certify(model, data.domain, limits=ProofLimits(seconds=seconds))
    print(f"{name}: {found.summary()}\n", flush=True)
    return found.as_dict()


def fixed_figures(name: str, depth: int) -> dict[str, float]:
    """What each further axis brings that is fixed cell by cell; the boxes that a factor of two takes."""
    data = papers.dataset("adult")
    model = eh.wrap(
        models(100, depth)[name].fit(data.rows, data.labels), data.domain, takes="codes", classes=list(data.domain.label.values)
    )
    least = float("inf")
    for told in fixed_axes(model, data.domain, FIXED_BOXES, np.random.default_rng(0)):
        words = f"{told.axes} axes fixed, {told.boxes:.2g} boxes: {told.low:.3%} to {told.high:.3%}, {told.open_share:.0%} of them open"
        print(f"{name}, depth {depth}: {words}", flush=True)
        least = min(least, told.boxes) if told.high <= 2 * told.low else least
    return {f"{name.lower().replace(' ', '_')}_{depth}_boxes_within_2": least}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10 seconds for each model")
    parser.add_argument("--seconds", type=float, default=25.0)
    parser.add_argument("--only", choices=NAMES, action="append")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--fixed", action="store_true", help="how many boxes close bounds take at least")
    parser.add_argument("--depth", type=int, default=6, help="of the trees, with --fixed")
    given = parser.parse_args()
    if given.fixed:
        write_figures({key: each for name in given.only or NAMES for key, each in fixed_figures(name, given.depth).items()}, given.json)
        return
    curves = {name: measured(name, 10.0 if given.quick else given.seconds) for name in given.only or NAMES}
    told = {name.lower().replace(" ", "_"): found for name, found in curves.items()}
    write_figures({f"{name}_{what}": found[what] for name, found in told.items() for what in ("lower", "upper", "cpu_seconds")}, given.json)
    if given.picture:
        given.picture.write_text(picture(curves), encoding="utf-8")


if __name__ == "__main__":
    main()
