"""The only gate to a model: it counts, cuts into fitting batches, keeps the budget, and checks every answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Rows, Scores
from evenhand.contract import (
    SCORES,
    Answer,
    Detecting,
    Differentiable,
    Executor,
    Fused,
    Medium,
    Model,
    PixelDifferentiable,
    PixelTransparent,
    Slope,
    Transparent,
    labels_of,
)
from evenhand.deadline import Deadline
from evenhand.domain.key_table import KeyTable
from evenhand.domain.keys import hash_cells
from evenhand.errors import BudgetSpent, EvenhandError, MissingAbility, ModelFailed, UnsteadyModel, WrongAnswer
from evenhand.models.budget import Budget
from evenhand.models.shared_batches import SharedBatches
from evenhand.shared_work import AnswerShelf


class Meter:
    """A model that counts what it is asked.  Methods and oracles see the model only through one of these.

    RememberedScores are remembered when the model declares itself costly (`is_costly`, as an endpoint does): a row that was asked before is
    neither asked nor charged again, unless `remembers` is False.  For a model in this process, remembering would cost more than asking.
    An executor may share the batches of such a model, and a shelf keep their answers; these are the same.
    """

    def __init__(
        self,
        model: Model,
        budget: Budget | None = None,
        remembers: bool = True,
        executor: Executor | None = None,
        shelf: AnswerShelf | None = None,
    ) -> None:
        self.model = model
        self._shared = SharedBatches.of(model, executor, shelf)
        self.budget = budget or Budget(seconds=float("inf"))
        self.rows_asked = 0
        self.calls = 0
        self.deadline = Deadline.after(self.budget.seconds, self.budget.cpu_seconds)
        self._seconds_asking = 0.0
        self._remembered = RememberedScores(len(model.classes)) if remembers and getattr(model, "is_costly", False) else None
        self._fused = model if isinstance(model, Fused) else None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_shared": None}  # who shares is known in one process only

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label values, in the order of the score columns."""
        return self.model.classes

    @property
    def is_hard(self) -> bool:
        """Whether only labels are known."""
        return self.model.is_hard

    @property
    def batch_rows(self) -> int:
        """How many rows one call takes best."""
        return self.model.batch_rows

    def fingerprint(self) -> str:
        """The model's own fingerprint."""
        return self.model.fingerprint()

    @property
    def rows_left(self) -> int | None:
        """How many rows the budget still allows; None for no limit."""
        limit = self.budget.model_rows
        return None if limit is None else limit - self.rows_asked

    @property
    def seconds_per_row(self) -> float | None:
        """What asking about one row has taken so far, on the clock that ends the run; None before the first answer."""
        return self._seconds_asking / self.rows_asked if self._seconds_asking and self.rows_asked else None

    def charge(self, rows: int) -> None:
        """Count rows against the budget, or raise BudgetSpent and count nothing."""
        if self.rows_left is not None and rows > self.rows_left:
            raise BudgetSpent(f"{rows} more rows asked of a budget of {self.budget.model_rows}")
        self.check_time()
        self.rows_asked += rows

    @property
    def is_out_of_time(self) -> bool:
        """Whether the seconds are over, on the wall's clock or on the processor's."""
        return self.deadline.is_over

    def check_time(self) -> None:
        """Raise BudgetSpent when the seconds are over."""
        if self.is_out_of_time:
            raise BudgetSpent(f"{self.budget.cpu_seconds or self.budget.seconds} seconds are over")

    def scores(self, rows: Rows) -> Scores:
        """The model's scores, counted, in fitting batches, with every answer checked."""
        if self._remembered is not None:
            return self._remembered.scores(rows, self._ask_all)
        return self._ask_all(rows)

    def _ask_all(self, rows: Rows) -> Scores:
        self.charge(len(rows))
        step = max(1, self.batch_rows)
        if self._shared is not None and self._shared.is_worth(len(rows), step):
            return self._ask_shared(self._shared, rows, step)
        if len(rows) <= step:
            return self._ask(rows, 0)
        return np.concatenate([self._ask(rows[at : at + step], at) for at in range(0, len(rows), step)])

    def _ask_shared(self, shared: SharedBatches, rows: Rows, step: int) -> Scores:
        """The same batches, by those who share them."""
        answers = shared.ask("scores", rows, step)
        self.calls += len(answers)
        return np.concatenate([self._checked(each, len(each), at * step) for at, each in enumerate(answers)])

    def _ask(self, rows: Rows, at: int) -> Scores:
        self.calls += 1
        started = self.deadline.clock()
        try:
            scores = self.model.scores(rows)
        except EvenhandError:
            raise
        except Exception as fault:  # the model is foreign code: whatever it raises is reported as the model's failure
            raise ModelFailed(
                f"the model raised {type(fault).__name__} on a batch of {len(rows)} rows (rows {at} to {at + len(rows) - 1}): {fault}"
            ) from fault
        self._seconds_asking += self.deadline.clock() - started
        return self._checked(scores, len(rows), at)

    def _checked(self, scores: Scores, rows: int, at: int) -> Scores:
        shape = getattr(scores, "shape", None)
        if shape != (rows, len(self.classes)):
            raise WrongAnswer(
                f"the model answered {rows} rows with an array of shape {shape}; expected ({rows}, {len(self.classes)}): "
                f"one score for each of the classes {list(self.classes)}"
            )
        if not np.isfinite(scores).all():
            row = int(np.flatnonzero(~np.isfinite(scores).all(axis=1))[0])
            raise WrongAnswer(
                f"the model answered row {at + row} with {scores[row].tolist()}; scores must be finite numbers"
                " (a model that may decide nothing says so by a label of its own: evenhand.open(..., abstention=...))"
            )
        return scores

    def gradient(self, rows: Rows, cotangent: NDArray[Any], layer: str = SCORES) -> Rows:
        """The model's gradient, counted like an answer; one made of differences counts every row that it asks."""
        if not isinstance(self.model, Differentiable):
            raise MissingAbility(f"{type(self.model).__name__} offers no gradients")
        self.charge(len(rows) * self._gradient_rows(rows.shape[1]))
        self.calls += 1
        step = max(1, self.batch_rows)
        parts = [self.model.gradient(rows[i : i + step], cotangent[i : i + step], layer) for i in range(0, len(rows), step)]
        return np.concatenate(parts) if parts else np.zeros_like(rows)

    def _gradient_rows(self, columns: int) -> int:
        ask = getattr(self.model, "gradient_rows", None)
        return int(ask(columns)) if ask else 1

    def pullback(self, rows: Rows, slope: Slope, layer: str = SCORES) -> Rows:
        """The gradient of a loss of a layer's values; one pass where the model can, else values first and then the gradient."""
        if self._fused is not None:
            self.charge(len(rows) * self._gradient_rows(rows.shape[1]))
            self.calls += 1
            return self._fused.pullback(rows, slope, layer)
        values = self.scores(rows) if layer == SCORES else self.activations(rows, (layer,))[layer]
        return self.gradient(rows, slope(values), layer)

    def pixel_gradient(self, rows: Rows, cotangent: NDArray[Any], layer: str = SCORES) -> NDArray[np.float32]:
        """The gradient by the pixels that the rows show, counted like an answer."""
        if not isinstance(self.model, PixelDifferentiable):
            raise MissingAbility(f"{type(self.model).__name__} offers no gradients by pixels")
        self.charge(len(rows))
        self.calls += 1
        step = max(1, self.batch_rows)
        parts = [self.model.pixel_gradient(rows[i : i + step], cotangent[i : i + step], layer) for i in range(0, len(rows), step)]
        return np.concatenate(parts)

    @property
    def medium(self) -> Medium | None:
        """What the model is shown; None where it takes the rows themselves."""
        shown: Medium | None = getattr(self.model, "medium", None)
        return shown

    def detections(self, rows: Rows) -> list[Answer]:
        """The objects that a recogniser sees, counted like an answer."""
        if not isinstance(self.model, Detecting):
            raise MissingAbility(f"{type(self.model).__name__} tells no objects; a recogniser of scenes does")
        self.charge(len(rows))
        self.calls += 1
        step = max(1, self.batch_rows)
        if self._shared is not None and self._shared.is_worth(len(rows), step):
            return [answer for part in self._shared.ask("detections", rows, step) for answer in part]
        return [answer for at in range(0, len(rows), step) for answer in self.model.detections(rows[at : at + step])]

    def layers(self) -> tuple[str, ...]:
        """The readable layers."""
        return self._transparent().layers()

    def flat_layers(self) -> tuple[str, ...]:
        """The readable layers by the names under which maps are read value by value, where the model has maps."""
        named: Callable[[], tuple[str, ...]] = getattr(self.model, "flat_layers", self.layers)
        return named()

    def activations(self, rows: Rows, layers: Sequence[str]) -> dict[str, NDArray[np.floating[Any]]]:
        """Hidden values, counted like an answer."""
        self.charge(len(rows))
        self.calls += 1
        return self._transparent().activations(rows, layers)

    def _transparent(self) -> Transparent | PixelTransparent:
        if not isinstance(self.model, Transparent | PixelTransparent):
            raise MissingAbility(f"{type(self.model).__name__} offers no hidden layers")
        return self.model


class RememberedScores:
    """Scores by row: what a costly model was asked before.  Threads that share it ask one after the other, so that none asks twice."""

    def __init__(self, classes: int) -> None:
        self._table = KeyTable()
        self._scores = np.empty((0, classes))
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def scores(self, rows: Rows, ask: Callable[[Rows], Scores]) -> Scores:
        """Remembered scores; `ask` is called once with the rows that are new."""
        keys = hash_cells(rows)
        distinct, first, back = np.unique(keys, return_index=True, return_inverse=True)
        with self._lock:
            known = self._table.find(distinct)
            unknown = known < 0
            if unknown.any():
                # Asked before they are entered: a budget or a model that fails in between leaves no hole.
                answers = ask(rows[first[unknown]])
                known[unknown], _ = self._table.add(distinct[unknown])
                self._scores = np.concatenate([self._scores, answers])
            scores: Scores = self._scores[known][back]
        return scores


def assert_steady(model: Model, rows: Rows) -> None:
    """Ask twice and raise when the labels differ: findings of such a model could not be replayed."""
    fresh: Callable[[], Model] | None = getattr(model, "without_memory", None)
    first, second = (Meter(asked).scores(rows) for asked in (model, fresh() if fresh else model))
    changed = np.flatnonzero(labels_of(first) != labels_of(second))
    if changed.size:
        row = int(changed[0])
        cure = "Fix its seed, or switch off dropout and training mode, before it is tested"
        if getattr(model, "keeps_answers", False):
            cure += "; where it was changed on purpose since its answers were kept, add --fresh (fresh=True in Python)"
        raise UnsteadyModel(
            f"the model changed its answer between two calls for {changed.size} of {len(rows)} rows; "
            f"row {row}: {first[row].tolist()} and then {second[row].tolist()}.  {cure}"
        )
