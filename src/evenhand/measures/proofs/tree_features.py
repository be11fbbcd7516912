"""From codes to the features that a model's trees ask for, through encoders and scalers that treat each column by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.contract import Model, labels_of
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import MissingAbility
from evenhand.measures.proofs.onnx_trees import read_onnx
from evenhand.measures.proofs.tree_readers import SINGLE, TreeSource, read, settled, single_floats, tolerance
from evenhand.models.amount_models import AmountModel
from evenhand.models.estimator import EstimatorModel
from evenhand.models.inputs import guarded, probe_rows
from evenhand.models.native_boosters import BoosterScorer
from evenhand.models.onnx import OnnxModel
from evenhand.models.several_outputs import OneOutput

COLUMN_WISE = (
    *("Binarizer", "ColumnTransformer", "KBinsDiscretizer", "MaxAbsScaler", "MinMaxScaler", "MissingIndicator", "OneHotEncoder"),
    *("OrdinalEncoder", "PowerTransformer", "QuantileTransformer", "RobustScaler", "SelectKBest", "SelectPercentile"),
    *("SimpleImputer", "StandardScaler", "TargetEncoder", "VarianceThreshold"),
)
"""scikit-learn's preparations whose every output depends on one column only."""

SEARCHES = ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")
PROBES = 64
CHECKED_ROWS = 2_048
ROUNDED = 2.0**-22
"""How far a single float near a threshold may be off, with some room."""


@dataclass(frozen=True)
class TreeFront:
    """A tree model taken apart: codes to features, and the trees that ask for them."""

    model: EstimatorModel | OnnxModel | AmountModel
    steps: tuple[Any, ...]
    source: TreeSource

    @property
    def domain(self) -> TabularDomain:
        """The domain that the model was wrapped with: it says how codes become cells."""
        return self.model.domain

    def prepared(self, rows: Rows) -> Any:
        """What the last estimator is given for these rows."""
        return prepared(self.model, self.steps, rows)

    def features(self, rows: Rows) -> NDArray[np.floating[Any]]:
        """The numbers that the trees ask for, (n, features)."""
        return self.source.features(self.prepared(rows))

    @cached_property
    def base(self) -> Rows:
        """One row that stands in for the columns that do not matter."""
        return probe_rows(self.domain, 1)

    def answers(self, column: int, codes: Reals, questions: Index) -> NDArray[np.bool_]:
        """What these questions, which must concern features of this column, answer for each code, (questions, codes)."""
        distinct, inverse = np.unique(codes, return_inverse=True, equal_nan=True)
        features = self._column_features(column, distinct)
        asked = [self.source.ensemble.questions[q] for q in questions]
        return np.array([question.holds(features[:, question.feature])[inverse] for question in asked], dtype=bool).reshape(-1, len(codes))

    def _column_features(self, column: int, codes: Reals) -> NDArray[np.floating[Any]]:
        rows = np.repeat(self.base, len(codes), axis=0)
        rows[:, column] = codes
        return self.features(rows)

    @cached_property
    def owners(self) -> NDArray[np.intp]:
        """For every feature the column that it depends on; -1 for a constant one."""
        owners = np.full(self.features(self.base).shape[1], -1, dtype=np.intp)
        for place in range(len(self.domain.columns)):
            seen = self._column_features(place, self.probes(place))
            moves = (seen != seen[:1]).any(axis=0) & ~np.isnan(seen).all(axis=0)
            if (shared := np.flatnonzero(moves & (owners >= 0))).size:
                names = self.domain.names
                raise MissingAbility(
                    f"feature {shared[0]} of the model depends on {names[owners[shared[0]]]!r} and on {names[place]!r}; "
                    "certify needs features that depend on one column each"
                )
            owners[moves] = place
        return owners

    def probes(self, place: int) -> Reals:
        """Codes that show what depends on a column: every listed one, numbers spread over the range, and a missing cell."""
        column = self.domain.columns[place]
        if column.is_listed or (column.cardinality or PROBES + 1) <= PROBES:
            codes = np.arange(column.lowest, column.highest + 1)
        else:
            codes = np.linspace(column.lowest, column.highest, PROBES)
            codes = np.unique(np.rint(codes)) if column.is_integral else codes
        return np.append(codes, np.nan) if column.missing > 0 else codes

    def questions_of(self, column: int) -> Index:
        """The questions that concern features of this column."""
        owned = [q for q, question in enumerate(self.source.ensemble.questions) if self.owners[question.feature] == column]
        return np.array(owned, dtype=np.intp)

    @cached_property
    def constant_answers(self) -> dict[int, bool]:
        """Questions about features that no column moves, with their answer."""
        features = self.features(self.base)
        asked = enumerate(self.source.ensemble.questions)
        return {q: bool(each.holds(features[:, each.feature])[0]) for q, each in asked if self.owners[each.feature] < 0}


def prepared(model: EstimatorModel | OnnxModel | AmountModel, steps: Sequence[Any], rows: Rows) -> Any:
    """What the estimator behind these steps is given for rows of codes."""
    inputs = model.inputs(rows)
    for step in steps:
        inputs = guarded(lambda step=step, given=inputs: step.transform(given), f"{type(step).__name__}.transform")  # type: ignore[misc]
    return inputs


def front_of(model: Model) -> TreeFront:
    """A wrapped tree model taken apart, checked against the model's own answers."""
    if isinstance(model, OnnxModel):
        return _onnx_front(model)
    if not isinstance(model, EstimatorModel):
        raise MissingAbility(
            f"certify cannot look inside a {type(model).__name__}; it reads fitted tree ensembles and dense ReLU "
            "networks, but no callables, files of other formats, or URLs"
        )
    steps, final = taken_apart(model.estimator)
    front = TreeFront(model, tuple(steps), read(final))
    front = TreeFront(model, tuple(steps), _cut(settled(front.source, front.prepared(probe_rows(model.domain))), model))
    _agree(front)
    return front


def _onnx_front(model: OnnxModel) -> TreeFront:
    """The trees of a file; what it answers must be what they say, class by class."""
    if model.reader.threshold is not None:
        raise MissingAbility(f"threshold={model.reader.threshold:g}: certify reads ONNX files by their own labels only")
    trees = read_onnx(model)
    ensemble = trees.gathering.ensemble("ONNX tree ensemble", tolerance(trees.gathering, SINGLE, 1.0), trees.offset)
    front = TreeFront(model, (), TreeSource(ensemble, single_floats))
    _agree(front)
    return front


def _cut(source: TreeSource, model: EstimatorModel) -> TreeSource:
    """The trees with their margin moved so that the label changes at zero, where the model's reading has a threshold of its own."""
    reader, ensemble = model.reader, source.ensemble
    if len(ensemble.offset) > 1 or (reader.threshold is None and not isinstance(model.estimator, BoosterScorer)):
        return source
    at = _threshold(source, model)
    slack = ROUNDED / max(abs(at.share * (1 - at.share)), ROUNDED)
    return replace(source, ensemble=replace(ensemble, offset=ensemble.offset - at.margin, tolerance=ensemble.tolerance + slack))


@dataclass(frozen=True)
class _Threshold:
    """Where the label changes: as a margin, and as the share that it stands for."""

    margin: float
    share: float = 0.5


def _threshold(source: TreeSource, model: EstimatorModel) -> _Threshold:
    reader = model.reader
    if reader.form == "favourable":  # the number itself is compared
        usual = 0.5 if reader.scale == "probability" else 0.0
        return _Threshold(usual if reader.threshold is None else reader.threshold)
    assert reader.threshold is not None
    share = reader.threshold if reader.columns.index(reader.classes[reader.single]) == 1 else 1 - reader.threshold
    if not 0 < share < 1:
        raise MissingAbility(f"threshold={reader.threshold:g}: certify needs one between 0 and 1")
    return _Threshold(2 * share - 1 if source.sums is None else float(np.log(share / (1 - share))), share)


def taken_apart(estimator: Any) -> tuple[list[Any], Any]:
    """The preparations, each known to treat columns by themselves, and the estimator behind them."""
    steps, final = _steps(estimator)
    for step in steps:
        _check(step)
    return steps, final


def _steps(estimator: Any) -> tuple[list[Any], Any]:
    if isinstance(estimator, OneOutput):
        return _steps_to_one(estimator)
    if type(estimator).__name__ in SEARCHES:
        return _steps(estimator.best_estimator_)
    if type(estimator).__name__ != "Pipeline":
        return [], estimator
    *steps, (_, last) = estimator.steps
    inner, final = _steps(last)
    return [step for _, step in steps if step not in ("passthrough", None)] + inner, final


def _steps_to_one(asked: OneOutput) -> tuple[list[Any], Any]:
    """To one of several labels: the estimator that was fitted for it alone, else the one for all, asked about it."""
    steps, final = _steps(asked.estimator)
    if type(final).__name__ != "MultiOutputClassifier":
        return steps, OneOutput(final, asked.place)
    inner, own = _steps(final.estimators_[asked.place])
    return steps + inner, own


def _check(step: Any) -> None:
    for part in _parts(step):
        name, package = type(part).__name__, type(part).__module__.split(".")[0]
        if package == "sklearn" and (name in COLUMN_WISE or (name == "FunctionTransformer" and part.func is None)):
            continue
        raise MissingAbility(
            f"certify cannot see through the preparation {name}; it knows those that treat each column by itself: {', '.join(COLUMN_WISE)}"
        )


def _parts(step: Any) -> Iterator[Any]:
    if isinstance(step, str):
        return
    if type(step).__name__ == "Pipeline":
        for _, inner in step.steps:
            yield from _parts(inner)
        return
    yield step
    for _, inner, _ in getattr(step, "transformers_", ()):
        yield from _parts(inner)


def _order(model: EstimatorModel | OnnxModel) -> list[int]:
    """The classes that the sums speak for; one number that was read speaks for its class."""
    reader = model.reader
    order = [model.classes.index(name) for name in reader.columns]
    return sorted(order, key=lambda place: place == reader.single) if reader.form == "favourable" else order


def _agree(front: TreeFront) -> None:
    """The trees that were read must say what the model says."""
    rows = probe_rows(front.domain, CHECKED_ROWS)
    sums = front.source.ensemble.scores(front.features(rows))
    if sums.shape[1] == 1:
        sums = np.hstack([-sums, sums])
    assert not isinstance(front.model, AmountModel)
    order = _order(front.model)
    own = np.array(order)[sums.argmax(axis=1)]
    ranked = np.sort(sums, axis=1)
    clear: Mask = ranked[:, -1] - ranked[:, -2] > 2 * front.source.ensemble.tolerance
    wrong = int((own != labels_of(front.model.scores(rows)))[clear].sum())
    if wrong:
        raise MissingAbility(
            f"{front.source.ensemble.kind}: the trees as read give another label than the model on {wrong} of {len(rows)} rows; "
            "something in it is not supported by certify, so nothing is certified"
        )
