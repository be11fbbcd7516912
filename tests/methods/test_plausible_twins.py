"""A finding counts where plausible people show it: the twin is judged as the person is, and the rest is set aside, not lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from evenhand.domain.columns import Column
from evenhand.domain.shown_twins import is_believable
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.engine.run import Plan, Run, Subject, run
from evenhand.methods.evenhand import Evenhand, Walking
from evenhand.methods.parts.known_share import KnownShare
from evenhand.models.budget import Budget

DOMAIN = TabularDomain(
    (Column("age", "category", ("young", "grown", "old")), *(Column(f"c{at}", "integer", low=0, high=30) for at in range(5))),
    protected=("age",),
    label=Label("loan", ("no", "yes"), ("yes",)),
)


def people(n: int = 2000) -> np.ndarray:
    """Nobody is both old and below 20 in the first column."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 3, n), rng.integers(0, 31, (n, 5))]).astype(float)
    rows[rows[:, 1] < 20, 0] = rng.integers(0, 2, int((rows[:, 1] < 20).sum()))
    return rows


@dataclass(frozen=True)
class OldsAreRefused:
    """The old are treated otherwise, everybody else alike; or nobody is but those whom the data does not know."""

    only_unknown: bool = False
    classes: tuple[Any, ...] = ("no", "yes")
    is_hard: bool = True
    batch_rows: int = 8192

    def scores(self, rows: np.ndarray) -> np.ndarray:
        refused = (rows[:, 0] == 2) & ((rows[:, 1] < 20) | (not self.only_unknown))
        return np.eye(2)[1 - refused.astype(int)]

    def fingerprint(self) -> str:
        return f"olds {self.only_unknown}"


def found(model: OldsAreRefused) -> Run:
    return run(Evenhand(), Subject(DOMAIN, model, people()), Plan(3, Budget(candidates=4000)))


def test_findings_that_only_an_implausible_twin_shows_are_set_aside_and_counted_in_words():
    done = found(OldsAreRefused())
    assert done.aside is not None
    assert (done.findings.rows[:, 1] >= 20).mean() > 0.97
    assert (done.aside.rows[:, 1] < 20).any()
    assert "set_aside" in done.facts
    assert done.ledger.findings == len(done.findings)


def test_where_nobody_plausible_is_treated_so_the_others_are_the_findings_and_that_is_said():
    done = found(OldsAreRefused(only_unknown=True))
    assert len(done.findings) == done.ledger.findings > 0
    assert (done.findings.rows[:, 1] < 20).all()
    assert "none" in done.facts["plausible_findings"]


def test_twins_that_nobody_would_believe_do_not_make_a_pair():
    labels = np.array([[0, 1, 1], [0, 0, 1], [0, -1, 1]])
    likely = np.array([[-1.0, -2.0, -np.inf], [-1.0, -2.0, -np.inf], [-1.0, -3.0, -9.0]])
    assert is_believable(labels, likely).tolist() == [True, False, True]


def test_a_search_goes_on_to_people_with_implausible_twins_once_the_plausible_pairs_are_known():
    domain = replace(DOMAIN, columns=DOMAIN.columns[:4])
    subject = Subject(domain, OldsAreRefused(), people(4000)[:, :4])
    done = run(Evenhand(learnt_cells=16_000), subject, Plan(3, Budget(candidates=16_000)))
    assert done.facts["known_share"] > 0.83  # pairs are left where about nine tenths are known
    assert "stopped" not in done.facts
    assert done.aside is not None
    assert len(done.findings) + len(done.aside) == done.ledger.candidates == 16_000  # here everybody is treated so
    assert (done.findings.rows[:, 1] >= 20).mean() > 0.97


@dataclass(frozen=True)
class RefusedAtTheEdge(OldsAreRefused):
    """The old are treated otherwise whom the data does not know, and few others."""

    def scores(self, rows: np.ndarray) -> np.ndarray:
        few = (rows[:, 1] == 20) & (rows[:, 2] < 8)
        refused = (rows[:, 0] == 2) & (few | (rows[:, 1] < 20))
        return np.eye(2)[1 - refused.astype(int)]


@pytest.mark.parametrize(("model", "is_told"), [(OldsAreRefused(), True), (RefusedAtTheEdge(), False)])
def test_walks_over_pairs_end_where_fresh_draws_or_the_other_walks_tell_that_they_are_known(model, is_told, monkeypatch):
    """At the edge some 120 pairs are plausible: that walks over anybody find several times as many people tells it without any draw."""
    left, plainly = [], Walking._leave_pairs
    monkeypatch.setattr(Walking, "_leave_pairs", lambda self: left.append(self.task.left()) or plainly(self))
    if not is_told:
        monkeypatch.setattr(KnownShare, "is_nine_tenths", lambda _share, _draws: False)
    subject = Subject(replace(DOMAIN, columns=DOMAIN.columns[:4]), model, people(4000)[:, :4])
    done, *_ = (run(Evenhand(learnt_cells=16_000), subject, Plan(seed, Budget(candidates=24_000))) for seed in (4, 5, 6))
    assert len(left) == 3  # once in each run
    assert sorted(left)[1] > 0.1  # and not at the very end
    assert done.aside is not None
    assert len(done.aside) > len(done.findings) > 80
