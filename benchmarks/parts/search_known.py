"""Whether the search knows how much it has found: its own share of known people against fresh draws judged afterwards."""

from __future__ import annotations

import sys

import numpy as np

from evenhand.contract import Task
from evenhand.domain.shown_twins import is_believable
from evenhand.engine.run import Plan, run
from evenhand.methods.evenhand import Evenhand
from evenhand.methods.parts.plausible_walks import PlausibleSet
from evenhand.models.budget import Budget
from evenhand.models.meter import Meter
from parts.arena_grounds import GroundName, opened

GROUNDS = (GroundName("compas", "race", "mlp"), GroundName("compas", "race", "boosting"), GroundName("adult", "sex", "mlp"))
CANDIDATES = (10_000, 60_000)
DRAWS = 60_000


def known_error(name: GroundName, candidates: int, seed: int) -> float | None:
    """How far the told share is from that of fresh people of the same population; None where the run told none."""
    ground = opened(name, 2_000).ground
    subject = ground.subject
    done = run(Evenhand(), subject, Plan(seed, Budget(candidates=candidates), ground.oracle))
    told = done.facts.get("known_share")
    if told is None:
        return None
    # A budget of candidates reads no clock: the same seed learns the same population again.
    rng, task = np.random.default_rng(seed), Task(subject.domain, Meter(subject.model), subject.rows, subject.labels)
    plausible = PlausibleSet.drawn(Evenhand()._chain(task, rng), Evenhand(), rng)
    people = plausible.fresh(DRAWS, np.random.default_rng([seed, 9]))
    verdict = ground.oracle.judge(people.states.rows, subject.domain, Meter(subject.model))
    affected = people.states.rows[verdict.unfair & is_believable(verdict.labels, people.likelihood)]
    listed = np.isin(subject.domain.keys(affected), subject.domain.keys(done.findings.rows))
    print(f"  {name!s:24} {candidates:7,} candidates: told {told:.3f}, true {listed.mean():.3f} of {len(listed):,}", file=sys.stderr)
    return abs(float(told) - float(listed.mean()))


def known_figures(seed: int, quick: bool) -> dict[str, float]:
    """The largest error over grounds and lengths of the search."""
    errors = [known_error(name, n, seed) for name in GROUNDS[: 2 if quick else 3] for n in CANDIDATES]
    return {"stop_rule_error_max": round(max((each for each in errors if each is not None), default=1.0), 3)}
