"""Scenes before and after their changes: which pairs there are, and what a change does to the counts by itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Mask, Reals, Rows
from evenhand.contract import Model, Verdict
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.media.scenes import ChangeFacts, Scenes

NOTHING = "nothing lost"
IMPOSSIBLE = -1


def scenes_behind(model: Model, oracle: str) -> Scenes:
    """The medium of scenes that a recogniser is shown."""
    medium = getattr(model, "medium", None)
    if not isinstance(medium, Scenes):
        raise InvalidArgument(f"oracle {oracle} judges recognisers of scenes, but this model takes other rows; use flip or gap")
    return medium


@dataclass(frozen=True, eq=False)
class ChangedPairs:
    """For every candidate the unchanged and the changed row; `possible` says whose change can be made."""

    before: Rows
    after: Rows
    possible: Mask
    counts: Mask  # whether the change is more than a null change

    @classmethod
    def of(cls, rows: Rows, domain: TabularDomain, medium: Scenes) -> ChangedPairs:
        """The pairs of these candidates."""
        twins = domain.twins(rows)
        real = np.array([not medium.is_null(int(change)) for change in rows[:, 1]], dtype=bool)
        return cls(twins.rows[0], twins.rows[1], np.asarray(twins.valid[1], bool), real)

    def facts(self, medium: Scenes) -> list[ChangeFacts | None]:
        """What each change does by itself; None where it cannot be made."""
        found = [medium.facts(int(place), int(change)) for place, change, _ in self.after]
        return [one if isinstance(one, ChangeFacts) else None for one in found]

    def verdict(self, wrong: Reals) -> Verdict:
        """From the wrong objects of each outcome, (n, outcomes): unfair where there is one, labelled by the outcome with the most."""
        worst = wrong.max(axis=1) if wrong.shape[1] else np.zeros(len(wrong))
        unfair = self.possible & self.counts & (worst > 0)
        labels = np.zeros((len(wrong), 2), dtype=np.int16)
        labels[unfair, 1] = wrong.argmax(axis=1)[unfair] + 1  # the first outcome is that nothing is wrong
        labels[~self.possible, 1] = IMPOSSIBLE
        return Verdict(unfair, np.where(self.possible, worst, 0.0), labels)


def side_effects(facts: list[ChangeFacts | None], classes: tuple[str, ...]) -> tuple[NDArray[np.float64], Mask]:
    """(n, classes) each: the objects that a change covers, and the classes whose counts it changes by itself."""
    places = {name: k for k, name in enumerate(classes)}
    hidden, touched = np.zeros((len(facts), len(classes))), np.zeros((len(facts), len(classes)), bool)
    for line, one in enumerate(facts):
        for name in one.touched if one else ():
            touched[line, places.get(name, len(places) - 1)] |= name in places
        for name, n in one.hidden.items() if one else ():
            hidden[line, places.get(name, len(places) - 1)] += n
    return hidden, touched
