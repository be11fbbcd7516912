"""What a repair is for: which figures must fall, which must not rise, and what is a price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evenhand.campaign.paired_differences import Change
from evenhand.measures.repair_measures import LABELS, Scorecard

PRIMARY = ("if_o", "if_r", "found_anew")
"""Figures whose changes are taken as ratios: shares of unfair treatment, which may be small."""


@dataclass(frozen=True)
class RepairGoal:
    """What a repair is for.  needed: figures that must fall.  guarded: figures that must not rise.  paid: figures whose rise is a price.

    beyond: figures of which at least one must fall too, so that what is needed is not mended for the rows at hand alone.
    """

    needed: tuple[str, ...]
    guarded: tuple[str, ...]
    paid: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()

    @property
    def first(self) -> str:
        """The figure that ranks repairs."""
        return self.needed[0]


GOALS: dict[str, RepairGoal] = {
    "flips": RepairGoal(("if_o",), PRIMARY, beyond=("if_r", "found_anew")),
    "groups": RepairGoal(("spd",), ("spd", "aod")),
    "worst_case": RepairGoal(("worst_gap",), ("worst_gap", "found_anew")),
}
"""Among real people, and beyond them in the whole domain or for another method; between groups; between the two twins that are furthest
apart.  A new search alone would not do beyond: where its few walks begin decides much of its share from seed to seed, and one that searches
well still succeeds where little is left."""


def goal_for(name: str, card: Scorecard) -> RepairGoal:
    """The goal in the figures of this kind of answer: groups of amounts differ in their means.

    Where the true amounts of groups differ, equal means lie beyond the truth of some group by construction: that is a price, not forbidden.
    So is a larger share of people whose own amount moves beyond the tolerance: what shifts a group tells twins apart.
    """
    if name != "groups" or card is LABELS:
        return GOALS[name]
    return RepairGoal(card.groups[:1], card.groups[:1], (*card.groups[1:], "worst_group_error", "if_o"))


@dataclass(frozen=True)
class FigureFall:
    """One condition of an improvement: that at least one of these figures falls."""

    figures: tuple[str, ...]

    def chance(self, changes: Mapping[str, Change]) -> float:
        """Its one-sided p-value, corrected for the choice among the figures."""
        return min(1.0, len(self.figures) * min(changes[m].falls for m in self.figures))

    def words(self, card: Scorecard) -> str:
        """The figures for a sentence."""
        return " or ".join(card.title(m) for m in self.figures)
