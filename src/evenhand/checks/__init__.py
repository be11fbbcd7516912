"""Public conformance checks: run them on your own method before you trust it."""

from __future__ import annotations

from evenhand.checks.methods import for_method, picture_subject, standard_subject, subject_for
from evenhand.checks.power import Power, Trial, power_table

__all__ = ["Power", "Trial", "for_method", "picture_subject", "power_table", "standard_subject", "subject_for"]
