"""What is asked of a model before anything it says is trusted, by `doctor`, `scan` and `measure` alike, and once more at the end of a scan.

Every question goes around the meter's memory, and how many there are is bounded and known beforehand.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from evenhand.arrays import Labels, Mask, Reals, Rows, Scores
from evenhand.claims import Claim
from evenhand.contract import CountsObjects, LabelledRows, Medium, Model, labels_of
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.gate import checks_of
from evenhand.engine.subject import Subject
from evenhand.errors import InvalidArgument, ModelError, UnsteadyModel, WrongAnswer
from evenhand.models.inputs import probe_places, probe_rows
from evenhand.models.meter import Meter
from evenhand.models.readings import CERTAIN, FEWEST, p_of_higher

Status = Literal["ok", "warn", "fail"]

SAME = 1e-4
"""Scores that differ by no more are the same answer: float32 sums depend on their order."""
USUAL_ROWS, COSTLY_ROWS, SHOWN_ROWS = 400, 150, 48
"""Rows of a model in this process, of an endpoint, and of one that is shown pictures, scenes or texts.

Of answers of which one in a hundred is random, asking 150 rows twice and a third time at the end misses them in one case of a hundred.
"""
FURTHER_ROWS = 4_000
"""Labelled rows that a model in this process is asked in addition, where the usual ones do not show it to be better than guessing."""
FIRST_ROWS = 16
"""Rows after which a slow model is asked fewer."""
OTHER_UNIT = 2.0
"""How many times the error of a guess is called another unit: a mean of skewed amounts misses the middle by less."""
DISORDER = 0.2
"""The share of answers that must change with the order of the rows before the order, and not chance, is blamed."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.  What fails makes answers worthless; a doubt keeps a model from passing, whatever is found."""

    name: str
    status: Status
    sentence: str
    is_doubt: bool = False


@dataclass(frozen=True)
class Patient:
    """What every check looks at: the model, rows, their labels when known, and the scores of the first asking."""

    model: Meter
    domain: TabularDomain
    rows: Rows
    labels: Labels | None
    scores: Scores = field(default_factory=lambda: np.zeros((0, 2)))
    is_counting: bool = False  # whether scores are counts of objects
    seconds: float = 0.0  # what the first asking took
    amounts: Reals | None = None  # the rows' label where it is an amount
    further: LabelledRows | None = None  # more rows with labels, of a model that is cheap to ask

    @property
    def said(self) -> Labels:
        """The labels that the model gives."""
        return labels_of(self.scores)

    @property
    def same(self) -> float:
        """How far two scores may be apart and still be one answer; of amounts, in the unit of their spread."""
        if self.scores.shape[1] != 1 or not len(self.scores):
            return SAME
        spread = float(np.std(self.scores))
        return SAME * spread if spread > SAME * float(np.abs(self.scores).max()) else SAME * float(np.abs(self.scores).max() or 1.0)

    @property
    def has_labels(self) -> bool:
        """Whether the model says labels, and not an amount or counts."""
        return self.scores.shape[1] > 1 and not self.is_counting

    @property
    def favourable(self) -> Mask:
        """Which classes are favourable."""
        wanted = self.domain.label.favourable if self.domain.label else ()
        return np.array([name in wanted for name in self.model.classes])


@dataclass(frozen=True)
class Preflight:
    """The checks that were made, and what is needed to ask the same again."""

    checks: tuple[Check, ...]
    patient: Patient
    rows_asked: int

    @property
    def doubt(self) -> str:
        """What keeps the model from passing; empty for nothing."""
        return "; ".join(f"{check.name}: {check.sentence.rstrip('.')}" for check in self.checks if check.is_doubt or check.status == "fail")

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
    rows, labels = _chosen(domain, given)
    rows, labels = _in_time(meter, rows, labels, patience)
    started = time.perf_counter()
    scores = meter.scores(rows)
    seconds = time.perf_counter() - started
    further = None if labels is None else _further(model, given, patience - seconds * 10)
    is_counting = isinstance(given.medium, CountsObjects)
    patient = Patient(meter, domain, rows, labels, scores, is_counting, seconds, _amounts(given, len(rows)), further)
    checks = [check for each in LOOKS for check in each(patient)]
    return Preflight(tuple(checks), patient, meter.rows_asked)


def _amounts(given: RowsAtHand, kept: int) -> Reals | None:
    """The true amounts of the rows that were chosen and asked."""
    if given.rows is None or given.amounts is None or len(given.amounts) != len(given.rows):
        return None
    return np.asarray(given.amounts)[probe_places(len(given.rows), given.most)][:kept]


def _further(model: Model, given: RowsAtHand, seconds_left: float) -> LabelledRows | None:
    """Labelled rows beside the usual ones; none of an endpoint, of a slow model, or of one that is shown something."""
    is_expensive = getattr(model, "is_costly", False) or (given.medium is not None and given.medium.kind != "table")
    if given.rows is None or given.labels is None or is_expensive or seconds_left <= 0 or len(given.rows) <= given.most:
        return None
    places = np.setdiff1d(probe_places(len(given.rows), given.most + FURTHER_ROWS), probe_places(len(given.rows), given.most))
    return LabelledRows(given.rows[places], np.asarray(given.labels)[places])


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


def _steady(patient: Patient) -> Iterator[Check]:
    """The same rows in another order: both chance and a wrong order show; a third asking tells which."""
    order = np.random.default_rng(len(patient.rows)).permutation(len(patient.rows))
    shuffled = np.empty_like(patient.scores)
    shuffled[order] = patient.model.scores(patient.rows[order])
    moved = np.abs(shuffled - patient.scores).max(axis=1) > patient.same
    if not moved.any():
        yield Check("deterministic", "ok", f"asked twice about {len(moved):,} rows, it gave the same scores.")
        yield Check("order", "ok", "rows in another order get the same answers.")
        return
    again = patient.model.scores(patient.rows)
    trembled = np.abs(again - patient.scores).max(axis=1) > patient.same
    if moved.mean() > DISORDER and trembled.mean() < moved.mean() / 2:
        yield Check(
            "order",
            "fail",
            f"asked about the same rows in another order, it gave {moved.sum():,} of {len(moved):,} another answer, and in the same order "
            "the same ones: answers do not come back in the order of the rows, or depend on the others in the batch.  Let it answer in the "
            "order of the request, or send one row at a time (request with $row, batch_rows: 1).",
        )
        return
    yield _unsteady(patient, (shuffled, again))


def _unsteady(patient: Patient, others: tuple[Scores, Scores]) -> Check:
    moved = np.any([np.abs(other - patient.scores).max(axis=1) > patient.same for other in others], axis=0)
    flipped = int(np.any([labels_of(other) != patient.said for other in others], axis=0).sum())
    far = 0.05 if patient.has_labels else 50 * patient.same
    jumped = int(np.any([np.abs(other - patient.scores).max(axis=1) > far for other in others], axis=0).sum())
    if flipped or (jumped and not patient.is_counting):
        return Check(
            "deterministic",
            "fail",
            f"asked again, it changed its label for {flipped:,} of {len(moved):,} rows and its scores for {moved.sum():,}; findings could "
            "not be replayed.  Fix its seed, or switch off dropout and training mode.",
        )
    return Check("deterministic", "warn", f"asked twice, its scores moved for {moved.sum():,} of {len(moved):,} rows, its labels never.")


def _batch(patient: Patient) -> Iterator[Check]:
    few = patient.rows[: 4 if len(patient.rows) <= COSTLY_ROWS else 8]
    alone = np.concatenate([patient.model.scores(row[None]) for row in few])
    difference = float(np.abs(alone - patient.scores[: len(few)]).max())
    if difference > 10 * patient.same:
        yield Check(
            "batch equals single",
            "fail",
            f"a row alone gets scores up to {difference:.3g} away from the same row in a batch; its answers depend on the company "
            "(batch norm in training mode, scaling by the batch, or answers in another order?).",
        )
    else:
        yield Check("batch equals single", "ok", "rows alone and in a batch get the same scores.")


def _kind(patient: Patient) -> Iterator[Check]:
    if patient.is_counting or patient.scores.shape[1] == 1:
        return
    if patient.model.is_hard:
        yield Check("scores", "warn", "it only says labels: methods that need scores or gradients cannot be used, score gaps are 0 or 1.")
    else:
        yield Check("scores", "ok", f"it gives scores for {len(patient.model.classes)} classes.")


def _varies(patient: Patient) -> Iterator[Check]:
    spread = float(np.ptp(patient.scores, axis=0).max())
    if patient.is_counting:
        return
    if spread <= patient.same:
        sentence = f"it gives the same scores to all {len(patient.rows):,} rows: is it constant, or are its inputs?"
        yield Check("varies", "fail", sentence, is_doubt=True)
    elif patient.has_labels and len(np.unique(patient.said)) == 1:
        name = patient.model.classes[int(patient.said[0])]
        yield Check(
            "varies",
            "warn",
            f"its scores vary, but every one of {len(patient.rows):,} rows is labelled {name!r}: say from which number on the answer is "
            "another (threshold: ...), and what it returns (returns: ...), if that is not so.",
            is_doubt=True,
        )
    else:
        yield Check("varies", "ok", "its answers vary.")


def _accuracy(patient: Patient) -> Iterator[Check]:
    if patient.labels is None or not patient.has_labels:
        return
    accuracy = float(np.mean(patient.said == patient.labels))
    counts = np.bincount(patient.labels, minlength=len(patient.model.classes))
    majority = float(counts.max() / counts.sum())
    figures = f"accuracy {accuracy:.1%} on {len(patient.labels):,} labelled rows; always saying the commonest label gives {majority:.1%}"
    exchanged, pair = _best_exchange(patient.said, patient.labels, len(patient.model.classes))
    names = [patient.model.classes[place] for place in pair]
    if exchanged > accuracy + 0.1 and exchanged > majority and _is_reversed(patient, pair):
        yield Check(
            "labels",
            "fail",
            f"{figures}.  With {names[0]!r} and {names[1]!r} exchanged it would be {exchanged:.1%}: their order is probably swapped; "
            "declare the model's own order with classes=[...].",
        )
    elif not _is_better_than_guessing(patient):
        advice = "are columns, codes and label order those of the training?  Check takes=... and classes=[...]"
        sentence = f"{figures}, and it is not shown to be better than guessing: {advice}, or give more labelled rows."
        yield Check("labels", "warn", sentence, is_doubt=True)
    elif accuracy < majority - 0.02:
        yield Check("labels", "warn", f"{figures}: are columns, codes and label order those of the training?")
    else:
        yield Check("labels", "ok", f"{figures}.")


def _closeness(patient: Patient) -> Iterator[Check]:
    """Whether amounts rise with the true ones, and how far they are from them."""
    if patient.amounts is None or patient.scores.shape[1] != 1 or len(patient.amounts) < FEWEST or np.ptp(patient.scores) <= patient.same:
        return
    from scipy.stats import spearmanr

    said, truth = patient.scores[:, 0], patient.amounts
    if np.ptp(truth) == 0:
        return
    found = spearmanr(said, truth)
    error, guess = float(np.mean(np.abs(said - truth))), float(np.mean(np.abs(truth - np.median(truth))))
    figures = f"mean error {error:.4g} on {len(truth):,} rows; always saying the middle amount gives {guess:.4g}"
    if found.statistic < 0 and found.pvalue < CERTAIN:
        yield Check(
            "amounts", "fail", f"{figures}, and high amounts are said of low ones: is the sign, or the label, another?", is_doubt=True
        )
    elif found.pvalue >= 10 * CERTAIN:
        advice = "are columns, codes and label those of the training?  Check takes=... and output=..."
        yield Check("amounts", "warn", f"{figures}, and it is not shown to be better than guessing: {advice}", is_doubt=True)
    elif error > OTHER_UNIT * guess:
        sentence = f"{figures}, although both rise together: is its unit or scale another than the label's?"
        yield Check("amounts", "warn", sentence, is_doubt=True)
    else:
        yield Check("amounts", "ok", f"{figures}.")


def _is_better_than_guessing(patient: Patient) -> bool:
    """Whether some class is scored higher where it is true, beyond chance; few rows, or rows of one label, tell nothing.

    Where the usual rows do not show it, the further ones may: a weak model is no miswired one.
    """
    assert patient.labels is not None
    if _agrees(patient.scores, patient.labels):
        return True
    if patient.further is None:
        return False
    scores = patient.model.scores(patient.further.rows)
    return _agrees(np.concatenate([patient.scores, scores]), np.concatenate([patient.labels, patient.further.labels]))


def _agrees(scores: Scores, labels: Labels) -> bool:
    present = np.unique(labels)
    if len(labels) < FEWEST or len(present) < 2:
        return True
    found = [p_of_higher(scores[:, place], labels == place) for place in present]
    return any(each.is_higher and each.p_value < 10 * CERTAIN / len(present) for each in found)


def _is_reversed(patient: Patient, pair: tuple[int, int]) -> bool:
    """Whether people of the first class score lower in it than people of the second, beyond chance."""
    assert patient.labels is not None
    either = np.isin(patient.labels, pair)
    difference = patient.scores[either, pair[0]] - patient.scores[either, pair[1]]
    found = p_of_higher(difference, patient.labels[either] == pair[0])
    return not found.is_higher and found.p_value < CERTAIN


def _best_exchange(said: Labels, labels: Labels, classes: int) -> tuple[float, tuple[int, int]]:
    """The best accuracy that exchanging two labels would give, and their places."""
    seen = np.zeros((classes, classes))
    np.add.at(seen, (said, labels), 1)  # (said, true)
    right = np.diag(seen)
    gains = seen + seen.T - right[:, None] - right[None, :]
    np.fill_diagonal(gains, -np.inf)
    first, second = np.unravel_index(int(gains.argmax()), gains.shape)
    best = float((right.sum() + gains[first, second]) / seen.sum())
    return best, (int(first), int(second))


def _leak(patient: Patient) -> Iterator[Check]:
    """A column that tells the label of every row is the label under another name."""
    if patient.labels is None or len(patient.labels) < 5 * FEWEST or len(np.unique(patient.labels)) < 2:
        return
    for name, cells in zip(patient.domain.names, patient.rows.T, strict=True):
        values, places = np.unique(cells, return_inverse=True)
        if 2 <= len(values) <= len(cells) // 10 and _determines(places, patient.labels):
            yield Check(
                "leak",
                "warn",
                f"column {name!r} tells the label of every one of {len(cells):,} rows: it looks like the label itself; remove it from the "
                "columns, and fit the model without it.",
                is_doubt=True,
            )


def _determines(places: Labels, labels: Labels) -> bool:
    pairs = np.unique(np.stack([places.reshape(-1), labels]), axis=1)
    return bool(pairs.shape[1] == len(np.unique(pairs[0])))


def _favourable(patient: Patient) -> Iterator[Check]:
    if not patient.has_labels:
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
    is_wrong = gap < 0 and p_of_higher(hoped, truly).p_value < CERTAIN
    status: Status = "fail" if is_wrong else "ok" if gap > 0 else "warn"
    verdict = "as it should" if gap > 0 else "the wrong way round: is the favourable label the right one?"
    yield Check(
        "favourable",
        status,
        f"{share:.1%} of rows get a favourable label, {truly.mean():.1%} of the data have one; truly favourable rows score {gap:+.3f} "
        f"against the others, {verdict}.".replace("?.", "?"),
    )


def _protected(patient: Patient) -> Iterator[Check]:
    if not patient.domain.protected:
        yield Check("protected", "warn", "no column is protected; name at least one to search for unfairness.")
        return
    few = patient.rows[: max(2, len(patient.rows) // (2 * len(patient.domain.combinations)))]
    twins = patient.domain.twins(few)
    scores = patient.model.scores(twins.rows.reshape(-1, few.shape[1])).reshape(*twins.rows.shape[:2], -1)
    valid = np.broadcast_to(twins.valid, scores.shape[:2])[..., None]
    high = np.where(valid, scores, -np.inf).max(axis=0)
    low = np.where(valid, scores, np.inf).min(axis=0)
    moved = float(np.mean((high - low).max(axis=1) > patient.same))
    labels = np.where(valid[..., 0], labels_of(scores.reshape(-1, scores.shape[2])).reshape(scores.shape[:2]), -1)
    flipped = float(np.mean(labels.max(axis=0) != np.where(labels < 0, labels.max(axis=0), labels).min(axis=0)))
    names = ", ".join(patient.domain.protected)
    told = (
        f"the scores of {moved:.1%} of rows and the label of {flipped:.1%}" if patient.has_labels else f"the answers to {moved:.1%} of rows"
    )
    if moved == 0:
        yield Check("protected", "warn", f"changing {names} moves no score: the model does not use it (or only through other columns).")
    else:
        yield Check("protected", "ok", f"changing {names} moves {told}.")


LOOKS: tuple[Callable[[Patient], Iterator[Check]], ...] = (
    _steady,
    _batch,
    _kind,
    _varies,
    _accuracy,
    _closeness,
    _leak,
    _favourable,
    _protected,
)

_WORTHLESS: dict[str, type[ModelError]] = {
    "deterministic": UnsteadyModel,
    "order": WrongAnswer,
    "batch equals single": WrongAnswer,
    "labels": WrongAnswer,
    "favourable": WrongAnswer,
    "kept answers": UnsteadyModel,
}
"""Checks that raise when they fail: whatever such a model says, no verdict could be drawn from it."""


def unused_columns(patient: Patient, most_rows: int) -> Check:
    """Every column is exchanged between rows; one whose exchange moves no score is not used."""
    names = patient.domain.names
    rows = patient.rows[: max(2, most_rows // len(names))]
    shifted = np.repeat(rows[None], rows.shape[1], axis=0)
    for place in range(rows.shape[1]):
        shifted[place, :, place] = np.roll(rows[:, place], max(1, len(rows) // 2))
    answers = patient.model.scores(shifted.reshape(-1, rows.shape[1])).reshape(rows.shape[1], len(rows), -1)
    before = patient.scores[: len(rows)]
    unused = [name for name, answer in zip(names, answers, strict=True) if np.abs(answer - before).max() <= patient.same]
    if len(unused) == len(names):
        return Check("columns", "fail", "no column moves any score; the rows do not reach the model.")
    if unused:
        return Check("columns", "warn", f"{len(unused)} of {len(names)} columns move no score: {', '.join(map(repr, unused))}.")
    return Check("columns", "ok", f"each of the {len(names)} columns moves scores.")


def doubts(looked: Sequence[Check]) -> list[dict[str, Any]]:
    """The checks that keep a model from passing, as a result tells them."""
    return checks_of(Claim(each.name, open=each.sentence) for each in looked if each.is_doubt)
