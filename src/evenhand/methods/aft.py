"""AFT: a decision tree imitates the model, and pairs of its leaves show where a protected value could change the answer.

Paper: Zhao, Toda, Kitamura, "Approximation-guided Fairness Testing through Discriminatory Space Analysis", ASE 2024.

Agrees with the paper and its code: 5,000 uniform rows labelled by the model, an entropy tree of up to 1,000 leaves, random leaves and
all their partners (another label, apart in what is protected, overlapping elsewhere) until there are 100 pairs, up to 100 rows of
each intersection unless 10 answers of the model differ from the tree's, a new tree with those rows, and fresh training rows
after a round without a finding or five rounds without a disagreement.

Differs: the tree is fitted again when its training rows have grown threefold (`growth`), not after every round; until then further pairs
of the same tree are drawn, round and round.  A fit sees at most 40,000 of the training rows, drawn by lot, fewer where little time is
left.  The rows of all intersections are judged together, 25 of each at once; an intersection
still teaches no more than 10 lessons.  No row is proposed twice.  The authors' code wants the first protected column to differ; here any
may, and only compared values count.  Where a protected value implies other changes, leaves may lie apart in those columns too.
Missing cells follow the tree's own rule for them.  Under constraints a row is moved to the nearest possible one.  Of a small budget
of model rows half is training.

Only labels are used: a model without scores is searched in the same way.

Measured on ADF's census net, protected sex, one core, 3 CPU-seconds, five seeds: 20,000 to 29,000 findings per CPU-second, 10 to 12 % of
the candidates (random search: 3 %).  With growth=0, a tree for every round as published, 1,700 and 2,100 (seeds 0 and 1): fits take
nine tenths of the time, and 11 and 13 % of the candidates are findings: fewer fits cost no quality.  The authors' own code finds 295
per CPU-second.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Labels, Mask, Rows
from evenhand.contract import Candidates, Model, Search, Task, Verdict
from evenhand.domain.key_table import KeyTable
from evenhand.domain.tabular import TabularDomain
from evenhand.limits import Count, NotNegative, TwoOrMore, check_limits
from evenhand.methods.parts.chosen_twin import Partners
from evenhand.methods.parts.fitted_tree import Boxes, FittedTree
from evenhand.methods.parts.populations import population_named

SAMPLES_TOGETHER = 25
"""So many rows of each intersection are judged at once; in between, intersections that have taught enough are dropped."""
LEAVES_AT_ONCE = 64
IDLE_ROUNDS = 20
"""After as many rounds in a row without a row that is new, nothing more is to be expected."""
MOST_FITTED = 40_000
"""A fit sees at most so many training rows, drawn by lot: more do not change a thousand leaves much, and cost more than they find."""
FEWEST_FITTED = 1_000
FIT_SECONDS = 4e-7
"""What a fit costs for each cell of its rows, declared: about twice what a core of today takes."""
STALE_ROUNDS = 5
"""After as many rounds in a row without a disagreement, the authors draw the training rows again."""


@dataclass(frozen=True)
class Aft:
    """Fit, pair, sample, learn from disagreements, fit again.

    training: rows that the tree is fitted to at first
    leaves: most leaves of the tree
    pairs: most pairs of leaves in one round
    samples: most rows of one intersection
    lessons: an intersection is left after so many disagreements between tree and model
    growth: by how much the training rows grow, as a share, before the tree is fitted again; 0 fits it after every round
    population: where the first training rows come from; the paper's is the domain, uniformly
    """

    training: TwoOrMore = 5_000
    leaves: TwoOrMore = 1_000
    pairs: Count = 100
    samples: Count = 100
    lessons: Count = 10
    growth: NotNegative = 2.0
    population: str = "domain"

    needs: ClassVar[type] = Model
    media: ClassVar[tuple[str, ...]] = ("table", "portraits", "text")

    def __post_init__(self) -> None:
        check_limits(self)

    def search(self, task: Task, rng: np.random.Generator) -> Search:
        """Rounds until the budget is spent, or until no round brings anything new."""
        population = population_named(self.population, task, rng)
        pupil, idle, stale, pairing = Pupil(task), 0, 0, None
        facts = task.facts["aft"] = {"rounds": 0, "restarts": -1, "training_rows": 0, "leaves": 0, "pairs": 0}
        while idle < IDLE_ROUNDS:
            if not pupil.rows:
                rows = population.sample(self._affordable(task), rng)
                pupil.learn(rows, task.predict(rows))
                facts["restarts"], stale, pairing = facts["restarts"] + 1, 0, None
            if pairing is None or pupil.size > (1 + self.growth) * pairing.fitted_rows:
                pairing = Pairing(pupil.tree(self.leaves, rng), task.domain, pupil.size)
            spaces, tree = pairing.draw(self.pairs, rng), pairing.tree
            facts |= {"rounds": facts["rounds"] + 1, "training_rows": pupil.size, "leaves": int(tree.is_leaf.sum()), "pairs": len(spaces)}
            before = pupil.size, pupil.asked.size
            findings = yield from self._explore(spaces, tree, pupil, rng)
            idle = idle + 1 if pupil.asked.size == before[1] else 0
            stale = stale + 1 if pupil.size == before[0] else 0
            if not findings or stale == STALE_ROUNDS:
                pupil.forget()
        task.facts["stopped"] = f"no new row in {IDLE_ROUNDS} rounds: the tree sees no other pair of leaves"

    def _affordable(self, task: Task) -> int:
        """Of a small budget of model rows, at most half goes into training."""
        left = task.model.rows_left
        return self.training if left is None else max(2, min(self.training, left // 2))

    def _explore(self, spaces: Spaces, tree: FittedTree, pupil: Pupil, rng: np.random.Generator) -> Generator[Candidates, Verdict, int]:
        """Sample every intersection; how many findings there were."""
        findings, lessons = 0, np.zeros(len(spaces), dtype=np.intp)
        for begun in range(0, self.samples, SAMPLES_TOGETHER):
            some = np.flatnonzero(lessons < self.lessons)
            which = np.repeat(some, min(SAMPLES_TOGETHER, self.samples - begun))
            rows, first, second = spaces.sample(which, rng)
            new = pupil.unasked(rows)
            if not new.any():
                continue
            verdict = yield Candidates(rows[new], "pairs")
            findings += int(verdict.unfair.sum())
            wrong = pupil.compare(tree, rows[new], (first[new], second[new]), verdict, Quota(which[new], self.lessons - lessons))
            lessons += np.bincount(which[new], weights=wrong, minlength=len(spaces)).astype(np.intp)
        return findings


@dataclass
class Pupil:
    """The training rows, and which rows were asked about before."""

    task: Task
    rows: list[Rows] = field(default_factory=list)
    labels: list[Labels] = field(default_factory=list)
    asked: KeyTable = field(default_factory=KeyTable)

    @property
    def size(self) -> int:
        """How many training rows there are."""
        return sum(map(len, self.rows))

    def learn(self, rows: Rows, labels: Labels) -> None:
        """More training rows."""
        self.rows.append(rows)
        self.labels.append(labels)

    def forget(self) -> None:
        """Start over."""
        self.rows.clear()
        self.labels.clear()

    def tree(self, leaves: int, rng: np.random.Generator) -> FittedTree:
        """The tree of the training rows, or of as many of them as a fit may take."""
        rows, labels = np.concatenate(self.rows), np.concatenate(self.labels)
        most = self._fitted(rows.shape[1])
        if len(rows) > most:
            chosen = rng.choice(len(rows), most, replace=False)
            rows, labels = rows[chosen], labels[chosen]
        return FittedTree.fit(rows, labels, "entropy", leaves, rng)

    def _fitted(self, columns: int) -> int:
        """How many rows a fit sees: a fifth of what is left of a budget of seconds pays for it."""
        if not self.task.deadline.is_set:
            return MOST_FITTED
        return min(MOST_FITTED, max(FEWEST_FITTED, int(0.2 * max(0.0, self.task.deadline.seconds_left) / (FIT_SECONDS * columns))))

    def unasked(self, rows: Rows) -> Mask:
        """Which rows nobody has asked about, each marked once."""
        return self.asked.add(self.task.domain.keys(rows))[1]

    def compare(
        self, tree: FittedTree, rows: Rows, combinations: tuple[Index, Index], verdict: Verdict, quota: Quota | None = None
    ) -> Index:
        """How many of a row and its twin the tree gets wrong; those are learnt up to a quota, without asking the model again."""
        line, partners = np.arange(len(rows)), Partners(self.task.domain, self.task.model)
        persons = [partners.twins(rows, combination) for combination in combinations]
        said = [verdict.labels[line, combination] for combination in combinations]
        wrong = np.array([(told >= 0) & (tree.predict(each) != told) for each, told in zip(persons, said, strict=True)])
        count = np.asarray(wrong.sum(axis=0), dtype=np.intp)
        due = np.ones(len(rows), dtype=bool) if quota is None else quota.due(count)
        for each, told, is_wrong in zip(persons, said, wrong, strict=True):
            self.learn(each[is_wrong & due], told[is_wrong & due].astype(np.intp))
        return count


@dataclass(frozen=True)
class Quota:
    """How many more lessons each intersection may teach, and which one every row lies in; rows of one stand together."""

    which: Index
    left: Index

    def due(self, lessons: Index) -> Mask:
        """Rows before whom their intersection had not taught enough yet, as if they came one after the other."""
        before = np.cumsum(lessons) - lessons
        starts = np.flatnonzero(np.diff(self.which, prepend=-1))
        within = before - np.repeat(before[starts], np.diff(np.append(starts, len(before))))
        return np.asarray(within < self.left[self.which])


@dataclass(frozen=True)
class Spaces:
    """Intersections of two leaves: where they lie, and which protected combinations either leaf takes."""

    domain: TabularDomain
    boxes: Boxes
    first: NDArray[np.bool_]  # (pairs, combinations)
    second: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.boxes)

    def sample(self, which: Index, rng: np.random.Generator) -> tuple[Rows, Index, Index]:
        """A row of each named intersection, and the combinations under which the tree expects two answers; the row has the first."""
        rows = self.boxes[which].sample(self.domain, rng)
        first, second = _drawn(self.first[which], rng), _drawn(self.second[which], rng)
        rows[:, list(self.domain.protected_places)] = self.domain.combinations[first]
        return (self.domain.project(rows) if self.domain.constraints else rows), first, second


def _drawn(allowed: NDArray[np.bool_], rng: np.random.Generator) -> Index:
    """One of the allowed positions of every row."""
    running = np.cumsum(allowed, axis=1)
    wanted = np.floor(rng.random(len(allowed)) * running[:, -1])
    return np.asarray((running > wanted[:, None]).argmax(axis=1), dtype=np.intp)


class Pairing:
    """Pairs of leaves with different labels that overlap in every column but the protected ones.

    Leaves of one tree have no row in common, so that two of them which overlap elsewhere lie apart in a protected column.
    """

    def __init__(self, tree: FittedTree, domain: TabularDomain, fitted_rows: int = 0) -> None:
        self.tree, self.domain, self.fitted_rows = tree, domain, fitted_rows
        boxes, labels = tree.leaf_boxes(domain)
        takes = self._combinations(boxes)
        usable: Mask = np.asarray(takes.any(axis=1))
        self.boxes, self.labels, self.takes = boxes[usable], labels[usable], takes[usable]
        implied = {domain.place(name) for rule in domain.implied for name in rule.changes}
        self.tied = sorted(implied | set(domain.protected_places))
        self.common = [place for place in domain.free_places if place not in implied]
        self._order = np.empty(0, dtype=np.intp)
        self._begun = 0
        self._waiting = np.empty((0, 2), dtype=np.intp)

    def _combinations(self, boxes: Boxes) -> NDArray[np.bool_]:
        """Which compared combinations every leaf takes, (leaves, combinations)."""
        takes = np.ones((len(boxes), len(self.domain.combinations)), dtype=bool)
        for at, place in enumerate(self.domain.protected_places):
            codes = self.domain.combinations[:, at]
            takes &= (boxes.low[:, [place]] <= codes) & (codes <= boxes.high[:, [place]])
        return takes

    def draw(self, most: int, rng: np.random.Generator) -> Spaces:
        """All partners of one random leaf after another, until there are enough; the next draw goes on from there, then round again."""
        if self._begun >= len(self._order) and not len(self._waiting):
            self._order, self._begun = rng.permutation(len(self.boxes)), 0
        while len(self._waiting) < most and self._begun < len(self._order):
            self._waiting = np.concatenate([self._waiting, self._next(self._order)])
        drawn, self._waiting = self._waiting[:most], self._waiting[most:]
        return self._spaces(drawn[:, 0], drawn[:, 1])

    def _next(self, order: Index) -> Index:
        """The pairs of the next leaves with all that come later, (pairs, 2)."""
        some = np.arange(self._begun, min(self._begun + LEAVES_AT_ONCE, len(order)))
        self._begun += LEAVES_AT_ONCE
        # Each pair once: a leaf meets only those behind it.
        fits = (self.labels[order[some], None] != self.labels[order]) & (some[:, None] < np.arange(len(order)))
        pairs = np.argwhere(fits)
        first, second = order[some[pairs[:, 0]]], order[pairs[:, 1]]
        for place in self.common:
            meets = self._overlap(first, second, place)
            first, second = first[meets], second[meets]
        return np.stack([first, second], axis=1)

    def _overlap(self, first: Index, second: Index, place: int) -> Mask:
        low, high, missing = self.boxes.low[:, place], self.boxes.high[:, place], self.boxes.missing[:, place]
        meets: Mask = np.maximum(low[first], low[second]) <= np.minimum(high[first], high[second])
        return meets | (missing[first] & missing[second])

    def _spaces(self, first: Index, second: Index) -> Spaces:
        one, other = self.boxes[first], self.boxes[second]
        low, high = np.maximum(one.low, other.low), np.minimum(one.high, other.high)
        missing = one.missing & other.missing
        # What goes along with the protected value (and that value itself) is the first leaf's; the twin's follows from it.
        for mine, theirs in ((low, one.low), (high, one.high), (missing, one.missing)):
            mine[:, self.tied] = theirs[:, self.tied]
        return Spaces(self.domain, Boxes(low, high, missing), self.takes[first], self.takes[second])
