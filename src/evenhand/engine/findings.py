"""What a search found: the person, the twin, both outcomes, and how to show them as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index, Mask, Reals, Rows
from evenhand.contract import Verdict
from evenhand.domain.tabular import TabularDomain

if TYPE_CHECKING:
    import pandas as pd

RESERVED = "evenhand."
"""Prefix of the columns that a findings table adds to the domain's own."""


@dataclass(frozen=True)
class Findings:
    """Inputs judged unfair, one entry each, with the twin that shows it best."""

    rows: Rows
    twins: Rows
    outcomes: NDArray[np.int16]  # (n, 2): label of the row and of its twin, as positions in the model's classes
    gap: Reals
    valid: Mask  # whether the row keeps the domain's constraints
    candidate: Index  # the how-manieth candidate of the run it was
    phase: NDArray[Any]  # which phase of the method proposed it

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: Any) -> Findings:
        return Findings(**{f.name: getattr(self, f.name)[chosen] for f in fields(self)})

    @classmethod
    def none(cls, columns: int) -> Findings:
        """No findings yet."""
        empty = np.empty((0, columns))
        return cls(
            empty, empty, np.empty((0, 2), np.int16), np.empty(0), np.empty(0, bool), np.empty(0, np.intp), np.empty(0, dtype=object)
        )

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
        shown = {name: twins[name] for name in domain.names if _may_change(domain, name)}
        names = np.array([*classes, None], dtype=object)
        added: dict[str, Any] = {f"{RESERVED}twin.{name}": cells.to_numpy() for name, cells in shown.items()}
        added[f"{RESERVED}outcome"] = names[self.outcomes[:, 0]]
        added[f"{RESERVED}twin_outcome"] = names[self.outcomes[:, 1]]
        added[f"{RESERVED}gap"] = self.gap
        added[f"{RESERVED}valid"] = self.valid
        added[f"{RESERVED}candidate"] = self.candidate
        added[f"{RESERVED}phase"] = self.phase
        return pd.concat([people, pd.DataFrame(added, index=people.index)], axis=1)


def _may_change(domain: TabularDomain, name: str) -> bool:
    return name in domain.protected or any(name in rule.changes for rule in domain.implied)


def findings_of(rows: Rows, verdict: Verdict, domain: TabularDomain, candidate: Index, phase: str) -> Findings:
    """The findings among judged rows, each with the pair of twins that shows it best.

    The row itself is shown where it is one of the compared twins (a value inside a bin as the bin's middle, which is what the
    model was asked); its partner is the first one with another label.  Where only scores differ, any other possible twin.
    """
    found = np.flatnonzero(verdict.unfair)
    chosen, labels = rows[found], verdict.labels[found].astype(np.int16)
    own = domain.own_combination(chosen)
    line = np.arange(len(found))
    impossible = labels < 0
    own_possible = (own >= 0) & ~impossible[line, own]
    first = np.where(own_possible, own, np.argmax(~impossible, axis=1))
    other = (labels != labels[line, first][:, None]) & ~impossible
    fallback = ~impossible & (np.arange(labels.shape[1]) != first[:, None])
    second = np.where(other.any(axis=1), np.argmax(other, axis=1), np.argmax(fallback, axis=1))
    people = domain.twin(chosen, first)
    return Findings(
        rows=people,
        twins=domain.twin(chosen, second),
        outcomes=np.stack([labels[line, first], labels[line, second]], axis=1),
        gap=verdict.gap[found].astype(np.float64),
        valid=domain.keeps_constraints(people),
        candidate=candidate[found],
        phase=np.full(len(found), phase, dtype=object),
    )
