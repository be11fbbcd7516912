"""The model as a small tree of questions that imitates it, and how real rows and findings spread over its paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Index, Labels, Mask, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import ConstraintError
from evenhand.measures.coverage.surrogate import Imitated, Node, Surrogate, SurrogateSettings, grow
from evenhand.statistics.intervals import Interval, clopper_pearson
from evenhand.synthesis.box import Box

MOST_ROWS, FEWEST_ROWS = 2_000, 200
"""Rows that the model is asked about, and so few that no tree is grown."""

SETTINGS = SurrogateSettings(rows=2, split_rows=25, leaves=12)
"""A tree that a person reads: few paths, each of them with rows of its own, so that none has to be drawn."""


@dataclass(frozen=True, eq=False)
class AnsweredRows:
    """Rows with the label that the model gives each of them, and whether it is treated differently."""

    rows: Rows
    labels: Labels
    unfair: Mask

    def __getitem__(self, chosen: slice | Index) -> AnsweredRows:
        return AnsweredRows(self.rows[chosen], self.labels[chosen], self.unfair[chosen])

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class TreePath:
    """One path: the label at its end, and what of the held-out rows and of the findings took it."""

    number: int
    label: str
    rows: int
    unfair: int
    findings: int


@dataclass(frozen=True, eq=False)
class AnswerPaths:
    """The tree, how faithful it is to the model on rows that it has not seen, and every path."""

    surrogate: Surrogate
    fidelity: Interval
    paths: tuple[TreePath, ...]
    finding_rows: int

    @property
    def covered(self) -> int:
        """Paths that some finding takes."""
        return sum(path.findings > 0 for path in self.paths)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the tree with a question at every split and a path at every end."""
        return {
            "tree": self._told(self.surrogate.root),
            "fidelity": self.fidelity.as_dict(),
            "paths": len(self.paths),
            "covered": self.covered,
            "coverage": self.covered / len(self.paths),
            "findings": self.finding_rows,
        }

    def _told(self, node: Node) -> dict[str, Any]:
        if node.split is None or node.passed is None or node.failed is None:
            return asdict(self.paths[node.path])
        question = node.split.text(self.surrogate.domain)
        return {"question": question, "yes": self._told(node.passed), "no": self._told(node.failed)}


def answer_paths(
    answered: AnsweredRows, found: Rows, domain: TabularDomain, classes: Sequence[object], rng: np.random.Generator
) -> AnswerPaths | None:
    """A tree grown on one half of the rows, counted on the other; None where they are too few, or all get one label.

    >>> import numpy as np, evenhand as eh
    >>> data = eh.open("credit", protected=["age"])
    >>> is_long = data.rows[:, data.domain.place("duration")] > 24
    >>> answered = AnsweredRows(data.rows, is_long.astype(int), is_long)
    >>> told = answer_paths(answered, data.rows, data.domain, ("no", "yes"), np.random.default_rng(0))
    >>> len(told.paths), told.covered, told.fidelity.estimate
    (2, 2, 1.0)
    """
    if len(answered) < FEWEST_ROWS or len(np.unique(answered.labels)) < 2:
        return None
    order = rng.permutation(len(answered))
    learning, held = answered[order[::2]], answered[order[1::2]]
    tree = grow(Imitated(lambda rows: learning.labels, domain, classes), _nobody, learning.rows, rng, SETTINGS)  # noqa: ARG005
    if len(tree.paths) < 2:
        return None
    taken, count = tree.path_of(held.rows), len(tree.paths)
    counts = [np.bincount(each, minlength=count) for each in (taken, taken[held.unfair], tree.path_of(found))]
    paths = [TreePath(path.number, str(classes[path.label]), *(int(each[path.number]) for each in counts)) for path in tree.paths]
    right = int((tree.predict(held.rows) == held.labels).sum())
    return AnswerPaths(tree, clopper_pearson(right, len(held), 0.95), tuple(paths), len(found))


def _nobody(box: Box, n: int, rng: np.random.Generator) -> Rows:  # noqa: ARG001
    raise ConstraintError("this tree is grown on the rows at hand alone")
