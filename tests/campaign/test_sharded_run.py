"""One scan on many workers: the same findings whatever their number, counted once, budgets exact, finished shards never made again."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.campaign.executors.serial import Serial
from evenhand.campaign.executors.threads import Threads
from evenhand.campaign.shard_shelf import ShardShelf, bytes_of, run_from
from evenhand.campaign.sharded_run import shard_count, shard_plans
from evenhand.contract import TaskEnd
from evenhand.datasets.dataset import from_frame
from evenhand.engine.store import RunFolder
from evenhand.engine.subject import Plan
from evenhand.models.budget import Budget
from evenhand.planted import shapes

PLANTED = shapes()["wide_band"]


@dataclass(frozen=True)
class Shuffled:
    """Like one process, but its tasks end in another order; it counts them."""

    seen: list

    def carry_out(self, work, tasks):
        do = work.open()
        for place in np.random.default_rng(3).permutation(len(tasks)):
            self.seen.append(int(place))
            yield TaskEnd(int(place), do(tasks[place]))


@pytest.fixture(scope="module")
def data():
    rows = PLANTED.domain.sample(300, np.random.default_rng(0))
    frame = PLANTED.domain.decode(rows)
    frame["decision"] = np.array(["refused", "granted"])[PLANTED.model.scores(rows).argmax(axis=1)]
    return from_frame(frame, PLANTED.domain, "people").protect("group")


def scanned(data, executor, budget=Budget(candidates=2_000), **more):
    return eh.scan(PLANTED.model, data, methods=["themis"], budget=budget, seed=5, options=eh.Options(executor=executor, **more))


def assert_equal_findings(first, second):
    one, two = first.findings.findings, second.findings.findings
    for name in ("rows", "twins", "outcomes", "gap", "valid", "candidate", "answers"):
        assert np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True), name
    assert [run.ledger for run in first.runs] == [run.ledger for run in second.runs]
    assert first.anytime == second.anytime


def test_findings_are_the_same_whoever_works_in_whatever_order(data):
    one = scanned(data, Serial())
    assert_equal_findings(one, scanned(data, Shuffled([])))
    assert_equal_findings(one, scanned(data, Threads(3)))
    keys = data.domain.keys(one.findings.findings.rows)
    assert len(np.unique(keys)) == len(keys) == one.runs[0].ledger.findings > 0


@pytest.mark.slow
def test_findings_are_the_same_in_processes(data):
    from evenhand.campaign.executors.local import Local

    assert_equal_findings(scanned(data, Serial()), scanned(data, Local(2)))


@pytest.mark.parametrize("budget", [Budget(candidates=2_003), Budget(model_rows=3_001), Budget(candidates=100_007, model_rows=90_001)])
def test_the_parts_of_a_budget_add_up_to_it(budget):
    plans = shard_plans(Plan(7, budget), workers=2)
    assert len(plans) == shard_count(budget, 1) > 1
    for name in ("candidates", "model_rows"):
        whole = getattr(budget, name)
        assert whole is None or sum(getattr(plan.budget, name) for plan in plans) == whole
    assert len({plan.seed for plan in plans}) == len(plans)
    assert plans == shard_plans(Plan(7, budget), workers=9)


def test_a_budget_of_rows_is_exact_over_all_shards(data):
    asked = scanned(data, Serial(), Budget(model_rows=3_001)).runs[0].ledger.model_rows
    assert 2_990 <= asked <= 3_001


def test_finished_shards_are_taken_from_the_folder(data, tmp_path):
    whole = scanned(data, Serial(), folder=tmp_path / "undisturbed")
    scanned(data, Shuffled([]), folder=tmp_path / "runs")
    (folder,) = (tmp_path / "runs").iterdir()
    kept = sorted((folder / "shards").iterdir())
    assert len(kept) == 4
    kept[1].write_bytes(kept[1].read_bytes()[:-7])
    kept[2].unlink()
    (folder / "result.json").unlink()
    seen = []
    again = scanned(data, Shuffled(seen), folder=tmp_path / "runs")
    assert sorted(seen) == [0, 1]  # the damaged one and the missing one
    assert_equal_findings(whole, again)
    assert len(RunFolder.open(folder).findings()) == again.runs[0].ledger.findings
    assert "damaged" in [event["event"] for event in RunFolder.open(folder).events()]


def test_a_shard_is_read_back_as_it_was_written(data, tmp_path):
    (run,) = scanned(data, Serial()).runs
    back = run_from(bytes_of(replace(run, sample=run.findings.rows[:3])))
    assert bytes_of(back) == bytes_of(replace(run, sample=run.findings.rows[:3]))
    assert ShardShelf(tmp_path).kept(0) is None
