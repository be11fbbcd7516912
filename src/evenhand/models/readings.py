"""How a model's answers are read is established here: by declaration, by what its numbers can be, by agreement with labelled rows.

What could be read in two ways is an error that shows both, and the line that chooses one.  Asks no model itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Mask
from evenhand.domain.columns import listing
from evenhand.errors import InvalidArgument, UnclearAnswers, WrongAnswer
from evenhand.models.answer_shapes import (
    SLACK,
    Form,
    Reader,
    Scale,
    as_numbers,
    as_table,
    factorized,
    flat_values,
    in_its_own_words,
    place_of,
)
from evenhand.models.proposed_readings import ProposedReading
from evenhand.statistics.rank_sum import rank_sum

FEWEST = 20
"""Labelled rows below which no agreement is looked for."""
CERTAIN = 1e-3
"""The p-value below which an agreement is believed."""
CLEARLY = 0.1
"""How much better another cut must agree with the labels before the usual one is doubted."""
AS_DECLARED = "as declared"
MOST_LABELS = 5
"""Different whole numbers from which on they are no labels that nobody declared, but numbers."""

RETURNS: dict[str, tuple[Form | None, Scale | None]] = {
    "labels": ("labels", None),
    "label": ("labels", None),
    "favourable": ("favourable", None),
    "scores": ("scores", None),
    "probability": (None, "probability"),
    "logit": (None, "logit"),
    "percent": (None, "percent"),
    "score": (None, "score"),
    "counts": ("scores", "score"),
    "amount": (None, "score"),
}
"""What a model may be declared to return; `label`, `favourable` and `scores` say the form and leave the scale to the numbers."""

_BEST = re.compile(r"best\s+(\d+(?:\.\d+)?)\s*(%?)")


@dataclass(frozen=True)
class Declared:
    """What the caller says of the answers.

    returns: one of RETURNS.  threshold: from which number on the answer is the class that the number speaks for, or "best 100" or
    "best 10%" of the people in the data.  people: how many these are.
    """

    returns: str | None = None
    threshold: float | str | None = None
    people: int = 0

    def __post_init__(self) -> None:
        if self.returns is not None and self.returns not in RETURNS:
            raise InvalidArgument(f"returns={self.returns!r} must be one of {', '.join(RETURNS)}")
        if isinstance(self.threshold, str) and not _BEST.fullmatch(self.threshold.strip()):
            raise InvalidArgument(f"threshold={self.threshold!r} must be a number, 'best 100' or 'best 10%'")

    def cut(self, numbers: NDArray[Any]) -> float | None:
        """The threshold as a number."""
        if not isinstance(self.threshold, str):
            return None if self.threshold is None else float(self.threshold)
        found = _BEST.fullmatch(self.threshold.strip())
        assert found is not None
        share = float(found[1]) / (100 if found[2] else max(self.people, 1))
        if not 0 < share < 1:
            raise InvalidArgument(f"threshold={self.threshold!r} must leave some of the {self.people:,} people below it")
        return float(np.quantile(numbers, 1 - share, method="higher"))


def settle(reader: Reader, answer: Any, rows: int, declared: Declared | None = None, labels: Labels | None = None) -> Reader:
    """The reader with form, scale and classes decided by a declaration or by a sample answer, which must be readable.

    labels: of the sample's rows, where they are known.
    """
    declared, table = declared or Declared(), as_table(answer)
    form, scale = RETURNS[declared.returns] if declared.returns is not None else (None, None)
    form = form or _form(table, reader, scale)
    known = labels if labels is not None and len(labels) == len(table) and len(table) >= FEWEST else None
    settled = replace(reader, form=form)
    if form == "favourable":
        settled = _one_number(settled, as_numbers(flat_values(table)), _Wanted(declared, scale), known)
    elif form == "scores":
        settled = with_threshold(_number_for_each(settled, as_numbers(table), scale), table, declared)
    else:
        settled = in_its_own_words(settled, flat_values(table))
    settled.read(answer, rows)
    return confirm(settled, answer, known)


def with_threshold(reader: Reader, answer: Any, declared: Declared) -> Reader:
    """The reader of a number for each class, or of one number, with the declared threshold of the class that it speaks for."""
    if declared.threshold is None:
        return reader
    numbers = as_table(answer)
    if reader.form == "labels":
        raise InvalidArgument(f"threshold={declared.threshold!r} needs numbers, but the model says labels; remove it, or let it say scores")
    if reader.form == "scores":
        if numbers.ndim != 2 or len(reader.columns) != 2 or reader.scale == "logit":
            raise InvalidArgument(
                f"threshold={declared.threshold!r} is for one number per row or for the probabilities of two classes; this model says "
                f"{reader.scale}s of {len(reader.columns)} classes, of which the largest is the answer"
            )
        numbers = numbers[:, reader.columns.index(reader.classes[reader.single])]
    finite = as_numbers(flat_values(numbers))
    return replace(reader, threshold=declared.cut(finite[np.isfinite(finite)]), unit=_unit(finite) if reader.scale == "score" else 1.0)


@dataclass(frozen=True)
class _Wanted:
    declared: Declared
    scale: Scale | None


def _form(table: NDArray[Any], reader: Reader, scale: Scale | None) -> Form:
    if table.ndim == 2 and table.shape[1] > 1:
        return "scores"
    flat = flat_values(table)
    if scale is not None:
        return "favourable"
    if flat.dtype.kind not in "fiu":
        return "labels"
    distinct, _ = factorized(flat)
    if all(place_of(value, reader.classes, reader.columns) >= 0 for value in distinct):
        return "labels"
    return "favourable" if flat.dtype.kind == "f" or len(distinct) > MOST_LABELS else "labels"


def _number_for_each(reader: Reader, numbers: NDArray[Any], scale: Scale | None) -> Reader:
    """Every scale leaves the largest number the answer: it matters only for how far two answers are apart."""
    if scale is not None:
        return replace(reader, scale=scale)
    finite = numbers[np.isfinite(numbers).all(axis=1)] if numbers.ndim == 2 else numbers[np.isfinite(numbers)]
    if not finite.size or numbers.ndim != 2:
        return reader
    if finite.min() < -SLACK:
        return replace(reader, scale="logit", evidence=("some of its numbers are negative",))
    sums = finite.sum(axis=1)
    if np.allclose(sums, 1, atol=2e-2):
        return replace(reader, evidence=("its numbers add up to 1",))
    if np.allclose(sums, 100, atol=2.0):
        return replace(reader, scale="percent", evidence=("its numbers add up to 100",))
    return replace(reader, scale="score", evidence=("its numbers do not add up to 1 and are compared as they are",))


def _one_number(reader: Reader, numbers: NDArray[Any], wanted: _Wanted, labels: Labels | None) -> Reader:
    finite = numbers[np.isfinite(numbers)]
    if wanted.declared.threshold is not None and finite.size:
        reader = replace(reader, threshold=wanted.declared.cut(finite))
    if not finite.size:
        return reader
    if wanted.scale is not None:
        return _declared_scale(reader, finite, wanted)
    if finite.min() >= -SLACK and finite.max() <= 1 + SLACK:
        outside = int(((finite < 0) | (finite > 1)).sum())
        told = (f"{outside} of {len(finite)} probabilities lie outside 0..1 by a rounding error and are clipped",) if outside else ()
        return replace(reader, evidence=told)
    if wanted.declared.threshold is not None:
        return replace(reader, scale="score", unit=_unit(finite))
    if finite.min() < -SLACK and not (labels is not None and _is_badly_cut(numbers, _speaks_for(reader, labels))):
        return replace(reader, scale="logit", evidence=(f"its numbers go from {finite.min():.4g} to {finite.max():.4g}",))
    raise _unclear(reader, numbers, labels)


def _declared_scale(reader: Reader, finite: NDArray[Any], wanted: _Wanted) -> Reader:
    assert wanted.scale is not None
    if wanted.scale == "score" and reader.threshold is None:
        low, high = float(finite.min()), float(finite.max())
        raise InvalidArgument(
            f"returns='score' needs threshold=..., the score from which on the answer is {reader.classes[reader.single]!r} (its scores "
            f"go from {low:.6g} to {high:.6g}), or threshold='best 10%' for a ranking"
        )
    unit = _unit(finite) if wanted.scale == "score" else 1.0
    return replace(reader, scale=wanted.scale, unit=unit, evidence=(AS_DECLARED,))


def _unit(numbers: NDArray[Any]) -> float:
    return float(np.std(numbers)) or 1.0


def _speaks_for(reader: Reader, labels: Labels) -> Mask:
    return np.asarray(labels == reader.single)


def _is_badly_cut(numbers: NDArray[Any], truly: Mask) -> bool:
    return _best_cut(numbers, truly).share - balanced(numbers >= 0, truly) > CLEARLY


@dataclass(frozen=True)
class _Cut:
    at: float
    share: float


def balanced(said: Mask, truly: Mask) -> float:
    """The mean of the two shares that are told right, whichever way round; one half for no agreement."""
    right = _told_right(said, truly)
    return max(right, 1 - right)


def _told_right(said: Mask, truly: Mask) -> float:
    """The same, this way round."""
    return 0.5 if truly.all() or not truly.any() else (float(said[truly].mean()) + float((~said[~truly]).mean())) / 2


def _best_cut(numbers: NDArray[Any], truly: Mask) -> _Cut:
    cuts = np.unique(np.quantile(numbers[np.isfinite(numbers)], np.linspace(0.02, 0.98, 49)))
    shares = [balanced(numbers >= cut, truly) for cut in cuts]
    best = int(np.argmax(shares))
    return _Cut(float(cuts[best]), shares[best])


@dataclass(frozen=True)
class _Way:
    """One way to read one number per row: what it would be called, where it is cut, and how it is declared."""

    kind: str
    cut: float
    returns: str
    has_threshold: bool = False

    @property
    def argument(self) -> str:
        """As it is written in Python."""
        return f"returns={self.returns!r}" + (f", threshold={self.cut:.6g}" if self.has_threshold else "")

    def told(self, numbers: NDArray[Any], labels: Labels | None, reader: Reader) -> str:
        """What it would make of the answers, as evidence."""
        share = float((numbers >= self.cut).mean())
        told = f"{self.kind} (cut at {self.cut:.6g}): {share:.0%} of rows are {reader.classes[reader.single]!r}"
        if labels is None:
            return told
        return f"{told}, {_told_right(numbers >= self.cut, _speaks_for(reader, labels)):.0%} balanced agreement with the labels"


def _ways(reader: Reader, numbers: NDArray[Any], labels: Labels | None) -> list[_Way]:
    finite = numbers[np.isfinite(numbers)]
    ways = [_Way("logit", 0.0, "logit")]
    if finite.min() >= -100 * SLACK and finite.max() <= 100 * (1 + SLACK):
        ways.insert(0, _Way("percentage", 50.0, "percent"))
    cut = float(np.median(finite)) if labels is None else _best_cut(numbers, _speaks_for(reader, labels)).at
    return [*ways, _Way("score with a threshold", cut, "score", has_threshold=True)]


def _unclear(reader: Reader, numbers: NDArray[Any], labels: Labels | None) -> UnclearAnswers:
    """The readings of one number per row, each with its evidence and the line that chooses it."""
    if labels is not None and reader.match in ("number", "order"):
        reader = _confirmed_single(reader, numbers, labels)  # high numbers may be those of the other class
    finite, name = numbers[np.isfinite(numbers)], reader.classes[reader.single]
    ways = _ways(reader, numbers, labels)
    told = [way.told(numbers, labels, reader) for way in ways]
    proposed = [
        ProposedReading(way.returns, way.cut if way.has_threshold else None, evidence=f"as a {each}")
        for way, each in zip(ways, told, strict=True)
    ]
    shown = "; as a ".join(f"{each}; write {way.argument}" for way, each in zip(ways, told, strict=True))
    return UnclearAnswers(
        f"the model answers one number per row, from {finite.min():.6g} to {finite.max():.6g} on {len(finite)} rows "
        f"({int((finite > 1 + SLACK).sum())} of them above 1), which can be read in more than one way.  As a {shown}.  Declare the "
        f"right one (in Python, or under `model:` in evenhand.yaml); the number is taken to speak for {name!r}, unless classes=[...] ends "
        "with another",
        [each.lines for each in proposed],
    )


def confirm(reader: Reader, answer: Any, labels: Labels | None) -> Reader:
    """The reader with its classes in the order in which the answers agree with the labels, unless names or a declaration decide.

    Classes that are numbers, or words of the model's own, are asked for where they agree with the labels in neither order.
    """
    if reader.match == "words" and (labels is None or len(labels) < FEWEST):
        raise _unclear_classes(reader, tuple(reversed(reader.columns)), 0 if labels is None else len(labels))
    if reader.match not in ("number", "order", "words") or labels is None or len(labels) < FEWEST:
        return reader
    if reader.form == "favourable":
        return _confirmed_single(reader, as_numbers(flat_values(as_table(answer))), labels)
    if reader.form == "labels" and not _said_numbers(reader, answer):
        return replace(reader, match="name", columns=reader.classes)
    plain_order = replace(reader, columns=reader.columns)
    return _confirmed_order(plain_order, _by_column(plain_order, answer), labels)


def _said_numbers(reader: Reader, answer: Any) -> bool:
    """Whether labels were said by number, or in other words, and are no label's own name."""
    distinct, _ = factorized(flat_values(as_table(answer)))
    return any(place_of(value, reader.classes, ()) < 0 for value in distinct)


def _by_column(reader: Reader, answer: Any) -> NDArray[Any]:
    """The scores in the model's own order of classes, (n, columns)."""
    scores = reader.read(answer, len(as_table(answer)))
    return scores[:, [reader.classes.index(name) for name in reader.columns]]


def _confirmed_single(reader: Reader, numbers: NDArray[Any], labels: Labels) -> Reader:
    higher = p_of_higher(numbers, _speaks_for(reader, labels))
    if higher.p_value > CERTAIN and reader.match == "words":
        raise _unclear_classes(reader, tuple(reversed(reader.columns)), len(labels))
    if higher.p_value > CERTAIN:
        doubt = f"whether a high number means {reader.classes[reader.single]!r} could not be seen from {len(labels)} labelled rows"
        return replace(reader, doubts=(*reader.doubts, doubt))
    if higher.is_higher:
        told = f"{higher.words} of {reader.classes[reader.single]!r}"
        return replace(reader, match="agreement", evidence=(*reader.evidence, told))
    other = next(place for place in map(reader.classes.index, reader.columns) if place != reader.single)
    told = f"{higher.words} of {reader.classes[other]!r}; if that is wrong, declare classes=[...] that ends with the other"
    # An estimator's number speaks for its own second class, which is now known to be the other one.
    speaks_for_last = reader.columns[-1] == reader.classes[reader.single]
    columns = tuple(reversed(reader.columns)) if speaks_for_last else reader.columns
    return replace(reader, single=other, columns=columns, match="agreement", evidence=(*reader.evidence, told))


@dataclass(frozen=True)
class Higher:
    """Whether numbers are higher for some rows than for others, and how sure that is."""

    is_higher: bool
    p_value: float

    @property
    def words(self) -> str:
        """The evidence as the beginning of a clause."""
        return f"high numbers (p {self.p_value:.1g}) are those"


def p_of_higher(numbers: NDArray[Any], truly: Mask) -> Higher:
    """The rank test of the numbers of these rows against those of the others."""
    usable = np.isfinite(numbers)
    first, second = numbers[usable & truly], numbers[usable & ~truly]
    if not len(first) or not len(second) or np.ptp(numbers[usable]) == 0:
        return Higher(True, 1.0)
    found = rank_sum(first, second)
    return Higher(found.above > len(first) * len(second) / 2, found.p_value)


def _confirmed_order(reader: Reader, scores: NDArray[Any], labels: Labels) -> Reader:
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores).all(axis=1))[0])
        raise WrongAnswer(f"the model answered row {row} of a trial with {scores[row].tolist()}; scores must be finite numbers")
    order = _best_order(scores, labels, len(reader.classes))
    ordered = replace(reader, columns=tuple(reader.classes[place] for place in order))
    proofs = _proofs(scores, labels, order)
    if any(proof.p_value <= CERTAIN and not proof.is_higher for proof in proofs) or all(proof.p_value > CERTAIN for proof in proofs):
        return _unconfirmed(reader, ordered, len(labels))
    shaky = ordered.columns != reader.columns and any(proof.p_value > CERTAIN for proof in proofs)
    if shaky:
        return _unconfirmed(reader, ordered, len(labels))
    told = "" if ordered.columns == reader.columns else "; the label's own order would be wrong"
    worst = max(proof.p_value for proof in proofs)
    return replace(ordered, match="agreement", evidence=(*reader.evidence, f"p at most {max(worst, 1e-300):.1g} for every two{told}"))


def _unconfirmed(reader: Reader, other: Reader, rows: int) -> Reader:
    """A convention stays, with a doubt; numbers that may mean either class are asked for."""
    if reader.match == "order":
        return replace(reader, doubts=(*reader.doubts, f"this order could not be confirmed by {rows} labelled rows"))
    raise _unclear_classes(reader, other.columns if other.columns != reader.columns else tuple(reversed(reader.columns)), rows)


def _unclear_classes(reader: Reader, swapped: tuple[Any, ...], rows: int) -> UnclearAnswers:
    """Both orders in which the model's numbers or words may stand for the label's values."""
    own = reader.spoken or tuple(range(len(reader.columns)))
    calls = f"calls its classes {listing(own)}" if reader.spoken else f"numbers its classes {list(own)}"
    seen = f"{rows} labelled rows do not tell clearly" if rows else "no labelled rows tell"
    ways = [f"classes={list(names)!r}{_meanings(reader.spoken, names)}" for names in (reader.columns, swapped)]
    return UnclearAnswers(
        f"the model {calls}, and {seen} which of the label's values {listing(reader.classes)} these are.  "
        f"Either write {ways[0]}, or {ways[1]}",
        [ProposedReading(classes=tuple(names), evidence=f"if {own[0]!r} means {names[0]!r}").lines for names in (reader.columns, swapped)],
    )


def _meanings(spoken: tuple[Any, ...], names: tuple[Any, ...]) -> str:
    return f" ({', '.join(f'{word!r} is {name!r}' for word, name in zip(spoken, names, strict=True))})" if spoken else ""


def _best_order(scores: NDArray[Any], labels: Labels, classes: int) -> tuple[int, ...]:
    """For each column the class that it agrees with best."""
    from scipy.optimize import linear_sum_assignment

    places = [labels == place for place in range(classes)]
    means = np.array([scores[who].mean(axis=0) if who.any() else np.zeros(scores.shape[1]) for who in places])
    relative = means - means.mean(axis=0)
    columns, found = linear_sum_assignment(-relative.T)
    return tuple(int(place) for _, place in sorted(zip(columns, found, strict=True)))


def _proofs(scores: NDArray[Any], labels: Labels, order: Sequence[int]) -> list[Higher]:
    """For every two columns, whether people of the first's class score higher in the first."""
    found = []
    for first in range(len(order)):
        for second in range(first + 1, len(order)):
            of_either = np.isin(labels, (order[first], order[second]))
            difference = scores[of_either, first] - scores[of_either, second]
            found.append(p_of_higher(difference, labels[of_either] == order[first]))
    return found


def reader_of(model: Any) -> Reader | None:
    """The reader of a model that has one, also behind a meter or a medium."""
    inner = getattr(model, "model", model) if type(model).__name__ == "Meter" else model
    found = getattr(inner, "reader", None)
    found = found if isinstance(found, Reader) else getattr(found, "reader", None)
    return found if isinstance(found, Reader) else None


def proposed_for(model: Any) -> ProposedReading | None:
    """The reading of a model that answers, as it would be declared; None where nothing is open: an amount, counts, names of its own.

    Whatever rests on the data or on a convention becomes certain by being declared.
    """
    reader = reader_of(model)
    is_said = reader is not None and (reader.form != "favourable" or AS_DECLARED in reader.evidence)
    if reader is None or (reader.match in ("name", "declared") and is_said):
        return None
    # One number speaks for the last of the declared classes.
    last = (reader.classes[reader.single],) if reader.form == "favourable" else ()
    classes = (*(name for name in reader.columns if name not in last), *last)
    return ProposedReading("label" if reader.form == "labels" else reader.scale, reader.threshold, classes, reading_of(model))


def reading_of(model: Any) -> str:
    """How a model's answers are read, in words."""
    inner = getattr(model, "model", model) if type(model).__name__ == "Meter" else model
    reader = reader_of(inner)
    if reader is not None:
        return reader.sentence
    told = getattr(inner, "reading", None)
    if isinstance(told, str):
        return told
    kind = "a label" if getattr(inner, "is_hard", False) else "a score for each class"
    return f"it says {kind}; its classes are {listing(tuple(inner.classes))}"


def readings_told(named: Iterable[Sequence[str]]) -> str:
    """The readings of several models, each given as a name and a sentence: one sentence where all are read alike, else each by its name."""
    told = dict.fromkeys((name, sentence) for name, sentence in named if sentence)
    sentences = dict.fromkeys(sentence for _, sentence in told)
    return next(iter(sentences), "") if len(sentences) <= 1 else "; ".join(f"{name}: {sentence}" for name, sentence in told)
