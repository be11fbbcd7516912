"""What can be looked at in a model that was asked a few rows: steadiness, batches, labels, accuracy, leaks, protected columns.

Each check takes the model with its answers and says what it saw; `preflight` asks, and decides what a failure means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Mask, Reals, Rows, Scores
from evenhand.contract import labels_of
from evenhand.domain.tabular import TabularDomain
from evenhand.models.meter import Meter
from evenhand.models.readings import CERTAIN, FEWEST, p_of_higher

Status = Literal["ok", "warn", "fail"]


SAME = 1e-4
"""Scores that differ by no more are the same answer: float32 sums depend on their order."""
OTHER_UNIT = 2.0
"""How many times the error of a guess is called another unit: a mean of skewed amounts misses the middle by less."""
MOST_AT_THE_EDGE = 0.05
"""The share of scenes in which a steady recogniser may see one object more or less when it is asked again."""
DISORDER = 0.2
"""The share of answers that must change with the order of the rows before the order, and not chance, is blamed."""
COSTLY_ROWS = 150
"""Rows that an endpoint is asked, several times over."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.  What fails, and what is a doubt, keeps a model from any verdict; a reserve only from passing."""

    name: str
    status: Status
    sentence: str
    is_doubt: bool = False
    is_reserve: bool = False


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Rows of which the label, or the amount, is known."""

    rows: Rows
    known: NDArray[Any]


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
    further: KnownRows | None = None  # more rows, of a model that is cheap to ask
    has_twins: bool = True  # whether anything shows a row under another protected value

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
    def known(self) -> NDArray[Any] | None:
        """The rows' labels, or amounts, where the model says such and they are known."""
        if self.has_labels:
            return self.labels
        return self.amounts if self.scores.shape[1] == 1 and not self.is_counting else None

    @property
    def has_labels(self) -> bool:
        """Whether the model says labels, and not an amount or counts."""
        return self.scores.shape[1] > 1 and not self.is_counting

    @cached_property
    def further_scores(self) -> Scores:
        """What it says of the further rows; they are asked only where the usual ones leave a doubt."""
        return np.empty((0, self.scores.shape[1])) if self.further is None else self.model.scores(self.further.rows)

    @property
    def favourable(self) -> Mask:
        """Which classes are favourable."""
        wanted = self.domain.label.favourable if self.domain.label else ()
        return np.array([name in wanted for name in self.model.classes])


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
    if patient.is_counting:
        return _unsteady_counts(moved)
    flipped = int(np.any([labels_of(other) != patient.said for other in others], axis=0).sum())
    far = 0.05 if patient.has_labels else 50 * patient.same
    jumped = int(np.any([np.abs(other - patient.scores).max(axis=1) > far for other in others], axis=0).sum())
    if flipped or jumped:
        return Check(
            "deterministic",
            "fail",
            f"asked again, it changed its label for {flipped:,} of {len(moved):,} rows and its scores for {moved.sum():,}; findings could "
            "not be replayed.  Fix its seed, or switch off dropout and training mode.",
        )
    return Check("deterministic", "warn", f"asked twice, its scores moved for {moved.sum():,} of {len(moved):,} rows, its labels never.")


def _unsteady_counts(moved: Mask) -> Check:
    """One object at the edge of being seen may come and go with the order of sums; more of them are chance."""
    told = f"asked again about {len(moved):,} scenes, it saw other objects in {moved.sum():,}; findings could not be replayed"
    is_chance = bool(moved.mean() > MOST_AT_THE_EDGE)
    return Check(
        "deterministic", "fail" if is_chance else "warn", f"{told}.  Fix its seed, or switch off dropout.", is_reserve=not is_chance
    )


def _batch(patient: Patient) -> Iterator[Check]:
    few = patient.rows[: 4 if len(patient.rows) <= COSTLY_ROWS else 8]
    alone = np.concatenate([patient.model.scores(row[None]) for row in few])
    difference = float(np.abs(alone - patient.scores[: len(few)]).max())
    if difference > 10 * patient.same:
        again = np.concatenate([patient.model.scores(row[None]) for row in few])
        moved = float(np.abs(again - alone).max())
        if moved > difference / 3:  # what changes by itself says nothing of batches
            told = f"one row alone, asked twice, gets scores up to {moved:.3g} apart; its answers change by themselves.  Fix its seed."
            yield Check("batch equals single", "fail", told)
            return
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
    elif patient.has_labels and _says_one_label(patient):
        name, asked = patient.model.classes[int(patient.said[0])], len(patient.rows) + len(patient.further_scores)
        yield Check(
            "varies",
            "warn",
            f"its scores vary, but every one of {asked:,} rows is labelled {name!r}: say from which number on the answer is "
            "another (threshold: ...), and what it returns (returns: ...), if that is not so.",
            is_doubt=True,
        )
    else:
        yield Check("varies", "ok", "its answers vary.")


def _says_one_label(patient: Patient) -> bool:
    """Whether all rows get one label, the further ones too."""
    first = patient.said[0]
    return bool((patient.said == first).all() and (labels_of(patient.further_scores) == first).all())


def _accuracy(patient: Patient) -> Iterator[Check]:
    if patient.labels is None or not patient.has_labels:
        return
    accuracy = float(np.mean(patient.said == patient.labels))
    counts = np.bincount(patient.labels, minlength=len(patient.model.classes))
    majority = float(counts.max() / counts.sum())
    figures = f"accuracy {accuracy:.1%} on {len(patient.labels):,} labelled rows; always saying the commonest label gives {majority:.1%}"
    figures += _undecided(patient.said, patient.labels, patient.model.classes)
    exchanged, pair = best_exchange(patient.said, patient.labels, len(patient.model.classes))
    names = [patient.model.classes[place] for place in pair]
    if exchanged > accuracy + 0.1 and exchanged > majority and is_reversed(patient.scores, patient.labels, pair):
        yield Check(
            "labels",
            "fail",
            f"{figures}.  With {names[0]!r} and {names[1]!r} exchanged it would be {exchanged:.1%}: their order is probably swapped; "
            "declare the model's own order with classes=[...].",
        )
    elif not _is_better_than_guessing(patient):
        advice = "are columns, codes and label order those of the training?  Check takes=... and classes=[...]"
        sentence = (
            f"{figures}, and{_with_further(patient)} it is not shown to be better than guessing: {advice}, or give more labelled rows."
        )
        yield Check("labels", "warn", sentence, is_doubt=True)
    elif accuracy < majority - 0.02:
        yield Check("labels", "warn", f"{figures}: are columns, codes and label order those of the training?")
    else:
        yield Check("labels", "ok", f"{figures}.")


def _with_further(patient: Patient) -> str:
    return f" with {len(patient.further_scores):,} further rows too" if len(patient.further_scores) else ""


def _undecided(said: Labels, labels: Labels, classes: Sequence[Any]) -> str:
    """What a model that leaves cases to a person says of them, which no labelled row is, and how right it is about the others."""
    never = np.setdiff1d(np.unique(said), labels)
    if not never.size:
        return ""
    left, names = np.isin(said, never), " or ".join(repr(classes[place]) for place in never)
    others = f"; of the others {np.mean((said == labels)[~left]):.1%} are right" if not left.all() else ""
    return f"; it says {names} of {left.mean():.1%} of them, which none of them is{others}"


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
    return _agrees(np.concatenate([patient.scores, patient.further_scores]), np.concatenate([patient.labels, patient.further.known]))


def _agrees(scores: Scores, labels: Labels) -> bool:
    present = np.unique(labels)
    if len(labels) < FEWEST or len(present) < 2:
        return True
    found = [p_of_higher(scores[:, place], labels == place) for place in present]
    return any(each.is_higher and each.p_value < 10 * CERTAIN / len(present) for each in found)


def is_reversed(scores: Scores, labels: Labels, pair: tuple[int, int]) -> bool:
    """Whether people of the first class score lower in it than people of the second, beyond chance."""
    either = np.isin(labels, pair)
    difference = scores[either, pair[0]] - scores[either, pair[1]]
    found = p_of_higher(difference, labels[either] == pair[0])
    return not found.is_higher and found.p_value < CERTAIN


def best_exchange(said: Labels, labels: Labels, classes: int) -> tuple[float, tuple[int, int]]:
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
    """Whether rows of one place all have one label; every place has a row."""
    kinds = int(labels.max()) + 1
    pairs = np.bincount(places.reshape(-1) * kinds + labels)
    return bool(np.count_nonzero(pairs) == places.max() + 1)


def _favourable(patient: Patient) -> Iterator[Check]:
    if not patient.has_labels:
        return
    if not patient.favourable.any() and patient.domain.numbers_things:
        told = "no outcome is declared favourable: whether answers are right is compared among people of one true label."
        yield Check("favourable", "ok", told)
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
    wrong = "no higher" if gap == 0 else "the wrong way round"
    verdict = "as it should" if gap > 0 else f"{wrong}: is the favourable label the right one?"
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
    if not patient.has_twins:
        yield Check("protected", "ok", "no twin is shown here: people of other groups are compared.")
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
    if patient.is_counting:
        yield Check("changes", "ok", f"changing a scene moves the counts of {moved:.1%} of those tried.")
    elif moved == 0:
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
