"""Studies: measures of what the rows of a medium show, made by `measure` wherever they fit the data.  A study is one file here."""

from __future__ import annotations

import numpy as np

from evenhand.contract import Study, StudyCase, StudySection
from evenhand.registry import Registry

STUDIES: Registry[Study] = Registry("study", __name__, Study)


def sections_of(case: StudyCase, rng: np.random.Generator) -> dict[str, StudySection]:
    """Every study that fits the case's medium, by name, each with random numbers of its own."""
    fitting = {name: entry for name, entry in STUDIES.entries().items() if case.medium.kind in entry.make.media}  # type: ignore[attr-defined]
    streams = rng.spawn(len(fitting))
    return {name: entry.make().study(case, stream) for (name, entry), stream in zip(fitting.items(), streams, strict=True)}
