"""What a hostile case is, where all of them are kept, and what they share."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain

DOMAIN = TabularDomain(
    columns=(
        *(Column(name, "real", low=-3.0, high=3.0, dtype="float64") for name in ("a", "b", "c")),
        Column("sex", "category", ("f", "m"), dtype="object"),
    ),
    protected=("sex",),
    label=Label("income", ("low", "high"), ("high",)),
)
ROWS = DOMAIN.sample(200, np.random.default_rng(0))
LABELS = (ROWS[:, 0] + ROWS[:, 1] > 0).astype(np.intp)
SPRUNG = "sprung"


@dataclass(frozen=True)
class Hostile:
    """One case."""

    name: str
    attack: Callable[[Path], None]
    is_harmless: bool = False
    is_slow: bool = False


CASES: list[Hostile] = []


def case(is_harmless: bool = False, is_slow: bool = False) -> Callable[[Callable[[Path], None]], Callable[[Path], None]]:
    """Put a function into the table."""

    def add(attack: Callable[[Path], None]) -> Callable[[Path], None]:
        CASES.append(Hostile(attack.__name__, attack, is_harmless, is_slow))
        return attack

    return add


def add(name: str, attack: Callable[[Path], None], is_harmless: bool = False, is_slow: bool = False) -> None:
    """Put one of a family into the table."""
    CASES.append(Hostile(name, attack, is_harmless, is_slow))


def ask(path: Path, **settings: Any) -> None:
    """Wrap a file and ask the model, as a user does."""
    from evenhand.models.wrap import wrap

    wrap(path, DOMAIN, takes="codes", **settings).scores(ROWS)


class Trap:
    """Unpickling it makes a file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / SPRUNG

    def __reduce__(self) -> Any:
        return (open, (str(self.path), "w"))


def archive(path: Path, members: dict[str, bytes]) -> Path:
    """A zip file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return path


# --- what runs code when it is loaded -------------------------------------------------------------------------------------------------
