"""The constraint dependency graph of AITEST: columns as nodes, associations as edges, each with its inference error.

Agrees with Algorithms 1 and 2, read as the text explains them: as printed, line 14 marks the wrong nodes as able to generate
themselves, line 50 never updates the smallest divergence, line 54 keeps the last data instead of the nearest, and Algorithm 2
deletes what is to be added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.errors import ConstraintError
from evenhand.synthesis.families import NONE
from evenhand.synthesis.fitting import Fits
from evenhand.synthesis.inference import DataConstraints, JointTable


@dataclass(frozen=True)
class Edge:
    """An association from a category to another category or to a number."""

    source: int
    target: int
    error: float
    fits: Fits | None = None  # for a number: one group per value of the source
    by_user: str = ""  # the wish that made it; such an edge is never removed to break a cycle

    @property
    def is_numeric(self) -> bool:
        """Whether the target is a number."""
        return self.fits is not None


@dataclass(frozen=True)
class Scaling:
    """A range that the user wants instead of the data's: values are drawn in the old one and moved to the new one."""

    old: tuple[float, float]
    new: tuple[float, float]
    limits: tuple[float, float] | None = None  # where moved values stop

    def apply(self, values: Reals) -> Reals:
        """min_user + (v - min_data) * (max_user - min_user) / (max_data - min_data)."""
        span = self.old[1] - self.old[0]
        share = (values - self.old[0]) / span if span > 0 else np.zeros_like(values)
        moved = np.clip(self.new[0] + share * (self.new[1] - self.new[0]), *self.new)
        return moved if self.limits is None else np.clip(moved, *self.limits)

    @property
    def ends(self) -> tuple[float, float]:
        """The ends that moved values keep."""
        return self.limits or self.new


@dataclass(frozen=True)
class Graph:
    """Column constraints and associations, ready to be changed by a user and then put in order."""

    data: DataConstraints
    shares: Mapping[int, Reals]  # category -> share of every value, the missing cell last
    numbers: Mapping[int, Fits]  # number -> its own constraint, one group
    edges: tuple[Edge, ...]
    tables: Mapping[int, JointTable]  # category -> joint table that replaces the data's
    scalings: Mapping[int, Scaling] = field(default_factory=dict)
    value_scalings: Mapping[tuple[int, int], Mapping[int, Scaling]] = field(default_factory=dict)  # (source, number) -> value -> scaling
    unbounded: frozenset[int] = frozenset()  # numbers whose data range was deleted
    dropped: frozenset[int] = frozenset()  # columns without any constraint
    settled: Mapping[int, str] = field(default_factory=dict)  # column -> the wish that decides its distribution

    def node_error(self, place: int) -> float:
        """0 for categories and for numbers without a distribution, else 1 - p."""
        fits = self.numbers.get(place)
        return float(1.0 - fits.p_value[0]) if fits is not None and fits.family[0] != NONE else 0.0

    def can_generate(self, place: int) -> bool:
        """Whether the column has a distribution of its own (a GenNode)."""
        return place in self.shares or self.numbers[place].family[0] != NONE

    def incoming(self, place: int) -> list[Edge]:
        """Edges into a column."""
        return [edge for edge in self.edges if edge.target == place]

    def without_incoming(self, place: int, keep: int | None = None) -> Graph:
        """The column made a leaf, or left with a single source."""
        edges = tuple(edge for edge in self.edges if edge.target != place or edge.source == keep)
        return replace(self, edges=edges)


def graph_of(data: DataConstraints) -> Graph:
    """The graph that the data alone give."""
    shares = {at: counts / counts.sum() for at, counts in data.frequencies.items()}
    edges = [Edge(pair.source, pair.target, pair.error) for pair in data.pairs]
    edges += [Edge(source, target, fits.error, fits) for (source, target), fits in data.conditionals.items() if _informative(fits)]
    return Graph(data, shares, dict(data.numbers), tuple(edges), {})


def _informative(fits: Fits) -> bool:
    return int((fits.count > 0).sum()) > 1


def break_cycles(graph: Graph) -> Graph:
    """Delete the edge with the largest error of every cycle, among those into a column that can generate itself."""
    while (cycle := find_cycle(graph.edges)) is not None:
        removable = [edge for edge in cycle if graph.can_generate(edge.target) and not edge.by_user]
        if not removable:
            wishes = "  |  ".join(dict.fromkeys(edge.by_user for edge in cycle if edge.by_user))
            raise ConstraintError(f"these associations form a circle, so that none of their columns can come first: {wishes}")
        worst = max(removable, key=lambda edge: edge.error)
        graph = replace(graph, edges=tuple(edge for edge in graph.edges if edge is not worst))
    return graph


def find_cycle(edges: Iterable[Edge]) -> list[Edge] | None:
    """The edges of one directed cycle, or None."""
    outgoing: dict[int, list[Edge]] = {}
    for edge in edges:
        outgoing.setdefault(edge.source, []).append(edge)
    finished: set[int] = set()
    for start in list(outgoing):
        if start in finished:
            continue
        trail: list[Edge] = []
        active = {start}
        stack = [iter(outgoing.get(start, ()))]
        while stack:
            step = next(stack[-1], None)
            if step is None:
                stack.pop()
                done = trail.pop().target if trail else start
                active.discard(done)
                finished.add(done)
            elif step.target in active:
                trail.append(step)
                first = next(i for i, edge in enumerate(trail) if edge.source == step.target)
                return trail[first:]
            elif step.target not in finished:
                trail.append(step)
                active.add(step.target)
                stack.append(iter(outgoing.get(step.target, ())))
    return None


def topological_order(columns: int, edges: Iterable[Edge]) -> list[int]:
    """Sources before targets; otherwise in the order of the table."""
    sources: dict[int, set[int]] = {place: set() for place in range(columns)}
    for edge in edges:
        sources[edge.target].add(edge.source)
    order: list[int] = []
    placed: set[int] = set()
    while len(order) < columns:
        ready = [place for place in range(columns) if place not in placed and sources[place] <= placed]
        order += ready
        placed |= set(ready)
    return order


def filled_table(joint: JointTable, overall: Reals) -> Rows:
    """Shares of the target for every combination; one that the data lack takes those of its first sources."""
    values = joint.counts.shape[1]
    shares = overall[None, :]
    counts = joint.counts.reshape(*joint.sizes, values)
    for depth in range(1, len(joint.sizes) + 1):
        level = counts.sum(axis=tuple(range(depth, len(joint.sizes)))).reshape(-1, values)
        total = level.sum(axis=1, keepdims=True)
        above = np.repeat(shares, joint.sizes[depth - 1], axis=0)
        shares = np.divide(level, total, out=above.astype(np.float64), where=total > 0)
    return shares


def joint_key(columns: Mapping[int, Index], joint: JointTable, n: int) -> Index:
    """The combination of every row."""
    key = np.zeros(n, dtype=np.intp)
    for source, size in zip(joint.sources, joint.sizes, strict=True):
        key *= size
        key += columns[source]
    return key
