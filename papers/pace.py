"""How fast the machine is at the moment: costs in sorts can be compared between machines, and between a busy and a quiet one."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

EVERY_CPU_SECONDS = 20.0
"""A machine that others use changes its pace; it is looked at again after so much work."""


def yardstick() -> float:
    """CPU-seconds of a fixed piece of work: sorting ten million doubles."""
    values = np.random.default_rng(0).random(10_000_000)
    begun = time.process_time()
    np.sort(values)
    return time.process_time() - begun


@dataclass
class Pace:
    """The yardstick, remembered for a while; `spent` are the CPU-seconds that looking at it has cost."""

    unit: float = 0.0
    spent: float = 0.0
    _at: float = 0.0

    def now(self) -> float:
        """CPU-seconds of one sort, about now."""
        begun = time.process_time()
        if not self.unit or begun - self._at > EVERY_CPU_SECONDS:
            self.unit, self._at = yardstick(), time.process_time()
            self.spent += self._at - begun
        return self.unit


PACE = Pace()
