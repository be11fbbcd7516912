"""What a certification says: bounds that hold for certain, over which inputs, and rows that show it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Rows
from evenhand.claims import Claim, Span
from evenhand.domain.tabular import TabularDomain
from evenhand.limits import ShareBelowOne, check_argument
from evenhand.measures.proofs.branch_and_bound import Step
from evenhand.measures.proofs.undecided import Likely, Region
from evenhand.statistics.intervals import Interval

ENDINGS = {
    "exact": "every input of the domain is decided",
    "gap": "the bounds are as close as was asked for",
    "seconds": "the time ran out",
    "boxes": "the number of boxes was reached",
    "resolution": "the rest lies in intervals of real numbers that are cut no further",
    "interrupted": "it was interrupted",
}

MEASURE = (
    "Every combination of values that the domain allows counts alike (real numbers by length, missing cells by their share in the data); "
    "constraints are kept.  Most of these people do not exist: it is the size of the unfair region, not the share of people in it."
)


@dataclass(frozen=True)
class Pair:
    """Two twins, as cells by column, and the labels or amounts that the model gave them."""

    person: Mapping[str, Any]
    twin: Mapping[str, Any]
    label: Any
    twin_label: Any

    @property
    def changes(self) -> dict[str, tuple[Any, Any]]:
        """The cells in which they differ."""
        return {name: (cell, self.twin[name]) for name, cell in self.person.items() if cell != self.twin[name]}

    @property
    def sentence(self) -> str:
        """For a reader."""
        differs = ", ".join(f"{name} {old} → {new}" for name, (old, new) in self.changes.items())
        same = ", ".join(f"{name} {cell}" for name, cell in self.person.items() if name not in self.changes)
        said = [f"{label:,.6g}" if isinstance(label, float) else str(label) for label in (self.label, self.twin_label)]
        return f"{differs}: {said[0]} → {said[1]}  ({same})"


@dataclass(frozen=True)
class Certificate:
    """The share of discriminatory inputs of the domain lies between `lower` and `upper`, for certain and not by chance.

    An input is discriminatory when two of its possible twins get different labels.  `sample` is the same share estimated by asking
    the model about random rows, as a check that shares nothing with the bounds but the model.
    """

    domain: TabularDomain
    kind: str
    lower: float
    upper: float
    ended: str
    steps: tuple[Step, ...]
    examples: Rows  # rows with twins of different labels, seen on the model itself
    pairs: tuple[Pair, ...]  # the same rows as two people with their labels
    cpu_seconds: float
    sample: Interval
    facts: Mapping[str, Any]
    likely: Likely | None = None  # bounds that are no proof, and wrong with a tiny probability
    proven: Region | None = None  # the heaviest boxes that are unfair for certain, where the kind of model has such
    worst_gap: Any = None  # of a regression, how far apart the amounts of two twins are at worst: a `WorstGap`
    words: str = ""  # what befalls an input that counts; another label where nothing is said

    def people(self, n: int, rng: np.random.Generator) -> Rows:
        """Rows of the domain whose twins surely have different labels: drawn in the proven boxes, without asking the model."""
        if self.proven is None or not len(self.proven.weights):
            return np.empty((0, len(self.domain.columns)))
        return self.proven.draw(n, rng)

    @property
    def is_exact(self) -> bool:
        """Whether every input is decided."""
        return self.ended == "exact"

    @property
    def boxes(self) -> int:
        """How many boxes were looked at."""
        return self.steps[-1].boxes if self.steps else 0

    @property
    def agrees(self) -> bool:
        """Whether the random sample's interval and the bounds have a point in common."""
        return self.sample.low <= self.upper and self.lower <= self.sample.high

    def claim(self, max_rate: float = 0.0, resolution: float = 0.0) -> Claim:
        """That no more than max_rate of the domain is treated differently.  With 0, a share that is surely at most `resolution` will do."""
        check_argument(ShareBelowOne, max_rate=max_rate, resolution=resolution)
        limit = max_rate if max_rate > 0 or self.lower > 0 else resolution
        least, most = (f"exactly {share(end)}" if self.is_exact else f"at {word} {share(end)}" for word, end in self._ends.items())
        if max_rate == 0.0 and not self.lower and len(self.examples):
            found = f"{len(self.examples)} pairs of people whom the model treats differently are at hand, and none is tolerated"
            return Claim("proof", broken=found)
        lying = f"the share lies between {share(self.lower)} and {share(self.upper)}, and the tolerated {share(limit)} is between"
        likely = ""
        if self.likely:
            likely = f"likely it is between {share(self.likely.lower)} and {share(self.likely.upper)}, which is no proof; "
        return Claim(
            "proof",
            f"it is proved that {least} of the domain is treated differently, above the tolerated {share(max_rate)}",
            f"{lying}; {likely}give it more time",
            f"it is proved that {most} of the domain is treated differently, within the tolerated {share(limit)}",
            (Span(self.lower, self.upper, limit),),
        )

    @property
    def likely_sentence(self) -> str:
        """What the rows drawn in the undecided part say, for a reader."""
        if self.likely is None:
            return ""
        return (
            f"{between(self.likely.lower, self.likely.upper).capitalize()}, but for an error probability of one in "
            f"{1 / self.likely.error:,.0f}: the model was asked about {self.likely.rows:,} rows drawn in the undecided part."
        )

    @property
    def _ends(self) -> dict[str, float]:
        return {"least": self.lower, "most": self.upper}

    @property
    def sentence(self) -> str:
        """For a reader."""
        protected = ", ".join(self.domain.protected)
        befalls = self.words or f"would get another label under another value of {protected}"
        whom = f"of the inputs that the domain allows {befalls}"
        if self.is_exact:
            return f"Exactly {share(self.lower)} {whom}."
        return f"{between(self.lower, self.upper).capitalize()} {whom}; {ENDINGS.get(self.ended, self.ended)}."

    def summary(self) -> str:
        """A few lines for a person."""
        undecided = "" if self.is_exact else f", {share(self.upper - self.lower)} undecided"
        lines = [
            self.sentence,
            f"Proved: {share(self.lower)} unfair, {share(1 - self.upper)} free of discrimination{undecided}.",
            *([self.likely_sentence] if self.likely is not None else []),
            *([self.worst_gap.sentence] if self.worst_gap is not None else []),
            MEASURE,
            f"{self.kind}: {self.boxes:,} boxes, {self.cpu_seconds:.2f} CPU-seconds; "
            + "; ".join(f"{name.replace('_', ' ')}: {_shown(value)}" for name, value in self.facts.items())
            + ".",
            f"Check by asking the model about {self.sample.n:,} random rows: {self.sample}; "
            + ("in agreement." if self.agrees else "NOT in agreement."),
        ]
        lines += [f"Proof: {pair.sentence}" for pair in self.pairs[:3]]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "evenhand_certificate": 1,
            "model_kind": self.kind,
            "protected": list(self.domain.protected),
            "lower": self.lower,
            "upper": self.upper,
            "exact": self.is_exact,
            "ended": self.ended,
            "sentence": self.sentence,
            "measure": MEASURE,
            "boxes": self.boxes,
            "cpu_seconds": self.cpu_seconds,
            "sample": self.sample.as_dict(),
            "sample_agrees": self.agrees,
            "likely": asdict(self.likely) | {"sentence": self.likely_sentence} if self.likely is not None else None,
            "worst_gap": asdict(self.worst_gap) if self.worst_gap is not None else None,
            "facts": dict(self.facts),
            "pairs": [asdict(pair) for pair in self.pairs],
            "curve": [asdict(step) for step in self.steps],
        }


def share(value: float) -> str:
    """A share in percent with as many digits as it takes."""
    return f"{100 * value:.6g}%"


def between(lower: float, upper: float) -> str:
    """Two bounds in percent with two decimals, rounded outwards, so that what is said holds as surely as the bounds do."""
    low, high = (f"{rounding(1e4 * value) / 100:g}" for rounding, value in ((math.floor, lower), (math.ceil, upper)))
    return f"between {low}% and {high}%"


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}" if isinstance(value, float) else str(value)
