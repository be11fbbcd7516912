"""A regression taken apart: its trees, and whether their sum is the amount itself or its logarithm.  Judges nothing.

Which of the two it is, is seen on the model's own answers, never guessed from the name of an objective.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand.arrays import Reals
from evenhand.contract import Model
from evenhand.errors import MissingAbility
from evenhand.measures.proofs.onnx_trees import AMOUNTS, read_onnx
from evenhand.measures.proofs.tree_features import CHECKED_ROWS, TreeFront, prepared, taken_apart
from evenhand.measures.proofs.tree_readers import SINGLE, SUPPORTED, TreeSource, read, settled, single_floats, tolerance
from evenhand.models.amount_models import AmountModel
from evenhand.models.inputs import probe_rows
from evenhand.models.onnx import OnnxModel
from evenhand.models.several_outputs import check_output

ROUNDED = 2.0**-20
"""How far an amount in single precision may be off, with some room, as a share of it."""


@dataclass(frozen=True)
class AmountTrees:
    """The trees, and what becomes of their sum."""

    front: TreeFront
    is_logarithm: bool  # the amount is the exponential of the sum


def amount_trees(model: Model) -> AmountTrees:
    """The trees of a wrapped regression, checked against the model's own amounts."""
    if not isinstance(model, AmountModel) or model.source is None:
        raise MissingAbility(
            f"certify cannot look inside a {type(model).__name__} that says amounts; it reads {SUPPORTED}, but no callables or "
            "URLs.  `measure` tells how many people's amount moves by more than the tolerance"
        )
    front = _onnx_front(model, model.source) if isinstance(model.source, OnnxModel) else _estimator_front(model)
    return _agreeing(front, model)


def _estimator_front(model: AmountModel) -> TreeFront:
    steps, final = taken_apart(model.source)
    final, output = _one_of(final, model.output)
    source = read(final)
    source = settled(source, prepared(model, steps, probe_rows(model.domain)))
    return TreeFront(model, tuple(steps), _column(source, output))


def _onnx_front(model: AmountModel, file: OnnxModel) -> TreeFront:
    trees = read_onnx(file, AMOUNTS)
    ensemble = trees.gathering.ensemble("ONNX tree ensemble", tolerance(trees.gathering, SINGLE, 1.0), trees.offset)
    return TreeFront(file, (), _column(TreeSource(ensemble, single_floats), model.output))


def _one_of(estimator: Any, output: int | None) -> tuple[Any, int | None]:
    """Of several regressors, one for each amount, the one that is asked for."""
    if type(estimator).__name__ == "MultiOutputRegressor":
        return estimator.estimators_[check_output(output or 0, len(estimator.estimators_))], None
    return estimator, output


def _column(source: TreeSource, output: int | None) -> TreeSource:
    """The trees of one amount alone."""
    ensemble = source.ensemble
    width = len(ensemble.offset)
    if width == 1:
        return source
    at = check_output(output or 0, width)
    trees = tuple(replace(tree, value=tree.value[:, at : at + 1]) for tree in ensemble.trees)
    return replace(source, ensemble=replace(ensemble, trees=trees, offset=ensemble.offset[at : at + 1]), sums=None)


def _agreeing(front: TreeFront, model: AmountModel) -> AmountTrees:
    """What was read must add up to what the model says, or to its logarithm."""
    rows = probe_rows(model.domain, CHECKED_ROWS)
    sums, said = front.source.ensemble.scores(front.features(rows))[:, 0], model.scores(rows)[:, 0].astype(np.float64)
    slack = front.source.ensemble.tolerance
    if _is_near(sums, said, slack):
        return AmountTrees(front, is_logarithm=False)
    with np.errstate(over="ignore"):
        told = np.exp(sums)
    if _is_near(told, said, slack * float(np.abs(said).max())):
        return AmountTrees(front, is_logarithm=True)
    off = float(np.abs(sums - said).max())
    raise MissingAbility(
        f"{front.source.ensemble.kind}: the trees as read are off by up to {off:.3g} from what the model says, and their exponential too; "
        "something behind them (another objective, a transformed target) is not supported by certify, so nothing is certified"
    )


def _is_near(sums: Reals, said: Reals, slack: float) -> bool:
    return bool((np.abs(sums - said) <= 2 * slack + ROUNDED * np.abs(said)).all())
