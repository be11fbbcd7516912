"""Findings as they come, in arrays that grow in place: at the end of a search there is nothing left to be put together."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Index
from evenhand.engine.findings import Findings
from evenhand.engine.kept_pairs import KeptPairs

GROWTH, FIRST_ROOM = 1.3, 1_024
"""Where there is no room left, so much more is made.  What was there stays where it is, as far as the system can do that."""

OF_FINDINGS = tuple(each.name for each in fields(Findings) if each.name != "pairs")
OF_ROWS = ("small", "middle", "numbers")


class _Growing:
    """One array that grows at its end.  A view of it holds only until more is added."""

    def __init__(self, like: NDArray[Any]) -> None:
        self._room = np.empty((FIRST_ROOM, *like.shape[1:]), like.dtype)
        self._size = 0

    def add(self, part: NDArray[Any]) -> None:
        end = self._size + len(part)
        if end > len(self._room):
            self._room.resize((max(end, int(GROWTH * len(self._room))), *self._room.shape[1:]), refcheck=False)
        self._room[self._size : end] = part
        self._size = end

    @property
    def view(self) -> NDArray[Any]:
        return self._room[: self._size]


class _Stretch:
    """Findings whose rows are packed alike; of the twins the same columns are kept."""

    def __init__(self, first: Findings, places: Index) -> None:
        self._packing, self._places = first.pairs.packing, places
        self._findings = {name: _Growing(getattr(first, name)) for name in OF_FINDINGS}
        self._pairs = {name: _Growing(getattr(first.pairs, name)) for name in OF_ROWS}
        self._cells = _Growing(first.pairs.twins_at(places))
        self.size, self.is_shown = 0, False

    def takes(self, part: Findings) -> bool:
        """Whether a part can be added; never after somebody was shown what is here, whose arrays must stay."""
        return not self.is_shown and self._packing.equals(part.pairs.packing)

    def with_places(self, places: Index) -> _Stretch:
        """The same, with room for twins that differ in these columns too."""
        if np.isin(places, self._places).all():
            return self
        wider = _Stretch(self.view(), np.union1d(self._places, places))
        wider.add(self.view())
        return wider

    def add(self, part: Findings) -> None:
        for name, grown in self._findings.items():
            grown.add(getattr(part, name))
        for name, grown in self._pairs.items():
            grown.add(getattr(part.pairs, name))
        self._cells.add(part.pairs.twins_at(self._places))
        self.size += len(part)

    def view(self) -> Findings:
        rows = {name: grown.view for name, grown in self._pairs.items()}
        pairs = KeptPairs(packing=self._packing, places=self._places, cells=self._cells.view, **rows)
        return Findings(pairs=pairs, **{name: grown.view for name, grown in self._findings.items()})


class FindingsPile:
    """Findings as they come, part by part."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._stretches: list[_Stretch] = []

    def __len__(self) -> int:
        return sum(stretch.size for stretch in self._stretches)

    def add(self, part: Findings) -> None:
        """Append a part."""
        if not len(part):
            return
        if not self._stretches or not self._stretches[-1].takes(part):
            self._stretches.append(_Stretch(part, part.pairs.places))
        self._stretches[-1] = self._stretches[-1].with_places(part.pairs.places)
        self._stretches[-1].add(part)

    def since(self, place: int) -> Findings:
        """Those from a place on, in arrays of their own."""
        kept, end = [], len(self)
        for stretch in reversed(self._stretches):
            if end <= place:
                break
            end -= stretch.size
            kept.append(stretch.view()[np.arange(max(0, place - end), stretch.size)])
        return Findings.join(kept[::-1], self._columns)

    def whole(self) -> Findings:
        """All of them."""
        for stretch in self._stretches:
            stretch.is_shown = True
        return Findings.join([stretch.view() for stretch in self._stretches], self._columns)
