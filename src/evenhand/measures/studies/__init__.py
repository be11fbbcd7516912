"""Studies: measures of what the rows of a medium show, made by `measure` wherever they fit the data.  A study is one file here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.contract import Medium, Study, StudyCase, StudySection, has_twins, media_of
from evenhand.errors import InvalidArgument
from evenhand.registry import Entry, Registry

STUDIES: Registry[Study] = Registry("study", __name__, Study)


def sections_of(case: StudyCase, rng: np.random.Generator, asked: Sequence[str] = ()) -> dict[str, StudySection]:
    """Every study that fits the case's medium, by name, each with random numbers of its own; some only where they are asked for.

    One that is asked for may have a parameter: `independent_groups:privileged=sex == 'Male'`; asked for again, a further one.
    """
    given: dict[str, dict[str, Any]] = {}
    for name, parameter in map(_read, asked):
        given.setdefault(name, {}).update(parameter)
    for name in given:
        _check_fits(STUDIES.entry(name), case)
    fitting = {name: entry for name, entry in STUDIES.entries().items() if _is_made(entry, case, tuple(given))}
    made = {name: entry.with_parameters(given.get(name, {})) for name, entry in fitting.items()}
    streams = rng.spawn(len(made))
    return {name: study.study(case, stream) for (name, study), stream in zip(made.items(), streams, strict=True)}


def _read(choice: str) -> tuple[str, dict[str, Any]]:
    """A study's name, and the parameter after the colon; all that follows the first equals sign is its value."""
    name, has_parameter, rest = choice.partition(":")
    parameter, is_set, value = rest.partition("=")
    if has_parameter and not is_set:
        raise InvalidArgument(f"study {choice!r}: {rest!r} must be a parameter=value, as in accuracy:people=500")
    number = value.strip().replace("_", "")
    told: Any = int(number) if number.isdecimal() else float(number) if number.replace(".", "", 1).isdecimal() else value.strip()
    return name.strip(), {parameter.strip(): told} if has_parameter else {}


def _is_made(entry: Entry[Study], case: StudyCase, asked: Sequence[str]) -> bool:
    is_wanted = entry.name in asked or not getattr(entry.make, "on_request", False)
    return (
        is_wanted and case.medium.kind in media_of(entry.make) and not _lacks_twins(entry, case.medium) and not _lacks_subject(entry, case)
    )


def _lacks_subject(entry: Entry[Study], case: StudyCase) -> str:
    """What a study is about and the case has not: a protected column, a label, classes, or a function of some kind."""
    label, wanted = case.domain.label, entry.make
    column, of_label, kind = (getattr(wanted, name, None) for name in ("needs_protected", "needs_label", "needs_function"))
    if column is not None and column not in case.domain.protected:
        return f"the protected column {column!r}"
    if of_label is not None and (label is None or label.column != of_label):
        return f"the label {of_label!r}"
    if kind is not None and not isinstance(getattr(getattr(case.model.model, "reader", None), "function", None), kind):
        return f"a function that is wrapped as {kind.__name__}"
    is_of_pictures = case.medium.kind in ("album", "portraits")
    has_no_classes = label is not None and label.is_amount and is_of_pictures and not getattr(wanted, "takes_amounts", False)
    return "classes, and the label is an amount" if has_no_classes else ""


def _lacks_twins(entry: Entry[Study], medium: Medium) -> bool:
    return getattr(entry.make, "needs_twins", False) and not has_twins(medium)


def _check_fits(entry: Entry[Study], case: StudyCase) -> None:
    kind = case.medium.kind
    if kind not in media_of(entry.make):
        raise InvalidArgument(f"study {entry.name} looks at {', '.join(media_of(entry.make))}, and the data is of the kind {kind}")
    if lacking := _lacks_subject(entry, case):
        raise InvalidArgument(f"study {entry.name} is about {lacking}; this data and model have none")
    if _lacks_twins(entry, case.medium):
        raise InvalidArgument(f"study {entry.name} compares twins, and the pictures were opened without an editor; choose one")
