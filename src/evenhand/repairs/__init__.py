"""Ways to mend a model, each one file with a frozen dataclass that has `mend`, found by name."""

from __future__ import annotations

from evenhand.registry import Registry
from evenhand.repairs.parts.case import Repair

REPAIRS: Registry[Repair] = Registry("repair", __name__, Repair, strict=True)
