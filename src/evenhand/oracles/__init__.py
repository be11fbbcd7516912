"""What decides that an input is treated unfairly: one file each, found by name."""

from __future__ import annotations

from evenhand.contract import Oracle
from evenhand.registry import Registry

ORACLES: Registry[Oracle] = Registry("oracle", __name__, Oracle)


def oracle(name: str) -> Oracle:
    """The oracle of this name; a threshold may follow, as in `score_gap=0.2`."""
    stem, _, threshold = name.partition("=")
    return ORACLES.make(stem, {"threshold": threshold} if threshold else {})
