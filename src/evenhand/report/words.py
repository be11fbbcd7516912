"""Values, shares and names in words that are safe to show: no control characters, no endless text, no bare nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from evenhand.contract import words_of
from evenhand.errors import EvenhandError
from evenhand.oracles import oracle_of

LONGEST = 160
"""Characters of one value that are shown; the rest is counted."""

MISSING = "(missing)"

# Control characters, and those that turn the direction of the text around them.
_INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\ufffe\uffff]")

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")

_REAL = (
    "Rows of the data itself, as often as they occur there. If the data resembles what the model will meet, "
    "this is the share that is affected."
)
_WHOLE = (
    "Every combination of values that the domain allows, all equally likely. Most of these people do not exist, so this "
    "measures how large the unfair region is, not how many people live in it."
)
_EVERY = "Every combination that the domain allows, all equally likely, whether or not it occurs in the data."
POPULATIONS = {"data": ("Real rows", _REAL), "domain": ("The whole domain", _WHOLE)}

ENDINGS = {
    "budget spent": "used its whole budget",
    "method finished": "finished by itself",
    "interrupted": "interrupted: the counts are those up to that moment",
}


def text(value: Any, longest: int = LONGEST) -> str:
    """One value for a reader: printable, on one line, shortened with its length said."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, Mapping):
        return shorten(", ".join(f"{text(name)} = {text(each)}" for name, each in value.items()), longest)
    if isinstance(value, (list, tuple)):
        return shorten(", ".join(text(each) for each in value), longest)
    whole = str(value)
    if len(whole) > longest:
        return f"{printable(whole[:longest]).rstrip()}… ({len(whole):,} characters)"
    written = printable(whole)
    return written if written.strip() else f"“{written}” (empty)"


def printable(written: str) -> str:
    """The text with line breaks and tabs as spaces and every invisible or broken character written out."""
    whole = written.encode("utf-8", "backslashreplace").decode("utf-8")
    return _INVISIBLE.sub(lambda found: f"\\u{ord(found.group()):04x}", re.sub(r"[\r\n\t]", " ", whole))


def isolated(name: str) -> str:
    """A name that keeps its place in a sentence whatever the direction of its script: numbers beside it do not change sides."""
    return f"\u2068{name}\u2069" if _RIGHT_TO_LEFT.search(name) else name


def shorten(written: str, longest: int = LONGEST) -> str:
    """At most this many characters, and how many there were."""
    return written if len(written) <= longest else f"{written[:longest].rstrip()}… ({len(written):,} characters)"


def different(first: Any, second: Any) -> tuple[str, str]:
    """Two values that differ, in words that differ too."""
    one, other = text(first), text(second)
    return (one, other) if one != other else (text(repr(first), 4 * LONGEST), text(repr(second), 4 * LONGEST))


def percent(share: float | None) -> str:
    """A share with two decimals; more where it would vanish."""
    if share is None:
        return "not measured"
    if 0.0 < share < 0.0001:
        return f"{100 * share:.2g}%"
    if 0.9999 < share < 1.0:
        return f"{100 * share:.6g}%"
    return f"{100 * share:.2f}%" if share not in (0.0, 1.0) else f"{share:.0%}"


def at_least(share: float) -> str:
    """A proved lower bound: rounded down, so that what is said holds as surely as the bound does."""
    return percent(math.floor(1e4 * share) / 1e4 if share >= 1e-4 else share)


def at_most(share: float) -> str:
    """A proved upper bound: rounded up."""
    return percent(math.ceil(1e4 * share) / 1e4 if share >= 1e-4 else share)


def level(confidence: float | None) -> str:
    """A confidence such as 95% or 99.9%."""
    return f"{100 * confidence:.6g}%" if confidence is not None else "exact"


def number(value: float | None) -> str:
    """A count or an amount, with separators."""
    if value is None:
        return "not measured"
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def plural(count: int, one: str, many: str) -> str:
    """A count with its noun."""
    return f"{count:,} {one if count == 1 else many}"


def title(name: str) -> str:
    """A key as a heading: causal_discrimination becomes Causal discrimination."""
    words = text(name.replace("_", " ").strip(), 60)
    return words[:1].upper() + words[1:]


def population(name: str, many: str = "people") -> tuple[str, str]:
    """A population's heading and what it is, in plain words; `many` is what its rows show."""
    first, _, further = name.partition(", ")
    if first not in POPULATIONS:
        return (
            f"Population “{text(name, 60)}”",
            f"{sentence_case(many)} drawn from a population that this scan brought along under this name.",
        )
    heading, explanation = POPULATIONS[first]
    explanation = _EVERY if first == "domain" and many != "people" else explanation
    return (f"{heading}, {text(further, 40)} rows" if further else heading), explanation


def ending(name: str) -> str:
    """How a search ended."""
    return ENDINGS.get(name, text(name or "unknown"))


def oracle(name: str, nouns: tuple[str, str] = ("person", "people")) -> str:
    """What counted as unfair, in plain words; `nouns` are one and many of what a row shows."""
    one, many = nouns
    threshold = re.fullmatch(r"(?:ScoreGap\(threshold=|gap(?::threshold=)?)([0-9.e-]*)\)?", name)
    if name == "flip" or name.startswith("LabelFlip"):
        return f"A {one} counts as treated unfairly when changing only the protected cells (and what they imply) changes the outcome."
    if threshold:
        return (
            f"A {one} counts as treated unfairly when changing only the protected cells (and what they imply) moves the model’s score "
            f"by more than {threshold.group(1) or '0.1'}, even if the outcome stays the same."
        )
    try:
        return f"Counted as treated unfairly: {many} {'who' if many == 'people' else 'that'} {words_of(oracle_of(name))}."
    except EvenhandError:
        return f"What counted as unfair was decided by {text(name or 'an oracle that the result does not name')}."


def treated(name: str, columns: str) -> str:
    """What is said of the people whom an oracle judged unfair, as the end of a sentence; only some oracles change nothing but columns."""
    if name.startswith(("LabelFlip", "flip")):
        return f"would get a different outcome if only {columns} were different"
    try:
        return words_of(oracle_of(name))
    except EvenhandError:
        return f"would be treated differently if only {columns} were different"


def unit(name: str) -> str:
    """The unit of the amounts that an oracle compares; empty where there is none."""
    try:
        return text(getattr(oracle_of(name), "unit", ""), 40)
    except EvenhandError:
        return ""


def sentence_case(written: str) -> str:
    """The same words with a capital at the beginning."""
    return f"{written[:1].upper()}{written[1:]}"


LONG_NUMBER = 9
"""Characters beyond which a number with decimals is rounded for a reader."""


def rounded(value: Any) -> str:
    """A value that need not be told apart from another: long decimals are cut to four telling digits."""
    if not isinstance(value, float) or len(text(value)) <= LONG_NUMBER:
        return text(value)
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def signed(share: float) -> str:
    """A share that may be negative, with a real minus."""
    return f"−{percent(-share)}" if share < 0 else percent(share)
