"""How good a run's findings are as a test set, beside their number."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Index, Mask
from evenhand.campaign.arena_ground import Ground
from evenhand.engine.findings import Findings
from evenhand.engine.run import Run
from evenhand.errors import EvenhandError, MissingAbility
from evenhand.measures.partition import LeafPairs, LeafRules
from evenhand.measures.unseen import good_turing, spread


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


def goodness(done: Run, marks: Marks, ground: Ground) -> dict[str, Any]:
    """Natural and valid ones, distinct rules, leaf pairs, what is unseen, spread; None where it cannot be said."""
    found, cpu_seconds = done.findings, done.cpu_seconds
    valid, natural, good = marks.valid, marks.natural, marks.good
    return {
        "valid_findings": int(valid.sum()),
        "natural_findings": None if natural is None else int(natural.sum()),
        "natural_valid_findings": None if good is None else int(good.sum()),
        "natural_valid_per_cpu_second": None if good is None or cpu_seconds <= 0 else float(good.sum() / cpu_seconds),
        "natural_share": None if natural is None or not len(found) else float(natural.mean()),
        "spread": spread(found.rows, ground.subject.domain, np.random.default_rng(0)),
        **_regions(found, good, ground),
        **_reached(done, ground),
    }


def _regions(found: Findings, good: Mask | None, ground: Ground) -> dict[str, Any]:
    rules, pairs = ground.rules, ground.leaf_pairs
    if rules is None or pairs is None or good is None:
        return dict.fromkeys(("rules_unfiltered", "rules_total", "leaf_pairs", "leaf_pairs_possible", "cells", "unseen"))
    cells = _cells(found, rules, pairs)
    return {
        "rules_unfiltered": rules.found(found.rows),
        "rules_total": int(rules.is_rule.sum()),
        "leaf_pairs": pairs.joined(found.rows, found.twins),
        "leaf_pairs_possible": pairs.possible,
        "cells": len(np.unique(cells)),
        "unseen": good_turing(cells),
    }


def _reached(done: Run, ground: Ground) -> dict[str, Any]:
    """The regions in which natural people were found.  Most methods look at no twin, so who is set aside for an unlikely one counts too."""
    everybody = done.everybody
    good = marks_of(everybody, ground).good
    if ground.rules is None or good is None:
        return dict.fromkeys(("mass_covered", "rules"))
    rows = everybody.rows[good]
    return {"mass_covered": ground.rules.covered(rows), "rules": ground.rules.found(rows)}


def _cells(found: Findings, rules: LeafRules, pairs: LeafPairs) -> Index:
    """One number for a finding's rule leaf together with the leaves that it and its twin fall in."""
    count = pairs.tree.count
    return (rules.tree.leaves(found.rows) * count + pairs.tree.leaves(found.rows)) * count + pairs.tree.leaves(found.twins)


def repair(found: Findings, ground: Ground, seed: int) -> dict[str, Any]:
    """How much of the pool's unfairness goes when the model is retrained on the findings, and how much without any: both as shares.

    The pool is a random sample, judged alike for all methods; below 0 it became worse.  None where nothing can be said, and why.
    """
    from evenhand.repairs.parts.retraining import retrain

    try:
        before = ground.pool_rate(ground.subject.model)
        if before == 0 or not len(found):
            raise MissingAbility("nothing was found" if before else "nothing in the pool is unfair")
        mended = retrain(ground.subject, found, np.random.default_rng([seed, 7]))
        after, alone = ground.pool_rate(mended), ground.refitted_rate
        return {"repaired": 1 - after / before, "repaired_by_refitting_alone": 1 - alone / before, "repair_note": ""}
    except EvenhandError as fault:
        return {"repaired": None, "repaired_by_refitting_alone": None, "repair_note": str(fault)}


def digest(found: Findings) -> str:
    """Sixteen hexadecimal digits of everything that was found, in order."""
    hashed = hashlib.sha256()
    for part in (found.rows, found.twins, found.outcomes, found.gap, found.candidate):
        hashed.update(np.ascontiguousarray(part + 0).tobytes())
    hashed.update("\n".join(map(str, found.phase)).encode())
    return hashed.hexdigest()[:16]
