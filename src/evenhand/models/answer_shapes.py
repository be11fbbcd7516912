"""From whatever a model returns (labels, one probability, a table of scores) to checked scores.  Asks no model itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Labels, Scores
from evenhand.contract import one_hot
from evenhand.domain.columns import listing
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, WrongAnswer

Form = Literal["labels", "favourable", "scores"]
FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True)
class Reader:
    """How one model's answers are read.

    `labels`: one label per row.  `favourable`: one number per row, the probability of class `single`.
    `scores`: a number per row and class, ordered as `columns`.  With `logits` the numbers go through sigmoid or softmax.
    """

    classes: tuple[Any, ...]
    columns: tuple[Any, ...]
    single: int
    form: Form = "scores"
    logits: bool = False

    @property
    def is_hard(self) -> bool:
        """Whether the model only says labels."""
        return self.form == "labels"

    def read(self, answer: Any, rows: int) -> Scores:
        """Scores in the order of `classes`."""
        table = as_table(answer)
        if len(table) != rows or table.ndim == 0:
            raise WrongAnswer(f"the model answered {rows} rows with {_shape(table)}; expected one answer per row")
        if self.form == "labels":
            return one_hot(self._labels(_flat(table)), len(self.classes))
        numbers = _numbers(table)
        return self._spread(_flat(numbers)) if self.form == "favourable" else self._ordered(numbers)

    def _labels(self, answers: NDArray[Any]) -> Labels:
        distinct, places = _factorize(answers)
        table = np.array([_place(value, self.classes, self.columns) for value in distinct], dtype=np.intp)
        if len(table) and table.min() < 0:
            wrong = distinct[int(np.flatnonzero(table < 0)[0])]
            row = int(np.flatnonzero(table[places] < 0)[0])
            raise WrongAnswer(
                f"the model answered row {row} with {wrong!r}, which is no label; expected one of {listing(self.classes)}.  "
                "Declare the label's values in the domain, or pass classes=[...] in the model's own order"
            )
        return table[places] if len(table) else np.zeros(0, dtype=np.intp)

    def _spread(self, numbers: NDArray[Any]) -> Scores:
        if len(self.columns) != 2:
            raise WrongAnswer(
                f"the model answers one number per row, but there are {len(self.columns)} classes {listing(self.columns)}; "
                "let it return one score per class"
            )
        probability = sigmoid(numbers) if self.logits else numbers
        (other,) = (place for place in map(self.classes.index, self.columns) if place != self.single)
        out = np.zeros((len(numbers), len(self.classes)), dtype=probability.dtype)
        out[:, self.single], out[:, other] = probability, 1 - probability
        return out

    def _ordered(self, numbers: NDArray[Any]) -> Scores:
        if numbers.ndim != 2 or numbers.shape[1] != len(self.columns):
            raise WrongAnswer(
                f"the model answered with {_shape(numbers)}; expected ({len(numbers)}, {len(self.columns)}): "
                f"one score for each of {listing(self.columns)}"
            )
        if self.columns == self.classes:
            return softmax(numbers) if self.logits else numbers
        out = np.zeros((len(numbers), len(self.classes)), dtype=numbers.dtype)
        out[:, [self.classes.index(name) for name in self.columns]] = softmax(numbers) if self.logits else numbers
        return out


def reader_for(domain: TabularDomain, columns: Sequence[Any] | None, single: int | None = None) -> Reader:
    """A reader whose classes are the label's values and whose score columns carry the model's own order.

    Names decide: a model that lists its classes in another order is read right.  A model that only numbers its
    classes 0, 1, 2, ... is read by position.  `single` defaults to the favourable class.
    """
    own = None if columns is None else tuple(plain(value) for value in columns)
    classes = _classes(domain, own)
    names = classes if own is None else _by_name(own, classes)
    if single is None:
        favourable = domain.label.favourable if domain.label else ()
        single = classes.index(favourable[0] if len(favourable) == 1 and favourable[0] in names else names[-1])
    return Reader(classes, names, single)


def _classes(domain: TabularDomain, own: tuple[Any, ...] | None) -> tuple[Any, ...]:
    if domain.label is not None and domain.label.is_amount:
        raise InvalidArgument(
            f"label {domain.label.column!r} is an amount, and a model of this kind is read by its classes; pass a fitted regressor, or a "
            "function that asks the model and returns one number per row"
        )
    if domain.label is not None:
        return tuple(domain.label.values)
    if own is None:
        raise InvalidArgument("the classes are unknown: declare a label in the domain, or pass classes=[...] in the model's order")
    return own


def _by_name(own: tuple[Any, ...], classes: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(own) < 2 or len(set(own)) < len(own):
        raise InvalidArgument(f"classes={list(own)!r} must name at least two different classes")
    places = [_place(value, classes, ()) for value in own]
    if min(places) >= 0:
        return tuple(classes[place] for place in places)
    if own == tuple(range(len(classes))) and max(places) < 0:
        return classes
    strange = own[places.index(-1)]
    raise WrongAnswer(
        f"the model knows the class {strange!r}, which is none of the label's values {listing(classes)}; "
        "correct the label in the domain, or pass classes=[...] naming the model's outputs in order"
    )


def settle(reader: Reader, answer: Any, rows: int, returns: str | None = None) -> Reader:
    """The reader with form and logits decided by a sample answer, unless `returns` says the form; the answer must be readable."""
    if returns is not None and returns not in FORMS:
        raise InvalidArgument(f"returns={returns!r} must be one of {', '.join(FORMS)}")
    table = as_table(answer)
    form: Form = _form(table, reader) if returns is None else returns
    settled = replace(reader, form=form)
    if form != "labels":
        settled = replace(settled, logits=_are_logits(_numbers(table), form))
    settled.read(answer, rows)
    return settled


def _form(table: NDArray[Any], reader: Reader) -> Form:
    if table.ndim == 2 and table.shape[1] > 1:
        return "scores"
    flat = _flat(table)
    if flat.dtype.kind != "f":
        return "labels"
    distinct, _ = _factorize(flat)
    return "labels" if all(_place(value, reader.classes, reader.columns) >= 0 for value in distinct) else "favourable"


def _are_logits(numbers: NDArray[Any], form: Form) -> bool:
    """Numbers that cannot be probabilities are logits; scores that merely do not sum to one stay as they are."""
    finite = numbers[np.isfinite(numbers)]
    return bool(finite.size) and bool(finite.min() < -1e-6 or (form == "favourable" and finite.max() > 1 + 1e-6))


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


def _flat(table: NDArray[Any]) -> NDArray[Any]:
    if table.ndim == 2 and table.shape[1] != 1:
        raise WrongAnswer(f"the model answered with {_shape(table)}; expected one value per row")
    return table.reshape(-1)


def _numbers(table: NDArray[Any]) -> NDArray[Any]:
    if table.dtype.kind == "f":
        return table
    try:
        return table.astype(np.float64)
    except (TypeError, ValueError):
        raise WrongAnswer(f"the model answered with {table.reshape(-1)[0]!r}; expected numbers as scores") from None


def _factorize(answers: NDArray[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    """The distinct answers as plain values, and where each row's answer is among them."""
    if answers.dtype == object:
        import pandas as pd

        places, distinct = pd.factorize(answers, use_na_sentinel=False)
        return [plain(value) for value in distinct], np.asarray(places, dtype=np.intp)
    values, inverse = np.unique(answers, return_inverse=True)
    return [plain(value) for value in values], inverse.reshape(-1).astype(np.intp)


def _place(value: Any, classes: tuple[Any, ...], columns: tuple[Any, ...]) -> int:
    """Where a label is among the classes, -1 for nowhere; 1, 1.0 and True are one label unless both are declared."""
    alike = [at for at, known in enumerate(classes) if type(known) is type(value) and known == value]
    if not alike and not isinstance(value, str):
        alike = [at for at, known in enumerate(classes) if not isinstance(known, str) and known == value]
    if not alike and columns and type(value) is int and 0 <= value < len(columns) and all(isinstance(k, str) for k in classes):
        return classes.index(columns[value])
    return alike[0] if alike else -1


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
