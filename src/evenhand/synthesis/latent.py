"""The contract of a latent space: continuous vectors that stand for rows.  Each space lives in a file of its own."""

from __future__ import annotations

from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals, Rows
from evenhand.domain.tabular import TabularDomain

Latents: TypeAlias = NDArray[np.floating]  # (n, latent_size)


@runtime_checkable
class LatentSpace(Protocol):
    """A population whose rows are decoded from vectors that can be added, moved and projected."""

    @property
    def name(self) -> str:
        """What a reader sees beside a rate."""

    @property
    def domain(self) -> TabularDomain:
        """What the decoded rows live in."""

    @property
    def latent_size(self) -> int:
        """How many numbers stand for one row."""

    def latents(self, n: int, rng: np.random.Generator) -> Latents:
        """Vectors of the space's own distribution."""

    def decode(self, latents: Latents) -> Rows:
        """The row that each vector stands for: always the same one, and always valid."""

    def sample(self, n: int, rng: np.random.Generator) -> Rows:
        """Rows of the population."""


@runtime_checkable
class Encoding(LatentSpace, Protocol):
    """A latent space that knows the way back."""

    def encode(self, rows: Rows, rng: np.random.Generator) -> Latents:
        """A vector for each row."""


@runtime_checkable
class Dense(LatentSpace, Protocol):
    """A latent space that says how likely a row is."""

    def log_density(self, rows: Rows) -> Reals:
        """Log-probability of each row."""


def valid_rows(rows: Rows, domain: TabularDomain) -> Rows:
    """The same rows, those that break a constraint moved to the nearest one that keeps it."""
    if domain.constraints and (broken := np.flatnonzero(~domain.keeps_constraints(rows))).size:
        rows[broken] = domain.project(rows[broken])
    return rows
