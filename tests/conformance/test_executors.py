"""Every registered executor keeps every promise; a new file in campaign/executors/ is covered the moment it exists."""

import pytest

from evenhand import checks
from evenhand.campaign.executors import EXECUTORS, executor_for
from evenhand.campaign.executors.parts.attempts import portable
from evenhand.campaign.executors.serial import Serial
from evenhand.errors import EvenhandError, InvalidArgument, MissingAbility, UnknownName

SLOW = {"dask", "local"}  # they start processes


@pytest.mark.parametrize("check", checks.for_executor(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in EXECUTORS.entries()])
def test_every_executor_keeps_every_promise(name, check):
    with checks.executor_example(name) as executor:
        check(executor)


def test_local_processes_give_the_answers_of_this_one():
    checks.check_answers_are_those_of_this_process(EXECUTORS.make("local", {"workers": 2}))


def test_who_works_follows_from_what_is_named():
    assert executor_for(None) is None
    assert executor_for(1) == Serial()
    assert type(executor_for(3)).__name__ == "Local"
    with pytest.raises(InvalidArgument, match="name one of them"):
        executor_for(2, "tcp://127.0.0.1:1")


@pytest.mark.parametrize("fault", [UnknownName("method", "adff", ["adf"]), MissingAbility("no gradients"), EvenhandError("x")])
def test_a_fault_keeps_its_words_and_its_kind_on_the_way_back(fault):
    import pickle

    back = pickle.loads(pickle.dumps(portable(fault)))
    assert str(back) == str(fault)
    assert isinstance(fault, type(back))
    assert type(back) is not EvenhandError or type(fault) is EvenhandError


@pytest.mark.slow
def test_processes_wait_for_the_next_work_and_are_replaced_when_they_have_gone(monkeypatch):
    psutil = pytest.importorskip("psutil")
    from evenhand.campaign.executors import local
    from evenhand.checks.executor_checks import check_answers_are_those_of_this_process as check

    def workers():
        return [
            each for each in psutil.Process().children() if "loky" in " ".join(each.cmdline()) and "tracker" not in " ".join(each.cmdline())
        ]

    local.WAITING.end()
    check(local.Local(2))
    first = {each.pid for each in workers()}
    check(local.Local(2))
    assert {each.pid for each in workers()} == first, "the second work had to wait for new processes"
    workers()[0].kill()
    check(local.Local(2))
    monkeypatch.setattr(local, "IDLE_SECONDS", 0.3)
    check(local.Local(2))
    psutil.wait_procs(workers(), timeout=20)
    assert not workers(), "idle processes stay"
    check(local.Local(2))
