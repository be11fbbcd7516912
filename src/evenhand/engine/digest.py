"""Short texts that are equal for equal domains and tables."""

from __future__ import annotations

import hashlib

import numpy as np

from evenhand.arrays import Rows
from evenhand.domain.tabular import TabularDomain

ROWS_AT_ONCE = 16_384
"""Rows that are copied at a time: a long table would not fit into memory once more."""


def domain_digest(domain: TabularDomain) -> str:
    """Sixteen hexadecimal digits of everything that a domain declares."""
    parts = [
        repr(domain.columns),
        repr(domain.protected),
        repr(domain.label),
        repr(sorted(domain.comparisons.items())),
        repr(domain.implied),
    ]
    parts += [constraint.text for constraint in domain.constraints]
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]


def rows_digest(rows: Rows | None) -> str:
    """Sixteen hexadecimal digits of a table of codes; empty without one."""
    if rows is None:
        return ""
    made = hashlib.sha256(str(rows.shape).encode())
    for at in range(0, len(rows), ROWS_AT_ONCE):
        canonical = np.ascontiguousarray(rows[at : at + ROWS_AT_ONCE] + 0.0)  # -0.0 is 0.0
        canonical[np.isnan(canonical)] = np.nan
        made.update(canonical.data)
    return made.hexdigest()[:16]
