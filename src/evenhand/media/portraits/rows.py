"""Portraits as rows: a tabular domain of the renderer's factors, and an image classifier that is asked about rendered rows.

So every black-box method, oracle and witness for tables works on an image classifier, with exact twins; a row of codes is a portrait.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Rows, Scores
from evenhand.contract import PictureModel
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
class RenderedModel:
    """A picture classifier that draws its rows before it looks at them."""

    classifier: PictureModel
    size: int = 64
    is_hard: bool = False
    batch_rows: int = 256

    @property
    def classes(self) -> tuple[str, ...]:
        """The classifier's own."""
        return self.classifier.classes

    def scores(self, rows: Rows) -> Scores:
        """One row of scores per portrait."""
        return self.classifier.scores(render(np.asarray(rows, dtype=np.float64), self.size))

    def fingerprint(self) -> str:
        """Equal for classifiers that answer sixteen fixed portraits alike."""
        from hashlib import sha256

        from evenhand.media.portraits.factors import draw_factors

        answers = self.scores(draw_factors(16, np.random.default_rng(0)))
        return sha256(np.round(np.asarray(answers, np.float64), 6).tobytes()).hexdigest()[:16]
