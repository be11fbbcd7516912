"""JUnit XML for a build server: each method a test case, and one for the verdict; a violation fails, a crash is an error."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from evenhand.report import witness_cards, words, writing
from evenhand.report.provenance import provenance
from evenhand.report.record import Record, RunRecord, read

MOST_PAIRS = 10

Evidence: TypeAlias = list[tuple[str, str]]


def write(result: Mapping[str, Any], path: Path) -> Path:
    """Write the test cases."""
    return writing.save(render(result), Path(path))


def render(result: Mapping[str, Any]) -> str:
    """The test cases as XML."""
    record = read(result)
    evidence = _evidence(record)
    cases = [
        _verdict(record, evidence),
        *(_run(run, record, evidence) for run in record.runs),
        *(_failed(name, why) for name, why in record.failures.items()),
    ]
    counts = {"tests": len(cases)} | {
        f"{kind}s" if kind != "skipped" else kind: sum(case.find(kind) is not None for case in cases) for kind in _KINDS
    }
    written = {name: str(count) for name, count in counts.items()} | {"time": f"{sum(run.wall_seconds or 0 for run in record.runs):.3f}"}
    root = ET.Element("testsuites", {"name": "evenhand", **written})
    suite = ET.SubElement(root, "testsuite", {"name": f"evenhand: {words.text(record.header.get('data'))}", **written})
    suite.append(_properties(record))
    suite.extend(cases)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


_KINDS = ("failure", "error", "skipped")


def _properties(record: Record) -> ET.Element:
    properties = ET.Element("properties")
    for name, value in provenance(record):
        ET.SubElement(properties, "property", {"name": name, "value": value})
    return properties


def _case(name: str, seconds: float | None = None) -> ET.Element:
    return ET.Element("testcase", {"classname": "evenhand.scan", "name": words.text(name), "time": f"{seconds or 0:.3f}"})


def _mark(case: ET.Element, kind: str, reason: str, body: str = "") -> ET.Element:
    mark = ET.SubElement(case, kind, {"message": words.text(reason, 600)} | ({"type": kind} if kind != "skipped" else {}))
    mark.text = body or None
    return case


def _verdict(record: Record, evidence: Evidence) -> ET.Element:
    """Inconclusive is an error: a build must not go green on it unseen."""
    case = _case("verdict")
    if record.outcome == "violation":
        return _mark(case, "failure", record.reason, _lines(evidence))
    return case if record.outcome == "pass" else _mark(case, "error", f"inconclusive: {record.reason}")


def _run(run: RunRecord, record: Record, evidence: Evidence) -> ET.Element:
    case = _case(run.method, run.wall_seconds)
    if record.outcome == "violation" and run.findings:
        # A witness that does not say which method found it may be this one's.
        own = [(method, line) for method, line in evidence if method in ("", run.method)]
        return _mark(case, "failure", f"{run.findings:,} findings among {run.candidates:,} candidates", _lines(own))
    if run.is_interrupted:
        return _mark(case, "skipped", f"interrupted after {run.candidates:,} candidates")
    return case


def _failed(name: str, why: str) -> ET.Element:
    return _mark(_case(name), "error", why)


def _evidence(record: Record) -> Evidence:
    """Every pair in words, with the method that found it."""
    cards = zip(record.witnesses, witness_cards.pairs_of(record), strict=True)
    return [(w.method, f"{p.headline}: {p.outcome} becomes {p.twin_outcome} (evenhand replay {p.id})") for w, p in cards]


def _lines(evidence: Evidence) -> str:
    return "\n".join(line for _, line in evidence[:MOST_PAIRS])
