"""From a fitted CatBoost model to plain trees.

Its trees are oblivious: all nodes of a level ask the same question, so a leaf's number is the answers in bits.  Borders of numbers are read
from the model.  What it asks of categories goes through its own hashes and target statistics; those bits are taken from the model itself.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals
from evenhand.errors import MissingAbility
from evenhand.measures.proofs.tree_sums import LEAF, Gathering, Question

MOST_DEPTH = 12
"""A level doubles a tree; deeper ones than this are refused."""


@dataclass(frozen=True)
class _Bit:
    """One answer that only the model itself can give: which bit of which tree's leaf."""

    tree: int
    level: int


@dataclass(frozen=True)
class CatBoostTrees:
    """The gathered trees, and how inputs become what they ask for: first the columns as numbers, then bits."""

    gathering: Gathering
    model: Any
    numbers: tuple[int, ...]  # the places of the numeric columns among the inputs
    width: int
    bits: tuple[_Bit, ...]

    def features(self, inputs: Any) -> NDArray[np.float64]:
        """(n, columns + bits); a category has no number of its own."""
        found = np.full((len(inputs), self.width + len(self.bits)), np.nan)
        for place in self.numbers:
            cells = inputs.iloc[:, place].to_numpy() if hasattr(inputs, "iloc") else np.asarray(inputs)[:, place]
            found[:, place] = cells.astype(np.float32)  # CatBoost compares single floats
        if self.bits:
            leaves = np.asarray(self.model.calc_leaf_indexes(inputs), dtype=np.int64)
            for at, bit in enumerate(self.bits):
                found[:, self.width + at] = (leaves[:, bit.tree] >> bit.level) & 1
        return found


def read_trees(model: Any) -> CatBoostTrees:
    """The trees of a CatBoost model; what asks several columns at once is refused by name."""
    told = _exported(model)
    if "oblivious_trees" not in told:
        raise MissingAbility("certify reads CatBoost's symmetric trees only; train with grow_policy='SymmetricTree'")
    scale, _ = told.get("scale_and_bias", [1.0, [0.0]])
    reading = _Reading(told["features_info"], len(model.feature_names_))
    for number, tree in enumerate(told["oblivious_trees"]):
        reading.add(number, tree, float(scale))
    numbers = tuple(int(each["flat_feature_index"]) for each in told["features_info"].get("float_features", ()))
    return CatBoostTrees(reading.gathering, model, numbers, reading.width, tuple(reading.bits))


def _exported(model: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        file = Path(folder) / "model.json"
        model.save_model(str(file), format="json")
        told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return told


class _Reading:
    """Trees while they are read."""

    def __init__(self, features: dict[str, Any], width: int) -> None:
        self.gathering, self.width = Gathering(), width
        self.bits: list[_Bit] = []
        self._several = _several_at_once(features)
        self._numbers = {int(each["feature_index"]): each for each in features.get("float_features", ())}

    def add(self, number: int, tree: dict[str, Any], scale: float) -> None:
        splits = tree.get("splits") or []
        if len(splits) > MOST_DEPTH:
            raise MissingAbility(f"certify cannot read CatBoost trees of depth {len(splits)}; it reads those of up to {MOST_DEPTH}")
        asked = [self.gathering.ask(self._question(number, level, split)) for level, split in enumerate(splits)]
        leaves = scale * np.array(tree["leaf_values"], dtype=np.float64).reshape(1 << len(splits), -1)
        self._complete(asked, leaves)

    def _question(self, tree: int, level: int, split: dict[str, Any]) -> Question:
        """A yes goes left, to the leaves whose bit is 0."""
        if split["split_type"] == "FloatFeature":
            told = self._numbers[int(split["float_feature_index"])]
            to_left = told.get("nan_value_treatment") != "AsTrue"
            return Question(int(told["flat_feature_index"]), "at_most", float(np.float32(split["border"])), missing_left=to_left)
        if split["split_type"] == "OnlineCtr" and int(split["split_index"]) in self._several:
            raise MissingAbility(
                "certify cannot read CatBoost's statistics of several columns at once; train with max_ctr_complexity=1 (or a larger "
                "one_hot_max_size), so that each is of one column"
            )
        self.bits.append(_Bit(tree, level))
        return Question(self.width + len(self.bits) - 1, "at_most", 0.5)

    def _complete(self, asked: list[int], leaves: Reals) -> None:
        """A whole binary tree, level by level; at level k the node number is the bits of the levels before, the first one lowest."""
        depth, inner = len(asked), (1 << len(asked)) - 1
        questions = [asked[level] for level in range(depth) for _ in range(1 << level)] + [LEAF] * (1 << depth)
        left = [(1 << (level + 1)) - 1 + node for level in range(depth) for node in range(1 << level)]
        right = [child + (1 << level) for level in range(depth) for child in left[(1 << level) - 1 : (1 << (level + 1)) - 1]]
        none = [LEAF] * (1 << depth)
        value = np.concatenate([np.zeros((inner, leaves.shape[1])), leaves])
        self.gathering.add(questions, left + none, right + none, value)


def _several_at_once(features: dict[str, Any]) -> set[int]:
    """The numbers of the splits that ask for a statistic of several columns.

    Splits are numbered through: borders of numbers, then values of categories, then borders of statistics.
    """
    at = sum(len(each.get("borders") or ()) for each in features.get("float_features", ()))
    at += sum(len(each.get("values") or ()) for each in features.get("categorical_features", ()))
    found: set[int] = set()
    for each in features.get("ctrs", ()):
        size = len(each["borders"])
        found |= set(range(at, at + size)) if len(each["elements"]) > 1 else set()
        at += size
    return found
