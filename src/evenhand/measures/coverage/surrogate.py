"""A decision tree that imitates any black box (TREPAN), grown best-first where it imitates worst.

Paper: Craven and Shavlik, "Extracting Tree-Structured Representations of Trained Networks", NIPS 1996, as AITEST uses it: a node with
too few rows is filled up with rows of the realistic synthesiser, and every row is labelled by the model.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from evenhand.arrays import Index, Labels, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import ConstraintError
from evenhand.limits import Count, Majority, TwoOrMore, check_limits
from evenhand.measures.coverage.splits import MOST_BOXES, Split, ranked_splits
from evenhand.statistics.intervals import Interval, clopper_pearson
from evenhand.synthesis.box import Box

Predict = Callable[[Rows], Labels]
Drawer = Callable[[Box, int, np.random.Generator], Rows]
"""Rows of a realistic population inside a box."""


@dataclass(frozen=True)
class SurrogateSettings:
    """How the tree grows.

    rows: every node is judged on at least this many rows, drawn where the data lack them
    split_rows: fewest rows on either side of a split
    leaves: most leaves, which are the paths that tests are spread over; the paper's trees have up to 4,409
    labels: most rows that the model is asked about; growth ends when they are spent
    purity: a node is finished when one label holds this share of its rows
    m_of_n: most literals in one split; 1 is a plain tree, whose paths are boxes
    """

    rows: TwoOrMore = 1_000
    split_rows: Count = 30
    leaves: Count = 512
    labels: Count = 200_000
    purity: Majority = 0.99
    m_of_n: Count = 1

    def __post_init__(self) -> None:
        check_limits(self)


@dataclass(frozen=True)
class Path:
    """One leaf: the region that leads to it, as boxes, and the label that it stands for."""

    number: int
    boxes: tuple[Box, ...]
    label: int
    rule: str


@dataclass
class Node:
    """A leaf, or a split with two branches."""

    label: int
    share: float  # of all rows that reach it
    purity: float
    boxes: tuple[Box, ...]
    split: Split | None = None
    passed: Node | None = None
    failed: Node | None = None
    path: int = -1


@dataclass
class Surrogate:
    """The grown tree."""

    domain: TabularDomain
    root: Node
    classes: tuple[object, ...]
    paths: tuple[Path, ...] = field(default_factory=tuple)

    def told(self) -> dict[str, object]:
        """The tree for JSON: a split's question, a leaf's path, label and share of rows."""
        return self._told(self.root)

    def _told(self, node: Node) -> dict[str, object]:
        if node.split is None or node.passed is None or node.failed is None:
            return {"lines": [f"path {node.path}: {self.classes[node.label]}", f"{node.share:.1%} of rows"], "share": node.share}
        return {"lines": [node.split.text(self.domain)], "yes": self._told(node.passed), "no": self._told(node.failed)}

    def path_of(self, rows: Rows) -> Index:
        """The path that every row takes."""
        found = np.full(len(rows), -1, dtype=np.intp)
        self._descend(self.root, rows, np.arange(len(rows)), found)
        return found

    def _descend(self, node: Node, rows: Rows, which: Index, found: Index) -> None:
        if node.split is None or node.passed is None or node.failed is None:
            found[which] = node.path
            return
        holds = node.split.holds(rows[which])
        self._descend(node.passed, rows, which[holds], found)
        self._descend(node.failed, rows, which[~holds], found)

    def predict(self, rows: Rows) -> Labels:
        """The label of every row's path."""
        return np.array([path.label for path in self.paths], dtype=np.intp)[self.path_of(rows)]

    def fidelity(self, rows: Rows, labels: Labels, confidence: float = 0.95) -> Interval:
        """How often the tree says what the model says."""
        return clopper_pearson(int((self.predict(rows) == labels).sum()), len(rows), confidence)

    def rules(self) -> list[str]:
        """Every path in words."""
        return [f"{path.number}: if {path.rule} then {self.classes[path.label]}" for path in self.paths]


@dataclass(frozen=True)
class Imitated:
    """What is imitated: a model's answers, the domain that they are about, and the classes that it tells apart."""

    predict: Predict
    domain: TabularDomain
    classes: Sequence[object]


def grow(subject: Imitated, draw: Drawer, rows: Rows, rng: np.random.Generator, settings: SurrogateSettings | None = None) -> Surrogate:
    """Grow the surrogate of a model; `rows` are real ones, `draw` makes more where a node has too few."""
    return _Grower(subject, draw, settings or SurrogateSettings(), rng).grow(rows, tuple(subject.classes))


class _Grower:
    """The queue of open leaves, the worst imitated first."""

    def __init__(self, subject: Imitated, draw: Drawer, settings: SurrogateSettings, rng: np.random.Generator) -> None:
        self.predict, self.domain, self.draw = subject.predict, subject.domain, draw
        self.settings, self.rng = settings, rng
        self.queue: list[tuple[float, int, Node, Rows, Labels]] = []
        self.made = 0
        self.total = 0
        self.asked = 0

    def grow(self, rows: Rows, classes: tuple[object, ...]) -> Surrogate:
        self.total = max(len(rows), 1)
        root = self._open((Box(),), rows, self.predict(rows) if len(rows) else np.empty(0, dtype=np.intp), 1.0)
        leaves = 1
        while self.queue and leaves < self.settings.leaves and self.asked < self.settings.labels:
            _, _, node, held, labels = heapq.heappop(self.queue)
            leaves += self._expand(node, held, labels)
        surrogate = Surrogate(self.domain, root, classes)
        surrogate.paths = tuple(_collect(root, self.domain, []))
        return surrogate

    def _open(self, boxes: tuple[Box, ...], rows: Rows, labels: Labels, share: float) -> Node:
        """A leaf; queued by the share of all rows that it gets wrong (Craven's reach times infidelity)."""
        rows, labels = self._filled(boxes, rows, labels)
        counts = np.bincount(labels) if len(labels) else np.ones(1)
        node = Node(int(counts.argmax()), share, float(counts.max() / counts.sum()), boxes)
        if node.purity < self.settings.purity:
            self.made += 1
            wrong = max(share, 1 / (2 * self.total)) * (1 - node.purity)
            heapq.heappush(self.queue, (-wrong, self.made, node, rows, labels))
        return node

    def _filled(self, boxes: tuple[Box, ...], rows: Rows, labels: Labels) -> tuple[Rows, Labels]:
        missing = self.settings.rows - len(rows)
        if missing <= 0:
            return rows, labels
        drawn = draw_in_boxes(self.draw, boxes, missing, self.rng)
        self.asked += len(drawn)
        return np.vstack([rows, drawn]), np.append(labels, self.predict(drawn) if len(drawn) else np.empty(0, dtype=np.intp))

    def _expand(self, node: Node, rows: Rows, labels: Labels) -> int:
        """Split one leaf in two by the best split with both sides large enough and possible; 0 where there is none."""
        for split in ranked_splits(rows, labels, self.domain, self.settings.m_of_n, self.settings.split_rows):
            sides = [self._cut(node.boxes, split, is_true) for is_true in (True, False)]
            if not sides[0] or not sides[1]:  # only missing cells would be on one of them, say, which no box stands for
                continue
            holds = split.holds(rows)
            node.split = split
            passing = node.share * float(holds.mean())
            node.passed = self._open(sides[0], rows[holds], labels[holds], passing)
            node.failed = self._open(sides[1], rows[~holds], labels[~holds], node.share - passing)
            return 1
        return 0

    def _cut(self, boxes: tuple[Box, ...], split: Split, is_true: bool) -> tuple[Box, ...]:
        cut = [part for box in boxes for part in split.boxes(box, self.domain, is_true)]
        return tuple(box for box in cut[:MOST_BOXES] if _possible(box, self.domain))


def _possible(box: Box, domain: TabularDomain) -> bool:
    return all(max(low, domain.low[at]) <= min(high, domain.high[at]) for at, (low, high) in box.intervals.items())


_BOXES_AT_ONCE = 4


def draw_in_boxes(draw: Drawer, boxes: Sequence[Box], n: int, rng: np.random.Generator) -> Rows:
    """Rows spread over a few of the boxes; impossible ones are passed over, and where all are impossible there are no rows."""
    parts: list[Rows] = []
    left = [boxes[at] for at in rng.permutation(len(boxes))]
    step = -(-n // min(_BOXES_AT_ONCE, len(left)))
    while n > 0 and left:
        share = min(n, step)
        try:
            parts.append(draw(left.pop(), share, rng))
            n -= share
        except ConstraintError:
            step = n  # the next possible box takes all that is left
    if n > 0 and parts:
        parts.append(parts[-1][rng.integers(0, len(parts[-1]), n)])
    return np.vstack(parts) if parts else np.empty((0, draw(Box(), 1, rng).shape[1]))


def _collect(node: Node, domain: TabularDomain, trail: list[str]) -> list[Path]:
    """Number the leaves from left to right."""
    found: list[Path] = []

    def walk(at: Node, words: list[str]) -> None:
        if at.split is None or at.passed is None or at.failed is None:
            at.path = len(found)
            found.append(Path(len(found), at.boxes, at.label, " and ".join(words) or "always"))
            return
        walk(at.passed, [*words, at.split.text(domain, True)])
        walk(at.failed, [*words, at.split.text(domain, False)])

    walk(node, trail)
    return found
