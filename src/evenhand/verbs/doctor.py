"""doctor(): a model's wiring, checked before anything it says is trusted; every check is a sentence with ok, warn or fail."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arrays import Labels, Rows
from evenhand.claims import Claim
from evenhand.contract import Model, Outcome
from evenhand.datasets.albums.missing_by_group import UNEQUAL
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.gate import Gate, checks_of
from evenhand.engine.header import Header, header_of
from evenhand.engine.preflight import RowsAtHand, look, trial_size
from evenhand.engine.result import Telling, result_dict
from evenhand.engine.subject import Data, Subject
from evenhand.engine.wiring_checks import Check, Patient, Status, unused_columns
from evenhand.errors import InvalidArgument, ModelError
from evenhand.limits import TwoOrMore, check_argument
from evenhand.models.readings import proposed_for
from evenhand.report.rendered import Rendered
from evenhand.verbs.announced_rows import LATENCY_TIMES, rows_for_columns

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Cost:
    """What a scan would take of the model."""

    candidates: int
    rows: int
    seconds: float

    def __str__(self) -> str:
        taken = f"about {_duration(self.seconds)}" if np.isfinite(self.seconds) else "for a time that is not known"
        return f"{self.candidates:,} candidates: {self.rows:,} model rows, {taken}"


@dataclass(frozen=True)
class Examination:
    """All checks, and how fast the model answers."""

    checks: tuple[Check, ...]
    latency_seconds: float = float("nan")  # one row alone
    rows_per_second: float = float("nan")  # in batches
    rows_per_candidate: int = 1
    rows_asked: int = 0

    @property
    def status(self) -> Status:
        """The worst of all checks."""
        found = {check.status for check in self.checks}
        return "fail" if "fail" in found else "warn" if "warn" in found else "ok"

    def check(self, name: str) -> Check:
        """The check of this name."""
        for check in self.checks:
            if check.name == name:
                return check
        raise InvalidArgument(f"name={name!r} is no check of this examination; it has {', '.join(c.name for c in self.checks)}")

    def cost(self, candidates: int) -> Cost:
        """What a scan of so many candidates would take of the model."""
        rows = candidates * self.rows_per_candidate
        return Cost(candidates, rows, rows / self.rows_per_second)


@dataclass(frozen=True, repr=False)
class DoctorResult(Rendered):
    """What was looked at, and what a scan would cost.  A check that fails means that no answer of the model should be trusted."""

    header: Header
    examination: Examination
    candidates: int
    broken_rules: Mapping[str, float]  # the domain's rules, and the share of the data's rows that break each
    left_out: int = 0  # rows of the data outside the domain or without a label
    proposed: tuple[str, ...] = ()  # lines of evenhand.yaml that declare how answers are read

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that fail."""
        return tuple(check for check in self.examination.checks if check.status == "fail")

    @property
    def outcome(self) -> Outcome:
        """Nothing can be said about a model that is wired wrongly."""
        return Gate.rule(Claim("wiring", open=self.reason if self.failed or self.doubtful else "", holds=self.reason)).outcome

    @property
    def doubtful(self) -> tuple[Check, ...]:
        """The checks that keep a model from passing although they do not fail."""
        return tuple(check for check in self.examination.checks if (check.is_doubt or check.is_reserve) and check.status != "fail")

    @property
    def reason(self) -> str:
        """How many checks hold."""
        count = len(self.examination.checks)
        if self.failed:
            return f"{len(self.failed)} of {count} checks fail: {', '.join(check.name for check in self.failed)}"
        warned = sum(check.status == "warn" for check in self.examination.checks)
        doubted = f": {', '.join(check.name for check in self.doubtful)} would keep it from passing" if self.doubtful else ""
        return f"none of {count} checks fails" + (f"; {warned} warn{'s' if warned == 1 else ''}" if warned else "") + doubted

    @property
    def cost(self) -> Cost:
        """What the scan would take."""
        return self.examination.cost(self.candidates)

    def summary(self) -> str:
        """One line for each check."""
        lines = [f"{check.status:4} {check.name}: {check.sentence}" for check in self.examination.checks]
        lines += [f"data {rule}: broken by {share:.2%} of the rows" for rule, share in self.broken_rules.items()]
        lines += [f"data {self.left_out:,} rows lie outside the domain or have no label, and are left out"] if self.left_out else []
        lines += [f"cost {self.cost}"]
        lines += [
            "below `model:` in evenhand.yaml, these lines make the reading certain:",
            *(f"  {each}" for each in self.proposed),
        ] * bool(self.proposed)
        return "\n".join(lines)

    def frame(self) -> pd.DataFrame:
        """One row for each check."""
        import pandas as pd

        return pd.DataFrame([asdict(check) for check in self.examination.checks])

    def as_dict(self) -> dict[str, Any]:
        """The versioned JSON that every rendering reads."""
        checks = checks_of(_claim(check) for check in self.examination.checks)
        body = {
            "cost": asdict(self.cost),
            "data_breaks": dict(self.broken_rules),
            "left_out": self.left_out,
            "proposed": list(self.proposed),
        }
        return result_dict(self, Telling([f"{self.reason}.", f"A scan of {self.cost}."], checks, (), body))


def _claim(check: Check) -> Claim:
    told = check.sentence
    return Claim(check.name, open=told if check.status == "warn" else "", holds=told, failed=told if check.status == "fail" else "")


def doctor(model: Model, data: Data, *, rows: int | None = None, candidates: int = 100_000) -> DoctorResult:
    """Check the model's wiring before anything it says is trusted.

    model, data: as for `scan`.  rows: how many the model is asked about, in several ways; 400 in this process, 150 of an endpoint, 48 of
    what is shown pictures, scenes or texts.
    candidates: says what a scan of so many would cost.

    >>> import evenhand as eh
    >>> data = eh.open("credit", protected=["age"])
    >>> model = eh.wrap(lambda frame: 150 - frame["age"] - frame["duration"], data, returns="score", threshold=90)
    >>> eh.doctor(model, data).outcome  # it is no better than guessing
    'inconclusive'
    """
    labels = data.labels if data.domain.has_classes else None
    medium = getattr(data, "medium", None)
    found = _examined(
        model, data.domain, RowsAtHand(data.rows, labels, rows or trial_size(model, medium), medium, getattr(data, "amounts", None))
    )
    if missing := getattr(medium, "left_out", ""):
        found = replace(found, checks=(*found.checks, Check("pictures", "warn" if UNEQUAL in missing else "ok", f"{missing}.")))
    subject = Subject(data.domain, model, data.rows, labels, medium=medium)
    header = header_of("doctor", subject, data.name, None, {"rows_asked": found.rows_asked, "candidates": candidates})
    broken = data.domain.broken_shares(data.rows)
    proposed = proposed_for(model)
    return DoctorResult(header, found, candidates, broken, int(getattr(data, "left_out", 0)), proposed.lines if proposed else ())


def examine(
    model: Model, domain: TabularDomain, rows: Rows | None = None, labels: Labels | None = None, n: int | None = None
) -> Examination:
    """Ask the model about up to `n` rows in several ways and report what does not fit together.

    Without rows it is asked about rows drawn from the domain; without labels the checks that need them are left out.
    """
    if n is not None:
        check_argument(TwoOrMore, n=n)
    if rows is not None and len(rows) < 2:
        raise InvalidArgument(f"rows has shape {rows.shape}; expected at least two rows of {len(domain.columns)} columns")
    return _examined(model, domain, RowsAtHand(rows, labels, n or trial_size(model)))


def _examined(model: Model, domain: TabularDomain, given: RowsAtHand) -> Examination:
    per_candidate = len(domain.combinations) if domain.protected else 1
    try:
        looked = look(model, domain, given)
        patient = looked.patient
        said = "one finite score per class" if patient.scores.shape[1] > 1 else "one finite amount each"
        checks = [Check("answers", "ok", f"it answered {len(patient.rows):,} rows with {said}."), *looked.checks]
        if not patient.domain.numbers_things:  # such columns say which picture is shown, and which change or twin of it
            checks.append(unused_columns(patient, rows_for_columns(model)))
        latency, speed = _latency(patient), _speed(patient, bool(getattr(model, "is_costly", False)))
    except ModelError as fault:
        return Examination((Check("answers", "fail", f"it does not answer as a model should: {fault}"),), rows_per_candidate=per_candidate)
    result = Examination(tuple(checks), latency, speed, per_candidate, patient.model.rows_asked)
    return replace(result, checks=(*checks, _speed_check(result)))


def _latency(patient: Patient, times: int = LATENCY_TIMES) -> float:
    """The middle of a few askings of one row."""
    found = []
    for at in range(times):
        row = patient.rows[at % len(patient.rows)][None]
        started = time.perf_counter()
        patient.model.scores(row)
        found.append(time.perf_counter() - started)
    return float(np.median(found))


def _speed(patient: Patient, is_costly: bool, patience_seconds: float = 1.0) -> float:
    """Rows per second in batches of the model's own size, or smaller ones when it is slow; of an endpoint, what the first asking took."""
    if is_costly:
        return len(patient.rows) / max(patient.seconds, 1e-9)
    batch = patient.rows[: patient.model.batch_rows]
    while True:
        started = time.perf_counter()
        patient.model.scores(batch)
        taken = max(time.perf_counter() - started, 1e-9)
        if len(batch) >= patient.model.batch_rows or taken * 4 > patience_seconds:
            return len(batch) / taken
        batch = np.concatenate([batch] * 4)[: patient.model.batch_rows]


def _speed_check(result: Examination) -> Check:
    cost = result.cost(100_000)
    sentence = (
        f"one row alone takes {_duration(result.latency_seconds)}, batches run at {result.rows_per_second:,.0f} rows a second; "
        f"a scan of {cost}."
    )
    return Check("speed", "warn" if cost.seconds > 3600 else "ok", sentence)


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 120 else f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
