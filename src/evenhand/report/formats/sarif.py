"""Findings for code-scanning tools (SARIF 2.1.0), anchored to the lines of the project file where one was used.

One result per witness and one for each violated check that no witness stands for; what failed is a notification of the invocation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from evenhand.report import words
from evenhand.report.record import CheckRecord, Record
from evenhand.report.sections import witness_cards

endings = (".sarif", ".sarif.json")

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RULE = "individual-discrimination"
CHECK_RULE = "fairness-check"
MOST_RESULTS = 5_000  # what code scanning shows of one run
BASES = {
    "SRCROOT": {"description": {"text": "The folder that the command was started in: the root of the repository."}},
    "RUN": {"description": {"text": "The folder of the run, which holds result.json and the folder witnesses."}},
}
LEVELS = {"violation": "error", "inconclusive": "warning", "pass": "note"}


def render(record: Record) -> str:
    """The log as text."""
    return json.dumps(log(record), indent=2, allow_nan=False) + "\n"


def log(record: Record) -> dict[str, Any]:
    """The log as a dictionary."""
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(record)]}


def _run(record: Record) -> dict[str, Any]:
    return {
        "tool": {"driver": _driver(record)},
        "invocations": [_invocation(record)],
        "originalUriBaseIds": BASES,
        "columnKind": "utf16CodeUnits",
        "results": [
            *(_result(pair, record) for pair in witness_cards.pairs_of(record, MOST_RESULTS)),
            *(_violated(check, record) for check in record.checks if check.outcome == "violation" and not record.witnesses),
        ],
        "properties": {
            "outcome": record.outcome,
            "reason": words.text(record.reason, 600),
            "rates": [rate.model_dump(include={"population", "estimate", "low", "high", "n", "confidence"}) for rate in record.body.rates],
        },
    }


def _driver(record: Record) -> dict[str, Any]:
    pairs = {
        "id": RULE,
        "name": "IndividualDiscrimination",
        "shortDescription": {"text": "The same input under another protected value is treated differently."},
        "fullDescription": {"text": words.oracle(record.header.oracle or "")},
        "help": {"text": "Ask the model about the pair again with `evenhand replay ID`, where ID is the witness named in the message."},
        "defaultConfiguration": {"level": "error"},
    }
    checks = {
        "id": CHECK_RULE,
        "name": "FairnessCheck",
        "shortDescription": {"text": "A figure is beyond what is tolerated."},
        "defaultConfiguration": {"level": "error"},
    }
    version = record.header.evenhand
    return {"name": "Evenhand", **({"version": words.text(version, 40)} if version else {}), "rules": [pairs, checks]}


def _invocation(record: Record) -> dict[str, Any]:
    """What failed or was left undecided."""
    levels = {"failed": ("error", "failed"), "inconclusive": ("warning", "is inconclusive")}
    told = [_notification(*levels[check.outcome], check) for check in record.checks if check.outcome in levels]
    is_successful = not any(check.outcome == "failed" for check in record.checks)
    return {"executionSuccessful": is_successful, "toolExecutionNotifications": told}


def _notification(level: str, word: str, check: CheckRecord) -> dict[str, Any]:
    return {"level": level, "message": {"text": literal(f"{words.text(check.name, 60)} {word}: {words.text(check.message, 600)}")}}


def _violated(check: CheckRecord, record: Record) -> dict[str, Any]:
    """A violation without a pair: a figure about groups or classes, or a repair that made things worse."""
    return {
        "ruleId": CHECK_RULE,
        "ruleIndex": 1,
        "level": "error",
        "message": {"text": literal(f"{words.text(check.name, 100)}: {words.text(check.message, 600)}")},
        "locations": [_anchor(record, "gate", "protected") or _at("result.json", "RUN")],
        "partialFingerprints": {"check/v1": words.text(check.name, 100)},
    }


def _result(pair: witness_cards.PairCard, record: Record) -> dict[str, Any]:
    became = f"{pair.outcome} becomes {pair.twin_outcome}" if pair.is_flip else f"{pair.outcome} for both, with different scores"
    doubt = "The wiring of the model is in doubt, so this pair blames nobody. " if record.body.wiring_doubt else ""
    message = f"{doubt}{pair.headline}: {became}. {pair.origin}. Witness {pair.id}."
    kept = _at(f"witnesses/{quote(pair.id, safe='')}.json", "RUN")
    anchor = _anchor(record, *(f"columns.{cell.column}" for cell in pair.differing), "protected")
    return {
        "ruleId": RULE,
        "ruleIndex": 0,
        "level": "note" if record.body.wiring_doubt else LEVELS[record.outcome],
        "message": {"text": literal(message)},
        "locations": [anchor or kept],
        **({"relatedLocations": [{**kept, "id": 1, "message": {"text": "The pair, as it is kept."}}]} if anchor else {}),
        "partialFingerprints": {"witness/v1": pair.id},
        "properties": {
            "differing": {cell.column: [cell.person, cell.twin] for cell in pair.differing},
            "changedFromRealRow": {cell.column: [cell.real, cell.person] for cell in pair.departures},
            "scoreGap": pair.gap,
        },
    }


def _at(uri: str, base: str, line: int = 1) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": {"uri": uri, "uriBaseId": base}, "region": {"startLine": line}}}


def _anchor(record: Record, *names: str) -> dict[str, Any] | None:
    """The first of these parts that the project file has, by its line; None where no file was used."""
    place = record.header.details.get("project")
    if not isinstance(place, Mapping) or not isinstance(place.get("file"), str):
        return None
    told = place.get("lines")
    lines = told if isinstance(told, Mapping) else {}
    line = next((lines[name] for name in names if isinstance(lines.get(name), int)), 1)
    return _at(quote(place["file"]), "SRCROOT", max(1, line))


def literal(message: str) -> str:
    """The message with what SARIF would read as a link or a placeholder escaped."""
    return message.replace("[", "\\[").replace("]", "\\]").replace("{", "{{").replace("}", "}}")
