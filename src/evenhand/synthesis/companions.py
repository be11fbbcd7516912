"""Columns beside a domain, made up so that a synthetic table is whole: numbers of people, codes of a pattern such as AB-1234, free text.

They tell a model nothing, so no relation to other columns is learnt.  Numbers and codes that are unique in the data are unique in
made-up rows too, over all batches, and none of them is one of the data's.  Free text is opaque: whole texts of the data are dealt out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from evenhand.domain.column_kinds import is_whole

if TYPE_CHECKING:
    import pandas as pd

MOST_SHAPES = 40
SHAPES_COVER = 0.98
"""Codes have few shapes, which cover nearly all cells; anything else is free text."""
LONGEST_CODE = 64
DIGITS = "0123456789"
_ROUNDS = 60


class Companion(Protocol):
    """One made-up column."""

    @property
    def name(self) -> str:
        """The column's name."""

    @property
    def place(self) -> int:
        """Where it stands in the table."""

    @property
    def note(self) -> str:
        """What a reader must know of it."""

    def cells(self, n: int, taken: set[object], rng: np.random.Generator) -> list[object]:
        """As many cells; `taken` remembers those that must not come again."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """Whole numbers that never repeat: between the data's where there is room, behind them where there is not."""

    name: str
    place: int
    known: frozenset[object] = field(repr=False)
    low: int
    high: int

    @property
    def note(self) -> str:
        """What a reader must know of it."""
        return f"{self.name}: unique whole numbers, none of the data's"

    def cells(self, n: int, taken: set[object], rng: np.random.Generator) -> list[object]:
        """Numbers that are free."""
        made: list[object] = []
        reach = max(self.high - self.low + 1, 1)
        while len(made) < n:
            if reach < 2 * (len(self.known) + len(taken) + n):
                reach *= 2
                continue
            for number in (self.low + rng.integers(0, reach, n - len(made))).tolist():
                if number not in taken and number not in self.known:
                    taken.add(number)
                    made.append(number)
        return made


@dataclass(frozen=True, eq=False)
class Codes:
    """Texts of a few shapes: every place keeps its kind of character and how often each occurs there."""

    name: str
    place: int
    shapes: tuple[tuple[Sequence[str], ...], ...]  # of every shape, the data's characters at each place
    shares: np.ndarray[tuple[int], np.dtype[np.float64]] = field(repr=False)
    known: frozenset[object] = field(repr=False)
    is_unique: bool = True

    @property
    def note(self) -> str:
        """What a reader must know of it."""
        return f"{self.name}: codes of the data's shapes{', unique, none of the data' if self.is_unique else ''}"

    def cells(self, n: int, taken: set[object], rng: np.random.Generator) -> list[object]:
        """Codes drawn place by place; where a shape is exhausted, a number at the end keeps them apart."""
        made: list[object] = []
        for turn in range(_ROUNDS):
            for code in self._drawn(n - len(made), rng, any_digit=turn > _ROUNDS // 3):
                if not self.is_unique or (code not in taken and code not in self.known):
                    taken.add(code) if self.is_unique else None
                    made.append(code)
            if len(made) == n:
                return made
        rest = [f"{code}-{len(taken) + number}" for number, code in enumerate(self._drawn(n - len(made), rng, any_digit=True))]
        taken.update(rest)
        return [*made, *rest]

    def _drawn(self, n: int, rng: np.random.Generator, any_digit: bool) -> list[str]:
        """Codes; where the data's characters are used up, a place that holds digits may hold any of them."""
        chosen = rng.choice(len(self.shapes), n, p=self.shares)
        made = np.empty(n, dtype=object)
        for shape in np.unique(chosen):
            mine = np.flatnonzero(chosen == shape)
            wide = [DIGITS if any_digit and set(letters) <= set(DIGITS) else letters for letters in self.shapes[shape]]
            places = [np.array(list(letters), dtype=object)[rng.integers(0, len(letters), len(mine))] for letters in wide]
            made[mine] = ["".join(letters) for letters in zip(*places, strict=True)]
        return list(made)


@dataclass(frozen=True, eq=False)
class Texts:
    """Whole texts of the data, dealt out at random."""

    name: str
    place: int
    donors: Sequence[object] = field(repr=False)

    @property
    def note(self) -> str:
        """What a reader must know of it."""
        return f"{self.name}: whole texts of the data, dealt out at random; leave the column out where they are personal"

    def cells(self, n: int, taken: set[object], rng: np.random.Generator) -> list[object]:
        """Texts, missing ones as often as in the data."""
        del taken
        return [self.donors[at] for at in rng.integers(0, len(self.donors), n)]


def learn_companions(frame: pd.DataFrame, names: Sequence[str]) -> tuple[Companion, ...]:
    """What each of these columns of a table is, and how to make more of it.

    >>> import pandas as pd, numpy as np
    >>> from evenhand.synthesis.companions import learn_companions
    >>> frame = pd.DataFrame({"case": [f"AB-{number:04d}" for number in range(100, 160)]})
    >>> (codes,) = learn_companions(frame, ["case"])
    >>> made = codes.cells(3, set(), np.random.default_rng(0))
    >>> all(code.startswith("AB-") and len(code) == 7 and code not in set(frame["case"]) for code in made)
    True
    """
    return tuple(_learnt(frame[name], list(frame.columns).index(name)) for name in names)


def _learnt(cells: pd.Series, place: int) -> Companion:
    present = cells.dropna()
    name = str(cells.name)
    if len(present) and is_whole(present) and present.is_unique:
        return Numbers(name, place, frozenset(present.tolist()), int(present.min()), int(present.max()))
    texts = [str(cell) for cell in present]
    shaped = _shaped(texts) if len(present) == len(cells) else {}
    covered = sum(len(of) for of in shaped.values())
    if texts and covered >= SHAPES_COVER * len(texts):
        shapes = tuple(tuple(zip(*of, strict=True)) for of in shaped.values())
        shares = np.array([len(of) for of in shaped.values()]) / covered
        return Codes(name, place, shapes, shares, frozenset(texts), len(set(texts)) > 0.95 * len(texts))
    return Texts(name, place, [None if missing else cell for cell, missing in zip(cells, cells.isna(), strict=True)])


def _shaped(texts: Sequence[str]) -> dict[str, list[str]]:
    """The texts by shape, where there are few shapes: every letter by its kind, other characters as they are; none with two words."""
    found: dict[str, list[str]] = {}
    for text in texts:
        if not text or len(text) > LONGEST_CODE or " " in text.strip():
            return {}
        shape = re.sub("[a-z]", "a", re.sub("[A-Z]", "A", re.sub("[0-9]", "9", text)))
        found.setdefault(shape, []).append(text)
    if len(found) > MOST_SHAPES and sum(any(map(str.isdigit, text)) for text in texts) > len(texts) / 2:
        found = {}  # digits and letters change places, as in hexadecimal numbers
        for text in texts:
            found.setdefault(re.sub("[A-Za-z0-9]", "x", text), []).append(text)
    frequent = sorted(found.items(), key=lambda pair: -len(pair[1]))[:MOST_SHAPES]
    return dict(frequent)


def beside(made: pd.DataFrame, companions: Sequence[Companion], taken: dict[str, set[object]], rng: np.random.Generator) -> pd.DataFrame:
    """The rows with their companions, each where it stands in the table that it was learnt from."""
    whole = made.copy()
    for each in sorted(companions, key=lambda one: one.place):
        cells = each.cells(len(made), taken.setdefault(each.name, set()), rng)
        whole.insert(min(each.place, whole.shape[1]), each.name, cells)
    return whole
