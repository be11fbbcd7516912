"""What becomes of recognised objects after a change elsewhere, short of being lost: renamed, less sure, or in another place.

These figures describe, class by class and beside null changes; the verdict rests on losses and misses (`object_verdicts`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Reals
from evenhand.statistics.clustered import clustered_mean, clustered_share
from evenhand.statistics.intervals import Interval

CONFIDENCE = 0.95
FIGURES = 3
"""Shares and means told of each class; their intervals hold together."""


@dataclass(frozen=True)
class ObjectShift:
    """One object that was recognised and at risk, after one change."""

    label: str
    run: int  # of film, or the scene
    is_null: bool
    became: str = ""  # the class of another box in its place, where its own was gone
    drop: float | None = None  # its score before minus after; None where it was lost or no score is told
    drift: float | None = None  # one minus the overlap of its two boxes


@dataclass(frozen=True)
class ShiftRow:
    """One class."""

    label: str
    chances: int
    renamed: Interval | None
    mostly_as: str
    score_drop: Interval | None
    box_drift: Interval | None
    renamed_by_null: float | None
    score_drop_by_null: float | None
    box_drift_by_null: float | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def shift_rows(shifts: Sequence[ObjectShift]) -> tuple[ShiftRow, ...]:
    """Every class, the most often renamed first."""
    names = sorted({one.label for one in shifts if not one.is_null})
    confidence = 1 - (1 - CONFIDENCE) / (FIGURES * max(1, len(names)))
    rows = [_row(name, [one for one in shifts if one.label == name], confidence) for name in names]
    return tuple(sorted(rows, key=lambda row: -row.renamed.estimate if row.renamed else 0.0))


def shift_sentences(rows: Sequence[ShiftRow]) -> list[str]:
    """What stands out, for a reader: the class most often renamed, and the one whose score falls most; nothing where nothing does."""
    told = []
    renamed = [(row, row.renamed) for row in rows if row.renamed is not None and row.renamed.low > 0]
    fallen = [(row, row.score_drop) for row in rows if row.score_drop is not None and row.score_drop.low > 0]
    if renamed:
        row, share = renamed[0]
        told.append(f"Renamed most often: {row.label!r} in {share.estimate:.1%} of {row.chances:,} chances, mostly as {row.mostly_as!r}")
    if fallen:
        row, drop = max(fallen, key=lambda entry: entry[1].estimate)
        told.append(f"Less sure of most: {row.label!r}, whose score falls by {drop.estimate:.3f} ({drop.low:.3f} to {drop.high:.3f})")
    return [f"{each} (described, not judged)." for each in told]


def _row(name: str, mine: Sequence[ObjectShift], confidence: float) -> ShiftRow:
    tried, calm = [one for one in mine if not one.is_null], [one for one in mine if one.is_null]
    others = Counter(one.became for one in tried if one.became)
    told, still = [_means(part, confidence) for part in (tried, calm)]
    quiet = [each.estimate if each is not None else None for each in still]
    return ShiftRow(name, len(tried), told[0], others.most_common(1)[0][0] if others else "", told[1], told[2], *quiet)


def _means(shifts: Sequence[ObjectShift], confidence: float) -> list[Interval | None]:
    """Share renamed, mean drop of the score, mean drift of the box, each over the objects of which it is known."""
    runs = np.array([one.run for one in shifts], np.intp)
    renamed: Reals = np.array([bool(one.became) for one in shifts], float)
    drops, drifts = ([getattr(one, name) for one in shifts] for name in ("drop", "drift"))
    drift = _mean(drifts, runs, confidence)
    inside = None if drift is None else replace(drift, low=max(drift.low, 0.0), high=min(drift.high, 1.0))  # one minus an overlap
    return [clustered_share(renamed, runs, confidence), _mean(drops, runs, confidence), inside]


def _mean(values: Sequence[float | None], runs: NDArray[np.intp], confidence: float) -> Interval | None:
    numbers: Reals = np.array(values, float)  # None becomes NaN
    known = ~np.isnan(numbers)
    return clustered_mean(numbers[known], runs[known], confidence)
