"""What is asked of a model before anything it says is trusted, by `doctor`, `scan` and `measure` alike, and once more at the end of a scan.

Every question goes around the meter's memory, and how many there are is bounded and known beforehand.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand.arrays import Labels, Reals, Rows
from evenhand.claims import Claim
from evenhand.contract import CountsObjects, Medium, Model, has_twins, labels_of
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.gate import checks_of
from evenhand.engine.picture_wirings import look_at_wiring
from evenhand.engine.subject import Subject
from evenhand.engine.wiring_checks import COSTLY_ROWS, LOOKS, Check, KnownRows, Patient
from evenhand.errors import InvalidArgument, ModelError, UnsteadyModel, WrongAnswer
from evenhand.models.inputs import probe_places, probe_rows
from evenhand.models.meter import Meter
from evenhand.models.shown import of_own_pictures

USUAL_ROWS, SHOWN_ROWS = 400, 48
"""Rows of a model in this process, and of one that is shown pictures, scenes or texts; those of an endpoint are COSTLY_ROWS.

Of answers of which one in a hundred is random, asking 150 rows twice and a third time at the end misses them in one case of a hundred.
"""
FURTHER_ROWS, FURTHER_SHOWN, FURTHER_COSTLY = 4_000, 1_000, 450
"""Labelled rows that are asked in addition where the usual ones do not show a model to be better than guessing, or to say more than one
label: of one in this process, of one that is shown something, and of an endpoint."""
FIRST_ROWS = 16
"""Rows after which a slow model is asked fewer."""
_WORTHLESS: dict[str, type[ModelError]] = {
    "deterministic": UnsteadyModel,
    "order": WrongAnswer,
    "batch equals single": WrongAnswer,
    "labels": WrongAnswer,
    "favourable": WrongAnswer,
    "kept answers": UnsteadyModel,
}
"""Checks that raise when they fail: whatever such a model says, no verdict could be drawn from it."""


@dataclass(frozen=True)
class Preflight:
    """The checks that were made, and what is needed to ask the same again."""

    checks: tuple[Check, ...]
    patient: Patient
    rows_asked: int

    @property
    def doubt(self) -> str:
        """What keeps the model from any verdict; empty for nothing."""
        return _in_words(check for check in self.checks if check.is_doubt or check.status == "fail")

    @property
    def reserve(self) -> str:
        """What keeps the model from passing only; empty for nothing."""
        return _in_words(check for check in self.checks if check.is_reserve)

    def knowing(self, real_pairs: int) -> Preflight:
        """The same, where real people were seen to get different labels: then it does say more than one."""
        is_settled = real_pairs > 0 and self.patient.has_labels
        kept = (c for c in self.checks if not (is_settled and c.name == "varies" and c.status == "warn"))
        return replace(self, checks=tuple(kept))

    @property
    def sentence(self) -> str:
        """What was looked at, for a header."""
        told = ", ".join(check.name if check.status == "ok" else f"{check.name} ({check.status})" for check in self.checks)
        return f"{len(self.patient.rows):,} rows were asked in several ways: {told}"

    def drifted(self) -> str:
        """The same rows asked again: what changed since; empty for nothing."""
        asked = self.patient
        again = asked.model.scores(asked.rows)
        moved = int((np.abs(again - asked.scores).max(axis=1) > 10 * asked.same).sum())
        flipped = int((labels_of(again) != asked.said).sum())
        if not moved:
            return ""
        return (
            f"the model changed while it was tested: of {len(asked.rows):,} rows that were asked at the beginning, {moved:,} have other "
            f"scores at the end and {flipped:,} another label; fix its version and its seed, and test again"
        )


def preflight(subject: Subject, seconds: float | None = None) -> Preflight:
    """Look at the subject's model; one whose answers are worthless raises.  `seconds`: what the test as a whole may take."""
    own = getattr(subject.medium, "as_given", None) or subject.medium  # accuracy is of a user's own pictures, not of ones drawn again
    subject = replace(subject, model=of_own_pictures(subject.model, subject.medium), medium=own)
    labels = subject.labels if subject.rows is not None else None
    size = trial_size(subject.model, subject.medium)
    given = RowsAtHand(subject.rows, labels, size, subject.medium, subject.amounts if subject.rows is not None else None)
    looked = look(subject.model, subject.domain, given, _patience(seconds))
    if getattr(subject.model, "keeps_answers", False):
        looked = replace(looked, checks=(*looked.checks, _kept(looked.patient, Meter(subject.model, remembers=False))))
    for check in looked.checks:
        if check.status == "fail" and check.name in _WORTHLESS:
            raise _WORTHLESS[check.name](f"{check.name}: {check.sentence}")
    return looked


def _kept(patient: Patient, model: Meter) -> Check:
    """Whether the model still says what was kept of it earlier; all of these rows are known by now, so that asking costs nothing."""
    kept = model.scores(patient.rows)
    far = 0.05 if patient.has_labels else 50 * patient.same
    other = (np.abs(kept - patient.scores).max(axis=1) > far) | (labels_of(kept) != patient.said)
    if not other.any():
        return Check("kept answers", "ok", "what was kept of earlier answers is what it says now.")
    return Check(
        "kept answers",
        "fail",
        f"of {len(other):,} rows, {other.sum():,} were answered otherwise when they were first asked, and these answers are kept beside "
        "the runs: the model has changed since.  Where that was meant, add --fresh (fresh=True in Python), which asks everything again and "
        "leaves the old answers aside; otherwise see what has become of it.",
    )


def _patience(seconds: float | None) -> float:
    """A tenth of what the test may take; half a minute where it may take as long as it likes."""
    return 30.0 if seconds is None or not np.isfinite(seconds) else seconds / 10


def trial_size(model: Model, medium: Medium | None = None) -> int:
    """How many rows this kind of model is asked, several times over."""
    if medium is not None and medium.kind != "table":
        return SHOWN_ROWS
    return COSTLY_ROWS if getattr(model, "is_costly", False) else USUAL_ROWS


def further_size(model: Model, medium: Medium | None = None) -> int:
    """How many labelled rows this kind of model may be asked in addition."""
    is_shown = medium is not None and medium.kind != "table"
    is_remote = hasattr(getattr(model, "reader", model), "keeping")  # showing costs something too, but nobody pays for it
    if getattr(model, "is_costly", False) and (is_remote or not is_shown):
        return FURTHER_COSTLY
    return FURTHER_SHOWN if is_shown else FURTHER_ROWS


@dataclass(frozen=True)
class RowsAtHand:
    """Rows to look at, their labels where known, how many of them at most, and what they show."""

    rows: Rows | None
    labels: Labels | None
    most: int
    medium: Medium | None = None
    amounts: Reals | None = None  # instead of labels, where the label is an amount


def look(model: Model, domain: TabularDomain, given: RowsAtHand, patience: float = 30.0) -> Preflight:
    """Every check that fits the model; a model that does not answer raises."""
    meter = Meter(_fresh(model), remembers=False)
    given = _labelled(given)
    rows, labels = _chosen(domain, given)
    rows, labels = _in_time(meter, rows, labels, patience)
    started = time.perf_counter()
    scores = meter.scores(rows)
    seconds = time.perf_counter() - started
    further = _further(model, given, seconds / len(rows), patience - seconds * 10)
    is_counting = isinstance(given.medium, CountsObjects)
    amounts = _amounts(given, len(rows))
    patient = Patient(meter, domain, rows, labels, scores, is_counting, seconds, amounts, further, has_twins(given.medium))
    checks = [check for each in LOOKS for check in each(patient)]
    checks += look_at_wiring(patient, patience)
    return Preflight(tuple(checks), patient, meter.rows_asked)


def _labelled(given: RowsAtHand) -> RowsAtHand:
    """Only the rows whose label is known, where some are not; without labels where none is."""
    if given.rows is None or given.labels is None or len(given.labels) != len(given.rows):
        return given
    known = np.asarray(given.labels) >= 0
    if not known.any():
        return replace(given, labels=None)
    return given if known.all() else replace(given, rows=given.rows[known], labels=np.asarray(given.labels)[known])


def _amounts(given: RowsAtHand, kept: int) -> Reals | None:
    """The true amounts of the rows that were chosen and asked."""
    if given.rows is None or given.amounts is None or len(given.amounts) != len(given.rows):
        return None
    return np.asarray(given.amounts)[probe_places(len(given.rows), given.most)][:kept]


def _further(model: Model, given: RowsAtHand, each: float, seconds_left: float) -> KnownRows | None:
    """Rows beside the usual ones of which the label or amount is known: as many as such a model is asked and as there is time for."""
    known = given.amounts if given.labels is None else given.labels
    if given.rows is None or known is None or seconds_left <= 0 or len(given.rows) <= given.most:
        return None
    usual = probe_places(len(given.rows), given.most)
    more = min(further_size(model, given.medium), int(seconds_left / max(each, 1e-9)))
    places = np.setdiff1d(probe_places(len(given.rows), given.most + more), usual)
    return KnownRows(given.rows[places], np.asarray(known)[places])


def _fresh(model: Model) -> Model:
    """The model without whatever it remembers."""
    ask: Callable[[], Model] | None = getattr(model, "without_memory", None)
    return ask() if ask is not None else model


def _chosen(domain: TabularDomain, given: RowsAtHand) -> tuple[Rows, Labels | None]:
    """At most so many rows, spread over the table."""
    rows, labels = given.rows, given.labels
    if rows is None:
        return probe_rows(domain, given.most), None
    if rows.ndim != 2 or rows.shape[1] != len(domain.columns) or len(rows) < 1:
        raise InvalidArgument(f"rows has shape {rows.shape}; expected rows of {len(domain.columns)} columns")
    if labels is not None and len(labels) != len(rows):
        raise InvalidArgument(f"labels has {len(labels)} entries for {len(rows)} rows")
    places = probe_places(len(rows), given.most)
    return rows[places], None if labels is None else np.asarray(labels)[places]


def _in_time(meter: Meter, rows: Rows, labels: Labels | None, patience: float) -> tuple[Rows, Labels | None]:
    """A few rows are asked first; of a slow model, only as many more as there is time for."""
    started = time.perf_counter()
    meter.scores(rows[:FIRST_ROWS])
    each = (time.perf_counter() - started) / max(min(len(rows), FIRST_ROWS), 1)
    most = max(FIRST_ROWS, int(patience / 4 / max(each, 1e-9)))
    return rows[:most], None if labels is None else labels[:most]


def _in_words(checks: Iterable[Check]) -> str:
    return "; ".join(f"{check.name}: {check.sentence.rstrip('.')}" for check in checks)


def doubts(looked: Sequence[Check]) -> list[dict[str, Any]]:
    """The checks that keep a model from passing, as a result tells them."""
    return checks_of(Claim(each.name, open=each.sentence) for each in looked if each.is_doubt or each.is_reserve)
