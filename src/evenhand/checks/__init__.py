"""Public conformance checks: run them on your own method before you trust it."""

from __future__ import annotations

from evenhand.checks.methods import for_method, standard_subject
from evenhand.checks.power import Power, Trial, power_table

__all__ = ["Power", "Trial", "for_method", "power_table", "standard_subject"]
