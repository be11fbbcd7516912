"""Which objects are alike, whatever their class: size, place, visibility, crowding and the edit as columns of a regression.

How place matters is not known: a lens that blurs towards its corners is no straight line across the picture.  So place is described in two
ways where there are enough events to tell them apart, and a difference between groups counts only where it stands under both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals
from evenhand.measures.object_trials import Trials
from evenhand.media.object_facts import ObjectFacts
from evenhand.statistics.adjusted import AdjustedGroup, adjusted_group, bent, expected_events

PLAIN_BENDS = (0, 1)  # across the picture, and down
PLACED_BENDS = (2, 2)
LEAST_EVENTS = 2
"""For each column of the regression; with fewer there is too little to tell bends of place from the groups themselves."""


@dataclass(frozen=True)
class ComparedGroup:
    """A group beside others that are alike; `group` is the less sure of the two comparisons, which is what is told and judged.

    plain_p_value: with place taken as a line across the picture and one bend down.
    """

    group: AdjustedGroup
    plain_p_value: float

    def is_place_open(self, level: float) -> bool:
        """Whether place as a line lets a difference stand at this level and place with bends does not."""
        return self.plain_p_value <= level < self.group.p_value


@dataclass(frozen=True, eq=False)
class AlikeObjects:
    """What was met by objects, and what makes them alike.

    clusters: of each entry; only these are independent.  things: numbers what is repeated; nothing without.
    further: columns that belong to every way of adjusting.
    """

    trials: Trials
    clusters: NDArray[np.intp]
    things: NDArray[np.intp] | None = None
    further: Reals | None = None

    def compared(self, groups: Sequence[Mask], factor: float) -> list[ComparedGroup]:
        """Every group against all others."""
        hit = self.trials.hit
        fits = [expected_events(hit, design, self.clusters, self.things) for design in self._designs()]
        return [_less_sure([adjusted_group(fit, group, factor) for fit in fits]) for group in groups]

    def _designs(self) -> list[Reals]:
        """Place as a line, and with bends where there are enough events for it."""
        further = np.zeros((len(self.trials), 0)) if self.further is None else self.further
        plain, placed = (np.hstack([design, further]) for design in designs_of(self.trials))
        rarer = min(int(self.trials.hit.sum()), int((~self.trials.hit).sum()))
        return [plain, placed] if rarer >= LEAST_EVENTS * placed.shape[1] else [plain]


def _less_sure(found: Sequence[AdjustedGroup]) -> ComparedGroup:
    """The higher p-value, and no more power than either has."""
    told = max(found, key=lambda one: one.p_value)
    weakest = min(found, key=lambda one: one.shift)
    return ComparedGroup(told.with_power_of(weakest), found[0].p_value)


def designs_of(trials: Trials) -> tuple[Reals, Reals]:
    """Place as a line, and as bent lines across and down with their products."""
    return _design(trials, PLAIN_BENDS), np.hstack([_design(trials, PLACED_BENDS), _products(trials.facts)])


def _design(trials: Trials, bends: tuple[int, int]) -> Reals:
    """Broken lines of every reason, size with nearness together, and the operator."""
    facts, (across, down) = trials.facts, bends
    large = np.log(np.maximum(facts.area, 1e-6))
    near = np.exp(-facts.distance / 0.1)
    reasons = [
        (large, 3),
        (facts.foot, down),
        (facts.side, across),
        (facts.visible, 1),
        (facts.crowding, 1),
        (facts.distance, 2),
        (near, 1),
    ]
    parts = [np.ones((len(facts), 1)), *(bent(values, count) for values, count in reasons), bent(np.log(facts.edit + 1e-4), 0)]
    parts += [bent(large * near, 0), bent(large * facts.visible, 0), bent(near * np.log(facts.edit + 1e-4), 0)]
    names = sorted(set(trials.operator.tolist()))[1:]
    return np.hstack([*parts, *((trials.operator == name).astype(float)[:, None] for name in names)])


def _products(facts: ObjectFacts) -> Reals:
    """What is hard at the edge may be so below only: every part of the line across times every part of the line down."""
    across, down = bent(facts.side, 1), bent(facts.foot, 1)
    return np.asarray((across[:, :, None] * down[:, None, :]).reshape(len(facts), -1), float)
