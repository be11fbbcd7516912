"""Classes of objects before and after: which the second recogniser treats worse than the others and the first did not.

A difference between two verdicts is shown only where both are: where one of them stays open, so does the change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.claims import Claim

PREFIX = "class "


@dataclass(frozen=True)
class ClassChange:
    """What a check of one class said before and says now."""

    label: str
    before: str
    after: str
    message: str  # of the second

    @property
    def claim(self) -> Claim:
        """That the class is not treated worse than before."""
        told = f"{self.label}: {self.before} before, {self.after} now; {self.message}"
        is_open = self.after != "pass" and not self.is_worse
        return Claim(f"{PREFIX}{self.label}", told if self.is_worse else "", told if is_open else "", told)

    @property
    def is_worse(self) -> bool:
        """Whether the second is shown to treat the class worse than others, and the first was shown not to."""
        return self.before == "pass" and self.after == "violation"


def class_changes(before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]]) -> tuple[ClassChange, ...]:
    """Every class that both were judged on, from the checks of two results."""
    first, second = ({each["name"]: each for each in checks if str(each["name"]).startswith(PREFIX)} for checks in (before, after))
    return tuple(
        ClassChange(name.removeprefix(PREFIX), first[name]["outcome"], second[name]["outcome"], second[name]["message"])
        for name in first
        if name in second
    )


def classes_claim(changes: tuple[ClassChange, ...]) -> Claim:
    """That no class is treated worse than before: it holds where every class of the second passes."""
    worse = [each.label for each in changes if each.is_worse]
    unclear = [each.label for each in changes if each.claim.open]
    return Claim(
        "classes",
        f"the second treats objects of {_named(worse)} worse than others, and the first does not" if worse else "",
        f"no class is shown to be treated worse than before, but {_named(unclear)} cannot be judged; more scenes would tell"
        if unclear
        else "",
        f"none of {len(changes)} classes of objects is treated worse by the second",
    )


def _named(labels: list[str]) -> str:
    return ", ".join(labels[:4]) + (f" and {len(labels) - 4} more" if len(labels) > 4 else "")
