"""Models made around another one: protected cells held, answers averaged over twins, thresholds by group, several models mixed, one answer.

They train nothing; each is saved and read back by `saving`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Reals, Rows, Scores
from evenhand.contract import Model, labels_of, one_hot
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument, ModelFailed
from evenhand.models.inputs import fingerprint_by_answers

BATCH_ROWS = 16_384


@dataclass(frozen=True, eq=False)
class ConstantModel:
    """Says the same to everybody."""

    classes: tuple[Any, ...]
    chances: Reals  # (classes,)
    is_hard: bool = False
    batch_rows: int = 1_000_000

    def scores(self, rows: Rows) -> Scores:
        """The same row of scores for each input."""
        return np.tile(self.chances, (len(rows), 1))

    def fingerprint(self) -> str:
        """Equal for equal chances."""
        return f"constant-{_digest(self.chances, self.classes)}"


@dataclass(frozen=True, eq=False)
class _AroundOne:
    """A model around another one, which answers in the same classes."""

    base: Model

    @property
    def classes(self) -> tuple[Any, ...]:
        """The base's label values."""
        return self.base.classes

    @property
    def is_hard(self) -> bool:
        """As the base."""
        return self.base.is_hard

    @property
    def batch_rows(self) -> int:
        """As the base."""
        return self.base.batch_rows


@dataclass(frozen=True, eq=False)
class Masked(_AroundOne):
    """A model that is always told the same protected values."""

    places: tuple[int, ...]
    codes: tuple[float, ...]

    def scores(self, rows: Rows) -> Scores:
        """The base's answer to the row with its protected cells replaced."""
        return self.base.scores(masked(rows, self.places, self.codes))

    def fingerprint(self) -> str:
        """The base's, and what is held; by its answers where the base refuses every other value than the one that it is told."""
        try:
            return f"masked-{_digest(self.base.fingerprint(), self.places, self.codes)}"
        except ModelFailed:
            domain = getattr(self.base, "domain", None)
            if not isinstance(domain, TabularDomain):
                raise
            return fingerprint_by_answers("masked", self.scores, domain)


def masked(rows: Rows, places: tuple[int, ...], codes: tuple[float, ...]) -> Rows:
    """Copies of rows with these cells replaced."""
    out = np.array(rows, dtype=np.float64)
    out[:, list(places)] = codes
    return out


@dataclass(frozen=True, eq=False)
class Marginalised(_AroundOne):
    """A model's answer averaged over all possible twins, weighted alike for everybody: no protected value can change it.

    `weights` has one number per protected combination.  With changes that must follow a protected one and cannot be undone, two twins
    may have different twins themselves; only then can answers differ.
    """

    domain: TabularDomain
    weights: Reals

    @property
    def is_hard(self) -> bool:
        """An average of labels is a score."""
        return False

    @property
    def batch_rows(self) -> int:
        """So many that the base gets its best batch."""
        return max(1, self.base.batch_rows // len(self.weights))

    def scores(self, rows: Rows) -> Scores:
        """The weighted mean of the twins' scores."""
        twins = self.domain.twins(rows)
        share = self.weights[:, None] * twins.valid
        empty = share.sum(axis=0) <= 0  # nobody possible has weight: all possible ones count alike, else all
        share = np.where(empty, np.where(twins.valid.any(axis=0), twins.valid, 1.0), share)
        share = share / share.sum(axis=0)
        total = np.zeros((len(rows), len(self.classes)))
        for twin, part in zip(twins.rows, share, strict=True):
            total += self.base.scores(twin) * part[:, None]
        return np.round(total, 9)  # the order of summation must not decide between equals

    def fingerprint(self) -> str:
        """The base's, and the weights."""
        return f"marginalised-{_digest(self.base.fingerprint(), self.weights, self.domain.protected)}"


@dataclass(frozen=True)
class ScoreCut:
    """A threshold on the score and the side of it that passes."""

    sign: Literal[">", "<"]
    threshold: float

    def passes(self, scores: Reals) -> NDArray[np.bool_]:
        """Which scores lie on the right side."""
        return scores > self.threshold if self.sign == ">" else scores < self.threshold


@dataclass(frozen=True)
class ThresholdRule:
    """What Fairlearn's threshold optimiser found for one group: a mixture of two thresholds on the score and a constant."""

    constant: float
    constant_share: float
    first_share: float
    first: ScoreCut
    second: ScoreCut

    def chance(self, scores: Reals) -> Reals:
        """The chance of the second class."""
        mixed = self.first_share * self.first.passes(scores) + (1 - self.first_share) * self.second.passes(scores)
        out: Reals = self.constant_share * self.constant + (1 - self.constant_share) * mixed
        return out


@dataclass(frozen=True, eq=False)
class Thresholded(_AroundOne):
    """A binary model with a rule of its own for each protected group; rows of other groups keep the base's answer."""

    places: tuple[int, ...]
    groups: Rows  # (groups, protected columns): the codes of each group
    rule_of: tuple[int, ...]  # for each group the position of its rule
    rules: tuple[ThresholdRule, ...]

    @property
    def is_hard(self) -> bool:
        """Answers are chances."""
        return False

    def scores(self, rows: Rows) -> Scores:
        """The rule's chance; the larger one is the label, where Fairlearn would draw lots."""
        base = np.asarray(self.base.scores(rows), dtype=np.float64)
        group = group_of(rows[:, list(self.places)], self.groups)
        rule = np.append(np.array(self.rule_of, dtype=np.intp), -1)[group]
        chance = base[:, 1].copy()
        for place, each in enumerate(self.rules):
            inside = rule == place
            chance[inside] = each.chance(base[inside, 1])
        return np.column_stack([1 - chance, chance])

    def fingerprint(self) -> str:
        """The base's, and the rules."""
        return f"thresholded-{_digest(self.base.fingerprint(), self.groups, self.rules, self.rule_of)}"


def group_of(cells: Rows, groups: Rows) -> Index:
    """The position of each row's cells among the groups; -1 for none of them.  A missing cell is a value like any other."""
    found = np.full(len(cells), -1, dtype=np.intp)
    for place, group in enumerate(groups):
        found[((cells == group) | (np.isnan(cells) & np.isnan(group))).all(axis=1)] = place
    return found


@dataclass(frozen=True, eq=False)
class Shifted(_AroundOne):
    """A model that says amounts, with an amount of its own added for each protected group; rows of other groups stay as they are."""

    places: tuple[int, ...]
    groups: Rows  # (groups, protected columns): the codes of each group
    shifts: Reals  # (groups,)

    def scores(self, rows: Rows) -> Scores:
        """The base's amounts, shifted."""
        group = group_of(rows[:, list(self.places)], self.groups)
        shifted: Scores = np.asarray(self.base.scores(rows), dtype=np.float64) + np.append(self.shifts, 0.0)[group][:, None]
        return shifted

    def fingerprint(self) -> str:
        """The base's, and the shifts."""
        return f"shifted-{_digest(self.base.fingerprint(), self.groups, self.shifts)}"


@dataclass(frozen=True, eq=False)
class Mixture:
    """Several models' scores, or their labels, averaged with weights."""

    models: tuple[Model, ...]
    weights: tuple[float, ...]
    by_label: bool = False

    def __post_init__(self) -> None:
        if not self.models or len(self.models) != len(self.weights):
            raise InvalidArgument(f"a mixture needs one weight per model, got {len(self.models)} models and {len(self.weights)} weights")

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label values, alike for all."""
        return self.models[0].classes

    @property
    def is_hard(self) -> bool:
        """An average is a score."""
        return False

    @property
    def batch_rows(self) -> int:
        """As the first."""
        return self.models[0].batch_rows

    def scores(self, rows: Rows) -> Scores:
        """The weighted mean."""
        total = np.zeros((len(rows), len(self.classes)))
        for model, weight in zip(self.models, self.weights, strict=True):
            scores = model.scores(rows)
            total += weight * (one_hot(labels_of(scores), len(self.classes)) if self.by_label else scores)
        return total

    def fingerprint(self) -> str:
        """All of them together."""
        return f"mixture-{_digest([model.fingerprint() for model in self.models], self.weights, self.by_label)}"


def _digest(*parts: object) -> str:
    texts = [np.round(part, 9).tolist() if isinstance(part, np.ndarray) else part for part in parts]
    return hashlib.sha256(repr(texts).encode()).hexdigest()[:24]
