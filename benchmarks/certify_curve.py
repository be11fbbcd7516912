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
from evenhand.datasets import papers
from evenhand.measures.proofs import ProofLimits, certify
from evenhand.report.synthesis_charts import INK, document, text

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


def picture(curves: dict[str, Any]) -> str:
    """Upper and lower bounds over the boxes looked at; the lower ones are dashed."""
    wide, tall, left, top = 620.0, 300.0, 60.0, 20.0
    span = math.log10(max(found["boxes"] for found in curves.values()))
    parts = []
    for place in range(int(span) + 1):
        x = left + place / span * wide
        parts += [f'<path d="M{x:.1f},{top} v{tall}" stroke="#e4e6e1"/>', text((x, top + tall + 18), f"{10**place:,}")]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = top + (1 - share) * tall
        parts += [f'<path d="M{left},{y:.1f} h{wide}" stroke="#e4e6e1"/>', text((left - 8, y + 4), f"{share:.0%}", "end")]
    for number, (name, found) in enumerate(curves.items()):
        for side, dashes in (("upper", ""), ("lower", ' stroke-dasharray="5 4"')):
            points = [(left + math.log10(max(step["boxes"], 1)) / span * wide, top + (1 - step[side]) * tall) for step in found["curve"]]
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            parts.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"{dashes}/>')
        words = f"{name}: {found['lower']:.2%} to {found['upper']:.1%}, {found['cpu_seconds']:.0f} CPU-s"
        parts.append(text((left + 12, top + tall - 70 + 17 * number), words, "start", COLOURS[name]))
    parts.append(text((left + wide / 2, top + tall + 38), "boxes looked at", colour=INK))
    return document(left + wide + 30, top + tall + 50, "Bounds of certify tighten while it runs", parts)


def measured(name: str, seconds: float) -> dict[str, Any]:
    """One model's bounds and how they came."""
    data = papers.dataset("adult")
    estimator = models(100, 6)[name].fit(data.rows, data.labels)
    model = eh.wrap(estimator, data.domain, takes="codes", classes=list(data.domain.label.values))
    found = certify(model, data.domain, limits=ProofLimits(seconds=seconds))
    print(f"{name}: {found.summary()}\n", flush=True)
    return found.as_dict()


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10 seconds for each model")
    parser.add_argument("--seconds", type=float, default=25.0)
    parser.add_argument("--only", choices=[*COLOURS], action="append")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    curves = json.loads(given.json.read_text(encoding="utf-8")) if given.only and given.json and given.json.exists() else {}
    for name in given.only or COLOURS:
        curves[name] = measured(name, 10.0 if given.quick else given.seconds)
    if given.json:
        given.json.write_text(json.dumps(curves, indent=2, default=str) + "\n", encoding="utf-8")
    if given.picture:
        given.picture.write_text(picture(curves), encoding="utf-8")


if __name__ == "__main__":
    main()
