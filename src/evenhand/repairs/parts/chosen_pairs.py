"""The twin that a finding is shown with: the one whose scores differ most from its own."""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Rows
from evenhand.models.meter import Meter
from evenhand.repairs.parts.case import Case


def finding_twins(case: Case) -> Rows:
    """Every finding under the possible combination that moves its scores most."""
    twins, meter = case.domain.twins(case.findings), Meter(case.model)
    width = case.findings.shape[1]
    scores = meter.scores(twins.rows.reshape(-1, width)).reshape(*twins.valid.shape, -1)
    apart = np.abs(scores - meter.scores(case.findings)).max(axis=2)
    furthest = np.where(twins.valid, apart, -1.0).argmax(axis=0)
    chosen: Rows = twins.rows[furthest, np.arange(len(case.findings))]
    return chosen
