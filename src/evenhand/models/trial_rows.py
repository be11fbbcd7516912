"""The rows on which it is tried out how a model's answers are to be read: real ones with their labels where the data is at hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.arrays import Labels, Rows
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import EvenhandError
from evenhand.models.inputs import PROBE_ROWS, probe_places, probe_rows
from evenhand.models.readings import Declared

USUAL_TRIAL = 400
"""Rows that a model in this process is tried out on."""
SHOWN_TRIAL = 48
"""Rows that a model of shown things is tried out on."""
PAID_TRIAL = 100
"""Rows that an endpoint is tried out on; they are announced."""


@dataclass(frozen=True)
class TrialRows:
    """Rows, their labels where they are known, and what the caller declared about the answers."""

    rows: Rows
    labels: Labels | None = None
    declared: Declared = field(default_factory=Declared)


def trial_of(data: Any, domain: TabularDomain, declared: Declared, most: int = USUAL_TRIAL) -> TrialRows:
    """Rows of the data, spread over it; rows drawn from the domain where there is no data."""
    rows = getattr(data, "rows", None)
    if rows is None or not len(rows):
        return TrialRows(probe_rows(domain, min(most, PROBE_ROWS)), None, declared)
    places = probe_places(len(rows), most)
    return TrialRows(rows[places], _labels(data, domain, places), declared)


def _labels(data: Any, domain: TabularDomain, places: Any) -> Labels | None:
    """The labels of these rows; None where the data has none or not for every row."""
    if not domain.has_classes:
        return None
    try:
        labels: Labels = np.asarray(data.labels)[places]
    except EvenhandError:
        return None
    return labels
