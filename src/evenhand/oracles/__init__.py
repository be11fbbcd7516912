"""What decides that an input is treated unfairly: one file each, found by its name and set by one line such as `gap:threshold=0.2`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias

from evenhand.arrays import Rows
from evenhand.contract import Detecting, LearningOracle, Model, Oracle
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import InvalidArgument
from evenhand.registry import Registry

ORACLES: Registry[Oracle] = Registry("oracle", __name__, Oracle)

OracleChoice: TypeAlias = str | Mapping[str, Any] | Oracle
"""A name, a line with parameters, what a project file holds (`{gap: {threshold: 0.2}}`), or an oracle itself."""

FORMER_NAMES = {"label_flip": "flip", "score_gap": "gap"}
"""Names in project files and results of earlier versions."""


def oracle_of(choice: OracleChoice) -> Oracle:
    """An oracle from its name, a line with parameters, what a project file holds, or as it is.

    >>> oracle_of("gap:threshold=0.2")
    ScoreGap(threshold=0.2)
    >>> oracle_of({"gap": {"threshold": 0.2}})
    ScoreGap(threshold=0.2)
    """
    if isinstance(choice, Mapping):
        return _from_mapping(choice)
    if not isinstance(choice, str):
        return choice
    name, _, rest = choice.partition(":")
    stem, _, threshold = name.partition("=")  # `score_gap=0.2` is how earlier versions wrote a threshold
    given = {"threshold": _value(threshold)} if threshold else {}
    for part in filter(None, (each.strip() for each in rest.split(","))):
        parameter, is_set, value = part.partition("=")
        if not is_set:
            raise InvalidArgument(f"oracle {choice!r}: {part!r} must be a parameter=value, as in gap:threshold=0.2")
        given[parameter.strip()] = _value(value.strip())
    return _made(stem.strip(), given)


def _from_mapping(choice: Mapping[str, Any]) -> Oracle:
    if len(choice) != 1:
        raise InvalidArgument(f"oracle {dict(choice)!r} must be one name with its parameters, as in {{gap: {{threshold: 0.2}}}}")
    name, given = next(iter(choice.items()))
    if not isinstance(given, Mapping | None):
        raise InvalidArgument(f"oracle {name}: {given!r} must be its parameters by name, as in {{gap: {{threshold: 0.2}}}}")
    return _made(name, dict(given or {}))


def _made(name: str, given: Mapping[str, Any]) -> Oracle:
    return ORACLES.make(FORMER_NAMES.get(name, name), given)


def _value(text: str) -> Any:
    """A parameter's value as it is written: a number, true or false, nothing, or text."""
    plain = {"true": True, "false": False, "none": None}
    if text.lower() in plain:
        return plain[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def oracle_text(chosen: Oracle) -> str:
    """The line that makes this oracle again: its name, and the parameters that are not at their defaults."""
    settings = getattr(chosen, "settings", chosen)  # what a learned oracle was told
    name = next((each.name for each in ORACLES.entries().values() if each.make is type(settings)), None)
    if name is None or not is_dataclass(settings):
        return repr(chosen)
    changed = [(each.name, getattr(settings, each.name)) for each in fields(settings) if getattr(settings, each.name) != each.default]
    return name + "".join(f"{':' if not at else ','}{parameter}={value}" for at, (parameter, value) in enumerate(changed))


def usual_oracle(model: Model) -> str:
    """The name of the oracle that fits what the model answers: classes, amounts, or objects by class."""
    if isinstance(model, Detecting) and "counts" in ORACLES.entries():
        return "counts"
    return "amounts" if len(model.classes) == 1 else "flip"


def ready(chosen: Oracle, rows: Rows | None, domain: TabularDomain, model: Model) -> Oracle:
    """The oracle, having learned from real rows what it needs to judge."""
    return chosen.learned(rows, domain, model) if isinstance(chosen, LearningOracle) else chosen
