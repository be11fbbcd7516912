"""Streets that the package draws itself: scenes whose every object is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from evenhand.contract import DataWishes
from evenhand.datasets.dataset import Dataset
from evenhand.datasets.scene_data import JUNCTIONS, SceneChoices, drawn_streets, from_scenes
from evenhand.errors import InvalidArgument
from evenhand.limits import Count, check_limits


@dataclass(frozen=True)
class DrawnStreets:
    """Draws street junctions, with many traffic lights.

    count: how many.  classes: which objects are inserted, deleted and turned; the paper's without.
    operators: which changes are tried; all without.  repeats: of changes by chance.  seed: of the streets and the changes.
    """

    kind: ClassVar[str] = "streets"

    count: Count = 24
    classes: Sequence[str] = ()
    operators: Sequence[str] = ()
    repeats: Count = 1
    seed: int = 0

    def __post_init__(self) -> None:
        check_limits(self)

    def claims(self, source: object) -> int:
        """The name alone."""
        return 5 if isinstance(source, str) and source == "streets" else 0

    def load(self, source: object, wishes: DataWishes) -> Dataset:
        """Every street with every change."""
        if wishes.protected_names not in ((), ("changed",)):
            raise InvalidArgument(f"protected={list(wishes.protected_names)}: of {source} only 'changed' is protected; leave it out")
        choices = SceneChoices(tuple(self.classes), tuple(self.operators), self.repeats)
        return from_scenes(drawn_streets(self.count, self.seed, JUNCTIONS), choices, self.seed).named("streets")
