"""doctor(): a model's wiring, checked before anything it says is trusted; every check is a sentence with ok, warn or fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.arrays import Labels, Mask, Rows, Scores
from evenhand.contract import Model, Outcome, labels_of
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.header import Header, header_of
from evenhand.engine.result import Telling, result_dict
from evenhand.engine.subject import Data, Subject
from evenhand.errors import InvalidArgument, ModelError
from evenhand.models.inputs import probe_places, probe_rows
from evenhand.models.meter import Meter
from evenhand.report.rendered import Rendered

if TYPE_CHECKING:
    import pandas as pd

Status = Literal["ok", "warn", "fail"]

SAME = 1e-4
"""Scores that differ by no more are the same answer: float32 sums depend on their order."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    status: Status
    sentence: str


@dataclass(frozen=True)
class Cost:
    """What a scan would take of the model."""

    candidates: int
    rows: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.candidates:,} candidates: {self.rows:,} model rows, about {_duration(self.seconds)}"


@dataclass(frozen=True)
class Examination:
    """All checks, and how fast the model answers."""

    checks: tuple[Check, ...]
    latency_seconds: float = float("nan")  # one row alone
    rows_per_second: float = float("nan")  # in batches
    rows_per_candidate: int = 1

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
    left_out: int = 0  # rows of the data outside the domain

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that fail."""
        return tuple(check for check in self.examination.checks if check.status == "fail")

    @property
    def outcome(self) -> Outcome:
        """Nothing can be said about a model that is wired wrongly."""
        return "inconclusive" if self.failed else "pass"

    @property
    def reason(self) -> str:
        """How many checks hold."""
        count = len(self.examination.checks)
        if self.failed:
            return f"{len(self.failed)} of {count} checks fail: {', '.join(check.name for check in self.failed)}"
        warned = sum(check.status == "warn" for check in self.examination.checks)
        return f"none of {count} checks fails" + (f"; {warned} warn" if warned else "")

    @property
    def cost(self) -> Cost:
        """What the scan would take."""
        return self.examination.cost(self.candidates)

    def summary(self) -> str:
        """One line for each check."""
        lines = [f"{check.status:4} {check.name}: {check.sentence}" for check in self.examination.checks]
        lines += [f"data {rule}: broken by {share:.2%} of the rows" for rule, share in self.broken_rules.items()]
        lines += [f"data {self.left_out:,} rows lie outside the domain and are left out"] if self.left_out else []
        return "\n".join([*lines, f"cost {self.cost}"])

    def frame(self) -> pd.DataFrame:
        """One row for each check."""
        import pandas as pd

        return pd.DataFrame([asdict(check) for check in self.examination.checks])

    def as_dict(self) -> dict[str, Any]:
        """The versioned JSON that every rendering reads."""
        outcomes = {"ok": "pass", "warn": "inconclusive", "fail": "failed"}
        checks = [{"name": c.name, "outcome": outcomes[c.status], "message": c.sentence} for c in self.examination.checks]
        body = {"cost": asdict(self.cost), "data_breaks": dict(self.broken_rules), "left_out": self.left_out}
        return result_dict(self, Telling([f"{self.reason}.", f"A scan of {self.cost}."], checks, (), body))


def doctor(model: Model, data: Data, *, rows: int = 1000, candidates: int = 100_000) -> DoctorResult:
    """Check the model's wiring before anything it says is trusted.

    model, data: as for `scan`.  rows: how many the model is asked about, in several ways.
    candidates: says what a scan of so many would cost.
    """
    labels = data.labels if data.domain.has_classes else None
    found = examine(model, data.domain, data.rows, labels, rows)
    subject = Subject(data.domain, model, data.rows, labels, medium=getattr(data, "medium", None))
    header = header_of("doctor", subject, data.name, None, {"rows_asked": rows, "candidates": candidates})
    broken = data.domain.broken_shares(data.rows)
    return DoctorResult(header, found, candidates, broken, int(getattr(data, "left_out", 0)))


@dataclass(frozen=True)
class _Patient:
    """What every check looks at: the model, rows, their labels when known, and the scores of the first asking."""

    model: Meter
    domain: TabularDomain
    rows: Rows
    labels: Labels | None
    scores: Scores = field(default_factory=lambda: np.zeros((0, 2)))

    @property
    def said(self) -> Labels:
        """The labels that the model gives."""
        return labels_of(self.scores)

    @property
    def is_regression(self) -> bool:
        """Whether it answers one amount, and no class."""
        return len(self.model.classes) == 1

    @property
    def favourable(self) -> Mask:
        """Which classes are favourable."""
        wanted = self.domain.label.favourable if self.domain.label else ()
        return np.array([name in wanted for name in self.model.classes])


def examine(model: Model, domain: TabularDomain, rows: Rows | None = None, labels: Labels | None = None, n: int = 1000) -> Examination:
    """Ask the model about up to `n` rows in several ways and report what does not fit together.

    Without rows it is asked about rows drawn from the domain; without labels the checks that need them are left out.
    """
    if n < 2:
        raise InvalidArgument(f"n={n!r} must be at least 2")
    rows, labels = _chosen(domain, rows, labels, n)
    meter = Meter(model)
    try:
        patient = _Patient(meter, domain, rows, labels, meter.scores(rows))
        checks = [Check("answers", "ok", f"it answered {len(rows):,} rows with one finite score per class.")]
        checks += [check for look in _LOOKS for check in look(patient)]
        latency, speed = _latency(patient), _speed(patient)
    except ModelError as fault:
        return Examination((Check("answers", "fail", f"it does not answer as a model should: {fault}"),))
    per_candidate = len(domain.combinations) if domain.protected else 1
    result = Examination(tuple(checks), latency, speed, per_candidate)
    return Examination((*checks, _speed_check(result)), latency, speed, per_candidate)


def _chosen(domain: TabularDomain, rows: Rows | None, labels: Labels | None, n: int) -> tuple[Rows, Labels | None]:
    """At most n rows, spread over the table."""
    if rows is None:
        return probe_rows(domain, n), None
    if rows.ndim != 2 or rows.shape[1] != len(domain.columns) or len(rows) < 2:
        raise InvalidArgument(f"rows has shape {rows.shape}; expected at least two rows of {len(domain.columns)} columns")
    if labels is not None and len(labels) != len(rows):
        raise InvalidArgument(f"labels has {len(labels)} entries for {len(rows)} rows")
    places = probe_places(len(rows), n)
    return rows[places], None if labels is None else np.asarray(labels)[places]


def _deterministic(patient: _Patient) -> Iterator[Check]:
    again = patient.model.scores(patient.rows)
    moved = np.abs(again - patient.scores).max(axis=1) > SAME
    flipped = int((labels_of(again) != patient.said).sum())
    if flipped:
        yield Check(
            "deterministic",
            "fail",
            f"asked twice, it changed its label for {flipped:,} of {len(moved):,} rows; findings could not be replayed.  "
            "Fix its seed, or switch off dropout and training mode.",
        )
    elif moved.any():
        yield Check("deterministic", "warn", f"asked twice, its scores moved for {moved.sum():,} of {len(moved):,} rows, its labels never.")
    else:
        yield Check("deterministic", "ok", "asked twice, it gave the same scores.")


def _batch(patient: _Patient) -> Iterator[Check]:
    few = patient.rows[:8]
    alone = np.concatenate([patient.model.scores(row[None]) for row in few])
    difference = float(np.abs(alone - patient.scores[: len(few)]).max())
    if difference > 10 * SAME:
        yield Check(
            "batch equals single",
            "fail",
            f"a row alone gets scores up to {difference:.3g} away from the same row in a batch; its answers depend on the company "
            "(batch norm in training mode, or scaling by the batch?).",
        )
    else:
        yield Check("batch equals single", "ok", "rows alone and in a batch get the same scores.")


def _kind(patient: _Patient) -> Iterator[Check]:
    if patient.model.is_hard:
        yield Check("scores", "warn", "it only says labels: methods that need scores or gradients cannot be used, score gaps are 0 or 1.")
    else:
        what = "one amount for each row" if patient.is_regression else f"scores for {len(patient.model.classes)} classes"
        yield Check("scores", "ok", f"it gives {what}.")


def _constant(patient: _Patient) -> Iterator[Check]:
    spread = float(np.ptp(patient.scores, axis=0).max())
    if spread <= SAME:
        yield Check("varies", "fail", f"it gives the same scores to all {len(patient.rows):,} rows: is it constant, or are its inputs?")
    elif patient.is_regression:
        yield Check("varies", "ok", f"its amounts vary, from {patient.scores.min():,.6g} to {patient.scores.max():,.6g}.")
    elif len(np.unique(patient.said)) == 1:
        name = patient.model.classes[int(patient.said[0])]
        yield Check("varies", "warn", f"its scores vary, but every one of {len(patient.rows):,} rows is labelled {name!r}.")
    else:
        yield Check("varies", "ok", "its labels vary.")


def _accuracy(patient: _Patient) -> Iterator[Check]:
    if patient.labels is None:
        return
    accuracy = float(np.mean(patient.said == patient.labels))
    counts = np.bincount(patient.labels, minlength=len(patient.model.classes))
    majority = float(counts.max() / counts.sum())
    figures = f"accuracy {accuracy:.1%} on {len(patient.labels):,} labelled rows; always saying the commonest label gives {majority:.1%}"
    exchanged, names = _best_exchange(patient.said, patient.labels, patient.model.classes)
    if exchanged > accuracy + 0.1 and exchanged > majority:
        yield Check(
            "labels",
            "fail",
            f"{figures}.  With {names[0]!r} and {names[1]!r} exchanged it would be {exchanged:.1%}: their order is probably swapped.",
        )
    elif accuracy < majority - 0.02:
        yield Check("labels", "warn", f"{figures}: are columns, codes and label order those of the training?")
    else:
        yield Check("labels", "ok", f"{figures}.")


def _best_exchange(said: Labels, labels: Labels, classes: tuple[Any, ...]) -> tuple[float, tuple[Any, Any]]:
    """The best accuracy that exchanging two labels would give, and their names."""
    seen = np.zeros((len(classes), len(classes)))
    np.add.at(seen, (said, labels), 1)  # (said, true)
    right = np.diag(seen)
    gains = seen + seen.T - right[:, None] - right[None, :]
    np.fill_diagonal(gains, -np.inf)
    first, second = np.unravel_index(int(gains.argmax()), gains.shape)
    best = float((right.sum() + gains[first, second]) / seen.sum())
    return best, (classes[int(first)], classes[int(second)])


def _favourable(patient: _Patient) -> Iterator[Check]:
    if patient.is_regression:
        return
    if not patient.favourable.any():
        yield Check("favourable", "warn", "no favourable label is declared: pairs can be found, but not who is disadvantaged.")
        return
    if patient.favourable.all():
        yield Check("favourable", "fail", f"every label is declared favourable ({list(patient.model.classes)}).")
        return
    hoped = patient.scores[:, patient.favourable].sum(axis=1)
    share = float(np.mean(patient.favourable[patient.said]))
    if patient.labels is None:
        yield Check("favourable", "ok", f"{share:.1%} of rows get a favourable label.")
        return
    truly = patient.favourable[patient.labels]
    if truly.all() or not truly.any():
        yield Check("favourable", "warn", "the labelled rows are all favourable or all not: the favourable class cannot be checked.")
        return
    gap = float(hoped[truly].mean() - hoped[~truly].mean())
    status: Status = "ok" if gap > 0 else "fail"
    verdict = "as it should" if gap > 0 else "the wrong way round: is the favourable label the right one?"
    yield Check(
        "favourable",
        status,
        f"{share:.1%} of rows get a favourable label, {truly.mean():.1%} of the data have one; truly favourable rows score {gap:+.3f} "
        f"against the others, {verdict}.".replace("?.", "?"),
    )


def _columns(patient: _Patient) -> Iterator[Check]:
    """Every column is exchanged between rows; one whose exchange moves no score is not used."""
    rows, names = patient.rows, patient.domain.names
    shifted = np.repeat(rows[None], rows.shape[1], axis=0)
    for place in range(rows.shape[1]):
        shifted[place, :, place] = np.roll(rows[:, place], max(1, len(rows) // 2))
    answers = patient.model.scores(shifted.reshape(-1, rows.shape[1])).reshape(rows.shape[1], len(rows), -1)
    unused = [name for name, answer in zip(names, answers, strict=True) if np.abs(answer - patient.scores).max() <= SAME]
    if len(unused) == len(names):
        yield Check("columns", "fail", "no column moves any score; the rows do not reach the model.")
    elif unused:
        listed = ", ".join(repr(name) for name in unused)
        yield Check("columns", "warn", f"{len(unused)} of {len(names)} columns move no score: {listed}.")
    else:
        yield Check("columns", "ok", f"each of the {len(names)} columns moves scores.")


def _protected(patient: _Patient) -> Iterator[Check]:
    if not patient.domain.protected:
        yield Check("protected", "warn", "no column is protected; name at least one to search for unfairness.")
        return
    few = patient.rows[: max(2, 200_000 // len(patient.domain.combinations))]
    twins = patient.domain.twins(few)
    scores = patient.model.scores(twins.rows.reshape(-1, few.shape[1])).reshape(*twins.rows.shape[:2], -1)
    valid = np.broadcast_to(twins.valid, scores.shape[:2])[..., None]
    high = np.where(valid, scores, -np.inf).max(axis=0)
    low = np.where(valid, scores, np.inf).min(axis=0)
    moved = float(np.mean((high - low).max(axis=1) > SAME))
    labels = np.where(valid[..., 0], labels_of(scores.reshape(-1, scores.shape[2])).reshape(scores.shape[:2]), -1)
    flipped = float(np.mean(labels.max(axis=0) != np.where(labels < 0, labels.max(axis=0), labels).min(axis=0)))
    names = ", ".join(patient.domain.protected)
    if moved == 0:
        yield Check("protected", "warn", f"changing {names} moves no score: the model does not use it (or only through other columns).")
    else:
        yield Check("protected", "ok", f"changing {names} moves the scores of {moved:.1%} of rows and the label of {flipped:.1%}.")


_LOOKS: tuple[Callable[[_Patient], Iterator[Check]], ...] = (
    _deterministic,
    _batch,
    _kind,
    _constant,
    _accuracy,
    _favourable,
    _columns,
    _protected,
)


def _latency(patient: _Patient, times: int = 5) -> float:
    """The middle of a few askings of one row."""
    found = []
    for at in range(times):
        row = patient.rows[at % len(patient.rows)][None]
        started = time.perf_counter()
        patient.model.scores(row)
        found.append(time.perf_counter() - started)
    return float(np.median(found))


def _speed(patient: _Patient, patience_seconds: float = 1.0) -> float:
    """Rows per second in batches of the model's own size, or smaller ones when it is slow."""
    size = min(len(patient.rows), patient.model.batch_rows)
    batch = patient.rows[:size]
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
