"""How certify's bounds tighten on ensembles of 100 trees of depth 6 on Adult, as figures and as a picture.

python benchmarks/certify_curve.py --seconds 120 --json curve.json --picture docs/pictures/certify-curve.svg
"""

from __future__ import annotations

import argparse
import json
import math
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import evenhand as eh
from evenhand.certify import Certificate, Limits, certify
from evenhand.datasets import papers
from evenhand.synthesis.pictures import INK, document, text

COLOURS = {"random forest": "#3b6ea5", "LightGBM": "#2f8f5b", "XGBoost": "#b03060", "gradient boosting": "#d9822b"}


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


def picture(curves: dict[str, Certificate]) -> str:
    """Upper and lower bounds over the boxes looked at; the lower ones are dashed."""
    wide, tall, left, top = 620.0, 300.0, 60.0, 20.0
    span = math.log10(max(c.boxes for c in curves.values()))
    parts = []
    for place in range(int(span) + 1):
        x = left + place / span * wide
        parts += [f'<path d="M{x:.1f},{top} v{tall}" stroke="#e4e6e1"/>', text(x, top + tall + 18, f"{10**place:,}")]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = top + (1 - share) * tall
        parts += [f'<path d="M{left},{y:.1f} h{wide}" stroke="#e4e6e1"/>', text(left - 8, y + 4, f"{share:.0%}", "end")]
    for number, (name, found) in enumerate(curves.items()):
        for side, dashes in (("upper", ""), ("lower", ' stroke-dasharray="5 4"')):
            line = " ".join(
                f"{left + math.log10(max(step.boxes, 1)) / span * wide:.1f},{top + (1 - getattr(step, side)) * tall:.1f}"
                for step in found.steps
            )
            parts.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"{dashes}/>')
        words = f"{name}: {found.lower:.2%} to {found.upper:.1%}, {found.cpu_seconds:.0f} CPU-s"
        parts.append(text(left + 12, top + tall - 70 + 17 * number, words, "start", COLOURS[name]))
    parts.append(text(left + wide / 2, top + tall + 38, "boxes looked at", colour=INK))
    return document(left + wide + 30, top + tall + 50, "Bounds of certify tighten while it runs", parts)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="15 seconds for each model")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    data = papers.dataset("adult")
    curves: dict[str, Certificate] = {}
    for name, estimator in models(100, 6).items():
        model = eh.wrap(estimator.fit(data.rows, data.labels), data.domain, takes="codes", classes=list(data.domain.label.values))
        curves[name] = certify(model, data.domain, limits=Limits(seconds=15.0 if given.quick else given.seconds))
        print(f"{name}: {curves[name].summary()}\n", flush=True)
    if given.json:
        figures = {
            f"{name}, {side}": getattr(found, side) for name, found in curves.items() for side in ("lower", "upper", "cpu_seconds", "boxes")
        }
        given.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if given.picture:
        given.picture.write_text(picture(curves), encoding="utf-8")


if __name__ == "__main__":
    main()
