"""Recognisers of known fairness: told the truth, they miss objects by chance, by one law for all classes but the planted ones."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from evenhand.contract import Answer, Detection
from evenhand.media.scene import Instance, Scene

NORMAL = NormalDist()


@dataclass(frozen=True)
class Simulated:
    """Every object has a margin of its own, the same in all pictures; each picture shakes it; a margin below zero is a miss.

    `handicap` lowers the margin of a class: the planted unfairness.  Without it all classes are treated alike.
    """

    seed: int = 0
    margin: float = 1.5
    shake: float = 0.6
    handicap: Mapping[str, float] = field(default_factory=dict)
    name: str = "simulated"

    def fingerprint(self) -> str:
        """The parameters."""
        return repr(self)

    def recognise_scenes(self, scenes: Sequence[Scene]) -> list[Answer]:
        """One answer for each scene; what is less than half visible is never seen."""
        return [self._answer(scene) for scene in scenes]

    def _answer(self, scene: Scene) -> Answer:
        moment = hashlib.sha256(scene.picture[::5, ::5].tobytes()).hexdigest()  # enough to tell pictures apart
        return tuple(Detection(one.label, 1.0) for one in scene.instances if one.counted and self._is_seen(one, scene.name, moment))

    def _is_seen(self, one: Instance, scene: str, moment: str) -> bool:
        if one.visible < 0.5:
            return False
        own = self._normal(f"{scene}|{one.label}|{tuple(one.box)}")
        now = self._normal(f"{scene}|{one.label}|{tuple(one.box)}|{moment}")
        return self.margin - self.handicap.get(one.label, 0.0) + own + self.shake * now > 0

    def _normal(self, what: str) -> float:
        digest = hashlib.blake2b(f"{self.seed}|{what}".encode(), digest_size=8).digest()
        return NORMAL.inv_cdf((int.from_bytes(digest, "big") + 0.5) / 2**64)


def false_alarm_share(flags: Sequence[Sequence[bool]]) -> float:
    """The share of flagged classes over many runs of a recogniser that is fair."""
    every = [flag for run in flags for flag in run]
    return float(np.mean(every)) if every else float("nan")
