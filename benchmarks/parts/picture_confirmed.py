"""How many twins must be confirmed before standing still counts: drawn portraits whose exact twins are spoilt on purpose.

A classifier leans by a little more than is tolerated.  Of its exact twins a share is replaced by the picture itself, as an editor does that
fails now and then; the rest are what they claim.  How often is it passed, with and without allowing for what such twins hide?

    python benchmarks/parts/picture_confirmed.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from evenhand.claims import Claim
from evenhand.contract import StudySection
from evenhand.engine.gate import Gate
from evenhand.measures.studies.leaning import Leaning, LeaningRule, leaning_of
from evenhand.planted.portraits import AGE_GROUPS
from evenhand.statistics.intervals import clopper_pearson
from evenhand.verbs.measure_claims import CONFIRMED_TO_PASS, claim_by_studies
from evenhand.verbs.measure_result import MeasureOptions
from parts.picture_verdicts import TOLERANCE, ExactPairs, fair, leaning

PAIRS, DRAWS = 2_000, 30
SHARES = (0.85, 0.92, 1.0)
POINTS = (0.0, 0.055)


def passed(found: Leaning, confirmed: int) -> tuple[bool, bool]:
    """Whether it is passed as the product does, and without the allowance, by the floor alone."""
    low = clopper_pearson(confirmed, found.pairs).low
    bounds = {"low": found.low, "high": found.high}
    figures = {"along": "tone goes from lighter to darker", "tolerance": TOLERANCE, **bounds, "weighed": bounds}
    jury = {"editors": [{"attribute": "tone", "confirmed": {"low": low}}]}
    studies = {
        "leaning": StudySection({"leanings": [figures]}, (), (found.claim,)),
        "jury": StudySection(jury, (), (Claim("twins", holds="confirmed"),)),
    }
    ruling = Gate.rule(claim_by_studies(studies, (), (), MeasureOptions()))
    return ruling.outcome == "pass", found.is_still and low >= CONFIRMED_TO_PASS


def main() -> None:
    """A line for every share and leaning."""
    rng, pairs, start = np.random.default_rng(5), ExactPairs.drawn(PAIRS, 77), fair("linear", 0)
    print("| true net change | twins that are what they claim | passed | by the floor of 80 % alone |\n| --- " + "| --- " * 3 + "|")
    for points in POINTS:
        model = leaning(start, points, 0) if points else start
        light, dark = (model(pictures).argmax(axis=1) for pictures in (pairs.light, pairs.dark))
        real = max(abs(float((dark == group).mean() - (light == group).mean())) for group in range(len(AGE_GROUPS)))
        for share in SHARES:
            said = []
            for _ in range(DRAWS):
                drawn, is_true = rng.integers(PAIRS, size=PAIRS), rng.random(PAIRS) < share
                turned = np.where(is_true, dark[drawn], light[drawn])
                said.append(passed(leaning_of(light[drawn], turned, AGE_GROUPS, LeaningRule(TOLERANCE)), int(is_true.sum())))
            product, floor = np.mean(said, axis=0)
            print(f"| {real:.1%} | {share:.0%} | {product:.0%} | {floor:.0%} |", flush=True)


if __name__ == "__main__":
    main()
