"""Short texts that are equal for equal domains and tables."""

from __future__ import annotations

import hashlib

import numpy as np

from evenhand.arrays import Rows
from evenhand.domain.tabular import TabularDomain


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
    canonical = np.ascontiguousarray(rows + 0.0)
    canonical[np.isnan(canonical)] = np.nan
    return hashlib.sha256(str(canonical.shape).encode() + canonical.tobytes()).hexdigest()[:16]
