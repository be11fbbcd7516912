"""What a search found: the person, the twin, both outcomes, and how to show them as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Keys, Mask, Reals, Rows
from evenhand.contract import ShownPairs, Verdict
from evenhand.domain.shown_twins import LEAST_LIKELY
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.kept_pairs import KeptPairs

if TYPE_CHECKING:
    import pandas as pd

RESERVED = "evenhand."
"""Prefix of the columns that a findings table adds to the domain's own."""


@dataclass(frozen=True)
class Findings:
    """Inputs judged unfair, one entry each, with the twin that shows it best."""

    pairs: KeptPairs
    outcomes: NDArray[np.int16]  # (n, 2): label of the row and of its twin, as positions in the model's classes
    gap: Reals
    valid: Mask  # whether the row keeps the domain's constraints
    candidate: Index  # its index among the candidates of the run
    phase: NDArray[Any]  # which phase of the method proposed it
    answers: Reals  # (n, 2): the scores or amounts that were compared; NaN where labels were
    plausibility: Reals  # the log-likelihood of the less likely one of the two; NaN where the method knows of none

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def rows(self) -> Rows:
        """The codes of the rows; of a wide table unpacked, so ask for few findings at once."""
        return self.pairs.rows

    @property
    def twins(self) -> Rows:
        """The codes of the twins, likewise."""
        return self.pairs.twins

    def stretches(self) -> Iterator[Findings]:
        """All of them in turn, so few at once that their codes can be unpacked."""
        return (self[part] for part in self.pairs.stretches())

    def keys(self, domain: TabularDomain) -> Keys:
        """One key a finding, equal for rows that are twins of each other."""
        return np.concatenate([np.empty(0, np.uint64), *(domain.keys(part.rows) for part in self.stretches())])

    def __getitem__(self, chosen: Any) -> Findings:
        return Findings(**{f.name: getattr(self, f.name)[chosen] for f in fields(self)})

    @classmethod
    def none(cls, columns: int) -> Findings:
        """No findings yet."""
        pairs = KeptPairs.plain(np.empty((0, columns)), np.empty((0, columns)))
        empty = np.empty(0)
        return cls(
            pairs,
            np.empty((0, 2), np.int16),
            empty,
            empty.astype(bool),
            empty.astype(np.intp),
            empty.astype(object),
            np.empty((0, 2)),
            empty,
        )

    def replaced(self, places: Index, by: Findings, domain: TabularDomain) -> Findings:
        """The same with others at some places; number and phase stay."""
        changed = {name: getattr(self, name).copy() for name in ("outcomes", "gap", "valid", "answers", "plausibility")}
        for name, values in changed.items():
            values[places] = getattr(by, name)
        rows, twins = self.rows.copy(), self.twins.copy()
        rows[places], twins[places] = by.rows, by.twins
        return replace(self, pairs=KeptPairs.of(rows, twins, domain.columns), **changed)

    @classmethod
    def join(cls, parts: Sequence[Findings], columns: int) -> Findings:
        """All parts as one."""
        full = [part for part in parts if len(part)] or [cls.none(columns)]
        if len(full) == 1:
            return full[0]
        others = [f.name for f in fields(cls) if f.name != "pairs"]
        return cls(
            pairs=KeptPairs.join([part.pairs for part in full]),
            **{name: np.concatenate([getattr(part, name) for part in full]) for name in others},
        )

    def frame(self, domain: TabularDomain, classes: Sequence[Any]) -> pd.DataFrame:
        """People in the data's own words: the row, its twin's changed cells, both outcomes."""
        import pandas as pd

        rows, twins = self.rows, self.twins
        people = domain.decode(rows)
        shown = [
            (column, twins[:, place])
            for place, column in enumerate(domain.columns)
            if _may_change(domain, column.name) or not np.array_equal(rows[:, place], twins[:, place], equal_nan=True)
        ]
        added: dict[str, Any] = {f"{RESERVED}twin.{column.name}": column.decode(codes).to_numpy() for column, codes in shown}
        added |= self._said(classes)
        added[f"{RESERVED}gap"] = self.gap
        added[f"{RESERVED}valid"] = self.valid
        if not np.isnan(self.plausibility).all():
            added[f"{RESERVED}plausibility"] = self.plausibility
        added[f"{RESERVED}candidate"] = self.candidate
        added[f"{RESERVED}phase"] = self.phase
        return pd.concat([people, pd.DataFrame(added, index=people.index)], axis=1)

    def said(self, place: int, classes: Sequence[Any]) -> tuple[Any, Any]:
        """What the model said about the person and the twin of one finding: two labels, or two amounts."""
        pair = self.answers[place] if len(classes) == 1 else [classes[at] for at in self.outcomes[place]]
        first, second = (each.item() if isinstance(each, np.generic) else each for each in pair)
        return first, second

    def _said(self, classes: Sequence[Any]) -> dict[str, Any]:
        """Both outcomes; of a regression the amounts themselves, and scores beside labels where scores were compared."""
        if len(classes) == 1:
            return {f"{RESERVED}outcome": self.answers[:, 0], f"{RESERVED}twin_outcome": self.answers[:, 1]}
        names = np.array([*classes, None], dtype=object)
        said = {f"{RESERVED}outcome": names[self.outcomes[:, 0]], f"{RESERVED}twin_outcome": names[self.outcomes[:, 1]]}
        if np.isfinite(self.answers).any():
            said |= {f"{RESERVED}score": self.answers[:, 0], f"{RESERVED}twin_score": self.answers[:, 1]}
        return said


def _may_change(domain: TabularDomain, name: str) -> bool:
    return name in domain.protected or any(name in rule.changes for rule in domain.implied)


def findings_of(
    rows: Rows, verdict: Verdict, domain: TabularDomain, candidate: Index, phase: str, likelihood: NDArray[np.floating] | None = None
) -> Findings:
    """The findings among judged rows, each with the pair that shows it best: the oracle's own, else two twins whose labels differ.

    likelihood: (n, combinations), where it is known how plausible each twin is.
    """
    found: Any = slice(None) if verdict.unfair.all() else np.flatnonzero(verdict.unfair)  # a slice copies nothing
    labels = verdict.labels[found].astype(np.int16)
    likely = np.zeros(labels.shape) if likelihood is None else likelihood[found]
    shown = _twins_apart(rows[found], labels, domain, likely) if verdict.pairs is None else LikelyPairs(verdict.pairs)
    pairs = shown.pairs
    return Findings(
        pairs=KeptPairs.of(pairs.rows, pairs.partners, domain.columns),
        outcomes=pairs.labels.astype(np.int16),
        gap=verdict.gap[found].astype(np.float64),
        valid=domain.keeps_constraints(pairs.rows),
        candidate=candidate[found],
        phase=np.full(len(labels), phase, dtype=object),
        answers=pairs.answers,
        plausibility=np.full(len(labels), np.nan) if shown.likelihood is None or likelihood is None else shown.likelihood,
    )


@dataclass(frozen=True)
class LikelyPairs:
    """Pairs, and how likely the less likely one of each is, where that was told."""

    pairs: ShownPairs
    likelihood: Reals | None = None


def _twins_apart(rows: Rows, labels: NDArray[np.int16], domain: TabularDomain, likely: NDArray[np.floating]) -> LikelyPairs:
    """The row itself and its most likely twin with another label; of equally likely ones the first.

    The row is shown where it is one of the compared twins (a value inside a bin as the bin's middle, which is what the model was
    asked); elsewhere the first possible twin stands for it.
    """
    own, line = domain.own_combination(rows), np.arange(len(rows))
    impossible = labels < 0
    own_possible = (own >= 0) & ~impossible[line, own]
    first = np.where(own_possible, own, np.argmax(~impossible, axis=1))
    other = (labels != labels[line, first][:, None]) & ~impossible
    fallback = ~impossible & (np.arange(labels.shape[1]) != first[:, None])
    shown = np.where(other.any(axis=1)[:, None], other, fallback)
    second = np.argmax(np.where(shown, np.maximum(likely, 2 * LEAST_LIKELY), -np.inf), axis=1)
    said = np.stack([labels[line, first], labels[line, second]], axis=1)
    is_shown = own_possible.all() and np.array_equal(rows[:, list(domain.protected_places)], domain.combinations[first])
    person = rows if is_shown else domain.twin(rows, first)
    least = np.minimum(likely[line, first], likely[line, second]).astype(np.float64)
    return LikelyPairs(ShownPairs(person, domain.twin(rows, second), said, np.full((len(rows), 2), np.nan)), least)
