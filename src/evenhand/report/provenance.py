"""The header of a result as a reader needs it: what was tested, under which rule, and what makes the same run again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.report import words
from evenhand.report.lead import classes_decide
from evenhand.report.record import HeaderRecord, Record

LABELS = {
    "data.name": "Data",
    "data.rows": "Rows of the data",
    "domain.protected": "Protected columns",
    "domain.label": "Label",
    "domain.favourable": "Favourable outcomes",
    "domain.classes": "Outcomes of the model",
    "medium.kind": "Medium",
    "medium.pictures": "Pictures",
    "medium.twins": "Twins made by",
    "medium.learned_twins": "Learned twins",
    "model.kind": "Kind of model",
    "details.model_file": "Model file",
    "model.digest": "Model fingerprint",
    "data.digest": "Data digest",
    "domain.digest": "Domain digest",
    "medium.digest": "Medium digest",
    "oracle": "Oracle",
    "seed": "Seed",
    "budget": "Budget for each method",
    "command": "Command",
    "evenhand": "Evenhand version",
    "versions": "Versions",
    "date": "Date",
    "details.question_seconds": "Cost of one question",
    "details.preflight": "Checked beforehand",
    "details.reading": "How the answers were read",
    "details.project": "Project file",
    "details.parameters": "Parameters of the methods",
}
"""Known fields in the order in which they are shown."""

UNTOLD = ("gate", "policy")
"""Details that are told as sentences elsewhere."""


def provenance(record: Record) -> list[tuple[str, str]]:
    """Every field of the header with a readable name; unknown ones last."""
    fields = flat(record.header)
    names = [name for name in LABELS if name in fields] + [name for name in fields if name not in LABELS]
    return [(LABELS.get(name) or words.title(name.rpartition(".")[2]), _value(name, fields[name])) for name in names]


def flat(header: HeaderRecord) -> dict[str, Any]:
    """Fields that say something, named by their place; the gate is told as a sentence elsewhere."""
    fields: dict[str, Any] = {}
    for name, value in header.model_dump(exclude={"details"}).items():
        inner = value.items() if isinstance(value, Mapping) and name not in ("budget", "versions") else [("", value)]
        fields |= {f"{name}.{part}" if part else name: each for part, each in inner if each not in (None, "", [], {})}
    return fields | {
        f"details.{name}": _file(value) if name == "project" else value
        for name, value in header.details.items()
        if name not in UNTOLD and value not in (None, "", [], {})
    }


def _file(project: Any) -> Any:
    """The project file without its lines."""
    return project.get("file") if isinstance(project, Mapping) else project


def _value(name: str, value: Any) -> str:
    if name == "budget" and isinstance(value, Mapping):
        limits = [
            f"{words.number(limit)} {words.text(unit).replace('_', ' ')}"
            for unit, limit in value.items()
            if isinstance(limit, (int, float))
        ]
        return ", ".join(limits) or "no limit"
    if name == "versions" and isinstance(value, Mapping):
        return ", ".join(f"{words.text(package, 40)} {words.text(version, 40)}" for package, version in value.items())
    if name == "details.parameters" and isinstance(value, Mapping):
        return "; ".join(_parameters(words.text(method, 60), given) for method, given in value.items())
    if name == "details.question_seconds" and isinstance(value, (int, float)):
        return f"{words.number(1e6 * value)} microseconds"
    if isinstance(value, (int, float)) and not isinstance(value, bool) and name != "seed":
        return words.number(value)
    if isinstance(value, Mapping):  # what was not set is no limit and no term
        value = {part: each for part, each in value.items() if each is not None}
    return words.text(value, 1200)


def _parameters(method: str, given: Any) -> str:
    told = words.text(given, 600) if given else "none"
    return f"{method}: {told}"


def gate_sentence(record: Record) -> str:
    """The rule that made the verdict; empty when the result does not say."""
    if record.body.wiring_doubt:
        return "The rule: a model whose wiring is in doubt neither passes nor is blamed, whatever was found."
    gate = record.gate
    if not isinstance(gate.get("max_rate"), (int, float)):
        return ""
    resolution = gate.get("resolution")
    bound = words.percent(resolution) if isinstance(resolution, (int, float)) else "the resolution"
    if record.verb == "certify":
        return _proof_rule(gate["max_rate"], bound)
    if classes_decide(record):
        return "The rule: single losses decide nothing. Every class of objects is judged over all its trials, and the classes decide."
    if gate["max_rate"] > 0:
        return (
            f"The rule: a rate of {words.percent(gate['max_rate'])} is tolerated. The whole interval below it is a pass, "
            "the whole interval above it a violation, anything else inconclusive."
        )
    return (
        "The rule: none are tolerated, so one proven pair is a violation. Nothing found is a pass only if the rate’s upper bound is "
        f"at most {bound}; otherwise it is inconclusive."
    )


def _proof_rule(tolerated: float, bound: str) -> str:
    if tolerated > 0:
        return (
            f"The rule: {words.percent(tolerated)} of the domain is tolerated. A share that is proved to be above it is a violation, "
            "one that is proved not to be a pass, anything else inconclusive."
        )
    return (
        "The rule: none is tolerated, so one proven pair is a violation. A proof that the share is at most "
        f"{bound} is a pass; anything else is inconclusive."
    )
