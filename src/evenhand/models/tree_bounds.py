"""Whether what a compiled library will follow blindly points to where it may: children, features, leaves, support vectors, sparse indices.

A file can hold any numbers there; the libraries check few of them before they read memory at that place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import ModelFailed

Whole = NDArray[np.integer[Any]]
UNCHECKED = ("Forest", "ExtraTrees", "GradientBoosting", "RandomTreesEmbedding")
"""Ensembles that hand their rows to their trees without another look at the number of columns."""


MOST_CLASSES = 100_000
_PARAMETER = re.compile(r"\[[^:\[\]]+: .*\]")
_TREELITE = ("left_child", "right_child", "split_feature_id")


def require_bounds(holds: bool, what: str) -> None:
    """Refuse in one line."""
    if not holds:
        raise ModelFailed(f"{what}; following it would read foreign memory")


def check_nodes(count: int, left: Whole, right: Whole, what: str) -> None:
    """Of nodes 0 to count-1, the inner ones have children `left` and `right`; a node must have one parent at most, and the root none."""
    children = np.concatenate([left, right])
    require_bounds(bool(((children > 0) & (children < count)).all()) or not len(children), f"{what} has a child that does not exist")
    require_bounds(len(np.unique(children)) == len(children), f"{what} has a node with two parents")


def check_places(places: Whole, count: int, what: str) -> None:
    """Every one in 0 to count-1."""
    require_bounds(not len(places) or bool((places >= 0).all() and (places < count).all()), what)


def check_object(loaded: object) -> None:
    """Everything that a loaded object holds and that compiled code will follow."""
    for found, width in _held(loaded):
        module, name = type(found).__module__, type(found).__name__
        if module == "sklearn.tree._tree":
            _check_tree(found, width)
        elif name == "TreePredictor":
            _check_predictor(found, width)
        elif module.startswith("lightgbm") and name == "Booster":
            check_lightgbm(found)
        elif module.startswith("xgboost") and name == "Booster":
            check_xgboost(found)
        elif module.startswith("catboost"):
            check_catboost(found)
        elif module.startswith("scipy.sparse"):
            _check_sparse(found)
        elif hasattr(found, "support_vectors_"):
            _check_support(found)
        elif "GradientBoosting" in name and hasattr(found, "estimators_"):
            _check_stages(found)


def _held(loaded: object) -> Iterator[tuple[Any, int | None]]:
    """Every object inside, once, with the number of columns that reaches it where that is known."""
    waiting: list[tuple[Any, int | None]] = [(loaded, None)]
    seen: set[int] = set()
    while waiting:
        found, width = waiting.pop()
        if id(found) in seen or isinstance(found, str | bytes | int | float | type(None)):
            continue
        seen.add(id(found))
        inside = _width(found, width)
        yield found, inside
        waiting.extend((each, _passed_on(found, inside)) for each in _parts(found))


def _width(found: object, outer: int | None) -> int | None:
    own = getattr(found, "n_features_in_", None)
    if not isinstance(own, int | np.integer):
        return outer
    return int(own) if outer is None else min(int(own), outer)


def _passed_on(found: object, width: int | None) -> int | None:
    """The number of columns that parts of this object are asked about; None where they look at it themselves, as in a pipeline."""
    kind = type(found)
    hands_on = isinstance(found, dict | list | tuple | np.ndarray) or kind.__module__.startswith("sklearn.tree")
    return width if hands_on or any(word in kind.__name__ for word in UNCHECKED) else None


def _parts(found: Any) -> list[Any]:
    if isinstance(found, dict):
        return [*found.keys(), *found.values()]
    if isinstance(found, list | tuple | set | frozenset):
        return list(found)
    if isinstance(found, np.ndarray):
        return list(found.ravel()) if found.dtype == object else []
    return list(vars(found).values()) if hasattr(found, "__dict__") else []


def _check_tree(tree: Any, width: int | None) -> None:
    require_bounds(0 < tree.node_count <= tree.capacity, f"a tree tells of {tree.node_count} nodes and has {tree.capacity}")
    nodes = tree.__getstate__()["nodes"]
    inner = nodes["left_child"] != -1
    check_nodes(len(inner), nodes["left_child"][inner], nodes["right_child"][inner], "a tree")
    columns = tree.n_features if width is None else min(int(tree.n_features), width)
    check_places(nodes["feature"][inner], columns, f"a tree asks for a column beyond the {columns} that there are")


def _check_predictor(predictor: Any, width: int | None) -> None:
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    nodes, bits = predictor.nodes, predictor.raw_left_cat_bitsets
    require_bounds(isinstance(nodes, np.ndarray) and nodes.dtype == PREDICTOR_RECORD_DTYPE and nodes.ndim == 1, "a tree has other nodes")
    require_bounds(len(nodes) > 0, "a tree has no nodes")
    inner = nodes["is_leaf"] == 0
    check_nodes(len(inner), nodes["left"][inner].astype(np.int64), nodes["right"][inner].astype(np.int64), "a tree")
    check_places(nodes["feature_idx"][inner], width or 0, f"a tree asks for a column beyond the {width} that there are")
    by_category = inner & (nodes["is_categorical"] != 0)
    require_bounds(isinstance(bits, np.ndarray) and bits.ndim == 2 and bits.shape[1] == 8, "a tree's sets of categories have another shape")
    check_places(nodes["bitset_idx"][by_category].astype(np.int64), len(bits), "a tree asks for a set of categories that does not exist")


def _check_sparse(matrix: Any) -> None:
    compressed = matrix if matrix.format in ("csr", "csc", "bsr") else matrix.tocoo()
    if matrix.format in ("csr", "csc", "bsr"):
        compressed.check_format(full_check=True)
        return
    for axis, size in enumerate(compressed.shape):
        check_places(compressed.coords[axis], size, "a sparse matrix has an entry outside itself")


def _check_support(machine: Any) -> None:
    """A support vector machine's arrays, as libsvm will read them."""
    vectors, each, weights = machine.support_vectors_, machine._n_support, machine._dual_coef_
    count, width = vectors.shape
    groups = len(each) if type(machine).__name__ in ("SVC", "NuSVC") else 2
    require_bounds(width == machine.n_features_in_ or not count, f"support vectors have {width} columns, not {machine.n_features_in_}")
    known = int(np.sum(each)) if type(machine).__name__ in ("SVC", "NuSVC") else count
    require_bounds(bool(np.all(np.asarray(each) >= 0)) and known == count, "the numbers of support vectors do not add up")
    require_bounds(weights.shape == (max(groups - 1, 1), count), "the weights of the support vectors have another shape")
    pairs = groups * (groups - 1) // 2
    require_bounds(len(machine._intercept_) == pairs, f"there are {len(machine._intercept_)} intercepts, not {pairs}")
    require_bounds(all(len(part) in (0, pairs) for part in (machine._probA, machine._probB)), "the calibration has another length")


def _check_stages(ensemble: Any) -> None:
    stages = np.asarray(ensemble.estimators_, dtype=object)
    told = getattr(ensemble, "n_trees_per_iteration_", stages.shape[1] if stages.ndim == 2 else 0)
    require_bounds(stages.ndim == 2 and stages.shape[1] == told, "the trees of a boosted model are not as many as it says")
    are_trees = all(type(getattr(each, "tree_", None)).__name__ == "Tree" for each in stages.ravel())
    require_bounds(are_trees, "a boosted model holds something that is no tree")


def check_treelite(told: dict[str, Any]) -> None:
    """Every node of every tree, as Treelite writes them out; leaves as long as the ensemble says, for targets and classes that it has."""
    width, shape = int(told["num_feature"]), told["leaf_vector_shape"]
    targets, classes = int(told["num_target"]), [int(count) for count in told["num_class"]]
    require_bounds(
        len(classes) == targets and all(0 < count < MOST_CLASSES for count in classes), "the ensemble has other targets than it says"
    )
    require_bounds(len(told["trees"]) == len(told["target_id"]) == len(told["class_id"]), "the ensemble has other trees than it says")
    check_places(np.array(told["target_id"], dtype=np.int64) + 1, targets + 1, "a tree speaks for a target that does not exist")
    check_places(np.array(told["class_id"], dtype=np.int64) + 1, max(classes) + 1, "a tree speaks for a class that does not exist")
    require_bounds(len(told["base_scores"]) in (1, targets * max(classes)), "the ensemble has other base scores than classes")
    for place, tree in enumerate(told["trees"]):
        nodes, what = tree["nodes"], f"tree {place}"
        inner = [node for node in nodes if "left_child" in node]
        left, right, features = (np.array([node[name] for node in inner], dtype=np.int64) for name in _TREELITE)
        check_nodes(len(nodes), left, right, what)
        check_places(features, width, f"{what} asks for a column that does not exist")
        lengths = {len(node["leaf_value"]) for node in nodes if isinstance(node.get("leaf_value"), list)}
        require_bounds(lengths <= {int(shape[0]) * int(shape[1])}, f"{what} has a leaf of another length than the ensemble says")


def check_xgboost(booster: Any) -> None:
    """The trees of an XGBoost booster, as it would write them."""
    learner = json.loads(bytes(booster.save_raw(raw_format="json")))["learner"]
    columns = int(learner["learner_model_param"]["num_feature"])
    trained = learner["gradient_booster"]
    model = trained.get("gbtree", trained).get("model", {})
    groups = max(1, int(learner["learner_model_param"]["num_class"])) * max(1, int(learner["learner_model_param"].get("num_target", 1)))
    check_places(np.array(model.get("tree_info", []), dtype=np.int64), groups, "a tree belongs to a class that does not exist")
    for tree in model.get("trees", ()):
        _check_written_tree(tree, columns)


def _check_written_tree(tree: dict[str, Any], columns: int) -> None:
    left, right = (np.array(tree[side], dtype=np.int64) for side in ("left_children", "right_children"))
    places = np.array(tree["split_indices"], dtype=np.int64)
    require_bounds(len(left) == len(right) == len(places) > 0, "a tree's parts have different lengths")
    inner = left != -1
    require_bounds(bool((right[~inner] == -1).all()), "a tree has a node with one child")
    check_nodes(len(inner), left[inner], right[inner], "a tree")
    check_places(places[inner], columns, f"a tree asks for a column beyond the {columns} that there are")
    starts, sizes = (np.array(tree.get(f"categories_{part}", []), np.int64) for part in ("segments", "sizes"))
    fit = len(starts) == len(sizes) and bool(((starts >= 0) & (sizes >= 0) & (starts + sizes <= len(tree.get("categories", ())))).all())
    require_bounds(fit, "a tree's sets of categories do not fit together")


def check_lightgbm_text(text: str) -> None:
    """Before LightGBM reads a model: it looks for trees where `tree_sizes` says, and in each for the next `=`, whatever lies between."""
    head, found, rest = f"\n{text}".partition("\nTree=")
    if not found:
        return
    body, told = b"Tree=" + rest.encode(), re.search(r"^tree_sizes=([\d ]+)$", head, re.MULTILINE)
    sizes = [int(size) for size in told.group(1).split()] if told else []
    listed = list(accumulate(sizes[:-1], initial=0))
    starts = listed if told else [tree.start() for tree in re.finditer(rb"^Tree=", body, re.MULTILINE)]
    for start in starts:
        end = body.find(b"\n\n", start)
        tree = body[start:end]
        require_bounds(end >= 0 and tree.startswith(b"Tree="), "a tree does not stand where the file says")
        require_bounds(all(b"=" in line for line in tree.split(b"\n")), "a tree has a line without a value")


def check_lightgbm_parameters(text: str) -> None:
    """Before LightGBM reads a model with the parameters of its training: in a line that has no colon it reads on beyond the end."""
    told = text.partition("\nparameters:")[2].partition("\nend of parameters")[0]
    lines = [line.rstrip("\r") for line in told.split("\n")]
    require_bounds(all(_PARAMETER.fullmatch(line) for line in lines if line), "a line of its parameters has no value")


def check_lightgbm(booster: Any) -> None:
    """The trees of a LightGBM booster, as it would write them."""
    text = booster.model_to_string(num_iteration=-1)
    told = re.search(r"^max_feature_idx=(\d+)$", text, re.MULTILINE)
    require_bounds(told is not None, "the model does not tell its columns")
    assert told is not None
    for tree in text.split("\nTree=")[1:]:
        _check_text_tree(dict(line.split("=", 1) for line in tree.split("\n\n")[0].split("\n") if "=" in line), int(told.group(1)) + 1)


def _check_text_tree(told: dict[str, str], columns: int) -> None:
    leaves, many = int(told["num_leaves"]), int(told.get("num_cat", 0))
    if leaves <= 1:
        return
    left, right, places, kinds = (_numbers(told.get(name, "")) for name in ("left_child", "right_child", "split_feature", "decision_type"))
    require_bounds(all(len(part) == leaves - 1 for part in (left, right, places, kinds)), "a tree's parts have different lengths")
    both = np.concatenate([left, right])
    # One numbering for both kinds of nodes: inner ones first, then leaves, which the file counts downwards from -1.
    numbered = np.where(both >= 0, both, leaves - 1 + (-1 - both))
    require_bounds(bool(((both < leaves - 1) & (both >= -leaves)).all()), "a tree has a child that does not exist")
    check_nodes(2 * leaves - 1, numbered[: leaves - 1], numbered[leaves - 1 :], "a tree")
    check_places(places, columns, f"a tree asks for a column beyond the {columns} that there are")
    _check_categories(told, (kinds & 1) != 0, many)


def _check_categories(told: dict[str, str], by_category: NDArray[np.bool_], many: int) -> None:
    if not by_category.any():
        return
    chosen = np.array([float(each) for each in told["threshold"].split()])[by_category].astype(np.int64)
    check_places(chosen, many, "a tree asks for a set of categories that does not exist")
    ends, words = _numbers(told.get("cat_boundaries", "")), told.get("cat_threshold", "").split()
    right = len(ends) == many + 1 and ends[0] == 0 and bool((np.diff(ends) >= 0).all()) and ends[-1] == len(words)
    require_bounds(right, "a tree's sets of categories do not fit together")


def _numbers(text: str) -> NDArray[np.int64]:
    return np.array([int(each) for each in text.split()], dtype=np.int64)


def check_catboost(model: Any) -> None:
    """The leaves of a CatBoost model are as many as its trees need."""
    if not model.is_fitted():
        return
    counts = np.asarray(model.get_tree_leaf_counts())
    values = len(model.get_leaf_values())
    require_bounds(bool((counts > 0).all()) and values % max(int(counts.sum()), 1) == 0, "the trees need other leaves than the file has")
