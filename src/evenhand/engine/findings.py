"""What a search found: the person, the twin, both outcomes, and how to show them as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.contract import ShownPairs, Verdict
from evenhand.domain.tabular import TabularDomain

if TYPE_CHECKING:
    import pandas as pd

RESERVED = "evenhand."
"""Prefix of the columns that a findings table adds to the domain's own."""

LEAST_LIKELY = -1e30
"""What an impossible twin's log-likelihood counts as: it may still be the only one with another label."""


@dataclass(frozen=True)
class Findings:
    """Inputs judged unfair, one entry each, with the twin that shows it best."""

    rows: Rows
    twins: Rows
    outcomes: NDArray[np.int16]  # (n, 2): label of the row and of its twin, as positions in the model's classes
    gap: Reals
    valid: Mask  # whether the row keeps the domain's constraints
    candidate: Index  # its index among the candidates of the run
    phase: NDArray[Any]  # which phase of the method proposed it
    answers: Reals  # (n, 2): the scores or amounts that were compared; NaN where labels were

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: Any) -> Findings:
        return Findings(**{f.name: getattr(self, f.name)[chosen] for f in fields(self)})

    @classmethod
    def none(cls, columns: int) -> Findings:
        """No findings yet."""
        empty = np.empty((0, columns))
        return cls(
            empty, empty, np.empty((0, 2), np.int16), np.empty(0), np.empty(0, bool), np.empty(0, np.intp), np.empty(0, dtype=object),
            np.empty((0, 2)),
        )  # fmt: skip

    @classmethod
    def join(cls, parts: Sequence[Findings], columns: int) -> Findings:
        """All parts as one."""
        if not parts:
            return cls.none(columns)
        return cls(**{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)})

    def frame(self, domain: TabularDomain, classes: Sequence[Any]) -> pd.DataFrame:
        """People in the data's own words: the row, its twin's changed cells, both outcomes."""
        import pandas as pd

        people, twins = domain.decode(self.rows), domain.decode(self.twins)
        shown = {name: twins[name] for name in domain.names if _may_change(domain, name) or self._differs(domain.place(name))}
        added: dict[str, Any] = {f"{RESERVED}twin.{name}": cells.to_numpy() for name, cells in shown.items()}
        added |= self._said(classes)
        added[f"{RESERVED}gap"] = self.gap
        added[f"{RESERVED}valid"] = self.valid
        added[f"{RESERVED}candidate"] = self.candidate
        added[f"{RESERVED}phase"] = self.phase
        return pd.concat([people, pd.DataFrame(added, index=people.index)], axis=1)

    def said(self, place: int, classes: Sequence[Any]) -> tuple[Any, Any]:
        """What the model said about the person and the twin of one finding: two labels, or two amounts."""
        pair = self.answers[place] if len(classes) == 1 else [classes[at] for at in self.outcomes[place]]
        first, second = (each.item() if isinstance(each, np.generic) else each for each in pair)
        return first, second

    def _differs(self, place: int) -> bool:
        """Whether any twin has another cell there."""
        return not np.array_equal(self.rows[:, place], self.twins[:, place], equal_nan=True)

    def _said(self, classes: Sequence[Any]) -> dict[str, Any]:
        """Both outcomes; of a regression the amounts themselves, and scores beside labels where scores were compared."""
        if len(classes) == 1:
            return {f"{RESERVED}outcome": self.answers[:, 0], f"{RESERVED}twin_outcome": self.answers[:, 1]}
        names = np.array([*classes, None], dtype=object)
        said = {f"{RESERVED}outcome": names[self.outcomes[:, 0]], f"{RESERVED}twin_outcome": names[self.outcomes[:, 1]]}
        if np.isfinite(self.answers).any():
            said |= {f"{RESERVED}score": self.answers[:, 0], f"{RESERVED}twin_score": self.answers[:, 1]}
        return said


class FindingsPile:
    """Findings as they come, in arrays with room to grow: the whole is at hand at any moment, without being put together."""

    def __init__(self, columns: int) -> None:
        self._room = Findings.none(columns)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, part: Findings) -> None:
        """Append a part."""
        end = self._size + len(part)
        if end > len(self._room):
            self._room = Findings(**{f.name: self._grown(getattr(self._room, f.name), 2 * end) for f in fields(Findings)})
        for each in fields(Findings):
            getattr(self._room, each.name)[self._size : end] = getattr(part, each.name)
        self._size = end

    def __getitem__(self, chosen: slice) -> Findings:
        return self._room[: self._size][chosen]

    def _grown(self, array: NDArray[Any], room: int) -> NDArray[Any]:
        bigger = np.empty((room, *array.shape[1:]), dtype=array.dtype)
        bigger[: self._size] = array[: self._size]
        return bigger


def _may_change(domain: TabularDomain, name: str) -> bool:
    return name in domain.protected or any(name in rule.changes for rule in domain.implied)


def findings_of(
    rows: Rows, verdict: Verdict, domain: TabularDomain, candidate: Index, phase: str, likelihood: NDArray[np.floating] | None = None
) -> Findings:
    """The findings among judged rows, each with the pair that shows it best: the oracle's own, else two twins whose labels differ.

    likelihood: (n, combinations), where it is known how plausible each twin is.
    """
    found = np.flatnonzero(verdict.unfair)
    labels = verdict.labels[found].astype(np.int16)
    likely = np.zeros(labels.shape) if likelihood is None else likelihood[found]
    pairs = verdict.pairs if verdict.pairs is not None else _twins_apart(rows[found], labels, domain, likely)
    return Findings(
        rows=pairs.rows,
        twins=pairs.partners,
        outcomes=pairs.labels.astype(np.int16),
        gap=verdict.gap[found].astype(np.float64),
        valid=domain.keeps_constraints(pairs.rows),
        candidate=candidate[found],
        phase=np.full(len(found), phase, dtype=object),
        answers=pairs.answers,
    )


def _twins_apart(rows: Rows, labels: NDArray[np.int16], domain: TabularDomain, likely: NDArray[np.floating]) -> ShownPairs:
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
    second = np.argmax(np.where(shown, np.maximum(likely, LEAST_LIKELY), -np.inf), axis=1)
    said = np.stack([labels[line, first], labels[line, second]], axis=1)
    return ShownPairs(domain.twin(rows, first), domain.twin(rows, second), said, np.full((len(rows), 2), np.nan))
