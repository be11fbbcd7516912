"""A model that says a number, such as a price or a salary, instead of a class.  It has one score column: the number itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.arrays import Reals, Rows, Scores
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import EvenhandError, InvalidArgument, MissingAbility, ModelFailed, UnclearAnswers, WrongAnswer
from evenhand.models.booster_cells import BoosterCells, cells_of
from evenhand.models.estimator import named_columns, seeded
from evenhand.models.inputs import Takes, check_takes, fingerprint_by_answers, first_line, guarded, inputs_of, probe_rows
from evenhand.models.several_outputs import check_output, several_amounts


@dataclass(frozen=True, eq=False)
class AmountModel:
    """A regression and what it takes."""

    function: Callable[[Any], Any]
    domain: TabularDomain
    takes: Takes
    names: tuple[str, ...] = ()  # the columns in the regression's order; empty for all of them
    cells: BoosterCells | None = None
    output: int | None = None  # which of several amounts
    source: Any = None  # the fitted regressor or the ONNX file behind the function; None for a bare callable
    batch_rows: int = 16_384
    classes: tuple[Any, ...] = ("amount",)
    is_hard: bool = False

    @property
    def reading(self) -> str:
        """How its answers are read."""
        unit = self.domain.label.unit if self.domain.label is not None else None
        return f"it says an amount{f' in {unit}' if unit else ''}"

    def inputs(self, rows: Rows) -> Any:
        """What the regression is given for rows of codes."""
        inputs = inputs_of(rows, self.domain, self.takes)
        inputs = inputs[list(self.names)] if self.names else inputs
        return inputs if self.cells is None else self.cells.dressed(inputs)

    def scores(self, rows: Rows) -> Scores:
        """One number per row, (n, 1)."""
        inputs = self.inputs(rows)
        answer = np.asarray(guarded(lambda: self.function(inputs), "the regression"))
        if answer.ndim == 2 and answer.shape[1] > 1:
            if self.output is None:
                raise several_amounts(answer, None)
            answer = answer[:, check_output(self.output, answer.shape[1])]
        if answer.size != len(rows) or answer.dtype.kind not in "fiub":
            raise WrongAnswer(
                f"the regression answered {len(rows)} rows with {answer.dtype} of shape {answer.shape}; expected one number per row"
            )
        return answer.reshape(len(rows), 1).astype(np.float64)

    def refit(self, rows: Rows, labels: Any, rng: np.random.Generator) -> AmountModel:
        """A fresh clone fitted to these amounts, seeded by rng wherever it takes a seed; of several outputs only this one is learnt."""
        from sklearn.base import clone

        if not hasattr(self.source, "fit") or not hasattr(self.source, "get_params"):
            raise MissingAbility(
                "the regression cannot be fitted again: give the estimator itself.  What is possible with answers alone: marginalise, "
                "hide_protected and equal_means"
            )
        fresh = seeded(clone(self.source), rng)
        guarded(lambda: fresh.fit(self.inputs(rows), np.asarray(labels, dtype=np.float64)), f"{type(fresh).__name__}.fit")
        return replace(self, function=fresh.predict, source=fresh, output=None)

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint_by_answers("amounts", self.scores, self.domain)

    def fingerprint(self) -> str:
        """A digest of the answers to fixed rows."""
        return self._fingerprint


def is_regressor(model: Any) -> bool:
    """Whether this is a fitted estimator that predicts numbers."""
    return getattr(model, "_estimator_type", "") == "regressor" or _tag(model) == "regressor"


def _tag(model: Any) -> str:
    tags = getattr(model, "__sklearn_tags__", None)
    try:
        return str(tags().estimator_type) if callable(tags) else ""
    except Exception:  # foreign code: what cannot say its kind has none
        return ""


def answers_amounts(model: Any, domain: TabularDomain) -> bool:
    """Whether a model of this domain is a regression: by its label, or without one by what the model says of itself."""
    return domain.label.is_amount if domain.label is not None else is_regressor(model)


@dataclass(frozen=True)
class AmountWishes:
    """What the caller says of a regression: what it takes, which of its outputs counts, and rows with their true amounts."""

    takes: str | None = None
    output: int | None = None
    rows: Rows | None = None
    truth: Reals | None = None
    source: Any = None  # what answers behind a callable, where somebody may want to look inside


def wrap_amounts(model: Any, domain: TabularDomain, wishes: AmountWishes | None = None) -> AmountModel:
    """A regression (an estimator with predict, or a callable) as a model whose one score is its number."""
    wishes = wishes or AmountWishes()
    function = model.predict if hasattr(model, "predict") else model
    if not callable(function):
        raise InvalidArgument(
            f"model is a {type(model).__name__}; expected a fitted regressor or a callable that returns one number per row"
        )
    chosen = check_takes(wishes.takes)
    tried: list[str] = []
    for kind in (chosen,) if chosen else _fitting(model):
        made = replace(_of_kind(model, function, domain, kind), output=wishes.output, source=_source(model, wishes))
        try:
            made.scores(probe_rows(domain))
        except UnclearAnswers as fault:
            raise _with_evidence(made, wishes, fault) from None
        except InvalidArgument:
            raise
        except EvenhandError as fault:
            tried.append(f"takes={kind!r}: {first_line(fault)}")
        else:
            return made
    raise ModelFailed(f"the regression answers none of the usual inputs: {'; '.join(tried)}")


def _source(model: Any, wishes: AmountWishes) -> Any:
    return model if hasattr(model, "predict") else wishes.source


def _with_evidence(made: AmountModel, wishes: AmountWishes, fault: UnclearAnswers) -> UnclearAnswers:
    """The same error, with how well each output agrees with the label where rows are at hand."""
    rows = wishes.rows
    if rows is None or wishes.truth is None:
        return fault
    answer = np.asarray(guarded(lambda: made.function(made.inputs(rows)), "the regression"))
    return several_amounts(answer, wishes.truth)


def _of_kind(model: Any, function: Callable[[Any], Any], domain: TabularDomain, kind: Takes) -> AmountModel:
    names = named_columns(model, domain, kind) if kind in ("frame", "codes_frame") else ()
    made = AmountModel(function, domain, kind, names)
    return replace(made, cells=cells_of(model, made.inputs(probe_rows(domain, 8)))) if kind == "frame" else made


def _fitting(model: Any) -> tuple[Takes, ...]:
    """A model that was fitted to named columns is given a frame first."""
    return ("frame", "codes_frame") if getattr(model, "feature_names_in_", None) is not None else ("frame", "codes", "matrix")
