"""From the fitted models of scikit-learn, XGBoost, LightGBM and CatBoost to plain trees.  What cannot be read exactly is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals
from evenhand.errors import MissingAbility
from evenhand.measures.proofs.catboost_trees import read_trees
from evenhand.measures.proofs.tree_sums import LEAF, Ensemble, Gathering, Question
from evenhand.models.amount_models import is_regressor
from evenhand.models.booster_cells import library_of, native
from evenhand.models.inputs import matrix_of
from evenhand.models.native_boosters import NativeBooster
from evenhand.models.several_outputs import OneOutput

DOUBLE, SINGLE = 2.0**-52, 2.0**-23  # twice the largest relative error of one operation
SUPPORTED = (
    "scikit-learn's decision trees, random forests, extra trees, gradient boosting and histogram gradient boosting, "
    "estimators and boosters of XGBoost, LightGBM and CatBoost, tree ensembles in ONNX files (each for classes and for amounts), dense "
    "ReLU networks (likewise), and linear models that say amounts"
)
FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier", "RandomForestRegressor", "ExtraTreesRegressor")


@dataclass(frozen=True)
class TreeSource:
    """A read model: its trees, how its inputs become the numbers that the trees ask for, and its own sums to check them with.

    `sums` is None where the trees' values are the scores themselves.
    """

    ensemble: Ensemble
    features: Callable[[Any], NDArray[np.floating[Any]]]
    sums: Callable[[Any], Reals] | None = None


def read(estimator: Any) -> TreeSource:
    """The trees of a fitted estimator."""
    place = estimator.place if isinstance(estimator, OneOutput) else 0
    estimator = estimator.estimator if isinstance(estimator, OneOutput) else estimator
    name, package = type(estimator).__name__, type(estimator).__module__.split(".")[0]
    if library := library_of(estimator):
        return {"xgboost": _xgboost, "lightgbm": _lightgbm, "catboost": _catboost}[library](estimator)
    if package == "sklearn" and hasattr(estimator, "_predictors"):
        return _hist(estimator)
    if package == "sklearn" and name in ("GradientBoostingClassifier", "GradientBoostingRegressor"):
        return _gradient_boosting(estimator)
    if package == "sklearn" and hasattr(estimator, "tree_"):
        return _forest([estimator], name, place)
    if package == "sklearn" and name in FORESTS:
        return _forest(list(estimator.estimators_), name, place)
    raise MissingAbility(f"certify cannot read a {type(estimator).__module__}.{name}; it reads {SUPPORTED}")


def settled(source: TreeSource, inputs: Any) -> TreeSource:
    """The source with the constant that the model adds to its trees, which must be one constant for all inputs."""
    if source.sums is None:
        return source
    differences = source.sums(inputs) - source.ensemble.scores(source.features(inputs))
    offset = np.median(differences, axis=0)
    off = float(np.abs(differences - offset).max())
    if off > 16 * source.ensemble.tolerance + 1e-6 * float(np.abs(offset).max()):
        raise MissingAbility(
            f"{source.ensemble.kind}: the trees do not add up to the model's own margin (off by {off:.3g}); "
            "a custom objective, base margin, dropped trees or an initial estimator is not supported by certify"
        )
    return replace(source, ensemble=replace(source.ensemble, offset=offset))


def tolerance(gathering: Gathering, rounding: float, least: float = 0.0) -> float:
    """How far the order of a sum over all trees, with this rounding, can move it."""
    largest = sum(float(np.abs(tree.value).max()) for tree in gathering.trees) + least
    return rounding * ((len(gathering.trees) + 2) * largest + 8)


def single_floats(inputs: Any) -> NDArray[np.float32]:
    """Inputs as scikit-learn's trees see them."""
    return np.asarray(_dense(inputs), dtype=np.float32)


def _dense(inputs: Any) -> Any:
    if hasattr(inputs, "toarray"):
        return inputs.toarray()
    return matrix_of(inputs) if hasattr(inputs, "to_numpy") else np.asarray(inputs)


def _sklearn_tree(gathering: Gathering, tree: Any, value: Reals) -> None:
    to_left = getattr(tree, "missing_go_to_left", np.zeros(tree.node_count, dtype=np.uint8))
    asked = [
        LEAF
        if tree.children_left[node] < 0
        else gathering.ask(
            Question(int(tree.feature[node]), "at_most", float(tree.threshold[node]), missing_left=bool(to_left[node])),
        )
        for node in range(tree.node_count)
    ]
    gathering.add(asked, tree.children_left, tree.children_right, value)


def _forest(estimators: list[Any], name: str, place: int) -> TreeSource:
    """`place`: of the label among several that classifiers predict at once; amounts are read all together."""
    gathering = Gathering()
    if is_regressor(estimators[0]):
        for each in estimators:  # (nodes, outputs, 1): the mean amounts in each node
            _sklearn_tree(gathering, each.tree_, each.tree_.value[:, :, 0] / len(estimators))
        return TreeSource(gathering.ensemble(name, tolerance(gathering, DOUBLE, 1.0)), single_floats)
    for each in estimators:
        value = each.tree_.value[:, place, : int(np.ravel(each.n_classes_)[place])]
        value = value / value.sum(axis=1, keepdims=True) / len(estimators)
        _sklearn_tree(gathering, each.tree_, value[:, 1:] - value[:, :1] if value.shape[1] == 2 else value)
    return TreeSource(gathering.ensemble(name, tolerance(gathering, DOUBLE, 1.0)), single_floats)


def _gradient_boosting(estimator: Any) -> TreeSource:
    gathering = Gathering()
    rounds, outputs = estimator.estimators_.shape
    for at in range(rounds):
        for output in range(outputs):
            tree = estimator.estimators_[at, output].tree_
            value = np.zeros((tree.node_count, outputs))
            value[:, output] = estimator.learning_rate * tree.value[:, 0, 0]
            _sklearn_tree(gathering, tree, value)
    ensemble = gathering.ensemble(type(estimator).__name__, tolerance(gathering, DOUBLE, 10.0))
    sums = estimator.predict if is_regressor(estimator) else estimator.decision_function
    return TreeSource(ensemble, single_floats, lambda inputs: _columns(sums(inputs)))


def _columns(answer: Any) -> Reals:
    table = np.asarray(answer, dtype=np.float64)
    return table[:, None] if table.ndim == 1 else table


def _hist(estimator: Any) -> TreeSource:
    gathering = Gathering()
    known = estimator._bin_mapper.make_known_categories_bitsets()
    for rounds in estimator._predictors:
        for output, predictor in enumerate(rounds):
            nodes = predictor.nodes
            value = np.zeros((len(nodes), len(rounds)))
            value[:, output] = nodes["value"]
            asked = [LEAF if node["is_leaf"] else gathering.ask(_hist_question(node, predictor, known)) for node in nodes]
            gathering.add(asked, nodes["left"].astype(np.intp), nodes["right"].astype(np.intp), value)
    ensemble = gathering.ensemble(type(estimator).__name__, tolerance(gathering, DOUBLE, 10.0))
    return TreeSource(
        ensemble,
        lambda inputs: np.asarray(estimator._preprocess_X(inputs, reset=False)),
        lambda x: _columns(_raw_amounts(estimator, x) if is_regressor(estimator) else estimator.decision_function(x)),
    )


def _raw_amounts(estimator: Any, inputs: Any) -> Any:
    """The sums behind what a regression says: its logarithm where the loss is one of rates."""
    said = np.asarray(estimator.predict(inputs), dtype=np.float64)
    return np.log(said) if estimator.loss in ("poisson", "gamma") else said


def _hist_question(node: Any, predictor: Any, known: tuple[Any, Any]) -> Question:
    feature, to_left = int(node["feature_idx"]), bool(node["missing_go_to_left"])
    if not node["is_categorical"]:
        return Question(feature, "at_most", float(node["num_threshold"]), missing_left=to_left)
    members = _bits(predictor.raw_left_cat_bitsets[node["bitset_idx"]])
    return Question(feature, "among", members=members, known=_bits(known[0][known[1][feature]]), missing_left=to_left)


def _bits(words: NDArray[np.uint32]) -> tuple[int, ...]:
    flags = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")
    return tuple(int(place) for place in np.flatnonzero(flags))


def _xgboost(estimator: Any) -> TreeSource:
    booster = native(estimator)
    learner = json.loads(bytes(booster.save_raw(raw_format="json")))["learner"]
    boosted = learner["gradient_booster"]
    if boosted["name"] != "gbtree":
        raise MissingAbility(f"certify cannot read XGBoost's booster {boosted['name']!r}; it reads 'gbtree'")
    outputs = max(1, *(int(learner["learner_model_param"].get(name, 1)) for name in ("num_class", "num_target")))
    rounds = _rounds(estimator, len(boosted["model"]["iteration_indptr"]) - 1)
    gathering = Gathering()
    for place in range(boosted["model"]["iteration_indptr"][rounds]):
        _xgboost_tree(gathering, boosted["model"]["trees"][place], int(boosted["model"]["tree_info"][place]), outputs)
    ensemble = gathering.ensemble(_name(estimator), tolerance(gathering, SINGLE, 10.0))
    return TreeSource(ensemble, _xgboost_features(estimator), lambda inputs: _columns(_margins(estimator, inputs, "output_margin")))


def _name(estimator: Any) -> str:
    return f"{estimator.library} booster" if isinstance(estimator, NativeBooster) else type(estimator).__name__


def _margins(estimator: Any, inputs: Any, option: str) -> Any:
    """The model's own sums, as an estimator of the library is asked for them or as its booster is."""
    return estimator.margins(inputs) if isinstance(estimator, NativeBooster) else estimator.predict(inputs, **{option: True})


def _rounds(estimator: Any, every: int) -> int:
    if isinstance(estimator, NativeBooster):
        return estimator.rounds or every
    best = getattr(estimator, "best_iteration", None) if getattr(estimator, "early_stopping_rounds", None) else None
    return every if best is None else int(best) + 1


def _xgboost_tree(gathering: Gathering, tree: dict[str, Any], output: int, outputs: int) -> None:
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        raise MissingAbility("certify cannot read XGBoost trees with several outputs in a leaf (multi_strategy='multi_output_tree')")
    left = np.array(tree["left_children"], dtype=np.intp)
    conditions = np.array(tree["split_conditions"], dtype=np.float32)
    value = np.zeros((len(left), outputs))
    value[:, output] = np.where(left < 0, conditions, 0)
    segments = zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True)
    sets = {node: tuple(tree["categories"][at : at + size]) for node, at, size in segments}

    def question(node: int) -> Question:
        feature, to_left = int(tree["split_indices"][node]), bool(tree["default_left"][node])
        if tree["split_type"][node]:
            return Question(feature, "not_among", members=sets[node], missing_left=to_left)
        return Question(feature, "below", float(conditions[node]), missing_left=to_left)

    asked = [LEAF if left[node] < 0 else gathering.ask(question(node)) for node in range(len(left))]
    gathering.add(asked, left, tree["right_children"], value)


def _xgboost_features(estimator: Any) -> Callable[[Any], NDArray[np.floating[Any]]]:
    absent = getattr(estimator, "missing", np.nan)

    def features(inputs: Any) -> NDArray[np.floating[Any]]:
        found = np.asarray(_coded(inputs), dtype=np.float32)
        return found if absent is None or np.isnan(absent) else np.where(found == np.float32(absent), np.float32(np.nan), found)

    return features


def _coded(inputs: Any, categories: list[list[Any]] | None = None) -> Any:
    """Frames with categorical columns as numbers: the place of each cell among its categories."""
    if not hasattr(inputs, "dtypes") or not hasattr(inputs, "columns"):
        return _dense(inputs)
    frame, listed = inputs.copy(), iter(categories or [])
    for name in frame.columns:
        if str(frame[name].dtype) == "category":
            cells = frame[name].cat.set_categories(next(listed)) if categories else frame[name]
            frame[name] = cells.cat.codes.where(cells.cat.codes >= 0, np.nan).astype(np.float64)
    return _dense(frame)


def _lightgbm(estimator: Any) -> TreeSource:
    model = native(estimator).dump_model()
    outputs = int(model["num_tree_per_iteration"])
    gathering = Gathering()
    trees = model["tree_info"]
    share = outputs / len(trees) if model.get("average_output") else 1.0
    for place, tree in enumerate(trees):
        _lightgbm_tree(gathering, tree["tree_structure"], place % outputs, outputs, share)
    ensemble = gathering.ensemble(_name(estimator), tolerance(gathering, DOUBLE, 10.0))
    categories = model.get("pandas_categorical") or None
    return TreeSource(
        ensemble,
        lambda inputs: np.asarray(_coded(inputs, categories), dtype=np.float64),
        lambda inputs: _columns(_margins(estimator, inputs, "raw_score")),
    )


def _catboost(estimator: Any) -> TreeSource:
    own = native(estimator)
    read_in = read_trees(own)
    ensemble = read_in.gathering.ensemble(_name(estimator), tolerance(read_in.gathering, DOUBLE, 10.0))
    return TreeSource(ensemble, read_in.features, lambda inputs: _columns(own.predict(inputs, prediction_type="RawFormulaVal")))


def _lightgbm_tree(gathering: Gathering, root: dict[str, Any], output: int, outputs: int, share: float) -> None:
    nodes: list[dict[str, Any]] = [root]
    left, right, asked = [], [], []
    for node in nodes:
        if "split_index" in node:
            left.append(len(nodes))
            right.append(len(nodes) + 1)
            nodes += [node["left_child"], node["right_child"]]
            asked.append(gathering.ask(_lightgbm_question(node)))
        else:
            left, right, asked = [*left, LEAF], [*right, LEAF], [*asked, LEAF]
            if "leaf_coeff" in node:
                raise MissingAbility("certify cannot read LightGBM's linear trees (linear_tree=True)")
    value = np.zeros((len(nodes), outputs))
    value[:, output] = [share * node.get("leaf_value", 0.0) for node in nodes]
    gathering.add(asked, left, right, value)


def _lightgbm_question(node: dict[str, Any]) -> Question:
    feature, default = int(node["split_feature"]), bool(node["default_left"])
    if node["decision_type"] == "==":
        return Question(feature, "among", members=tuple(int(part) for part in str(node["threshold"]).split("||")))
    threshold, missing = float(node["threshold"]), node["missing_type"]
    if missing == "NaN":
        return Question(feature, "at_most", threshold, missing_left=default)
    if missing == "Zero":
        return Question(feature, "at_most", threshold, missing_left=default, zero_is_missing=True)
    return Question(feature, "at_most", threshold, missing_left=threshold >= 0.0)  # a missing number counts as zero
