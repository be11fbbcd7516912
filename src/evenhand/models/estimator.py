"""scikit-learn estimators and pipelines, and XGBoost, LightGBM and CatBoost through the same interface."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.arrays import Labels, Rows, Scores
from evenhand.contract import Model
from evenhand.domain.columns import listing
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, MissingAbility
from evenhand.models.answer_shapes import Reader, declared_or_own, plain, reader_for
from evenhand.models.boosted import quick_boosting
from evenhand.models.booster_cells import BoosterCells, cells_of
from evenhand.models.fitting_again import check_labels, seed_of
from evenhand.models.forests import quick_forest
from evenhand.models.inputs import Takes, fingerprint_by_answers, guarded, inputs_of, probe_rows
from evenhand.models.readings import Declared, confirm, settle, with_threshold
from evenhand.models.several_outputs import check_alone
from evenhand.models.trial_rows import TrialRows

_NUMBERED = re.compile(r"(Column_|column_|f|x|feature_)?\d+")
"""Names that the libraries make up for the columns of an array."""


@dataclass(frozen=True, eq=False)
class EstimatorModel:
    """A fitted estimator, what it takes, and which of its methods is asked."""

    estimator: Any
    domain: TabularDomain
    takes: Takes
    reader: Reader
    asks: str  # predict_proba, decision_function or predict
    names: tuple[str, ...] = ()  # the columns in the estimator's order; empty for a matrix
    cells: BoosterCells | None = None  # how a booster takes its categories
    batch_rows: int = 16_384

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label values, in the order of the score columns."""
        return self.reader.classes

    @property
    def is_hard(self) -> bool:
        """Whether the estimator only says labels."""
        return self.reader.is_hard

    def inputs(self, rows: Rows) -> Any:
        """What the estimator is given for rows of codes."""
        inputs = inputs_of(rows, self.domain, self.takes)
        inputs = inputs[list(self.names)] if self.names else inputs
        return inputs if self.cells is None else self.cells.dressed(inputs)

    def scores(self, rows: Rows) -> Scores:
        """Probabilities, or what stands for them."""
        if not len(rows):
            return np.empty((0, len(self.classes)))  # scikit-learn refuses to be asked about nobody
        return self.reader.read(self.answers(rows), len(rows))

    def answers(self, rows: Rows) -> Any:
        """What the estimator itself says."""
        quick = quick_forest(self.estimator) or quick_boosting(self.estimator) if self.asks == "predict_proba" else None
        ask = quick or getattr(self.estimator, self.asks)
        return guarded(lambda: ask(self.inputs(rows)), f"{type(self.estimator).__name__}.{self.asks}")

    def refit(self, rows: Rows, labels: Labels, rng: np.random.Generator) -> Model:
        """A fresh clone fitted on these rows, seeded by rng wherever it takes a seed."""
        from sklearn.base import clone

        check_alone(self.estimator)
        if not hasattr(self.estimator, "fit"):
            raise MissingAbility(f"{type(self.estimator).__name__} has no fit method; wrap the estimator that it was made from")
        check_labels(rows, labels, len(self.classes))
        fresh = seeded(clone(self.estimator), rng)
        own = self._own_labels()
        guarded(lambda: fresh.fit(self.inputs(rows), np.array(own)[labels]), f"{type(fresh).__name__}.fit")
        columns = [self.classes[own.index(value)] for value in _classes_of(fresh) or own]
        names = reader_for(self.domain, columns, single=self.reader.single).columns
        spoken = tuple(own[self.classes.index(name)] for name in names) if self.reader.spoken else ()
        return replace(self, estimator=fresh, reader=replace(self.reader, columns=names, spoken=spoken))

    def _own_labels(self) -> list[Any]:
        """What the estimator itself calls each of the classes; one that it never saw has its position or its name."""
        own = dict(zip(self.reader.columns, _classes_of(self.estimator) or self.reader.columns, strict=True))
        is_numbered = all(type(value) is int for value in own.values()) and tuple(own.values()) != self.reader.columns
        return [own.get(name, place if is_numbered else name) for place, name in enumerate(self.classes)]

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint_by_answers(type(self.estimator).__name__, self.scores, self.domain)

    def fingerprint(self) -> str:
        """The estimator's type and a digest of its answers to fixed rows."""
        return self._fingerprint


def from_estimator(
    estimator: Any, domain: TabularDomain, classes: Sequence[Any] | None = None, takes: Takes | None = None, trial: TrialRows | None = None
) -> EstimatorModel:
    """A fitted estimator as a model; it must answer a few rows of the domain."""
    _check_fitted(estimator)
    asks = _asked(estimator, trial.declared if trial is not None else Declared())
    names = named_columns(estimator, domain, takes)
    kind: Takes = takes or ("frame" if names else "codes")
    reader = _reader(asks, declared_or_own(domain, classes, _classes_of(estimator)))
    kept = names if kind in ("frame", "codes_frame") else ()
    model = EstimatorModel(estimator, domain, kind, reader, asks, kept)
    model = replace(model, cells=cells_of(estimator, model.inputs(probe_rows(domain, 8))) if kind == "frame" else None)
    _check_width(model)
    return replace(model, reader=_confirmed(model, trial))


def _confirmed(model: EstimatorModel, trial: TrialRows | None) -> Reader:
    """The estimator must answer; classes that it only numbers are found by agreement with the labels.

    What an object says that has `predict` alone and no classes is settled as that of a function.
    """
    is_open = model.asks == "predict" and _classes_of(model.estimator) is None
    declared = trial.declared if trial is not None else Declared()
    is_tried = is_open or model.reader.match in ("number", "order", "words") or declared.threshold is not None
    if trial is None or not is_tried:
        rows = probe_rows(model.domain, 8)
        answer = model.answers(rows)
        model.reader.read(answer, len(rows))
        return confirm(model.reader, answer, None)
    answer = model.answers(trial.rows)
    if is_open:
        return settle(replace(model.reader, form="scores"), answer, len(trial.rows), declared, trial.labels)
    reader = with_threshold(model.reader, answer, declared)
    reader.read(answer, len(trial.rows))
    return confirm(reader, answer, trial.labels)


_SAID = {"predict_proba": ("probability", "scores", "favourable"), "decision_function": ("logit", "score", "scores", "favourable")}
"""What may be declared of the answers of a method whose answers are known."""


def _asked(estimator: Any, declared: Declared) -> str:
    """The method that is asked: the one that says most, or `predict` where labels are declared."""
    has = [name for name in ("predict_proba", "decision_function", "predict") if hasattr(estimator, name)]
    if not has:
        raise InvalidArgument(f"{type(estimator).__name__} has neither predict_proba nor predict; wrap a fitted classifier or a callable")
    if declared.returns is None or has[0] == "predict" or declared.returns in _SAID[has[0]]:
        return has[0]
    if declared.returns in ("label", "labels") and "predict" in has:
        return "predict"
    raise InvalidArgument(
        f"returns={declared.returns!r}, but {type(estimator).__name__} is asked by {has[0]}, which says {_SAID[has[0]][0]}; leave "
        "`returns` away, or wrap a function that returns what you mean"
    )


def _reader(asks: str, reader: Reader) -> Reader:
    """What the asked method returns is known from its name."""
    reader = replace(reader, evidence=(f"asked by {asks}",))
    if asks == "predict":
        return replace(reader, form="labels")
    if asks == "decision_function":
        # A binary decision function speaks for the estimator's second class.
        second = reader.classes.index(reader.columns[1])
        return replace(reader, form="favourable" if len(reader.columns) == 2 else "scores", scale="logit", single=second)
    return reader


def _classes_of(estimator: Any) -> list[Any] | None:
    try:
        classes = getattr(estimator, "classes_", None)
    except AttributeError:
        classes = None
    if classes is None:
        return None
    if isinstance(classes, list) and classes and isinstance(classes[0], np.ndarray):
        raise InvalidArgument(f"{type(estimator).__name__} predicts {len(classes)} labels at once; wrap one that predicts a single label")
    return [plain(value) for value in classes] or None


def _check_fitted(estimator: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise InvalidArgument(f"{type(estimator).__name__} is not fitted; call fit before wrapping it") from None
    except TypeError:
        return  # not scikit-learn's own kind of estimator: its answers to the probe rows tell


def named_columns(estimator: Any, domain: TabularDomain, takes: Takes | None) -> tuple[str, ...]:
    """The frame columns that the estimator was fitted on, in its order; empty when it was fitted on an array."""
    seen = getattr(estimator, "feature_names_in_", None)
    if seen is None:
        seen = getattr(estimator, "feature_names_", None)
    spaced = {name.replace(" ", "_"): name for name in domain.names}  # LightGBM reports names without their spaces
    names = tuple(str(name) if str(name) in domain.names else spaced.get(str(name), str(name)) for name in seen) if seen is not None else ()
    unknown = [name for name in names if name not in domain.names]
    if not unknown or takes in ("codes", "matrix"):
        return names
    if all(_NUMBERED.fullmatch(name) for name in names):
        return ()
    raise InvalidArgument(
        f"{type(estimator).__name__} was fitted on the column {unknown[0]!r}, which the domain lacks; it has {listing(domain.names)}.  "
        "Wrap the whole pipeline that starts from the original columns, or a callable that prepares them"
    )


def _check_width(model: EstimatorModel) -> None:
    width = getattr(model.estimator, "n_features_in_", None)
    if not model.names and isinstance(width, int | np.integer) and width not in (0, len(model.domain.columns)):
        raise InvalidArgument(
            f"{type(model.estimator).__name__} was fitted on {width} columns, the domain has {len(model.domain.columns)}; "
            "wrap the pipeline that includes the preparation of the columns, or a callable"
        )


def seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """The estimator with every seed that it takes drawn from rng."""
    seeds = [name for name in estimator.get_params(deep=True) if name.split("__")[-1] in ("random_state", "random_seed")]
    return estimator.set_params(**{name: seed_of(rng) for name in sorted(seeds)}) if seeds else estimator
