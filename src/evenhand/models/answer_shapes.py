"""From whatever a model returns (labels, one probability, a table of scores) to checked scores.  Asks no model itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Scores
from evenhand.contract import one_hot
from evenhand.domain.columns import listing
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, WrongAnswer

Form = Literal["labels", "favourable", "scores"]
Scale = Literal["probability", "logit", "percent", "score"]
Match = Literal["name", "declared", "agreement", "number", "order", "words"]

SLACK = 1e-3
"""How far a probability may lie outside 0..1 and still be taken for a rounding error."""
TIE = 1e-9
"""How far from one half the share of a score that lies on its threshold is put: such a score reaches it."""


@dataclass(frozen=True)
class Reader:
    """How one model's answers are read.

    `labels`: one label per row.  `favourable`: one number per row, which speaks for class `single`.
    `scores`: a number per row and class, ordered as `columns`.
    scale: what the numbers are.  Logits go through sigmoid or softmax; a score is compared with its threshold.
    threshold: from which number on class `single` is the answer; None for one half of a probability, zero of a logit.
    unit: the spread of scores, so that gaps between them are shares of it.
    match: how the model's classes were found among the label's values; `number`, `order` and `words` are not confirmed by anything.
    spoken: what the model itself calls `columns`, where these are other words than the label's values.
    evidence, doubts: what the reading rests on, and what speaks against it, as sentences.
    """

    classes: tuple[Any, ...]
    columns: tuple[Any, ...]
    single: int
    form: Form = "scores"
    scale: Scale = "probability"
    threshold: float | None = None
    unit: float = 1.0
    match: Match = "name"
    spoken: tuple[Any, ...] = ()
    evidence: tuple[str, ...] = field(default=(), compare=False, repr=False)
    doubts: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def is_hard(self) -> bool:
        """Whether the model only says labels."""
        return self.form == "labels"

    @property
    def logits(self) -> bool:
        """Whether the numbers go through sigmoid or softmax."""
        return self.scale == "logit"

    @property
    def sentence(self) -> str:
        """The reading in words."""
        said = [f"its {own!r} is the label's {name!r}" for own, name in zip(self.spoken, self.columns, strict=False)]
        return "; ".join([self._what, _MATCHES[self.match].format(listing(self.columns)), *said, *self.evidence, *self.doubts])

    @property
    def _what(self) -> str:
        if self.form == "labels":
            return "it says a label"
        if self.form == "scores":
            name = self.classes[self.single]
            cut = "" if self.threshold is None else f", of which {name!r} is the answer from {self.threshold:.6g} on"
            return f"it says a {_SCALES.get(self.scale, self.scale)} for each class{cut}"
        cut = "" if self.threshold is None else f", which is the answer from {self.threshold:.6g} on"
        return f"it says one {_SCALES.get(self.scale, self.scale)} of {self.classes[self.single]!r}{cut}"

    def read(self, answer: Any, rows: int) -> Scores:
        """Scores in the order of `classes`."""
        table = as_table(answer)
        if len(table) != rows or table.ndim == 0:
            raise WrongAnswer(f"the model answered {rows} rows with {_shape(table)}; expected one answer per row")
        if self.form == "labels":
            return one_hot(self._labels(flat_values(table)), len(self.classes))
        numbers = as_numbers(table)
        if self.form == "scores" and self.threshold is not None:
            self._ordered(numbers)  # refuses another shape
            numbers = numbers[:, [self.columns.index(self.classes[self.single])]]
        is_single = self.form == "favourable" or self.threshold is not None
        return self._spread(flat_values(numbers)) if is_single else self._ordered(numbers)

    def _labels(self, answers: NDArray[Any]) -> Labels:
        distinct, places = factorized(answers)
        table = np.array([self._place(value) for value in distinct], dtype=np.intp)
        if len(table) and table.min() < 0:
            wrong = distinct[int(np.flatnonzero(table < 0)[0])]
            row = int(np.flatnonzero(table[places] < 0)[0])
            raise WrongAnswer(
                f"the model answered row {row} with {wrong!r}, which is no label; expected one of {listing(self.classes)}.  "
                + ("It is a number in quotes: let the model return numbers" if _is_quoted_number(wrong) else _UNKNOWN_LABEL)
            )
        return table[places] if len(table) else np.zeros(0, dtype=np.intp)

    def _place(self, value: Any) -> int:
        """The class that an answer names; -1 for none."""
        if self.spoken:
            at = place_of(value, self.spoken, ())
            return self.classes.index(self.columns[at]) if at >= 0 else -1
        return place_of(value, self.classes, self.columns)

    def _spread(self, numbers: NDArray[Any]) -> Scores:
        if len(self.columns) != 2:
            raise WrongAnswer(
                f"the model answers one number per row, but there are {len(self.columns)} classes {listing(self.columns)}; "
                "let it return one score per class"
            )
        probability = self._shares(numbers)
        (other,) = (place for place in map(self.classes.index, self.columns) if place != self.single)
        out = np.zeros((len(numbers), len(self.classes)), dtype=probability.dtype)
        out[:, self.single], out[:, other] = probability, 1 - probability
        return out

    def _shares(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """One number per row as a share of which one half is where the answer changes."""
        if self.scale == "logit":
            return sigmoid(numbers) if self.threshold is None else _around(sigmoid(numbers - self.threshold), numbers >= self.threshold)
        if self.scale == "score":
            cut = self.threshold or 0.0
            return _around(sigmoid((numbers - cut) / self.unit), numbers >= cut)
        whole = 100.0 if self.scale == "percent" else 1.0
        shares = self._within(numbers, whole) / whole
        cut = 0.5 if self.threshold is None else self.threshold / whole
        if cut == 0.5:
            return shares
        return _around(np.where(shares < cut, shares / (2 * cut), 0.5 + (shares - cut) / (2 * (1 - cut))), shares >= cut)

    def _within(self, numbers: NDArray[Any], whole: float) -> NDArray[Any]:
        """Numbers from 0 to `whole`; what lies outside by more than a rounding error was read wrongly."""
        if not numbers.size or (numbers.min() >= 0 and numbers.max() <= whole):
            return numbers
        outside = (numbers < -SLACK * whole) | (numbers > (1 + SLACK) * whole)
        if outside.any():
            row = int(np.argwhere(outside)[0, 0])
            raise WrongAnswer(
                f"the model answered row {row} with {numbers[row].tolist()}, but its answers are read as a {self.scale} from 0 to "
                f"{whole:g}; declare what it returns: returns='logit', 'percent' or 'score' (with threshold=...)"
            )
        return np.asarray(np.clip(numbers, 0, whole))

    def _ordered(self, numbers: NDArray[Any]) -> Scores:
        if numbers.ndim != 2 or numbers.shape[1] != len(self.columns):
            raise WrongAnswer(
                f"the model answered with {_shape(numbers)}; expected ({len(numbers)}, {len(self.columns)}): "
                f"one score for each of {listing(self.columns)}"
            )
        numbers = self._rows(numbers)
        if self.columns == self.classes:
            return numbers
        out = np.zeros((len(numbers), len(self.classes)), dtype=numbers.dtype)
        places = np.array([self.classes.index(name) for name in self.columns])
        out[:, places] = numbers
        return _with_own_ties(out, places[numbers.argmax(axis=1)]) if len(numbers) else out

    def _rows(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """A number for each class, as shares where they can be."""
        if self.scale == "logit":
            return softmax(numbers)
        if self.scale == "percent":
            return self._within(numbers, 100.0) / 100.0
        return numbers if self.scale == "score" else self._within(numbers, 1.0)


_UNKNOWN_LABEL = (
    "Declare the label's values in the domain (an answer that means `no decision` is one of them: evenhand.open(..., abstention=...)), or "
    "pass classes=[...] in the model's own order"
)


def _is_quoted_number(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(np.isfinite(float(value)))
    except ValueError:
        return False


_SCALES: dict[Scale, str] = {"percent": "percentage"}
_MATCHES: dict[Match, str] = {
    "name": "its classes {} were found by name",
    "declared": "its classes are declared as {}",
    "agreement": "its classes are {} by agreement with the labelled rows",
    "number": "its numbered classes are taken for {} in this order, which nothing confirms",
    "order": "its classes are taken for {} in the label's order",
    "words": "its classes, which it calls otherwise, are taken for {} in this order, which nothing confirms",
}


def _with_own_ties(scores: Scores, winners: Labels) -> Scores:
    """Where several classes have the highest score, the one that the model itself names first is the answer."""
    tied = np.flatnonzero(scores.argmax(axis=1) != winners)
    scores[tied, winners[tied]] = np.nextafter(scores[tied, winners[tied]], np.inf)
    return scores


def _around(shares: NDArray[Any], reaches: NDArray[np.bool_]) -> NDArray[Any]:
    """Shares that lie on the side of one half that the comparison with the threshold says."""
    return np.asarray(np.where(reaches, np.maximum(shares, 0.5 + TIE), np.minimum(shares, 0.5 - TIE)))


def reader_for(domain: TabularDomain, columns: Sequence[Any] | None, single: int | None = None) -> Reader:
    """A reader whose classes are the label's values and whose score columns carry the model's own order.

    Names decide: a model that lists its classes in another order is read right.  A model that only numbers its classes 0, 1, 2, ...
    is read by position until labelled rows confirm or correct it.  `single` defaults to the favourable class.
    """
    own = None if columns is None else tuple(plain(value) for value in columns)
    classes = _classes(domain, own)
    order: Match = "order"
    names, match = (classes, order) if own is None else _by_name(own, classes)
    if single is None:
        favourable = domain.label.favourable if domain.label else ()
        single = classes.index(favourable[0] if len(favourable) == 1 and favourable[0] in names else names[-1])
    return Reader(classes, names, single, match=match)


def declared_or_own(domain: TabularDomain, declared: Sequence[Any] | None, own: Sequence[Any] | None = None) -> Reader:
    """The reader of a model whose classes the caller declares, or else of one that says its `own`.

    One number per row speaks for the last of the declared classes.
    """
    names = None if own is None else tuple(plain(value) for value in own)
    if declared is None:
        return _in_other_words(domain, names) or reader_for(domain, own)
    reader = reader_for(domain, declared)
    spoken = names if names is not None and _is_foreign(names, reader.columns) else ()
    return replace(reader, match="declared", spoken=spoken, single=reader.classes.index(reader.columns[-1]))


def _in_other_words(domain: TabularDomain, own: tuple[Any, ...] | None) -> Reader | None:
    """The reader of a model whose classes have names of their own, none of which the label knows; None for others."""
    if own is None or domain.label is None or not _is_foreign(own, tuple(domain.label.values)):
        return None
    return replace(reader_for(domain, domain.label.values), match="words", spoken=own)


def _is_foreign(own: tuple[Any, ...], classes: tuple[Any, ...]) -> bool:
    """Whether there are as many names as classes, and they are others than the classes' own, and more than places among texts.

    Numbers of two codings may overlap (0 and 1 for what the table calls 1 and 2): a number that both know proves nothing.
    """
    if len(set(own)) < len(own) or len(own) != len(classes):
        return False
    places = [place_of(value, classes, ()) for value in own]
    if max(places) < 0:
        return not (_are_numbers(own) and all(isinstance(name, str) for name in classes))
    return min(places) < 0 and not any(isinstance(value, str) for value in (*own, *classes))


def _are_numbers(own: tuple[Any, ...]) -> bool:
    """Whether a model only numbers its classes 0, 1, 2, ...; False and True are words for them."""
    return own == tuple(range(len(own))) and not any(isinstance(value, bool) for value in own)


def in_its_own_words(reader: Reader, answers: NDArray[Any]) -> Reader:
    """The reader of labels with the words in which they are said, in their order, where all of them are other than the label's."""
    distinct, _ = factorized(answers)
    own = tuple(sorted(distinct, key=_by_size))
    if reader.spoken or not _is_foreign(own, reader.columns) or any(not isinstance(value, str | int | float) for value in own):
        return reader
    return replace(reader, spoken=own, match="declared" if reader.match == "declared" else "words")


def _by_size(value: Any) -> tuple[bool, float, str]:
    """Numbers by their size, before texts."""
    is_number = isinstance(value, int | float)
    return not is_number, float(value) if is_number else 0.0, str(value)


def _classes(domain: TabularDomain, own: tuple[Any, ...] | None) -> tuple[Any, ...]:
    if domain.label is not None and domain.label.is_amount:
        raise InvalidArgument(
            f"label {domain.label.column!r} is an amount, and a model of this kind is read by its classes; pass a fitted regressor, or a "
            "function that asks the model and returns one number per row"
        )
    if domain.label is not None:
        return tuple(domain.label.values)
    if own is None:
        raise InvalidArgument(
            "the classes are unknown: declare a label in the domain, or pass classes=[...] in the model's order (--classes no,yes)"
        )
    return own


def _by_name(own: tuple[Any, ...], classes: tuple[Any, ...]) -> tuple[tuple[Any, ...], Match]:
    if len(own) < 2 or len(set(own)) < len(own):
        raise InvalidArgument(f"classes={list(own)!r} must name at least two different classes")
    places = [place_of(value, classes, ()) for value in own]
    if min(places) >= 0 and len(set(places)) == len(places):
        return tuple(classes[place] for place in places), "name"
    if len(own) == len(classes) and _are_numbers(own) and max(places) < 0:
        return classes, "number"
    strange = own[places.index(-1)] if -1 in places else own[0]
    raise WrongAnswer(
        f"the model knows the class {strange!r}, which is none of the label's values {listing(classes)}; "
        "correct the label in the domain, or pass classes=[...] naming the model's outputs in order"
    )


def as_table(answer: Any) -> NDArray[Any]:
    """An answer of any usual type as an array of one or two axes."""
    if answer is None:
        raise WrongAnswer("the model answered None; expected labels or scores, one per row")
    if hasattr(answer, "detach"):
        answer = answer.detach().cpu().numpy()
    elif hasattr(answer, "to_numpy"):
        answer = answer.to_numpy()
    try:
        table = np.asarray(answer)
    except ValueError as fault:
        raise WrongAnswer(f"the model's answer is no table: {fault}") from fault
    if table.ndim not in (1, 2):
        raise WrongAnswer(f"the model answered with {_shape(table)}; expected one label per row, or one score per row and class")
    return _with_gaps(table) if table.dtype == object else table


def _with_gaps(table: NDArray[Any]) -> NDArray[Any]:
    """Numbers with a None among them as numbers with NaN, so that the gap is reported as one."""
    kinds = {type(value) for value in table.reshape(-1)}
    return table.astype(np.float64) if float in kinds and kinds <= {float, int, type(None)} else table


def flat_values(table: NDArray[Any]) -> NDArray[Any]:
    """One value per row."""
    if table.ndim == 2 and table.shape[1] != 1:
        raise WrongAnswer(f"the model answered with {_shape(table)}; expected one value per row")
    return table.reshape(-1)


def as_numbers(table: NDArray[Any]) -> NDArray[Any]:
    """The same as numbers with a fraction."""
    if table.dtype.kind == "f":
        return table
    try:
        return table.astype(np.float64)
    except (TypeError, ValueError):
        raise WrongAnswer(f"the model answered with {table.reshape(-1)[0]!r}; expected numbers as scores") from None


def factorized(answers: NDArray[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    """The distinct answers as plain values, and where each row's answer is among them."""
    if answers.dtype == object:
        import pandas as pd

        try:
            places, distinct = pd.factorize(answers, use_na_sentinel=False)
        except TypeError:  # lists and mappings cannot be told apart by what they hold
            wrong = next(value for value in answers if isinstance(value, list | dict | set))
            raise WrongAnswer(
                f"the model answered with {str(wrong)[:100]!r}, which is no label; expected a text or a number per row"
            ) from None
        return [plain(value) for value in distinct], np.asarray(places, dtype=np.intp)
    values, inverse = np.unique(answers, return_inverse=True)
    return [plain(value) for value in values], inverse.reshape(-1).astype(np.intp)


def place_of(value: Any, classes: tuple[Any, ...], columns: tuple[Any, ...]) -> int:
    """Where a label is among the classes, -1 for nowhere; 1, 1.0 and True are one label unless both are declared."""
    alike = [at for at, known in enumerate(classes) if type(known) is type(value) and known == value]
    if not alike and not isinstance(value, str):
        alike = [at for at, known in enumerate(classes) if not isinstance(known, str) and known == value]
    if not alike:
        alike = [at for at, known in enumerate(classes) if _text(known) == _text(value)]
        alike = alike if len(alike) == 1 else []
    if not alike and columns and type(value) is int and 0 <= value < len(columns) and all(isinstance(k, str) for k in classes):
        return classes.index(columns[value])
    return alike[0] if alike else -1


def _text(value: Any) -> str:
    """A label as people write it: 1.0 and 1 alike, capitals and spaces around it ignored."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value).strip().casefold()


def plain(value: Any) -> Any:
    """A NumPy scalar as the Python value behind it."""
    return value.item() if isinstance(value, np.generic) else value


def _shape(table: NDArray[Any]) -> str:
    return f"an array of shape {table.shape}"


def sigmoid(numbers: NDArray[Any]) -> NDArray[Any]:
    """One logit to the probability of its class."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-numbers)))


def softmax(numbers: NDArray[Any]) -> NDArray[Any]:
    """Rows of logits to rows of probabilities."""
    powers = np.exp(numbers - numbers.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
