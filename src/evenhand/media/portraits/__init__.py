"""Synthetic portraits drawn from about two dozen factors, labels with a planted bias, and loaders for a user's own pictures.

No picture of a person is involved: every portrait is arithmetic on a grid, so the same portrait with one factor changed is exact.
"""

from __future__ import annotations

from evenhand.media.portraits.factors import FACTORS, changed, draw_factors, factor, place
from evenhand.media.portraits.painting import render
from evenhand.planted.portraits import AGE_GROUPS, Bias, FaceData, age_groups, synthetic_faces

__all__ = [
    "AGE_GROUPS",
    "FACTORS",
    "Bias",
    "FaceData",
    "age_groups",
    "changed",
    "draw_factors",
    "factor",
    "place",
    "render",
    "synthetic_faces",
]
