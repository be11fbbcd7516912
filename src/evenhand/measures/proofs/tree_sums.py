"""A sum of decision trees as plain arrays, whatever library it came from.  Reads no model and knows no domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals

LEAF = -1
Kind = Literal["at_most", "below", "among", "not_among"]
ZERO = 1e-35
"""LightGBM takes numbers this near to zero for zero."""


@dataclass(frozen=True)
class Question:
    """What a node asks of one feature; a yes goes left.

    `missing_left` says where a missing number goes.  With `zero_is_missing` a zero goes there too, and with `known` every category
    that the model was not trained on.
    """

    feature: int
    kind: Kind
    threshold: float = 0.0
    members: tuple[int, ...] = ()
    known: tuple[int, ...] | None = None
    missing_left: bool = False
    zero_is_missing: bool = False

    def holds(self, values: NDArray[np.floating[Any]]) -> Mask:
        """Which values go left."""
        missing = np.isnan(values)
        if self.kind in ("among", "not_among"):
            known = np.where(missing | (values < 0), -1, values).astype(np.int64)
            inside = np.isin(known, np.array(self.members, dtype=np.int64))
            answer = inside if self.kind == "among" else ~inside
        else:
            # A bare Python number would be rounded to single precision beside single floats; the libraries compare in double.
            threshold = np.float64(self.threshold)
            with np.errstate(invalid="ignore"):
                answer = values <= threshold if self.kind == "at_most" else values < threshold
        absent = missing | (np.abs(values) <= ZERO) if self.zero_is_missing else missing
        if self.known is not None:
            absent = absent | ~np.isin(values, np.array(self.known, dtype=np.float64))
        held: Mask = np.where(absent, self.missing_left, answer)
        return held


@dataclass(frozen=True)
class Tree:
    """One tree: for every node its question (or LEAF), its children, and what it adds to each class's score."""

    question: NDArray[np.intp]  # (nodes,)
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    value: Reals  # (nodes, classes); one column for a binary margin


@dataclass(frozen=True)
class Ensemble:
    """Trees whose values add up to the scores of the classes, or to one margin in favour of the second class.

    `tolerance` is how far rounding inside the model can move a difference of two scores away from our sum.
    """

    trees: tuple[Tree, ...]
    questions: tuple[Question, ...]
    offset: Reals  # (classes,) or (1,)
    tolerance: float
    kind: str

    @property
    def features(self) -> set[int]:
        """The features that any node asks for."""
        return {question.feature for question in self.questions}

    def scores(self, features: NDArray[np.floating[Any]]) -> Reals:
        """The sums for rows of features, (n, classes) or (n, 1)."""
        answers = [question.holds(features[:, question.feature]) for question in self.questions]
        total = np.tile(self.offset, (len(features), 1)).astype(np.float64)
        for tree in self.trees:
            total += tree.value[_leaves(tree, answers, len(features))]
        return total


def _leaves(tree: Tree, answers: Sequence[Mask], n: int) -> NDArray[np.intp]:
    at = np.zeros(n, dtype=np.intp)
    for node in range(len(tree.question)):
        if tree.question[node] != LEAF:
            here = np.flatnonzero(at == node)
            at[here] = np.where(answers[tree.question[node]][here], tree.left[node], tree.right[node])
    return at


class Gathering:
    """Collects trees node by node, equal questions once."""

    def __init__(self) -> None:
        self.questions: dict[Question, int] = {}
        self.trees: list[Tree] = []

    def ask(self, question: Question) -> int:
        """The number of this question."""
        return self.questions.setdefault(question, len(self.questions))

    def add(self, asked: Sequence[int], left: Any, right: Any, value: Reals) -> None:
        """One more tree; children must come after their parents."""
        tree = Tree(np.array(asked, dtype=np.intp), np.asarray(left, dtype=np.intp), np.asarray(right, dtype=np.intp), value)
        self.trees.append(_parents_first(tree))

    def ensemble(self, kind: str, tolerance: float, offset: Reals | None = None) -> Ensemble:
        """What was gathered."""
        width = self.trees[0].value.shape[1] if self.trees else 1
        return Ensemble(tuple(self.trees), tuple(self.questions), np.zeros(width) if offset is None else offset, tolerance, kind)


def _parents_first(tree: Tree) -> Tree:
    """The same tree with its nodes in the order of a walk from the root, those that nothing reaches left out."""
    order = [0]
    for node in order:
        if tree.question[node] != LEAF:
            order += [int(tree.left[node]), int(tree.right[node])]
    place = np.full(len(tree.question), LEAF, dtype=np.intp)
    place[order] = np.arange(len(order))
    inner = tree.question[order] != LEAF
    left = np.where(inner, place[tree.left[order]], LEAF)
    right = np.where(inner, place[tree.right[order]], LEAF)
    return Tree(tree.question[order], left, right, tree.value[order])
