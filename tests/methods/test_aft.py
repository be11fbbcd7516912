"""AFT's own promises: leaves as boxes, pairs that the tree itself calls unfair, lessons without further queries, and an end."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from odd_tasks import odd_subject

from evenhand import checks
from evenhand.contract import Task
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.run import Plan, Subject, run
from evenhand.errors import InvalidArgument
from evenhand.methods.aft import Aft, Pairing, Pupil, Quota
from evenhand.methods.parts.fitted_tree import FittedTree
from evenhand.methods.themis import Themis
from evenhand.models.budget import Budget
from evenhand.models.function import from_callable
from evenhand.models.meter import Meter
from evenhand.oracles.flip import LabelFlip
from evenhand.planted import shapes

ODD = odd_subject(rules=())


def grown(subject, n=2_000):
    rows = subject.domain.sample(n, np.random.default_rng(1))
    return FittedTree.fit(rows, Meter(subject.model).scores(rows).argmax(axis=1), "entropy", 200, np.random.default_rng(0))


def test_every_row_lies_in_exactly_one_leaf_and_its_box_has_the_trees_label():
    tree, rows = grown(ODD), ODD.domain.sample(500, np.random.default_rng(2))
    boxes, labels = tree.leaf_boxes(ODD.domain)
    cells = rows[:, None, :]
    inside = (((cells >= boxes.low) & (cells <= boxes.high)) | (np.isnan(cells) & boxes.missing)).all(axis=2)
    assert (inside.sum(axis=1) == 1).all()
    assert (labels[inside.argmax(axis=1)] == tree.predict(rows)).all()


@pytest.mark.parametrize("subject", [ODD, checks.standard_subject(), checks.standard_subject("intersection")])
def test_the_tree_itself_answers_both_twins_of_every_sampled_row_differently(subject):
    tree = grown(subject)
    spaces = Pairing(tree, subject.domain).draw(100, np.random.default_rng(0))
    assert len(spaces) > 20
    rows, first, second = spaces.sample(np.repeat(np.arange(len(spaces)), 20), np.random.default_rng(1))
    twins = rows.copy()
    twins[:, list(subject.domain.protected_places)] = subject.domain.combinations[second]
    assert subject.domain.contains(rows).all()
    assert (subject.domain.own_combination(rows) == first).all()
    assert (tree.predict(rows) != tree.predict(twins)).all()


def test_each_pair_of_leaves_is_drawn_once():
    subject = checks.standard_subject()
    spaces = Pairing(grown(subject), subject.domain).draw(10_000, np.random.default_rng(0))
    boxes = np.hstack([spaces.boxes.low[:, 1:], spaces.boxes.high[:, 1:]])
    assert len(np.unique(boxes, axis=0)) == len(boxes)


def test_lessons_are_the_answers_that_the_tree_got_wrong_and_cost_no_query():
    subject = checks.standard_subject()
    meter = Meter(subject.model)
    task = Task(subject.domain, meter)
    tree, rows = grown(subject, 100), subject.domain.sample(300, np.random.default_rng(3))
    verdict = LabelFlip().judge(rows, subject.domain, subject.model)
    pupil = Pupil(task)
    both = np.zeros(300, dtype=np.intp), np.ones(300, dtype=np.intp)
    wrong = pupil.compare(tree, rows, both, verdict)
    assert meter.rows_asked == 0
    learnt, labels = np.concatenate(pupil.rows), np.concatenate(pupil.labels)
    assert 0 < len(learnt) == wrong.sum() < 600
    assert (subject.model.scores(learnt).argmax(axis=1) == labels).all()
    assert (tree.predict(learnt) != labels).all()


def test_an_intersection_teaches_no_more_than_its_quota():
    which, lessons = np.array([0, 0, 0, 2, 2, 2, 2]), np.array([1, 2, 1, 0, 2, 0, 1])
    assert Quota(which, np.array([2, 9, 2])).due(lessons).tolist() == [True, True, False, True, True, False, False]


def test_a_tree_is_kept_until_its_training_rows_have_grown(monkeypatch):
    fitted, fit = [], Pupil.tree
    monkeypatch.setattr(Pupil, "tree", lambda pupil, *about: fitted.append(pupil.size) or fit(pupil, *about))
    sizes = {}
    for growth in (0.0, 2.0):
        fitted.clear()
        done = run(Aft(training=60, pairs=4, growth=growth), checks.standard_subject(), Plan(0, Budget(candidates=2_000)))
        sizes[growth], rounds = list(fitted), done.facts["aft"]["rounds"]
    assert len(sizes[2.0]) < rounds / 2 < len(sizes[0.0])
    grown_by = [after / before for before, after in pairwise(sizes[2.0]) if after > 60]
    assert all(each > 3 for each in grown_by)


def test_pairs_come_round_again_when_all_were_drawn():
    subject = checks.standard_subject()
    pairing, rng = Pairing(grown(subject, 200), subject.domain), np.random.default_rng(0)
    every = len(pairing.draw(10_000, rng))
    assert 0 < every < 10_000
    assert len(pairing.draw(10_000, rng)) == every


def test_odd_columns_rules_and_labels_are_no_obstacle():
    subject = odd_subject()
    found = [run(method, subject, Plan(0, Budget(candidates=1_000))) for method in (Aft(), Themis(margin=0.0))]
    assert subject.domain.contains(found[0].findings.rows).all()
    assert found[0].ledger.findings > 1.3 * found[1].ledger.findings
    assert found[0].ledger.duplicates == 0


def test_a_small_budget_of_rows_is_not_all_spent_on_training():
    done = run(Aft(), checks.standard_subject(), Plan(0, Budget(model_rows=2_000)))
    assert done.ledger.candidates == 500
    assert done.ledger.findings > 200


@pytest.mark.parametrize("constant", [True, False])
def test_a_model_without_pairs_or_with_few_rows_comes_to_an_end(constant):
    domain = TabularDomain((Column("sex", "integer", low=0, high=1), Column("a", "integer", low=0, high=5)), ("sex",))
    model = from_callable(lambda x: (x[:, 1] + x[:, 0] > 3).astype(int) * (not constant), domain, classes=(0, 1), takes="codes")
    done = run(Aft(), Subject(domain, model), Plan(0, Budget(candidates=100)))
    assert done.ended == "method finished"
    assert done.ledger.findings == (0 if constant else 1)
    assert "no new row" in done.facts["stopped"]


def test_implied_changes_are_followed():
    planted = shapes()["proxy"]
    done = run(Aft(), Subject(planted.domain, planted.model), Plan(0, Budget(candidates=2_000)))
    assert done.ledger.findings > 1.5 * float(planted.rate) * 2_000


@pytest.mark.parametrize("wrong", [{"training": 1}, {"leaves": 1}, {"pairs": 0}, {"samples": 0}, {"lessons": 0}, {"growth": -1}])
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(InvalidArgument):
        Aft(**wrong)
