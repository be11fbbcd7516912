"""What every oracle promises, as checks that anyone can run on their own oracle.

Each check takes a way to make the oracle and a subject, and raises AssertionError with the broken promise.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.arrays import Mask, Rows
from evenhand.contract import Oracle, PairOracle, Verdict, parameters
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.findings import findings_of
from evenhand.engine.header import header_of
from evenhand.engine.run import run
from evenhand.engine.shrunk_findings import Hearing
from evenhand.engine.store import RunFolder
from evenhand.engine.subject import Plan, Subject
from evenhand.engine.witness import replay, witnesses_of
from evenhand.methods.themis import Themis
from evenhand.models.budget import Budget
from evenhand.models.meter import Meter
from evenhand.oracles import oracle_of, oracle_text, ready

MakeOracle = Callable[[], Oracle]
OracleCheck = Callable[[MakeOracle, Subject], None]

ROWS = 300
"""Judged in each check."""


def for_oracle() -> tuple[OracleCheck, ...]:
    """Every check, in the order in which a new oracle usually fails them."""
    return (
        check_parameters_rebuild_the_oracle,
        check_a_verdict_has_the_shape_of_its_rows,
        check_nobody_is_judged_in_an_empty_batch,
        check_the_same_rows_get_the_same_verdict,
        check_alone_or_in_a_batch_makes_no_difference,
        check_the_order_of_rows_is_kept,
        check_impossible_people_are_never_shown,
        check_a_person_without_possible_twins_is_not_unfair,
        check_the_announced_rows_are_asked,
        check_the_rows_are_left_as_they_are,
        check_a_finding_is_what_the_model_was_asked_about,
        check_a_witness_is_replayed_as_it_was_found,
        check_a_resumed_run_finds_the_same,
    )


@dataclass(frozen=True, eq=False)
class _Bench:
    """An oracle that is ready to judge, the rows, and a meter that remembers what was asked."""

    oracle: Oracle
    subject: Subject
    rows: Rows

    def judge(self, rows: Rows) -> Verdict:
        return self.oracle.judge(rows, self.subject.domain, Meter(self.subject.model))


def _bench(make: MakeOracle, subject: Subject) -> _Bench:
    rng = np.random.default_rng(6)
    real = subject.rows if subject.rows is not None and len(subject.rows) else subject.domain.sample(ROWS, rng)
    chosen = real if len(real) <= ROWS else real[np.sort(rng.choice(len(real), ROWS, replace=False))]
    return _Bench(ready(make(), subject.rows, subject.domain, Meter(subject.model)), subject, chosen)


def check_parameters_rebuild_the_oracle(make: MakeOracle, _: Subject) -> None:
    """Parameters are frozen fields, the fields rebuild the oracle, and so does the line that a header keeps."""
    made: Any = make()
    assert is_dataclass(type(made)), f"{type(made).__name__} must be a dataclass"
    assert getattr(type(made), "__dataclass_params__").frozen, f"{type(made).__name__} must be frozen"  # noqa: B009
    assert type(made)(**parameters(made)) == made, "the oracle's fields must rebuild it"
    line = oracle_text(made)
    if line != repr(made):
        assert oracle_of(line) == made, f"the line {line!r} makes another oracle"


def check_a_verdict_has_the_shape_of_its_rows(make: MakeOracle, subject: Subject) -> None:
    """One entry per row, labels for every combination, gaps that are numbers, a pair for every unfair row where pairs are shown."""
    bench = _bench(make, subject)
    verdict, n = bench.judge(bench.rows), len(bench.rows)
    assert verdict.unfair.shape == (n,), f"unfair has the shape {verdict.unfair.shape}, expected ({n},)"
    assert verdict.unfair.dtype == bool, f"unfair is {verdict.unfair.dtype}, expected bool"
    assert verdict.gap.shape == (n,), f"gap has the shape {verdict.gap.shape}, expected ({n},)"
    assert np.isfinite(verdict.gap).all(), "a gap is no number"
    assert (verdict.gap >= 0).all(), "a gap is negative"
    expected = (n, len(subject.domain.combinations))
    assert verdict.labels.shape == expected, f"labels have the shape {verdict.labels.shape}, expected {expected}"
    if verdict.pairs is not None:
        assert len(verdict.pairs) == verdict.unfair.sum(), f"{len(verdict.pairs)} pairs for {verdict.unfair.sum()} unfair rows"


def check_nobody_is_judged_in_an_empty_batch(make: MakeOracle, subject: Subject) -> None:
    """No rows, no verdicts, no crash."""
    bench = _bench(make, subject)
    assert len(bench.judge(bench.rows[:0])) == 0, "an empty batch got verdicts"


def check_the_same_rows_get_the_same_verdict(make: MakeOracle, subject: Subject) -> None:
    """Judged twice, by two oracles that were made alike."""
    first, second = (_bench(make, subject) for _ in range(2))
    _assert_alike(first.judge(first.rows), second.judge(second.rows), "two oracles made alike judge differently")


def check_alone_or_in_a_batch_makes_no_difference(make: MakeOracle, subject: Subject) -> None:
    """A row gets its verdict whoever else is judged."""
    bench = _bench(make, subject)
    whole = bench.judge(bench.rows)
    for at in range(0, len(bench.rows), max(1, len(bench.rows) // 12)):
        _assert_alike(bench.judge(bench.rows[at : at + 1]), _part(whole, slice(at, at + 1)), f"row {at} is judged differently alone")


def check_the_order_of_rows_is_kept(make: MakeOracle, subject: Subject) -> None:
    """Turned around, the verdicts turn around too."""
    bench = _bench(make, subject)
    turned = bench.judge(bench.rows[::-1].copy())
    whole = bench.judge(bench.rows)
    assert np.array_equal(turned.unfair[::-1], whole.unfair), "verdicts do not stand in the order of their rows"
    if whole.pairs is not None and turned.pairs is not None:
        assert _equal(turned.pairs.partners[::-1], whole.pairs.partners), "pairs do not stand in the order of their rows"


def check_impossible_people_are_never_shown(make: MakeOracle, subject: Subject) -> None:
    """Both people of a finding keep the domain's ranges, and the partner its constraints."""
    bench = _bench(make, subject)
    found = findings_of(bench.rows, bench.judge(bench.rows), subject.domain, np.arange(len(bench.rows)), "check")
    assert subject.domain.inside(found.rows).all(), "a finding lies outside the domain"
    assert subject.domain.contains(found.twins).all(), "a finding shows a twin who cannot exist"


def check_a_person_without_possible_twins_is_not_unfair(make: MakeOracle, subject: Subject) -> None:
    """Where a constraint leaves one protected combination, nobody of another group is compared."""
    alone = replace(subject.domain, constraints=(*subject.domain.constraints, _OneGroup(subject.domain)))
    bench = _bench(make, replace(subject, domain=alone))
    verdict = bench.judge(bench.rows)
    known = (verdict.labels >= 0).sum(axis=1)
    assert (known <= 1).all(), "a label is told for a twin who cannot exist"
    found = findings_of(bench.rows, verdict, alone, np.arange(len(bench.rows)), "check")
    places = list(alone.protected_places)
    assert _equal(found.rows[:, places], found.twins[:, places]), "a person is called unfair against a twin who cannot exist"


def check_the_announced_rows_are_asked(make: MakeOracle, subject: Subject) -> None:
    """The model is asked for no more rows than announced, and for all of them where everybody is possible."""
    bench = _bench(make, subject)
    meter = Meter(subject.model)
    verdict = bench.oracle.judge(bench.rows, subject.domain, meter)
    announced = len(bench.rows) * bench.oracle.rows_per_candidate(subject.domain)
    assert meter.rows_asked <= announced, f"{meter.rows_asked} rows were asked, {announced} announced"
    if (verdict.labels >= 0).all():
        assert meter.rows_asked == announced, f"{meter.rows_asked} rows were asked, {announced} announced"


def check_the_rows_are_left_as_they_are(make: MakeOracle, subject: Subject) -> None:
    """What is judged is read, never changed."""
    bench = _bench(make, subject)
    before = bench.rows.copy()
    bench.judge(bench.rows)
    assert _equal(before, bench.rows), "the oracle changed the rows that it judged"


def check_a_finding_is_what_the_model_was_asked_about(make: MakeOracle, subject: Subject) -> None:
    """Both people of every finding were among the rows that the model saw, and judged as a pair they are unfair."""
    bench = _bench(make, subject)
    seen: list[Rows] = []
    spied = _Spied(subject.model, seen)
    verdict = bench.oracle.judge(bench.rows, subject.domain, Meter(spied))
    found = findings_of(bench.rows, verdict, subject.domain, np.arange(len(bench.rows)), "check")
    asked = {row.tobytes() for rows in seen for row in np.ascontiguousarray(rows + 0.0)}
    for people in (found.rows, found.twins):
        assert all(row.tobytes() in asked for row in np.ascontiguousarray(people + 0.0)), "a finding shows somebody who was never asked"
    if isinstance(bench.oracle, PairOracle) and len(found):
        again = bench.oracle.judge_pairs(found.rows, found.twins, subject.domain, Meter(subject.model))
        assert again.unfair.all(), "a finding is fair when its two people are judged as a pair"


def check_a_witness_is_replayed_as_it_was_found(make: MakeOracle, subject: Subject) -> None:
    """A shrunk finding, written down and asked again, is still unfair, with the same two outcomes."""
    bench = _bench(make, subject)
    found = findings_of(bench.rows, bench.judge(bench.rows), subject.domain, np.arange(len(bench.rows)), "check")[:6]
    for kept in witnesses_of(found, subject.rows, Hearing(subject.domain, subject.model, bench.oracle)):
        again = replay(kept, subject.domain, subject.model)
        assert again.is_unfair, f"the witness {kept.id} is fair when it is replayed: {kept.sentence}"
        same = (again.outcome, again.twin_outcome) == (kept.outcome, kept.twin_outcome)
        assert same, f"the witness {kept.id} said {kept.outcome!r} and {kept.twin_outcome!r}, the replay says otherwise"


def check_a_resumed_run_finds_the_same(make: MakeOracle, subject: Subject) -> None:
    """Continued from its journal, a run ends with the findings of the first one, pair by pair."""
    bench = _bench(make, subject)
    plan = Plan(3, Budget(candidates=200), bench.oracle)
    header = header_of("scan", subject, "check", plan).for_run(Themis())
    with tempfile.TemporaryDirectory() as base:
        first, second = (run(Themis(), subject, plan, RunFolder.for_header(Path(base), header)) for _ in range(2))
    for name in ("rows", "twins", "outcomes", "gap"):
        assert _equal(getattr(first.findings, name), getattr(second.findings, name)), f"a resumed run has other {name}"
    judged = first.ledger.candidates - first.ledger.duplicates
    if first.ledger.model_rows == judged * bench.oracle.rows_per_candidate(subject.domain):  # nobody was impossible or remembered
        assert first.ledger.model_rows == second.ledger.model_rows, "a resumed run counts other model rows"


def _assert_alike(first: Verdict, second: Verdict, message: str) -> None:
    assert np.array_equal(first.unfair, second.unfair), message
    assert np.array_equal(first.labels, second.labels), message
    assert np.allclose(first.gap, second.gap), message
    if first.pairs is not None and second.pairs is not None:
        assert _equal(first.pairs.rows, second.pairs.rows), f"{message}: it shows somebody else"
        assert _equal(first.pairs.partners, second.pairs.partners), f"{message}: it shows another partner"


def _part(verdict: Verdict, chosen: slice) -> Verdict:
    number = np.cumsum(verdict.unfair) - 1
    pairs = None if verdict.pairs is None else verdict.pairs[number[chosen][verdict.unfair[chosen]]]
    return Verdict(verdict.unfair[chosen], verdict.gap[chosen], verdict.labels[chosen], pairs)


def _equal(first: Rows, second: Rows) -> bool:
    return bool(np.array_equal(first, second, equal_nan=True))


class _OneGroup:
    """A constraint that leaves the first protected combination alone."""

    text = "only the first protected combination"

    def __init__(self, domain: TabularDomain) -> None:
        self._places, self._codes = list(domain.protected_places), domain.combinations[0]

    def holds(self, rows: Rows) -> Mask:
        """Which rows are of that group."""
        mask: Mask = (rows[:, self._places] == self._codes).all(axis=1)
        return mask


class _Spied:
    """A model that is overheard."""

    def __init__(self, model: Any, seen: list[Rows]) -> None:
        self._model, self._seen = model, seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def scores(self, rows: Rows) -> Any:
        """The model's scores."""
        self._seen.append(np.array(rows))
        return self._model.scores(rows)

    def detections(self, rows: Rows) -> Any:
        """The model's objects."""
        self._seen.append(np.array(rows))
        return self._model.detections(rows)
