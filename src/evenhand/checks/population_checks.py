"""What every synthesiser promises, as checks for anyone to run: each takes the class, rows to learn from and their domain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Population
from evenhand.domain.tabular import TabularDomain
from evenhand.synthesis.latent import Dense, Encoding, LatentSpace

Kind = Any  # a class with fit(rows, domain, rng)
PopulationCheck = Callable[[Kind, Rows, TabularDomain], None]
DRAWN = 300


def for_population() -> tuple[PopulationCheck, ...]:
    """Every check, in the order in which a new synthesiser usually fails them."""
    return (
        check_is_a_population,
        check_draws_valid_rows,
        check_the_seed_decides,
        check_leaves_the_learning_rows_alone,
        check_a_latent_stands_for_one_row,
        check_densities_are_numbers,
    )


def _fitted(kind: Kind, rows: Rows, domain: TabularDomain) -> Any:
    return kind.fit(rows, domain, np.random.default_rng(2))


def check_is_a_population(kind: Kind, rows: Rows, domain: TabularDomain) -> None:
    """It has a name for a reader, and draws."""
    made = _fitted(kind, rows, domain)
    assert isinstance(made, Population), f"{type(made).__name__} must have name and sample"
    assert made.name, "a population's name stands beside every rate; it must not be empty"


def check_draws_valid_rows(kind: Kind, rows: Rows, domain: TabularDomain) -> None:
    """As many rows as asked for, inside the domain, every constraint kept."""
    drawn = _fitted(kind, rows, domain).sample(DRAWN, np.random.default_rng(3))
    assert drawn.shape == (DRAWN, len(domain.columns)), f"{drawn.shape} drawn, expected ({DRAWN}, {len(domain.columns)})"
    assert domain.contains(drawn).all(), f"{(~domain.contains(drawn)).mean():.1%} of the drawn rows lie outside the domain or break a rule"


def check_the_seed_decides(kind: Kind, rows: Rows, domain: TabularDomain) -> None:
    """The same seed draws the same rows, another seed others."""
    made, again = _fitted(kind, rows, domain), _fitted(kind, rows, domain)
    first, second = (each.sample(DRAWN, np.random.default_rng(4)) for each in (made, again))
    assert np.array_equal(first, second, equal_nan=True), "one seed drew two sets of rows"
    other = again.sample(DRAWN, np.random.default_rng(5))
    assert not np.array_equal(first, other, equal_nan=True), "two seeds drew the same rows: the generator is not used"


def check_leaves_the_learning_rows_alone(kind: Kind, rows: Rows, domain: TabularDomain) -> None:
    """Real rows are read, never changed."""
    kept = rows.copy()
    _fitted(kind, rows, domain)
    assert np.array_equal(rows, kept, equal_nan=True), "fit changed the rows that it was given"


def check_a_latent_stands_for_one_row(kind: Kind, rows: Rows, domain: TabularDomain) -> None:
    """A latent decodes to the same valid row every time, also one that was made from a real row."""
    made = _fitted(kind, rows, domain)
    if not isinstance(made, LatentSpace):
        return
    latents = made.latents(50, np.random.default_rng(6))
    assert latents.shape == (50, made.latent_size), f"latents of shape {latents.shape}, expected (50, {made.latent_size})"
    assert np.array_equal(made.decode(latents), made.decode(latents.copy()), equal_nan=True), "one latent decodes to two rows"
    if isinstance(made, Encoding):
        latents = made.encode(rows[:50], np.random.default_rng(7))
    assert domain.contains(made.decode(latents)).all(), "a decoded row lies outside the domain or breaks a rule"


def check_densities_are_numbers(kind: Kind, rows: Rows, domain: TabularDomain) -> None:
    """What was learnt from is possible."""
    made = _fitted(kind, rows, domain)
    if isinstance(made, Dense):
        assert np.isfinite(made.log_density(rows[:50])).all(), "a row that was learnt from is called impossible"
