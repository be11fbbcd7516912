"""How good a run's findings are as a test set, beside their number."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Index, Mask
from evenhand.campaign.ground import Ground
from evenhand.findings import Findings
from evenhand.metrics.partition import LeafPairs, Rules
from evenhand.metrics.unseen import good_turing, spread


@dataclass(frozen=True)
class Marks:
    """Which findings are valid rows of the domain, and which are natural; None where nobody can say."""

    valid: Mask
    natural: Mask | None

    @property
    def good(self) -> Mask | None:
        """Which are both."""
        return None if self.natural is None else self.valid & self.natural


def marks_of(found: Findings, ground: Ground) -> Marks:
    """Every finding against the domain and against the real rows."""
    natural = None if ground.plausibility is None else ground.plausibility.natural(found.rows)
    return Marks(ground.subject.domain.contains(found.rows), natural)


def goodness(found: Findings, marks: Marks, ground: Ground, cpu_seconds: float) -> dict[str, Any]:
    """Natural and valid ones, distinct rules, leaf pairs, what is unseen, spread; None where it cannot be said."""
    valid, natural, good = marks.valid, marks.natural, marks.good
    return {
        "valid_findings": int(valid.sum()),
        "natural_findings": None if natural is None else int(natural.sum()),
        "natural_valid_findings": None if good is None else int(good.sum()),
        "natural_valid_per_cpu_second": None if good is None or cpu_seconds <= 0 else float(good.sum() / cpu_seconds),
        "natural_share": None if natural is None or not len(found) else float(natural.mean()),
        "spread": spread(found.rows, ground.subject.domain, np.random.default_rng(0)),
        **_regions(found, good, ground),
    }


def _regions(found: Findings, good: Mask | None, ground: Ground) -> dict[str, Any]:
    rules, pairs = ground.rules, ground.leaf_pairs
    if rules is None or pairs is None or good is None:
        return dict.fromkeys(("rules", "rules_unfiltered", "rules_total", "leaf_pairs", "leaf_pairs_possible", "cells", "unseen"))
    cells = _cells(found, rules, pairs)
    return {
        "rules": rules.found(found.rows[good]),
        "rules_unfiltered": rules.found(found.rows),
        "rules_total": int(rules.is_rule.sum()),
        "leaf_pairs": pairs.joined(found.rows, found.twins),
        "leaf_pairs_possible": pairs.possible,
        "cells": len(np.unique(cells)),
        "unseen": good_turing(cells),
    }


def _cells(found: Findings, rules: Rules, pairs: LeafPairs) -> Index:
    """One number for a finding's rule leaf together with the leaves that it and its twin fall in."""
    count = pairs.tree.count
    return (rules.tree.leaves(found.rows) * count + pairs.tree.leaves(found.rows)) * count + pairs.tree.leaves(found.twins)


def digest(found: Findings) -> str:
    """Sixteen hexadecimal digits of everything that was found, in order."""
    hashed = hashlib.sha256()
    for part in (found.rows, found.twins, found.outcomes, found.gap, found.candidate):
        hashed.update(np.ascontiguousarray(part + 0).tobytes())
    hashed.update("\n".join(map(str, found.phase)).encode())
    return hashed.hexdigest()[:16]
