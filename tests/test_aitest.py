"""AITEST keeps the promises of every method, and finds more than random search where unfairness is common among real rows."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand import checks
from evenhand.engine.run import Plan, run
from evenhand.errors import InvalidArgument
from evenhand.methods.aitest import Aitest
from evenhand.models.budget import Budget
from evenhand.oracles.flip import LabelFlip


@pytest.mark.parametrize("check", checks.for_method(), ids=lambda check: check.__name__)
def test_aitest_keeps_every_promise(check):
    check(lambda: Aitest(seeds=200, lime_rows=200), checks.standard_subject())


@pytest.mark.parametrize("changed", [{"synthesiser": "trees"}, {"path_coverage": True, "paths": 8}, {"unfitted": "quantiles"}])
def test_its_variants_find_too(changed):
    subject = checks.standard_subject()
    found = run(Aitest(seeds=200, lime_rows=200, **changed), subject, Plan(1, Budget(candidates=2_000), LabelFlip()))
    assert found.ledger.findings > 0


@pytest.mark.parametrize("wrong", [{"seeds": 0}, {"synthesiser": "magic"}, {"prominent": 0.0}, {"reach": -1.0}, {"unfitted": "guess"}])
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(InvalidArgument):
        Aitest(**wrong)


def test_wishes_steer_the_seeds(tmp_path):
    subject = checks.standard_subject()
    column = next(c for at, c in enumerate(subject.domain.columns) if not c.is_listed and at not in subject.domain.protected_places)
    middle = float(np.floor((column.low + column.high) / 2))
    file = tmp_path / "wishes.yaml"
    file.write_text(f"modify:\n  - {{column: {column.name}, range: [{column.low}, {middle}]}}\n")
    from evenhand.contract import Task
    from evenhand.models.meter import Meter

    search = Aitest(seeds=100, rounds=1, wishes=str(file)).search(
        Task(subject.domain, Meter(subject.model), subject.rows), np.random.default_rng(0)
    )
    seeds = next(search).rows
    assert (seeds[:, subject.domain.place(column.name)] <= middle).all()
