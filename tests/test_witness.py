"""A witness is a possible person close to a real one, flips, has an id, and can be replayed by anyone."""

import dataclasses
import json

import numpy as np
import pytest

from evenhand.checks import standard_subject
from evenhand.deadline import Deadline
from evenhand.disk import sealed
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.engine import witness
from evenhand.engine.findings import findings_of
from evenhand.engine.run import Plan, run
from evenhand.engine.shrunk_findings import Hearing, shrink
from evenhand.errors import StoreError
from evenhand.methods.themis import Themis
from evenhand.models.budget import Budget
from evenhand.oracles.flip import LabelFlip
from evenhand.planted import shapes

SUBJECT = standard_subject("pocket", n=300)
FOUND = run(Themis(margin=0.0), SUBJECT, Plan(0, Budget(candidates=20_000))).findings[:30]


def shrunk():
    return shrink(FOUND, SUBJECT.rows, Hearing(SUBJECT.domain, SUBJECT.model, LabelFlip()))


def test_of_very_many_findings_a_few_are_looked_at_and_the_widest_and_every_common_change_are_shown(monkeypatch):
    """The choice takes no longer for millions: what is not looked at is not unpacked."""
    monkeypatch.setattr(witness, "MOST_LOOKED_AT", 50)
    many = FOUND[np.tile(np.arange(len(FOUND)), 100)]
    looked_at = []
    monkeypatch.setattr(type(many.pairs), "rows", property(lambda pairs: looked_at.append(len(pairs)) or pairs.numbers))
    widest = many.gap.copy()
    widest[1234] = 99.0
    chosen = witness.select(dataclasses.replace(many, gap=widest), SUBJECT.domain, 6)
    assert sum(looked_at) <= 2 * 50
    assert chosen[0] == 1234
    assert many.valid[chosen].all()
    own = [
        set(zip(SUBJECT.domain.own_combination(each.rows), SUBJECT.domain.own_combination(each.twins), strict=True))
        for each in (many[chosen], FOUND)
    ]
    assert own[0] == own[1]


def test_a_shrunk_finding_still_flips_and_is_nearer_to_a_real_row():
    found, places, cells = shrunk()
    assert LabelFlip().judge(found.rows, SUBJECT.domain, SUBJECT.model).unfair.all()
    free = list(SUBJECT.domain.free_places)
    before = (FOUND.rows[:, free] != cells[:, free]).sum(axis=1)
    after = (found.rows[:, free] != SUBJECT.rows[places][:, free]).sum(axis=1)
    assert (after <= before).all()
    assert after.sum() < before.sum() / 2


def test_no_cell_can_be_put_back():
    """Minimal: with any changed cell set to the real row's value, the flip is gone."""
    found, _, cells = shrunk()
    free = list(SUBJECT.domain.free_places)
    for row, real in zip(found.rows, cells, strict=True):
        for cell in (c for c in free if row[c] != real[c]):
            trial = row.copy()
            trial[cell] = real[cell]
            assert not LabelFlip().judge(trial[None], SUBJECT.domain, SUBJECT.model).unfair[0]


def test_a_real_row_that_flips_is_its_own_witness():
    rows = FOUND.rows
    found, _, cells = shrink(FOUND, rows, Hearing(SUBJECT.domain, SUBJECT.model, LabelFlip()))
    np.testing.assert_array_equal(found.rows[:, 1:], cells[:, 1:])


def test_without_data_a_finding_is_kept_as_it_is():
    found, places, _ = shrink(FOUND, None, Hearing(SUBJECT.domain, SUBJECT.model, LabelFlip()))
    np.testing.assert_array_equal(found.rows, FOUND.rows)
    assert (places == -1).all()


def test_a_saved_witness_is_replayed_from_its_file(tmp_path):
    kept = witness.witnesses_of(FOUND, SUBJECT.rows, Hearing(SUBJECT.domain, SUBJECT.model, LabelFlip()))
    for one in kept:
        witness.save(one, tmp_path / "witnesses")
    paths = witness.find(str(tmp_path), [])
    assert len(paths) == len({one.id for one in kept}) == len(kept)
    loaded = [witness.load(path) for path in paths]
    assert sorted(loaded, key=lambda w: w.id) == sorted(kept, key=lambda w: w.id)
    replays = [witness.replay(one, SUBJECT.domain, SUBJECT.model) for one in loaded]
    assert all(again.is_unfair for again in replays)
    assert all((again.outcome, again.twin_outcome) == (again.witness.outcome, again.witness.twin_outcome) for again in replays)


def test_a_mended_model_passes_the_replay(tmp_path):
    kept = witness.witnesses_of(FOUND[:1], SUBJECT.rows, Hearing(SUBJECT.domain, SUBJECT.model, LabelFlip()))[0]
    assert not witness.replay(kept, SUBJECT.domain, shapes()["fair"].model).is_unfair


def test_a_witness_is_found_by_the_beginning_of_its_id(tmp_path):
    kept = witness.witnesses_of(FOUND[:1], SUBJECT.rows, Hearing(SUBJECT.domain, SUBJECT.model, LabelFlip()))[0]
    path = witness.save(kept, tmp_path / "deep" / "witnesses")
    assert witness.find(kept.id[:6], [tmp_path]) == [path]


def test_a_witness_outside_the_domain_is_refused(tmp_path):
    kept = witness.witnesses_of(FOUND[:1], SUBJECT.rows, Hearing(SUBJECT.domain, SUBJECT.model, LabelFlip()))[0]
    path = witness.save(kept, tmp_path)
    content = json.loads(path.read_text())
    content["person"]["f1"] = 99
    del content["checksum"]
    path.write_text(sealed(content))
    with pytest.raises(StoreError, match="does not fit the domain"):
        witness.replay(witness.load(path), SUBJECT.domain, SUBJECT.model)


def test_the_chosen_witnesses_take_each_kind_of_change_in_turn():
    chosen = witness.select(FOUND, SUBJECT.domain, 6)
    firsts = FOUND.rows[chosen, 0]
    assert set(firsts[:2]) == {0.0, 1.0}


def test_findings_that_differ_in_hundreds_of_cells_shrink_to_a_few():
    columns = tuple(Column(f"c{at}", "integer", low=0, high=9) for at in range(200))
    domain = TabularDomain((*columns, Column("sex", "category", ("f", "m"))), protected=("sex",), label=Label("y", ("no", "yes"), ("yes",)))

    class Odd:
        classes, is_hard, batch_rows = ("no", "yes"), True, 100_000

        def scores(self, rows):
            yes = (rows[:, 3] > 6) & (rows[:, 77] > 6) & (rows[:, 150] > 6) & (rows[:, -1] == 1)
            return np.stack([~yes, yes], axis=1).astype(float)

        def fingerprint(self):
            return "odd"

    rng = np.random.default_rng(0)
    rows, real = domain.sample(20_000, rng), domain.sample(50, rng)
    real[:, 3] = 0.0
    hearing = Hearing(domain, Odd(), LabelFlip())
    found = findings_of(rows, LabelFlip().judge(rows, domain, Odd()), domain, np.arange(len(rows)), "drawn")[:6]
    small, _, cells = shrink(found, real, hearing)
    assert len(found) == 6
    assert LabelFlip().judge(small.rows, domain, Odd()).unfair.all()
    assert ((small.rows != cells)[:, :-1].sum(axis=1) <= 3).all()


def test_a_real_row_is_recognised_when_there_is_no_time_to_shrink():
    over = Hearing(SUBJECT.domain, SUBJECT.model, LabelFlip(), deadline=Deadline.after(seconds=0.0))
    real = np.vstack([SUBJECT.rows, FOUND.rows[3:4]])
    kept = witness.witnesses_of(FOUND[3:4], real, over)[0]
    assert (real[kept.real_row] == FOUND.rows[3]).all()
    assert kept.changed == {}


def three_groups():
    """A model that gives groups a, b and c of one person .9, .2 and .05, and says yes from .5 on."""
    import pandas as pd

    import evenhand as eh

    frame = pd.DataFrame({"group": ["a", "b", "c"] * 40, "size": [at % 50 for at in range(120)], "answer": ["yes", "no", "no"] * 40})
    data = eh.open(frame, label="answer", favourable="yes", protected=["group"])
    scores = {"a": 0.9, "b": 0.2, "c": 0.05}
    return eh.wrap(lambda given: given["group"].map(scores).to_numpy(dtype=float), data, returns="probability", classes=["no", "yes"]), data


@pytest.mark.parametrize("oracle", ["flip", "gap:threshold=0.3"])
def test_the_gap_of_a_pair_is_that_of_its_two_people_and_not_of_other_twins(oracle):
    import evenhand as eh

    model, data = three_groups()
    found = eh.scan(model, data, methods=["themis"], oracle=oracle, budget=Budget(candidates=200), seed=0)
    apart = {frozenset("ab"): 0.7, frozenset("ac"): 0.85, frozenset("bc"): 0.15}
    assert len(found.witnesses) > 2
    for each in found.witnesses:
        assert each.gap == pytest.approx(apart[frozenset([each.person["group"], each.twin["group"]])]), each
    worst = found.where.worst
    assert worst["gap"] == pytest.approx(0.85)
    assert {worst["person"]["group"], worst["twin"]["group"]} == {"a", "c"}
    assert (worst["outcome"], worst["twin_outcome"]) == ("yes", "no")
