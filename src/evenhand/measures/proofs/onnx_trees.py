"""From the tree ensemble of an ONNX file to plain trees.  The file's columns must reach the trees as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals
from evenhand.errors import MissingAbility
from evenhand.measures.proofs.tree_sums import LEAF, Gathering, Kind, Question
from evenhand.models.onnx import OnnxModel

TREES, AMOUNTS = "TreeEnsembleClassifier", "TreeEnsembleRegressor"
PASSING = ("Cast", "Identity")
"""Operations that hand columns on as they are."""
MONOTONE = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")
"""What may be done to the sums without changing which class is first."""
_MODES: dict[str, tuple[Kind, bool]] = {
    "BRANCH_LEQ": ("at_most", True),
    "BRANCH_LT": ("below", True),
    "BRANCH_GT": ("at_most", False),
    "BRANCH_GTE": ("below", False),
    "BRANCH_EQ": ("among", True),
    "BRANCH_NEQ": ("among", False),
}
"""How a node's mode is asked here, and whether a yes is its true side."""


@dataclass(frozen=True)
class OnnxTrees:
    """The gathered trees, and what is added to their sums."""

    gathering: Gathering
    offset: Reals


def read_onnx(model: OnnxModel, kind: str = TREES) -> OnnxTrees:
    """The trees of the one ensemble in the file, for classes or for amounts; anything else is refused by name."""
    import onnx

    graph = onnx.load_model_from_string(model.session.content).graph
    found = [node for node in graph.node if node.op_type == kind]
    if len(found) != 1:
        kinds = ", ".join(dict.fromkeys(node.op_type for node in graph.node))
        raise MissingAbility(f"certify reads ONNX files with one {kind}; this one has {len(found)}, among {kinds}")
    _check_way(graph, found[0])
    told = {each.name: onnx.helper.get_attribute_value(each) for each in found[0].attribute}
    after = told.get("post_transform", b"NONE").decode()
    allowed = MONOTONE if kind == TREES else ("NONE",)
    if after not in allowed:
        raise MissingAbility(f"certify cannot read a {kind} with post_transform {after!r}; it reads {', '.join(allowed)}")
    return _ensemble(told, after) if kind == TREES else _amounts(told)


def _amounts(told: dict[str, Any]) -> OnnxTrees:
    """Trees that add up to amounts, or to the mean of what each says."""
    how, width = told.get("aggregate_function", b"SUM").decode(), int(told.get("n_targets", 1))
    if how not in ("SUM", "AVERAGE"):
        raise MissingAbility(f"certify cannot read a {AMOUNTS} with aggregate_function {how!r}; it reads SUM and AVERAGE")
    base = np.asarray(told.get("base_values", ()) or np.zeros(width), dtype=np.float64)
    trees = np.asarray(told["nodes_treeids"])
    share = 1.0 / len(np.unique(trees)) if how == "AVERAGE" else 1.0
    renamed = {**told, **{f"class_{name}": told[f"target_{name}"] for name in ("treeids", "nodeids", "ids", "weights")}}
    gathering = Gathering()
    for tree in dict.fromkeys(trees.tolist()):
        _add_tree(gathering, told, np.flatnonzero(trees == tree), share * _values(renamed, tree, int((trees == tree).sum()), width, False))
    return OnnxTrees(gathering, base)


def _check_way(graph: Any, ensemble: Any) -> None:
    """The ensemble's input must be the file's own, through nothing but what hands it on."""
    makers = {name: node for node in graph.node for name in node.output}
    at = ensemble.input[0]
    while at in makers:
        if makers[at].op_type not in PASSING:
            raise MissingAbility(
                f"certify cannot see through {makers[at].op_type} inside an ONNX file; it reads trees that ask the file's own columns"
            )
        at = makers[at].input[0]


def _ensemble(told: dict[str, Any], after: str) -> OnnxTrees:
    names = told.get("classlabels_strings") or told.get("classlabels_int64s") or []
    ids = np.asarray(told["class_ids"], dtype=np.intp)
    is_single = len(names) == 2 and len(np.unique(ids)) == 1  # one number, for the second class
    width = 1 if is_single else len(names)
    base = np.asarray(told.get("base_values", ()) or np.zeros(width), dtype=np.float64)
    weights = np.asarray(told["class_weights"], dtype=np.float64)
    if is_single and after == "NONE" and (weights >= 0).all():
        base = base - 0.5  # such a number is a share, and half of it decides
    gathering, trees = Gathering(), np.asarray(told["nodes_treeids"])
    for tree in dict.fromkeys(trees.tolist()):
        values = _values(told, tree, int((trees == tree).sum()), 1 if is_single else width, is_single)
        _add_tree(gathering, told, np.flatnonzero(trees == tree), values)
    return OnnxTrees(gathering, base[-1:] if is_single else base)


def _values(told: dict[str, Any], tree: int, nodes: int, width: int, is_single: bool) -> Reals:
    """What every node of a tree adds to each class."""
    value = np.zeros((nodes, width))
    here = np.flatnonzero(np.asarray(told["class_treeids"]) == tree)
    node, column = np.asarray(told["class_nodeids"])[here], np.asarray(told["class_ids"])[here]
    np.add.at(value, (node, np.zeros_like(column) if is_single else column), np.asarray(told["class_weights"], dtype=np.float64)[here])
    return value


def _add_tree(gathering: Gathering, told: dict[str, Any], here: NDArray[np.intp], value: Reals) -> None:
    mode = [told["nodes_modes"][place].decode() for place in here]
    if list(np.asarray(told["nodes_nodeids"])[here]) != list(range(len(here))):
        raise MissingAbility("certify reads ONNX trees whose nodes are numbered one after the other")
    missing = np.asarray(told.get("nodes_missing_value_tracks_true") or np.zeros(len(told["nodes_modes"])))[here]
    asked: list[int] = []
    left: list[int] = []
    right: list[int] = []
    for at, place in enumerate(here):
        if mode[at] == "LEAF":
            for part in (asked, left, right):
                part.append(LEAF)
            continue
        kind, is_true_left = _MODES[mode[at]]
        threshold = float(np.float32(told["nodes_values"][place]))
        if kind == "among" and threshold != int(threshold):
            raise MissingAbility(f"certify cannot read an ONNX tree that asks whether a column equals {threshold:g}")
        members = (int(threshold),) if kind == "among" else ()
        # A missing number answers no, unless the node says that it goes to the true side.
        goes_left = bool(missing[at]) == is_true_left
        asked.append(gathering.ask(Question(int(told["nodes_featureids"][place]), kind, threshold, members, missing_left=goes_left)))
        sides = int(told["nodes_truenodeids"][place]), int(told["nodes_falsenodeids"][place])
        left.append(sides[0] if is_true_left else sides[1])
        right.append(sides[1] if is_true_left else sides[0])
    gathering.add(asked, np.array(left), np.array(right), value)
