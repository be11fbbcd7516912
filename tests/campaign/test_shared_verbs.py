"""Whoever works and however often it is broken off, every verb says the same, and nothing that was finished is made again."""

import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.repair.tables import table, tree_subject

import evenhand as eh
from evenhand.campaign.executors.local import Local
from evenhand.campaign.executors.serial import Serial
from evenhand.campaign.executors.threads import Threads
from evenhand.campaign.repair_trial import Effort
from evenhand.checks.examples import recogniser_subject
from evenhand.checks.method_checks import picture_subject
from evenhand.disk import digest_of
from evenhand.errors import StoreError
from evenhand.measures.proofs import ProofLimits
from evenhand.measures.proofs import shared_front as front
from evenhand.models.meter import Meter
from evenhand.models.wrap import wrap
from evenhand.synthesis import chunks
from evenhand.synthesis.chained_trees import ChainedTrees

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from parts import fault_cases

FEW = [Serial(), Threads(2), Threads(3)]
PROCESSES = [pytest.param(Local(workers), marks=pytest.mark.slow) for workers in (1, 2, 3)]
LIMITS = ProofLimits(seconds=None, boxes=6_000)


class Broken(Exception):
    """What ends the work in the middle."""


class Counting:
    """Breaks off after so many answers, as a kill between two of them does; counts the tasks that it was given."""

    def __init__(self, after=None):
        self.after, self.tasks = after, 0

    def carry_out(self, work, tasks):
        for end in Serial().carry_out(work, tasks):
            if self.after is not None and self.tasks == self.after:
                raise Broken
            self.tasks += 1
            yield end


@pytest.fixture(scope="module")
def data():
    return table(400)


@pytest.fixture(scope="module")
def tree(data):
    return tree_subject(data).model


@pytest.fixture(scope="module")
def forest():
    from sklearn.ensemble import RandomForestClassifier

    data = eh.datasets.load("credit", coding="papers").protect("age")
    rows, label = data.frame[list(data.domain.names)], data.frame[data.domain.label.column]
    return wrap(RandomForestClassifier(5, max_depth=5, random_state=0).fit(rows, label), data), data


def bounds(result):
    told = result.certificate
    return told.lower, told.upper, told.ended, told.boxes, told.pairs, told.likely, told.facts, result.outcome


def proved(forest, **how):
    model, data = forest
    return bounds(eh.certify(model, data, limits=LIMITS, **how))


@pytest.mark.parametrize("executor", [FEW[2], pytest.param(FEW[1], marks=pytest.mark.slow), *PROCESSES], ids=repr)
def test_a_proof_has_the_same_bounds_whoever_works(forest, executor, monkeypatch):
    monkeypatch.setattr(front, "FEWEST_BOXES", 64)
    assert proved(forest, executor=executor) == proved(forest, executor=Serial())


def test_shared_bounds_hold_what_is_exact(tree, data):
    alone = eh.certify(tree, data).certificate
    shared = eh.certify(tree, data, executor=Threads(2)).certificate
    assert alone.is_exact
    assert shared.is_exact
    assert shared.lower == pytest.approx(alone.lower, abs=1e-12)


@pytest.mark.slow
def test_a_proof_that_was_broken_off_goes_on_with_what_is_missing(forest, tmp_path, monkeypatch):
    monkeypatch.setattr(front, "ROUNDS_BETWEEN", 3)
    whole, every = proved(forest, executor=Serial()), Counting()
    proved(forest, executor=every)
    made = 0
    for after in (2, 3, 1, None):
        disturbed = Counting(after)
        if after is None:
            assert proved(forest, executor=disturbed, folder=tmp_path) == whole
        else:
            with pytest.raises(Broken):
                proved(forest, executor=disturbed, folder=tmp_path)
        made += disturbed.tasks
    assert made == every.tasks, "a finished part was searched again"


def repaired(tree, data, seeds=2, **how):
    effort = Effort(candidates=300, judge_candidates=100, rate_rows=100)
    return eh.repair(tree, data, repairs=["reweigh"], options=eh.RepairOptions(seeds=seeds, effort=effort, **how))


def figures(comparison):
    told = comparison.as_dict()
    return told["body"]["repairs"], told["outcome"], sorted(comparison.models)


@pytest.mark.parametrize("executor", [FEW[1], pytest.param(FEW[2], marks=pytest.mark.slow), *PROCESSES], ids=repr)
def test_a_comparison_of_repairs_is_the_same_whoever_works(tree, data, executor):
    np.testing.assert_equal(figures(repaired(tree, data, executor=executor)), figures(repaired(tree, data)))


@pytest.mark.slow
def test_finished_seeds_are_not_tried_again(tree, data, tmp_path):
    with pytest.raises(Broken):
        repaired(tree, data, executor=Counting(1), folder=tmp_path)
    rest = Counting()
    found = repaired(tree, data, executor=rest, folder=tmp_path)
    assert rest.tasks == 1
    whole = repaired(tree, data)
    np.testing.assert_equal(figures(found), figures(whole))
    assert any("resumed on" in note for note in found.notes), "the result does not say what happened"
    rows = data.rows[:50]
    assert np.array_equal(found.models["reweigh"].scores(rows), whole.models["reweigh"].scores(rows))


def test_a_damaged_part_is_told_and_made_again(tree, data, tmp_path):
    with pytest.raises(Broken):
        repaired(tree, data, executor=Counting(1), folder=tmp_path)
    (kept,) = tmp_path.rglob("task-*.kept")
    kept.write_bytes(kept.read_bytes()[:-9])
    rest = Counting()
    found = repaired(tree, data, executor=rest, folder=tmp_path)
    assert rest.tasks == 2
    assert any("damaged" in note for note in found.notes)


class Biting:
    def __reduce__(self):
        return os.mkdir, ("bitten",)


def test_what_a_stranger_sealed_is_not_run(tree, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Broken):
        repaired(tree, data, executor=Counting(1), folder=tmp_path)
    (kept,) = tmp_path.rglob("task-*.kept")
    content = pickle.dumps(Biting())
    kept.write_bytes(f"{digest_of(content)}\n".encode() + content)
    found = repaired(tree, data, folder=tmp_path)
    assert not (tmp_path / "bitten").exists(), "a file in a run folder ran code"
    assert any("not this user's own" in note for note in found.notes)


def test_the_secret_of_seals_is_private_and_stays(tmp_path, monkeypatch):
    from evenhand import disk

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    keys = [disk._own_key.__wrapped__() for _ in range(2)]
    assert keys[0] == keys[1] == (tmp_path / "evenhand" / "seal.key").read_bytes()
    assert (tmp_path / "evenhand" / "seal.key").stat().st_mode & 0o077 == 0
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "evenhand" / "seal.key"))  # no folder: a key for this process alone
    assert len(disk._own_key.__wrapped__()) == disk.KEY_BYTES


def test_what_others_could_have_written_is_not_read(tree, data, tmp_path):
    with pytest.raises(Broken):
        repaired(tree, data, executor=Counting(1), folder=tmp_path)
    (kept,) = tmp_path.rglob("task-*.kept")
    kept.chmod(0o666)
    with pytest.raises(StoreError, match="written by others"):
        repaired(tree, data, folder=tmp_path)


def measured(model, data, executor=None, **how):
    options = eh.MeasureOptions(compare_rows=60, null_draws=4, natural_candidates=0, rate_rows=100, draws=199, executor=executor, **how)
    return eh.measure(model, data, options=options).as_dict()["body"]


@pytest.mark.parametrize("executor", [FEW[2], pytest.param(FEW[1], marks=pytest.mark.slow), *PROCESSES], ids=repr)
def test_a_measurement_is_the_same_whoever_works(tree, data, executor):
    np.testing.assert_equal(measured(tree, data, executor), measured(tree, data))


@pytest.mark.parametrize("executor", [FEW[1], *PROCESSES], ids=repr)
@pytest.mark.parametrize("make", [picture_subject, recogniser_subject], ids=["pictures", "scenes"])
def test_batches_of_pictures_and_scenes_are_answered_alike_whoever_asks(make, executor):
    subject = make()
    rows, meter = subject.rows[:200], Meter(subject.model, executor=executor)
    object.__setattr__(subject.model, "batch_rows", 16)
    assert np.array_equal(meter.scores(rows), Meter(subject.model).scores(rows))
    counting = Counting()
    Meter(subject.model, executor=counting).scores(rows)
    assert counting.tasks > 1, "nothing was shared"
    if hasattr(subject.model, "detections"):
        assert meter.detections(rows) == Meter(subject.model.without_memory()).detections(rows)


@pytest.mark.parametrize("executor", [*FEW[1:], *PROCESSES], ids=repr)
def test_trees_are_the_same_whoever_grows_them(data, executor):
    def rows(who):
        return ChainedTrees.fit(data.rows, data.domain, np.random.default_rng(4), executor=who).sample(300, np.random.default_rng(5))

    np.testing.assert_array_equal(rows(executor), rows(Serial()))


@pytest.mark.parametrize("make", [pytest.param(picture_subject, marks=pytest.mark.slow), recogniser_subject], ids=["pictures", "scenes"])
def test_a_measurement_of_pictures_or_scenes_that_was_broken_off_asks_only_what_is_missing(make, tmp_path):
    subject = make()
    object.__setattr__(subject.model, "batch_rows", 16)
    data = fault_cases.SubjectData(subject, "shown")

    def told(executor=None, folder=None):
        how = {"rate_rows": 100, "draws": 199, "studies": (), "executor": executor, "folder": folder}
        return eh.measure(subject.model, data, options=eh.MeasureOptions(**how)).as_dict()["body"]

    every = Counting()
    whole = told(every)
    made = 0
    for after in (2, 3):
        disturbed = Counting(after)
        with pytest.raises(Broken):
            told(disturbed, tmp_path)
        made += disturbed.tasks
    rest = Counting()
    found = told(rest, tmp_path)
    assert any("resumed" in note for note in found.pop("notes"))
    whole.pop("notes")
    np.testing.assert_equal(found, whole)
    assert made == 5
    assert rest.tasks < every.tasks, "what had been answered was asked again"
    assert not list(tmp_path.rglob("task-*.kept"))


class StopDrawing(Exception):
    """What ends a stream of rows in the middle."""


@pytest.mark.parametrize("wishes", [(), ("1:1 race",)], ids=["plain", "steered"])
def test_a_stream_of_rows_that_was_broken_off_goes_on_with_the_same_rows(data, tmp_path, wishes, monkeypatch):
    monkeypatch.setattr(chunks, "BATCH_ROWS", 100)
    fits, drawn = [], []
    learn, sample = ChainedTrees.fit.__func__, ChainedTrees._draw
    monkeypatch.setattr(ChainedTrees, "fit", classmethod(lambda *told, **more: fits.append(1) or learn(*told, **more)))

    def made(name, stop=None, folder=None):
        def watch(headway):
            if stop is not None and headway.done >= stop:
                raise StopDrawing

        options = eh.SynthOptions(presets=wishes, folder=folder)
        result = eh.synth(data, 550, seed=3, options=options)
        monkeypatch.setattr(ChainedTrees, "_draw", lambda self, n, *told: drawn.append(n) or sample(self, n, *told))
        try:
            result.write(tmp_path / name, watch)
        finally:
            monkeypatch.setattr(ChainedTrees, "_draw", sample)
        return (tmp_path / name).read_bytes(), result

    whole, _ = made("whole.csv")
    once, undisturbed = len(fits), len(drawn)
    fits.clear()
    drawn.clear()
    for stop in (200, 400):
        with pytest.raises(StopDrawing):
            made("broken.csv", stop, tmp_path / "kept")
        assert not (tmp_path / "broken.csv").exists()
    found, result = made("broken.csv", None, tmp_path / "kept")
    assert found == whole
    assert len(fits) == once, "it was learnt again"
    assert len(drawn) == undisturbed, "rows were drawn again"
    assert any("resumed" in note for note in result.notes)
    assert not list(tmp_path.rglob("task-*.kept")), "what nobody wants any longer stays"
