"""What a method says about its own run, as lines that a person can read.  Any method's facts fit; the known ones get an explanation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.report import words

UNTOLD = ("known_share", "question_seconds")
"""Kept for programs: the first is told by `known`, the second with the header."""

NAMES = {
    "population": "How plausible people were learnt",
    "known": "How much of what there is was listed",
    "set_aside": "Set aside",
    "enumerated": "Every input was judged",
    "cut": "Cut short",
    "scouted_whole_domain": "Looked among implausible people too",
}

EXPLAINED = {
    "scouted_whole_domain": "no plausible person was found, so rows from anywhere in the domain were tried",
    "causal_discrimination": "the share of random inputs whose outcome depends on the protected value alone",
    "group_discrimination": "the largest difference in the share of favourable outcomes between two protected groups, over the same inputs",
    "stopped": "why it stopped before its budget",
}


@dataclass(frozen=True)
class Fact:
    """One thing that a method found out."""

    name: str
    value: str
    explanation: str = ""


def readable(facts: Mapping[str, Any]) -> list[Fact]:
    """All facts of a run."""
    return [
        Fact(NAMES.get(name) or words.title(name), _value(value), EXPLAINED.get(name, ""))
        for name, value in facts.items()
        if name not in UNTOLD
    ]


def is_rate(value: object) -> bool:
    """Whether a fact is a share with bounds in a named population, so that it can stand on the axis of the rates."""
    return isinstance(value, Mapping) and "population" in value and all(_is_share(value.get(name)) for name in ("estimate", "low", "high"))


def _is_share(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def _value(value: Any) -> str:
    if isinstance(value, Mapping) and "estimate" in value:
        return _estimate(value)
    if isinstance(value, float):
        return words.number(value)
    return words.text(value, 600)


def _estimate(fact: Mapping[str, Any]) -> str:
    if not _is_share(fact["estimate"]):
        return f"not measured: {words.text(fact.get('reason') or 'no input could be judged')}"
    said = _share(fact["estimate"], fact)
    if _is_share(fact.get("low")) and _is_share(fact.get("high")):
        confidence = fact.get("confidence")
        held = words.level(confidence) if _is_share(confidence) else "exact"
        said += f" ({held} interval {_share(fact['low'], fact)} to {_share(fact['high'], fact)})"
    return said + "".join(_details(fact))


def _share(value: float, fact: Mapping[str, Any]) -> str:
    """A difference between two shares is counted in points, not in percent of anything."""
    return words.percent(value).replace("%", " points") if "best" in fact else words.percent(value)


def _details(fact: Mapping[str, Any]) -> list[str]:
    told = []
    if "best" in fact and "worst" in fact:
        told.append(f"; best for {words.text(fact['best'])}, worst for {words.text(fact['worst'])}")
    if isinstance(fact.get("n"), int):
        told.append(f"; {words.plural(fact['n'], 'input', 'inputs')} judged")
    if "population" in fact:
        told.append(f" in the population “{words.text(fact['population'], 60)}”")
    if isinstance(fact.get("looks"), int):
        told.append(f"; valid at the moment it stopped, after {words.plural(fact['looks'], 'look', 'looks')}")
    return told
