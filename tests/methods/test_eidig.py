"""EIDIG's own promises: momentum, the way back to the seed, few gradients, and black-box models through differences."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.contract import Candidates, Task
from evenhand.engine.run import Plan, Subject, run
from evenhand.methods.eidig import Eidig, Momentum, Neighbourhoods
from evenhand.methods.parts.climbing import Tally
from evenhand.models.budget import Budget
from evenhand.models.differences import DifferenceGradients
from evenhand.models.meter import Meter
from evenhand.oracles.flip import LabelFlip
from evenhand.planted import shapes

PLANTED = shapes()["wide_band"]
ROWS = PLANTED.domain.sample(300, np.random.default_rng(5))


def test_steps_go_against_the_score_of_the_own_label_with_momentum():
    twins = ROWS.copy()
    twins[:, 0] = 1 - twins[:, 0]
    compass = Momentum(Meter(PLANTED.model), 0.5, np.zeros((len(ROWS), 2, ROWS.shape[1])))
    directions = compass.directions(ROWS, twins, np.arange(len(ROWS)))
    labels = PLANTED.model.scores(ROWS).argmax(axis=1)
    same = labels == PLANTED.model.scores(twins).argmax(axis=1)
    # Granted people must lose points, refused ones must win some; pairs on both sides of the boundary disagree.
    assert (directions[same, 1:] == np.where(labels == 1, -1.0, 1.0)[same, None]).all()
    assert not directions[~same, 1:].any()
    first = compass.memory.copy()
    compass.directions(ROWS, twins, np.arange(len(ROWS)))
    assert compass.memory == pytest.approx(1.5 * first)


class Forgetful:
    """Proposes every row, so that each step of a walker can be watched."""

    def judge(self, rows, phase):
        verdict = yield Candidates(rows.copy(), phase)
        return verdict.unfair


def test_after_a_miss_a_walker_is_back_at_its_seed_and_goes_on_after_a_finding():
    seeds = ROWS[LabelFlip().judge(ROWS, PLANTED.domain, PLANTED.model).unfair][:30]
    task = Task(PLANTED.domain, Meter(PLANTED.model), seeds)
    walk = Neighbourhoods(task, seeds, Eidig(local_steps=100), Tally(task)).run(Forgetful(), np.random.default_rng(3))
    candidates, base, misses = next(walk), seeds, 0
    for _ in range(99):
        assert (np.abs(candidates.rows - base).sum(axis=1) <= 1).all()
        verdict = LabelFlip().judge(candidates.rows, PLANTED.domain, PLANTED.model)
        base = np.where(verdict.unfair[:, None], candidates.rows, seeds)
        misses += int((~verdict.unfair).sum())
        candidates = walk.send(verdict)
    assert misses > 100


@pytest.mark.parametrize("refresh", [0, 5])
def test_gradients_are_refreshed_only_after_successes(refresh):
    meter = Meter(PLANTED.model)
    asked = []
    inner = meter.pullback
    meter.pullback = lambda rows, slope, layer="scores": asked.append(len(rows)) or inner(rows, slope, layer)
    unfair = ROWS[LabelFlip().judge(ROWS, PLANTED.domain, PLANTED.model).unfair][:40]
    search = Eidig(seeds=40, local_steps=60, refresh=refresh).search(Task(PLANTED.domain, meter, unfair), np.random.default_rng(0))
    candidates = next(search)
    while candidates is not None:
        verdict = LabelFlip().judge(candidates.rows, PLANTED.domain, PLANTED.model)
        try:
            candidates = search.send(verdict)
        except StopIteration:
            candidates = None
    pairs = 2 * len(np.unique(PLANTED.domain.keys(unfair)))
    assert asked[0] == pairs, "every seed is a finding already: one batch of gradients at the seeds"
    assert (sum(asked) == pairs) == (refresh == 0)
    assert sum(asked) <= pairs * (1 + 60 / 5)


def test_black_box_scores_are_enough_through_differences_and_every_query_is_charged():
    model = DifferenceGradients(PLANTED.model, domain=PLANTED.domain)
    subject = Subject(PLANTED.domain, model, ROWS)
    done = run(Eidig(seeds=60, local_steps=60), subject, Plan(0, Budget(candidates=5_000)))
    assert done.ledger.findings > 0.5 * done.ledger.candidates
    exact = run(Eidig(seeds=60, local_steps=60), Subject(PLANTED.domain, PLANTED.model, ROWS), Plan(0, Budget(candidates=5_000)))
    judged = 2 * done.ledger.candidates
    # Scores first, then columns + 1 queries for a gradient; the network itself gives both in one pass.
    assert done.ledger.model_rows - judged == pytest.approx((exact.ledger.model_rows - judged) * (1 + 8), rel=0.3)
