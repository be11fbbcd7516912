"""Rows as the vectors that a neural generator learns: listed cells one-hot, numbers as a mode and a place within it.

Mode-specific normalisation: Xu, Skoularidou, Cuesta-Infante, Veeramachaneni, "Modeling Tabular Data using Conditional GAN", 2019.
The places of all numbers come first, then one block of one-hot slots per column.  Trains no network.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Reals, Rows
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import DataError, InvalidArgument

Vectors = NDArray[np.float32]  # (n, width)

MOST_MODES = 10
SMALLEST_MODE = 0.005
"""Modes that hold a smaller share of the column are dropped."""
SPREADS = 4.0
"""A place within a mode is the distance from its mean in units of this many standard deviations."""
FARTHEST = 0.99
PARTS = ("means", "spreads", "weights", "codes", "has_missing")
"""What is learnt about a column."""
MIXTURE_ROWS = 20_000
"""Rows that a column's modes are looked for in; more do not change them."""


@dataclass(frozen=True)
class Block:
    """The one-hot slots of one column.  A number has a slot per mode; a listed column one per code; a missing cell the last."""

    column: Column
    place: int  # of the column in the rows
    means: Reals  # (modes,), empty for a listed column
    spreads: Reals
    weights: Reals
    codes: Reals  # (slots,) the codes of a listed column, empty for a number
    has_missing: bool

    @property
    def is_number(self) -> bool:
        """Whether a slot is a mode."""
        return len(self.means) > 0

    @property
    def slots(self) -> int:
        """How many slots the column has."""
        return max(len(self.means), len(self.codes)) + self.has_missing

    def choose(self, codes: Reals, rng: np.random.Generator) -> tuple[Index, Reals]:
        """The slot of every cell, a mode drawn by its posterior probability, and the place within it."""
        missing = np.isnan(codes)
        if not self.is_number:
            slots = np.searchsorted(self.codes, np.where(missing, self.codes[0], codes))
            return np.where(missing, len(self.codes), slots).astype(np.intp), np.empty(0)
        known = np.where(missing, self.means[0], codes)
        offsets = (known[:, None] - self.means) / self.spreads
        likelihood = np.exp(-0.5 * offsets**2 - np.log(self.spreads) + np.log(self.weights)) + 1e-300
        upto = np.cumsum(likelihood / likelihood.sum(axis=1, keepdims=True), axis=1)
        modes = np.minimum((rng.random((len(codes), 1)) > upto).sum(axis=1), len(self.means) - 1)
        cut_off = np.abs(offsets[np.arange(len(codes)), modes]) > SPREADS * FARTHEST
        modes[cut_off] = np.abs(offsets[cut_off]).argmin(axis=1)  # a mode that reaches the cell, where there is one
        places = np.clip(offsets[np.arange(len(codes)), modes] / SPREADS, -FARTHEST, FARTHEST)
        return np.where(missing, len(self.means), modes), np.where(missing, 0.0, places)

    def cells(self, slots: Index, places: Reals | None) -> Reals:
        """The codes that slots and places stand for, inside the column's range."""
        table, reach = self._decoding
        codes: Reals = table[slots]
        if places is None:
            return codes
        codes += places * reach[slots]
        if self.column.is_integral:
            np.rint(codes, out=codes)
        return np.clip(codes, self.column.lowest, self.column.highest, out=codes)

    @cached_property
    def _decoding(self) -> tuple[Reals, Reals]:
        """For every slot, a missing cell's last, the code in its middle and how far a place of one lies from it."""
        table = np.append(self.means if self.is_number else self.codes, np.nan)
        return table, SPREADS * np.append(self.spreads, 0.0)


@dataclass(frozen=True)
class Normaliser:
    """The way between rows and vectors."""

    domain: TabularDomain
    blocks: tuple[Block, ...]

    @classmethod
    def fit(cls, rows: Rows, domain: TabularDomain, rng: np.random.Generator, discrete: Sequence[str] | None = None) -> Normaliser:
        """Find the modes of the numbers and the codes of the others.  `discrete` names the columns that are no numbers."""
        if rows.ndim != 2 or rows.shape[1] != len(domain.columns) or len(rows) < 2:
            raise DataError(f"expected at least two rows of {len(domain.columns)} codes, got an array of shape {rows.shape}")
        listed = {c.name for c in domain.columns if c.is_listed} if discrete is None else set(discrete)
        for name in listed:
            if domain.columns[domain.place(name)].kind == "real":
                raise InvalidArgument(f"discrete names {name!r}, a column of real numbers; leave it out")
        blocks = []
        for place, column in enumerate(domain.columns):
            maker = _listed_block if column.is_listed or column.name in listed else _number_block
            blocks.append(maker(column, place, rows[:, place], rng))
        return cls(domain, tuple(blocks))

    @cached_property
    def numbers(self) -> tuple[Block, ...]:
        """The blocks of numbers, in the order of their places."""
        return tuple(block for block in self.blocks if block.is_number)

    @cached_property
    def sizes(self) -> list[int]:
        """Slots of every block."""
        return [block.slots for block in self.blocks]

    @cached_property
    def starts(self) -> list[int]:
        """Where the slots of every block begin."""
        return [int(start) for start in len(self.numbers) + np.cumsum([0, *self.sizes[:-1]])]

    @property
    def width(self) -> int:
        """Length of a vector."""
        return len(self.numbers) + sum(self.sizes)

    @cached_property
    def listed(self) -> list[int]:
        """Which blocks are not numbers."""
        return [at for at, block in enumerate(self.blocks) if not block.is_number]

    def slots(self, rows: Rows, rng: np.random.Generator) -> tuple[Vectors, Index]:
        """Places (n, numbers) and slots (n, columns) of rows."""
        places, slots = np.empty((len(rows), len(self.numbers)), np.float32), np.empty(rows.shape, np.intp)
        for at, block in enumerate(self.blocks):
            slots[:, at], inner = block.choose(rows[:, block.place], rng)
            if block.is_number:
                places[:, self.numbers.index(block)] = inner
        return places, slots

    def vectors(self, places: Vectors, slots: Index) -> Vectors:
        """Vectors of places and slots."""
        vectors = np.zeros((len(slots), self.width), dtype=np.float32)
        vectors[:, : len(self.numbers)] = places
        vectors[np.arange(len(slots))[:, None], slots + np.array(self.starts)] = 1.0
        return vectors

    def rows(self, vectors: NDArray[Any]) -> Rows:
        """The rows that vectors (or a generator's raw outputs with places after tanh) stand for: the largest slot of each block."""
        rows = np.empty((len(vectors), len(self.blocks)))
        for block, begin, end, number in self._layout:
            slots = vectors[:, begin:end].argmax(axis=1)
            rows[:, block.place] = block.cells(slots, None if number is None else vectors[:, number].astype(np.float64))
        return rows

    @cached_property
    def _layout(self) -> list[tuple[Block, int, int, int | None]]:
        """Every block with the places of its slots, and of its number where it has one."""
        order = {block.place: at for at, block in enumerate(self.numbers)}
        ends = [start + size for start, size in zip(self.starts, self.sizes, strict=True)]
        return [(block, start, end, order.get(block.place)) for block, start, end in zip(self.blocks, self.starts, ends, strict=True)]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that was learnt, by name."""
        kept: dict[str, NDArray[Any]] = {}
        for at, block in enumerate(self.blocks):
            kept |= {f"block.{at}.{part}": np.asarray(getattr(block, part)) for part in PARTS}
        return kept

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], domain: TabularDomain) -> Normaliser:
        """The normaliser that `arrays` came from."""
        blocks = []
        for at, column in enumerate(domain.columns):
            parts = [arrays[f"block.{at}.{part}"] for part in PARTS]
            means, spreads, weights, codes, has_missing = parts
            blocks.append(Block(column, at, means, spreads, weights, codes, bool(has_missing)))
        return cls(domain, tuple(blocks))


def _listed_block(column: Column, place: int, codes: Reals, rng: np.random.Generator) -> Block:  # noqa: ARG001
    none = np.empty(0)
    has_missing = column.missing > 0 or bool(np.isnan(codes).any())
    seen = np.unique(codes[~np.isnan(codes)])
    return Block(column, place, none, none, none, seen, has_missing)


def _number_block(column: Column, place: int, codes: Reals, rng: np.random.Generator) -> Block:
    present = codes[~np.isnan(codes)]
    has_missing = column.missing > 0 or len(present) < len(codes)
    if not len(present) or present.min() == present.max():
        mean = present[:1] if len(present) else np.array([column.lowest])
        return Block(column, place, mean, np.ones(1), np.ones(1), np.empty(0), has_missing)
    chosen = present if len(present) <= MIXTURE_ROWS else rng.choice(present, MIXTURE_ROWS, replace=False)
    return Block(column, place, *_modes(chosen, rng), np.empty(0), has_missing)


def _modes(codes: Reals, rng: np.random.Generator) -> tuple[Reals, Reals, Reals]:
    """Means, spreads and weights of a column's modes."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import BayesianGaussianMixture

    most = min(MOST_MODES, len(np.unique(codes)))
    mixture = BayesianGaussianMixture(
        n_components=most, weight_concentration_prior=0.001, max_iter=100, n_init=1, random_state=int(rng.integers(2**31))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture.fit(codes[:, None])
    kept = mixture.weights_ > SMALLEST_MODE
    weights = mixture.weights_[kept] / mixture.weights_[kept].sum()
    return mixture.means_[kept, 0], np.sqrt(mixture.covariances_[kept, 0, 0]), weights
