"""The header of a result as a reader needs it: what was tested, under which rule, and what makes the same scan again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.report import words
from evenhand.report.record import Record

LABELS = {
    "data": "Data",
    "protected": "Protected columns",
    "classes": "Outcomes of the model",
    "model_kind": "Kind of model",
    "model": "Model fingerprint",
    "data_digest": "Data digest",
    "domain": "Domain digest",
    "oracle": "Oracle",
    "population": "Population of the search",
    "seed": "Seed",
    "budget": "Budget for each method",
    "evenhand": "Evenhand version",
    "date": "Date",
}
"""Known fields in the order in which they are shown."""


def provenance(record: Record) -> list[tuple[str, str]]:
    """Every field of the header with a readable name; unknown ones last."""
    header = {name: value for name, value in record.header.items() if name != "gate"}
    names = [name for name in LABELS if name in header] + [name for name in header if name not in LABELS]
    return [(LABELS.get(name) or words.title(name), _value(name, header[name])) for name in names]


def _value(name: str, value: Any) -> str:
    if name == "budget" and isinstance(value, Mapping):
        limits = [
            f"{words.number(limit)} {words.text(unit).replace('_', ' ')}"
            for unit, limit in value.items()
            if isinstance(limit, (int, float))
        ]
        return ", ".join(limits) or "no limit"
    return words.text(value, 600)


def gate_sentence(record: Record) -> str:
    """The rule that made the verdict; empty when the result does not say."""
    gate = record.header.get("gate")
    if not isinstance(gate, Mapping) or not isinstance(gate.get("max_rate"), (int, float)):
        return ""
    if gate["max_rate"] > 0:
        return (
            f"The rule: a rate of {words.percent(gate['max_rate'])} is tolerated. The whole interval below it is a pass, "
            "the whole interval above it a violation, anything else inconclusive."
        )
    resolution = gate.get("resolution")
    bound = words.percent(resolution) if isinstance(resolution, (int, float)) else "the resolution"
    return (
        "The rule: none are tolerated, so one proven pair is a violation. Nothing found is a pass only if the rate’s upper bound is "
        f"at most {bound}; otherwise it is inconclusive."
    )
