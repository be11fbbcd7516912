"""DistroFair's Table 10 as it was meant: the marks of people, from the folder of answers that `evenhand study` has gathered."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from redone import Grid

from evenhand.measures.believability import EVERY, MUTATED, REAL, Believability, believability
from evenhand.statistics.intervals import Interval
from evenhand.verbs.study import read_key, read_sheets

FOLDER = "EVENHAND_STUDY"
"""The variable that names the folder."""


def people_marks(head: Sequence[str], operators: Sequence[str]) -> tuple[Grid, ...]:
    """Mean marks by data set, in brackets of error-inducing pictures; nothing where no study is named."""
    if not os.environ.get(FOLDER):
        return ()
    folder = Path(os.environ[FOLDER])
    deck = read_key(folder)
    said = believability([one.judged for one in deck], read_sheets(folder, deck), np.random.default_rng(0))
    kinds = (REAL, MUTATED, *operators)
    realism = {(cell.data, cell.kind, cell.only_erring): cell.realism for cell in said.table}
    likelihood = {(cell.data, cell.kind, cell.only_erring): cell.likelihood for cell in said.table}
    data = [name for name in dict.fromkeys(cell.data for cell in said.table) if name != EVERY]
    rows = [_row(name, name, kinds, realism) for name in data]
    every = realism or _together(said.realism), likelihood or _together(said.likelihood)
    rows += [_row(EVERY, EVERY, kinds, every[0]), _row(EVERY, f"likelihood, {EVERY}", kinds, every[1])]
    return (Grid(_title(said), head, rows),)


def _title(said: Believability) -> str:
    return f"Mean mark by {said.valid} people, 0 to 10, with 95 % intervals; in brackets of error-inducing pictures"


def _together(means: Mapping[str, Interval]) -> dict[tuple[str, str, bool], Interval]:
    """One data set without error-inducing pictures has no table of its own; its means stand for all."""
    return {(EVERY, kind, False): mean for kind, mean in means.items()}


def _row(data: str, name: str, kinds: Sequence[str], marks: Mapping[tuple[str, str, bool], Interval]) -> list[str]:
    return [name, *(_told(marks.get((data, kind, False)), marks.get((data, kind, True))) for kind in kinds)]


def _told(every: Interval | None, erring: Interval | None) -> str:
    if every is None:
        return "-"
    return f"{every.estimate:.2f} [{every.low:.2f}, {every.high:.2f}]" + (f" ({erring.estimate:.2f})" if erring is not None else "")
