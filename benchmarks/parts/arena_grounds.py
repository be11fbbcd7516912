"""Where the arena is fought: tables split by name into those for development and those that are reported, two made ones among the latter.

Methods see one half of the real rows; the judges learn from the other half, which no method sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from evenhand import datasets
from evenhand.campaign.arena_ground import Ground
from evenhand.campaign.bench_records import Arena
from evenhand.datasets.dataset import Dataset, from_frame
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.models import zoo
from parts.natural_judges import Judge, judges
from parts.realism import related_table

DEVELOPMENT = (("credit", "sex"), ("credit", "age"), ("bank", "age"), ("cleveland", "sex"))
"""Constants may be chosen on these, and on planted shapes; no claim rests on them."""
REPORTED = (
    ("adult", "sex"), ("adult", "age"), ("compas", "race"), ("meps", "SEX"), ("bank_additional", "age"), ("magic", "age"),
    ("generated", "sex"),
)  # fmt: skip
FAMILIES = ("mlp", "forest", "boosting")
SPLIT_SEED, GENERATED_SEED = 17_000, 17_500


@dataclass(frozen=True)
class GroundName:
    """A table, its protected column and a family of models."""

    table: str
    protected: str
    family: str

    def __str__(self) -> str:
        return f"{self.table} {self.protected} {self.family}"


@dataclass(frozen=True)
class Halves:
    """What methods see, and what only the judges see."""

    seen: Dataset
    unseen: Dataset


@dataclass(frozen=True)
class JudgedGround:
    """A ground with its judges."""

    ground: Ground
    judges: dict[str, Judge]
    unseen: Dataset


def names(pairs: tuple[tuple[str, str], ...], families: tuple[str, ...]) -> list[GroundName]:
    """Every pair with every family."""
    return [GroundName(table, protected, family) for table, protected in pairs for family in families]


def opened(name: GroundName, pool_rows: int) -> JudgedGround:
    """The model trained on the whole table, methods and judges on halves of it."""
    halves = _halves(name.table, name.protected)
    whole = table(name.table).protect(name.protected)
    model = zoo.load_or_train(name.family, whole.rows, whole.labels, whole.domain, seed=0)
    arena = Arena(halves.seen, (name.protected,), model, name.family)
    return JudgedGround(Ground(arena, pool_rows=pool_rows), _judges(name.table, name.protected), halves.unseen)


@lru_cache(maxsize=2)
def _halves(name: str, protected: str) -> Halves:
    data = table(name).protect(protected)
    seen, unseen = data.split(0.5, np.random.default_rng(SPLIT_SEED))
    return Halves(seen.named(name), unseen)


@lru_cache(maxsize=2)
def _judges(name: str, protected: str) -> dict[str, Judge]:
    unseen = _halves(name, protected).unseen
    return judges(unseen.rows, unseen.domain, np.random.default_rng([SPLIT_SEED, 1]))


@lru_cache(maxsize=2)
def table(name: str) -> Dataset:
    """An embedded table, or one of the made ones."""
    if name == "magic":
        return _with_decades(datasets.load("magic"))
    return _generated() if name == "generated" else datasets.load(name)


def _with_decades(data: Dataset) -> Dataset:
    """The telescope's events with a made age in decades that goes along with their size and, a little, with their class."""
    rng = np.random.default_rng(GENERATED_SEED)
    size = data.rows[:, data.domain.place("fSize")]
    age = 5 + 1.2 * (size - size.mean()) / size.std() + 0.5 * data.labels + rng.normal(0, 1.2, len(size))
    column = Column("age", "integer", low=2, high=9)
    domain = TabularDomain((*data.domain.columns, column), ("age",), data.domain.label)
    frame = data.frame[data.inside].assign(age=np.clip(np.rint(age), 2, 9).astype(int))
    return from_frame(frame.reset_index(drop=True), domain, "magic")


def _generated() -> Dataset:
    """Ten thousand people whose columns hang together by sums, orders and tables."""
    rows, labels, domain = related_table(10_000, GENERATED_SEED)
    assert domain.label is not None
    frame = domain.decode(rows)
    frame[domain.label.column] = np.array(domain.label.values)[labels]
    return from_frame(frame, domain, "generated")
