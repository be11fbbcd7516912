"""Path coverage: how many paths of a surrogate some tests take, and tests spread equally over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.errors import ConstraintError
from evenhand.measures.coverage.surrogate import Drawer, Surrogate, draw_in_boxes
from evenhand.measures.coverage.tests_by_path import Shares, counts_by_path, spread
from evenhand.synthesis.box import Box
from evenhand.synthesis.chained_trees import ChainedTrees
from evenhand.synthesis.constraint_graph import ConstraintGraph
from evenhand.synthesis.steered_trees import SteeredTrees


@dataclass(frozen=True)
class PathCoverage:
    """How many tests take each path."""

    counts: Index  # (paths,)
    possible: Index  # (paths,) 0 where constraints make a path impossible, else 1

    @property
    def share(self) -> float:
        """The share of possible paths that some test takes."""
        wanted = self.possible > 0
        return float((self.counts[wanted] > 0).mean()) if wanted.any() else 1.0

    @property
    def missed(self) -> list[int]:
        """Numbers of the possible paths without a test."""
        return [int(at) for at in np.flatnonzero((self.possible > 0) & (self.counts == 0))]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"share": self.share, "paths": int(self.possible.sum()), "tests_per_path": self.counts.tolist(), "missed": self.missed}


def coverage_of(surrogate: Surrogate, rows: Rows, possible: Index | None = None) -> PathCoverage:
    """The coverage of any tests: generated ones, the failing ones among them, or a user's own."""
    counts = np.bincount(surrogate.path_of(rows), minlength=len(surrogate.paths)) if len(rows) else np.zeros(len(surrogate.paths), np.intp)
    return PathCoverage(counts, np.ones(len(surrogate.paths), dtype=np.intp) if possible is None else possible)


@dataclass(frozen=True)
class Suite:
    """Tests for every path."""

    rows: Rows
    path: Index  # (n,) the path that each row was made for
    coverage: PathCoverage


def cover(surrogate: Surrogate, draw: Drawer, n: int, rng: np.random.Generator, wished: Shares | None = None) -> Suite:
    """n tests, equally many for every path that the constraints allow, but for what wished shares of categories leave."""
    wanted = counts_by_path(surrogate.paths, n, wished or {})
    # Paths that leave the categories free come last, so that their rows can make up for what the others take of a wished share.
    order = sorted(range(len(wanted)), key=lambda at: -min((len(box.values) for box in surrogate.paths[at].boxes), default=0))
    drawn = {at: draw_in_boxes(draw, surrogate.paths[at].boxes, int(wanted[at]), rng) for at in order}
    parts = [drawn[at] for at in range(len(wanted))]
    possible = np.array([len(part) > 0 or count == 0 for part, count in zip(parts, wanted, strict=True)], dtype=np.intp)
    numbers = [np.full(len(part), number) for number, part in enumerate(parts)]
    for number, count in _left_over(n - sum(map(len, parts)), np.flatnonzero(possible & (wanted > 0))):
        parts.append(draw_in_boxes(draw, surrogate.paths[number].boxes, count, rng))
        numbers.append(np.full(count, number))
    rows = np.vstack(parts)
    return Suite(rows, np.concatenate(numbers), coverage_of(surrogate, rows, possible))


def _left_over(n: int, paths: Index) -> list[tuple[int, int]]:
    """Tests of impossible paths given to the possible ones, equally."""
    if n <= 0 or not len(paths):
        return []
    return [(int(path), int(count)) for path, count in zip(paths, spread(n, len(paths)), strict=True) if count]


class Sampler(Protocol):
    """Anything with rows to draw."""

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Rows."""


def drawer(population: Sampler) -> Drawer:
    """How rows of a population are drawn inside a box: by its own means, or by looking for them."""
    if isinstance(population, ConstraintGraph):
        graph = population
        return lambda box, n, rng: graph.within(box, rng).sample(n, rng)
    if isinstance(population, ChainedTrees | SteeredTrees):
        trees = population.balanced() if isinstance(population, SteeredTrees) else population
        return lambda box, n, rng: trees.within(box).sample(n, rng)
    return lambda box, n, rng: _searched(population, box, n, rng)


def _searched(population: Sampler, box: Box, n: int, rng: np.random.Generator) -> Rows:
    """Draw until enough lie inside, within reason; what is found is repeated if it is too little."""
    found: list[Rows] = []
    count = 0
    for _ in range(50):
        rows = population.sample(max(n, 1_000), rng)
        rows = rows[box.contains(rows)]
        found.append(rows)
        count += len(rows)
        if count >= n:
            break
    rows = np.vstack(found)
    if not len(rows):
        raise ConstraintError("no row of the population was found inside the box")
    return rows[np.resize(np.arange(len(rows)), n)]


def shares_per_path(surrogate: Surrogate, rows: Rows, failing: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Reals:
    """The share of failing tests on every path; NaN where there is no test."""
    path = surrogate.path_of(rows)
    tests = np.bincount(path, minlength=len(surrogate.paths))
    bad = np.bincount(path[failing], minlength=len(surrogate.paths))
    return np.asarray(np.divide(bad, tests, out=np.full(len(tests), np.nan), where=tests > 0))
