"""Portraits as rows: one column for each factor that the renderer draws from, so that twins are exact.

A row of codes is a portrait; every black-box method, oracle and witness for tables works on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Pictures
from evenhand.domain.columns import Column
from evenhand.domain.tabular import Label, TabularDomain
from evenhand.media.portraits.factors import FACTORS, Factor
from evenhand.media.portraits.painting import render


def factor_domain(protected: tuple[str, ...] = ("tone",), label: Label | None = None) -> TabularDomain:
    """One column per factor; codes are the factors' own numbers."""
    return TabularDomain(tuple(_column(each) for each in FACTORS), protected, label)


def _column(known: Factor) -> Column:
    if known.is_listed:
        return Column(known.name, "ordinal" if known.name == "tone" else "category", known.values)
    return Column(known.name, "real", low=known.low, high=known.high)


@dataclass(frozen=True)
class PortraitMedium:
    """Draws rows of factors as portraits of this many pixels on each side."""

    protected: tuple[str, ...] = ("tone",)
    label: Label | None = None
    size: int = 64

    @property
    def kind(self) -> str:
        """For a reader."""
        return "portraits"

    @cached_property
    def domain(self) -> TabularDomain:
        """The factors."""
        return factor_domain(self.protected, self.label)

    def show(self, rows: Rows) -> Pictures:
        """One portrait for every row; equal rows give equal pixels."""
        return render(np.asarray(rows, dtype=np.float64), self.size)

    def digest(self) -> str:
        """Equal for portraits of the same size from the same factors."""
        return sha256(f"{self.size} {FACTORS!r}".encode()).hexdigest()[:16]
