"""Frames of one film, by their names.  Knows nothing of what they show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

FRAME = re.compile(r"^(?P<film>.*?)(?P<number>\d{3,})\D*$")


@dataclass(frozen=True, order=True)
class Frame:
    """A picture of a film: its number there, and its place in the list of pictures."""

    number: int
    place: int


def films(names: Sequence[str]) -> list[list[Frame]]:
    """The frames of every film in their order, where names say so ("film_00042"); a name that is a bare number is no frame.

    >>> films(["walk_002", "portrait", "walk_001"])
    [[Frame(number=1, place=2), Frame(number=2, place=0)]]
    """
    found: dict[str, list[Frame]] = {}
    for place, name in enumerate(names):
        match = FRAME.match(name)
        if match and match["film"].strip("_- "):
            found.setdefault(match["film"], []).append(Frame(int(match["number"]), place))
    return [sorted(listed) for listed in found.values()]
