"""What a run of the arena is worth: naturalness by three judges, population mass covered, rules, questions, stated rates, early endings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evenhand.arrays import Index, Mask, Rows
from evenhand.campaign.contest import ContestCell, Terms, contend
from evenhand.engine.findings import Findings
from parts.arena_grounds import JudgedGround
from parts.natural_judges import KIN, sample_auc

JUDGED_ROWS = 3_000
"""Findings that all three judges look at, drawn by lot; counts are scaled up."""
COVERING_ROWS = 300
"""Findings of every leaf that the classifier alone looks at, for mass and rules: three natural ones are enough, and a long list is not
held against a method."""
EARLY = 0.9
"""A run that ended by itself before this share of its budget is told as such."""


def fought(cell: ContestCell, place: JudgedGround, terms: Terms) -> dict[str, Any]:
    """The run's record, judged by the arena's own judges instead of the campaign's."""
    record, done = contend(cell, place.ground, terms)
    if done is None:
        return record
    rng = np.random.default_rng([cell.seed, 99])
    return {
        **record,
        **_naturalness(done.findings, place, rng),
        **_natural_pace(done.everybody, record, place, rng),
        **_cover(done.everybody, place, rng),
        **_rate(record),
        **_ending(record, terms),
    }


def _naturalness(found: Findings, place: JudgedGround, rng: np.random.Generator) -> dict[str, Any]:
    """What the judges say of the list."""
    chosen = rng.permutation(len(found))[:JUDGED_ROWS]
    people, twins = _votes(found.rows[chosen], place), _votes(found.twins[chosen], place)
    told = {f"natural_by_{name}": _share(mask) for name, mask in people.items()}
    shares = {"natural_share": _share(_by_strangers(people)), "twin_natural_share": _share(_by_strangers(twins))}
    return {**told, **shares, "sample_auc": _auc(found, place, rng)}


def _natural_pace(found: Findings, record: Mapping[str, Any], place: JudgedGround, rng: np.random.Generator) -> dict[str, Any]:
    """How many of all who were found both strangers call natural: listed, or set aside for a twin, at whom others do not look."""
    votes = _votes(found.rows[rng.permutation(len(found))[:JUDGED_ROWS]], place)
    count = len(found) * (_share(_by_strangers(votes)) or 0.0)
    return {
        "natural_valid_findings": count,
        "natural_valid_per_cpu_second": count / record["cpu_seconds"] if record["cpu_seconds"] else None,
        "natural_valid_per_thousand_rows": 1_000 * count / record["model_rows"] if record["model_rows"] else None,
    }


def _by_strangers(votes: Mapping[str, Mask]) -> Mask:
    """What all judges say that are nobody's kin."""
    return np.logical_and.reduce([mask for name, mask in votes.items() if name not in KIN])


def _votes(rows: Rows, place: JudgedGround) -> dict[str, Mask]:
    return {name: judge.natural(rows) if len(rows) else np.zeros(0, dtype=bool) for name, judge in place.judges.items()}


def _share(mask: Mask) -> float | None:
    return float(mask.mean()) if len(mask) else None


def _auc(found: Findings, place: JudgedGround, rng: np.random.Generator) -> float | None:
    """How well a classifier tells findings from the real people of the unseen half who are treated unfairly."""
    ground = place.ground
    unfair = ground.oracle.judge(place.unseen.rows, ground.subject.domain, ground.subject.model).unfair
    return sample_auc(found.rows, place.unseen.rows[unfair], list(ground.subject.domain.free_places), rng)


def _cover(found: Findings, place: JudgedGround, rng: np.random.Generator) -> dict[str, Any]:
    """Mass and rules by those found, listed or set aside, whom the classifier, which is nobody's kin, calls natural."""
    rules = place.ground.rules
    if rules is None:
        return {}
    rows = found.rows
    rows = rows[_some_of_each(rules.tree.leaves(rows), rng)] if len(rows) else rows
    natural = rows[place.judges["classifier"].natural(rows)] if len(rows) else rows
    return {"mass_covered": rules.covered(natural), "rules": rules.found(natural)}


def _some_of_each(leaves: Index, rng: np.random.Generator) -> Index:
    """The places of so many people of every leaf at most, drawn by lot."""
    order = rng.permutation(len(leaves))
    order = order[np.argsort(leaves[order], kind="stable")]
    sorted_leaves = leaves[order]
    rank = np.arange(len(order)) - np.searchsorted(sorted_leaves, sorted_leaves)  # within its leaf
    return order[rank < COVERING_ROWS]


def _rate(record: Mapping[str, Any]) -> dict[str, Any]:
    """How far a rate that the method itself states of the population is off, relative to the true one; None where it states none."""
    stated, true = (record.get("facts") or {}).get("rate"), record["rate"]["estimate"]
    if not isinstance(stated, Mapping) or stated.get("estimate") is None or not true:
        return {"rate_error": None}
    return {"rate_error": abs(float(stated["estimate"]) - true) / true}


def _ending(record: Mapping[str, Any], terms: Terms) -> dict[str, Any]:
    limit = terms.budget.cpu_seconds
    is_early = record.get("ended") == "method finished" and limit is not None and record["cpu_seconds"] < EARLY * limit
    return {"ended_early": is_early, "cpu_seconds_used": record["cpu_seconds"]}
