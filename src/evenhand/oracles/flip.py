"""The same person under another protected value gets another label: the papers' individual discriminatory instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals, Rows
from evenhand.contract import Model, Verdict, labels_of
from evenhand.domain.tabular import TabularDomain
from evenhand.oracles.parts.people import IMPOSSIBLE, check_labels, given_pairs, labels_differ, score_gap


@dataclass(frozen=True)
class LabelFlip:
    """Unfair when two possible twins get different labels.

    >>> from evenhand.planted import shapes
    >>> planted = shapes()["wide_band"]
    >>> LabelFlip().judge(planted.domain.sample(5, np.random.default_rng(0)), planted.domain, planted.model).labels.shape
    (5, 2)
    """

    words: ClassVar[str] = "would get a different outcome with a different protected value"

    def judge(self, rows: Rows, domain: TabularDomain, model: Model) -> Verdict:
        """One entry per input, over every protected combination."""
        check_labels(model, "flip", "use amounts, with a tolerance")
        labels, gap = ask_twins(rows, domain, model)
        return Verdict(labels_differ(labels), gap, labels)

    def judge_pairs(self, first: Rows, second: Rows, _domain: TabularDomain, model: Model) -> Verdict:
        """One entry per pair."""
        return given_pairs(first, second).ask(model).judge(None)

    def rows_per_candidate(self, domain: TabularDomain) -> int:
        """One row for every protected combination."""
        return len(domain.combinations)


def ask_twins(rows: Rows, domain: TabularDomain, model: Model) -> tuple[NDArray[np.int16], Reals]:
    """Labels (n, combinations) and the largest score gap (n,) of every input's possible twins.

    `People.ask` does the same for any people; this road is the one that searches take a million times.
    """
    if not len(rows):
        return np.empty((0, len(domain.combinations)), dtype=np.int16), np.empty(0)
    twins = domain.twins(rows)
    combinations, n, width = twins.rows.shape
    scores = model.scores(twins.rows.reshape(combinations * n, width))
    labels = labels_of(scores).astype(np.int16).reshape(combinations, n)
    if domain.constraints:
        labels[~twins.valid] = IMPOSSIBLE
    return labels.T, score_gap(scores.reshape(combinations, n, -1), twins.valid if domain.constraints else None)
