"""What a page shows of the model itself: a small tree that imitates it with the paths that findings take, and the neurons that react."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Describing, Transparent, labels_of
from evenhand.deadline import NEVER, Deadline
from evenhand.engine.findings import Findings
from evenhand.engine.samples import JudgedSample
from evenhand.engine.subject import Subject
from evenhand.measures.answer_paths import FEWEST_ROWS, MOST_ROWS, AnsweredRows, AnswerPaths, answer_paths
from evenhand.measures.neurons.bias import BiasMap, hidden_layers, measure_bias
from evenhand.models.meter import Meter

NEURON_ROWS = 500
SHARE_OF_TIME = 0.03
"""Of the time that is left, at most this much goes into asking the model once more."""

TREE_SECONDS = 0.01
"""What a tree takes to grow, for each column, at the most."""


@dataclass(frozen=True)
class InnerView:
    """What was asked before a search; the findings come to it afterwards."""

    subject: Subject
    answered: AnsweredRows | None
    neurons: BiasMap | None = None

    def paths(self, found: Findings, rng: np.random.Generator, deadline: Deadline = NEVER) -> AnswerPaths | None:
        """The tree with the paths that these findings take; None where there is no time, or nothing to grow it on."""
        if self.answered is None or deadline.seconds_left < TREE_SECONDS * self.answered.rows.shape[1]:
            return None
        # Chosen before they are unpacked: a million findings of a wide table would take seconds and gigabytes.
        subject, some = self.subject, found[rng.permutation(len(found))[: 10 * MOST_ROWS]].rows
        domain = subject.medium.description if isinstance(subject.medium, Describing) else subject.domain
        return answer_paths(self.answered, _described(some, subject), domain, subject.model.classes, rng)

    def as_dict(self, paths: AnswerPaths | None) -> Mapping[str, Any]:
        """The two parts of a result's body, None where one is not known."""
        return {
            "paths": None if paths is None else paths.as_dict(),
            "neurons": None if self.neurons is None else self.neurons.as_dict(),
        }


def inner_view(
    subject: Subject, sample: JudgedSample, rng: np.random.Generator, seconds: float | None = None, deadline: Deadline = NEVER
) -> InnerView:
    """Ask the model about some judged rows once more; `seconds` is what one question takes, where that was measured."""
    most = MOST_ROWS if not deadline.is_set or not seconds else int(SHARE_OF_TIME * deadline.seconds_left / seconds)
    if len(subject.model.classes) < 2 or min(most, len(sample.rows)) < FEWEST_ROWS or _counts_objects(subject):
        return InnerView(subject, None, _neurons(subject, sample.rows[: min(NEURON_ROWS, most)]))
    chosen = rng.permutation(len(sample.rows))[: min(MOST_ROWS, most)]
    rows, unfair = sample.rows[chosen], sample.marks[chosen]
    labels = labels_of(Meter(subject.model).scores(rows))
    return InnerView(subject, AnsweredRows(_described(rows, subject), labels, unfair), _neurons(subject, rows[:NEURON_ROWS]))


def _counts_objects(subject: Subject) -> bool:
    """Whether the answer is no label but what is seen in a scene."""
    return getattr(subject.medium, "kind", "table") == "scenes"


def _described(rows: Rows, subject: Subject) -> Rows:
    medium = subject.medium
    if not isinstance(medium, Describing):
        return rows
    return medium.described(rows) if len(rows) else np.empty((0, len(medium.description.columns)))


def _neurons(subject: Subject, rows: Rows) -> BiasMap | None:
    """The bias map, where hidden layers can be read."""
    model = subject.model
    if not isinstance(model, Transparent) or not len(rows) or not model.layers():
        return None
    hidden = hidden_layers(Meter(model), rows)
    return measure_bias(Meter(model), subject.domain, rows, hidden) if hidden else None
