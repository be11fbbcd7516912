"""A small tree says what the model says, and every row, unfair row and finding is counted on its path."""

import numpy as np

import evenhand as eh
from evenhand.engine.inner_view import inner_view
from evenhand.engine.samples import JudgedSample
from evenhand.engine.subject import subject_of
from evenhand.measures.answer_paths import AnsweredRows, answer_paths
from evenhand.models.budget import Budget
from evenhand.report import page
from evenhand.report.record import read

DATA = eh.open("credit", protected=["age"])
DURATION = DATA.rows[:, DATA.domain.place("duration")]
LABELS = ((DURATION > 24) | (DATA.rows[:, 0] == 0)).astype(np.intp)


def leaves(node):
    return [*leaves(node["yes"]), *leaves(node["no"])] if "question" in node else [node]


def test_every_row_and_every_finding_is_on_one_path():
    unfair = DURATION > 30
    found = DATA.rows[unfair]
    told = answer_paths(AnsweredRows(DATA.rows, LABELS, unfair), found, DATA.domain, ("no", "yes"), np.random.default_rng(1)).as_dict()
    ends = leaves(told["tree"])
    assert len(ends) == told["paths"] >= 3
    assert sum(end["findings"] for end in ends) == len(found) == told["findings"]
    assert sum(end["rows"] for end in ends) == len(DATA.rows) // 2 == told["fidelity"]["n"]
    assert told["fidelity"]["low"] > 0.95, "two questions explain the labels"
    assert told["coverage"] == told["covered"] / told["paths"] < 1, "short credits were never found"
    assert 0 < sum(end["unfair"] for end in ends) < len(DATA.rows) // 2


def test_too_few_rows_or_one_label_grow_no_tree():
    rng = np.random.default_rng(0)
    few = AnsweredRows(DATA.rows[:150], LABELS[:150], LABELS[:150] > 0)
    assert answer_paths(few, DATA.rows[:1], DATA.domain, ("no", "yes"), rng) is None
    same = AnsweredRows(DATA.rows, np.zeros_like(LABELS), LABELS > 0)
    assert answer_paths(same, DATA.rows[:1], DATA.domain, ("no", "yes"), rng) is None


def scanned():
    model = eh.wrap(lambda frame: 150 - frame["age"] - frame["duration"], DATA, returns="score", threshold=90)
    return eh.scan(model, DATA, budget=Budget(candidates=500), seed=7)


def test_a_scan_shows_the_tree_with_its_paths():
    result = scanned()
    told = result.as_dict()["body"]["paths"]
    assert told["findings"] == len(result.findings)
    shown = page.render(read(result.as_dict()))
    assert "How the model decides, as a tree" in shown
    assert "Path coverage: the" in shown
    assert "duration" in shown.split('id="paths"')[1].split("</section>")[0]


def test_without_time_nothing_more_is_asked():
    from evenhand.deadline import Deadline
    from evenhand.engine.findings import Findings

    model = eh.wrap(lambda frame: 150 - frame["age"] - frame["duration"], DATA, returns="score", threshold=90)
    sample = JudgedSample(scanned().rate, Findings.none(len(DATA.domain.columns)), DATA.rows)
    view = inner_view(subject_of(model, DATA, None), sample, np.random.default_rng(0), seconds=1.0, deadline=Deadline.after(seconds=5.0))
    assert view.answered is None
    assert view.as_dict(view.paths(sample.unfair, np.random.default_rng(0))) == {"paths": None, "neurons": None}
