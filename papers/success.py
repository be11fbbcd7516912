"""What a search got for its effort: success rate, seconds per thousand findings, counts per phase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evenhand.errors import InvalidArgument
from evenhand.statistics.intervals import Interval, clopper_pearson


def generation_success_rate(findings: int, candidates: int, duplicates: int = 0, confidence: float = 0.95) -> Interval:
    """GSR of NeuronFair: findings among the distinct candidates, with the exact interval of a share.

    Candidates of a search depend on each other, so that the interval tells how exact the count is, not what another seed would give.
    """
    if not 0 <= duplicates <= candidates:
        raise InvalidArgument(f"duplicates={duplicates!r} must lie between 0 and candidates={candidates!r}")
    return clopper_pearson(findings, candidates - duplicates, confidence)


def seconds_per_thousand(findings: int, seconds: float) -> float:
    """How long a thousand findings take; infinite where there is none."""
    if seconds < 0:
        raise InvalidArgument(f"seconds={seconds!r} must not be negative")
    return 1000.0 * seconds / findings if findings else float("inf")


def findings_by_phase(phases: np.ndarray[Any, Any]) -> Mapping[str, int]:
    """How many findings each phase of a method made, by its name."""
    names, counts = np.unique(np.asarray(phases, dtype=str), return_counts=True)
    return {str(name): int(count) for name, count in zip(names, counts, strict=True)}
