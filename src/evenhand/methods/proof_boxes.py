"""Proof boxes: the trees of a model are read, the domain is split into boxes, and rows are proposed where a box is unfair or undecided.

Unlike every other method it looks inside: `certify`'s boxes say where all inputs are treated unfairly, where none is, and where it is
not known yet.  Rows of unfair boxes are findings without asking, by the labels that the proof gives them; only the first of a batch is
asked about, in case the trees are not those of the model.  Rows of undecided ones are found more often than elsewhere.  Where something
else than labels decides, all are asked about.
For a tree ensemble that certify reads (scikit-learn, XGBoost, LightGBM, CatBoost); any other model is asked about random rows, and the
run's facts say so.

Its rows are spread over the whole domain as the domain's own measure has it.  Most of them are no plausible people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evenhand.contract import Model, Search, Task
from evenhand.errors import EvenhandError
from evenhand.limits import Count, check_limits
from evenhand.measures.proofs import tree_judge
from evenhand.measures.proofs.branch_and_bound import Frontier
from evenhand.measures.proofs.undecided import Region
from evenhand.methods.parts.patience import PatientKnown, while_patient
from evenhand.oracles.parts.people import labels_differ

MOST_OPEN = 500_000
"""No box is split while so many are open."""


@dataclass(frozen=True)
class ProofBoxes:
    """Split, propose inside, split again.

    splits: batches of boxes that are judged before each proposal
    rows: rows of proven boxes, and of undecided ones, that are proposed at once
    """

    splits: Count = 2
    rows: Count = 4_096

    needs: ClassVar[type] = Model
    media: ClassVar[tuple[str, ...]] = ("table",)

    def __post_init__(self) -> None:
        check_limits(self)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Rounds until the budget is spent, or until nothing new is met."""
        try:
            judge, kind, _ = tree_judge(task.model.model, task.domain)
        except EvenhandError as fault:
            task.facts["proof_boxes"] = f"no trees were read, random rows were asked about instead: {fault}"
            yield from while_patient(self._random(task, rng))
            return
        task.facts["proof_boxes"] = {"kind": kind, "boxes": 0, "proven": 0.0, "undecided": 1.0, "found_without_asking": 0}
        yield from while_patient(self._rounds(task, judge, rng))

    def _random(self, task: Task, rng: np.random.Generator) -> Search:
        known = PatientKnown(task)
        while True:
            yield from known.judge(task.domain.sample(self.rows, rng), "random")

    def _rounds(self, task: Task, judge: Any, rng: np.random.Generator) -> Search:
        frontier, known = Frontier[Any](judge), PatientKnown(task)
        frontier.put(*judge.start())
        while True:
            undecided = self._split(task, judge, frontier)
            if len(judge.proven.weights):
                yield from self._take(task, known, judge, rng)
            if undecided is not None and len(undecided.weights):
                yield from known.judge(undecided.draw(self.rows, rng), "undecided")

    def _take(self, task: Task, known: PatientKnown, judge: Any, rng: np.random.Generator) -> Search:
        """Rows of proven boxes: findings by the labels that the proof gives them; where it leaves those open, by the model's."""
        boxes = judge.proven.some(self.rows, rng)
        rows, labels = judge.draw(boxes, rng), judge.labels(boxes)
        is_told = labels_differ(labels)
        if is_told.any():
            yield from known.take_proven(rows[is_told], "proven", labels[is_told])
            task.facts["proof_boxes"]["found_without_asking"] += max(0, int(known.is_new.sum()) - 1)
        if not is_told.all():
            yield from known.judge(rows[~is_told], "proven")

    def _split(self, task: Task, judge: Any, frontier: Frontier[Any]) -> Region | None:
        """Some batches of boxes judged; the halves of the last one, which are undecided."""
        halves = None
        for _ in range(self.splits):
            if not frontier.size or frontier.size > MOST_OPEN:
                break
            boxes, weights = frontier.pull(judge.batch, deepest=False)
            judged = judge.judge(boxes, weights)
            frontier.put(judged.halves, judged.weights)
            halves = Region(judge, judged.halves, judged.weights)
            told = task.facts["proof_boxes"]
            told |= {"boxes": told["boxes"] + len(weights), "proven": told["proven"] + judged.unfair, "undecided": frontier.weight}
        return halves if halves is not None and len(halves.weights) else self._open(judge, frontier)

    def _open(self, judge: Any, frontier: Frontier[Any]) -> Region | None:
        """A batch of open boxes, which stay open."""
        if not frontier.size:
            return None
        boxes, weights = frontier.pull(judge.batch, deepest=False)
        frontier.put(boxes, weights)
        return Region(judge, boxes, weights)
