"""Studies: measures of what the rows of a medium show, made by `measure` wherever they fit the data.  A study is one file here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.contract import Study, StudyCase, StudySection, media_of
from evenhand.errors import InvalidArgument
from evenhand.registry import Entry, Registry

STUDIES: Registry[Study] = Registry("study", __name__, Study)


def sections_of(case: StudyCase, rng: np.random.Generator, asked: Sequence[str] = ()) -> dict[str, StudySection]:
    """Every study that fits the case's medium, by name, each with random numbers of its own; some only where they are asked for."""
    for name in asked:
        _check_fits(STUDIES.entry(name), case.medium.kind)
    fitting = {name: entry for name, entry in STUDIES.entries().items() if _is_made(entry, case.medium.kind, asked)}
    streams = rng.spawn(len(fitting))
    return {name: entry.make().study(case, stream) for (name, entry), stream in zip(fitting.items(), streams, strict=True)}


def _is_made(entry: Entry[Study], kind: str, asked: Sequence[str]) -> bool:
    return kind in media_of(entry.make) and (entry.name in asked or not getattr(entry.make, "on_request", False))


def _check_fits(entry: Entry[Study], kind: str) -> None:
    if kind not in media_of(entry.make):
        raise InvalidArgument(f"study {entry.name} looks at {', '.join(media_of(entry.make))}, and the data is of the kind {kind}")
