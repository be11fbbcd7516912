"""Synthetic portraits drawn from about two dozen factors.

No picture of a person is involved: every portrait is arithmetic on a grid, so the same portrait with one factor changed is exact.
"""

from __future__ import annotations

from evenhand.media.portraits.factors import FACTORS, changed, draw_factors, factor, place
from evenhand.media.portraits.painting import render

__all__ = ["FACTORS", "changed", "draw_factors", "factor", "place", "render"]
