"""What several papers' set-ups share: steps of an overview with their places, and parameters beside the published ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from overviews import OVERVIEWS
from redone import Effort, Grid, Redone, either, sorted_by_truth

FIXED = "Nothing is random."
LOST = "The digits of this table are lost in the text at hand."


def overview(stem: str) -> Callable[[Effort], Redone]:
    """What makes the page of an overview figure: its steps, each with its place and with what the code says about itself."""

    def made(effort: Effort) -> Redone:  # noqa: ARG001 - as every maker is called
        steps = OVERVIEWS[stem]
        rows = [[step.published, f"`{step.place.replace(':', '.')}`", step.meaning] for step in steps]
        return Redone(
            (Grid("Where each step stands", ["step", "place", "what it says of itself"], rows),),
            (Grid("What is drawn", ["step"], [[step.published] for step in steps]),),
            agrees=(f"Each of the {len(steps)} steps has a place of its own.",),
            seeds="none",
            interval=FIXED,
        )

    return made


@dataclass(frozen=True)
class Setting:
    """A parameter: its name and meaning in the paper, the published value, and the default here."""

    name: str
    meaning: str
    published: Any
    here: Any


def compared(settings: Sequence[Setting], source: str) -> Redone:
    """A page of parameters; `source` says where the published values are known from."""
    same = sum(each.published == each.here for each in settings)
    other = [each.name for each in settings if each.published != each.here]
    words = f"{same} of {len(settings)} defaults are the published values" + (f"; not {', '.join(other)}." if other else ".")
    agrees, differs = sorted_by_truth([either(not other, words)])
    rows = [[each.name, each.meaning, f"{each.published:g}", f"{each.here:g}"] for each in settings]
    return Redone(
        (Grid("Defaults, read from the code", ["parameter", "meaning", source, "here"], rows),),
        (Grid("In words", ["text"], [[LOST]]),) if source != "published" else (_values(settings),),
        agrees=agrees,
        differs=differs,
        seeds="none",
        interval=FIXED,
    )


def _values(settings: Sequence[Setting]) -> Grid:
    return Grid("Values", ["parameter", "value", "meaning"], [[each.name, f"{each.published:g}", each.meaning] for each in settings])


def defaults(kind: type) -> dict[str, Any]:
    """The default of every field."""
    return {each.name: each.default for each in fields(kind)}
