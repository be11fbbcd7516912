"""SARIF 2.1.0 for code-scanning tools: one result per witness; a method that failed is a notification of the invocation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from evenhand.report import witness_cards, words, writing
from evenhand.report.record import Record, read

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RULE = "individual-discrimination"
LEVELS = {"violation": "error", "inconclusive": "warning", "pass": "note"}


def write(result: Mapping[str, Any], path: Path) -> Path:
    """Write the log."""
    return writing.save(json.dumps(render(result), indent=2, allow_nan=False) + "\n", Path(path))


def render(result: Mapping[str, Any]) -> dict[str, Any]:
    """The log as a dictionary."""
    record = read(result)
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(record)]}


def _run(record: Record) -> dict[str, Any]:
    return {
        "tool": {"driver": _driver(record)},
        "invocations": [_invocation(record)],
        "columnKind": "utf16CodeUnits",
        "results": [_result(pair, record) for pair in witness_cards.pairs_of(record)],
        "properties": {
            "outcome": record.outcome,
            "reason": words.text(record.reason, 600),
            "rates": [rate.model_dump(include={"population", "estimate", "low", "high", "n", "confidence"}) for rate in record.body.rates],
        },
    }


def _driver(record: Record) -> dict[str, Any]:
    rule = {
        "id": RULE,
        "name": "IndividualDiscrimination",
        "shortDescription": {"text": "The same person under another protected value is treated differently."},
        "fullDescription": {"text": words.oracle(record.header.oracle or "")},
        "help": {"text": "Ask the model about the pair again with `evenhand replay ID`, where ID is the witness named in the message."},
        "defaultConfiguration": {"level": "error"},
    }
    version = record.header.evenhand
    return {"name": "Evenhand", **({"version": words.text(version, 40)} if version else {}), "rules": [rule]}


def _invocation(record: Record) -> dict[str, Any]:
    told = [
        {"level": "error", "message": {"text": literal(f"method {words.text(name, 60)} failed: {words.text(why, 600)}")}}
        for name, why in record.body.failures.items()
    ]
    told += [
        {
            "level": "warning",
            "message": {"text": literal(f"method {words.text(run.method, 60)} was interrupted after {run.candidates:,} candidates")},
        }
        for run in record.body.runs
        if run.is_interrupted
    ]
    return {"executionSuccessful": not record.body.failures, "toolExecutionNotifications": told}


def _result(pair: witness_cards.PairCard, record: Record) -> dict[str, Any]:
    became = f"{pair.outcome} becomes {pair.twin_outcome}" if pair.is_flip else f"{pair.outcome} for both, with different scores"
    message = f"{pair.headline}: {became}. {pair.origin}. Witness {pair.id}."
    place = {"uri": f"witnesses/{quote(pair.id, safe='')}.json", "uriBaseId": "RUN"}
    return {
        "ruleId": RULE,
        "ruleIndex": 0,
        "level": LEVELS[record.outcome],
        "message": {"text": literal(message)},
        "locations": [{"physicalLocation": {"artifactLocation": place, "region": {"startLine": 1}}}],
        "partialFingerprints": {"witness/v1": pair.id},
        "properties": {
            "differing": {cell.column: [cell.person, cell.twin] for cell in pair.differing},
            "changedFromRealRow": {cell.column: [cell.real, cell.person] for cell in pair.departures},
            "scoreGap": pair.gap,
        },
    }


def literal(message: str) -> str:
    """The message with what SARIF would read as a link or a placeholder escaped."""
    return message.replace("[", "\\[").replace("]", "\\]").replace("{", "{{").replace("}", "}}")
