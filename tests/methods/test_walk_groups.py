"""Walks in crews: every place to begin at is walked from, batches stay small, and what a move brings is learnt from all walks."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from evenhand.contract import Task
from evenhand.methods.evenhand import Evenhand, Walking
from evenhand.methods.parts.known import Known
from evenhand.methods.parts.move_shares import FindingPace, MoveShares
from evenhand.methods.parts.plausible_walks import PlausibleSet
from evenhand.methods.parts.walk_groups import FreshDraws, Surroundings, Turns, WalkGroup
from evenhand.models.meter import Meter
from evenhand.oracles.flip import LabelFlip
from evenhand.planted import shapes
from evenhand.synthesis.level_chain import LevelChain

PLANTED = shapes()["wide_band"]
ROWS = PLANTED.domain.sample(600, np.random.default_rng(3))


@pytest.fixture(scope="module")
def around() -> Surroundings:
    rng = np.random.default_rng(1)
    chain = LevelChain.fit(ROWS, PLANTED.domain, rng)
    task = Task(PLANTED.domain, Meter(PLANTED.model), ROWS)
    return Surroundings(task, PlausibleSet.drawn(chain, Evenhand(), rng), Known(task), None, rng)


def _places(group: WalkGroup) -> set[bytes]:
    return {row.tobytes() for crew in group.crews for row in crew.walks.states.rows}


def test_there_are_walks_from_every_place_to_begin_at_however_small_a_batch_is(around):
    seeds = around.plausible.chain.drawn(230, np.random.default_rng(2))
    group = WalkGroup(around, seeds, 50, wants_pairs=False)
    assert len(group) == 50
    assert [len(crew) for crew in group.crews] == [50] * 5
    assert _places(group) == {row.tobytes() for row in seeds.rows}


def test_larger_batches_leave_nobody_out(around):
    seeds = around.plausible.chain.drawn(230, np.random.default_rng(2))
    group = WalkGroup(around, seeds, 50, wants_pairs=False)
    before = _places(group)
    group.grow(100)
    assert (len(group), _places(group)) == (100, before)


def test_crews_move_by_turns(around):
    group = WalkGroup(around, around.plausible.chain.drawn(120, np.random.default_rng(2)), 40, wants_pairs=False)
    crews, conversation = list(group.crews), group.round()
    asked = next(conversation)
    with pytest.raises(StopIteration):
        conversation.send(LabelFlip().judge(asked.rows, PLANTED.domain, around.task.model))
    assert group.crews == [*crews[1:], crews[0]]


def test_a_move_is_hoped_for_by_how_many_columns_it_changes_and_learnt_from_what_others_have_paid():
    chain = LevelChain.fit(ROWS, PLANTED.domain, np.random.default_rng(1))
    shares = MoveShares(chain, 100, 1e-6)
    changed = np.array([len(chain.positions(move)) for move in shares.moves])
    assert np.allclose(shares.found, 100 / changed)
    before = shares.shares()
    shares.learn(0, 100, 100, 100)
    assert shares.spent == 0.0
    assert shares.shares()[0] > before[0]
    shares.pay(0, 100, 100, 0)
    assert shares.spent > 0.0


def test_walks_go_on_from_whom_fresh_draws_find(around):
    group = WalkGroup(around, around.plausible.chain.drawn(100, np.random.default_rng(2)), 100, wants_pairs=False)
    draws, before = FreshDraws(around), _places(group)
    conversation = draws.round(200, group.crew)
    asked = next(conversation)
    verdict = LabelFlip().judge(asked.rows, PLANTED.domain, around.task.model)
    with pytest.raises(StopIteration) as ended:
        conversation.send(verdict)
    assert 1 < verdict.unfair.sum() < len(group)
    assert len(_places(group) - before) == pytest.approx(verdict.unfair.sum(), abs=3)  # some may have been drawn twice
    assert (ended.value.value.unfair == verdict.unfair).all()


def test_turns_keep_their_shares_of_what_is_spent_though_these_change_and_turns_cost_differently():
    turns, costs, spent = Turns(), {"walks": 1.0, "draws": 7.0, "pairs": 2.0}, dict.fromkeys(("walks", "draws", "pairs"), 0.0)
    for shares in ({"walks": 1.0, "draws": 1.0, "pairs": 1.0}, {"walks": 2.0, "draws": 1.0}):
        spent = dict.fromkeys(costs, 0.0)
        for _ in range(3_000):
            name = turns.next(shares)
            turns.spend(costs[name])
            spent[name] += costs[name]
        for name, share in shares.items():
            assert spent[name] / sum(spent.values()) == pytest.approx(share / sum(shares.values()), abs=0.01)


@pytest.mark.parametrize(("found", "share"), [(10, 0.1), (300, 0.75), (100, 0.5), (0, 0.1)])
def test_walks_over_pairs_have_as_much_as_they_bring_for_their_cost(found, share):
    pairs, wide = FindingPace(), FindingPace()
    pairs.add(found, 1.0)
    wide.add(100, 1.0)
    seen = SimpleNamespace(seeds_missing=0, pairs=SimpleNamespace(pace=pairs), wide=SimpleNamespace(pace=wide))
    told = Walking._shares.fget(seen)
    assert told["pairs"] / (told["pairs"] + told["wide"]) == pytest.approx(share)
    assert told["fresh"] < Walking._shares.fget(SimpleNamespace(**{**vars(seen), "seeds_missing": 1}))["fresh"]
