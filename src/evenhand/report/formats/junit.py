"""Test cases for a build server (JUnit XML).

Each check of a result a test case, and one for the verdict; a violation fails, a crash is an error.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TypeAlias

from evenhand.report import words
from evenhand.report.provenance import provenance
from evenhand.report.record import CheckRecord, Record
from evenhand.report.sections import witness_cards

endings = (".xml",)

MOST_PAIRS = 10
MOST_EVIDENCE = 1_000  # pairs that are looked at for a failing case
VERDICT = "verdict"

Evidence: TypeAlias = list[tuple[str, str]]


def render(record: Record) -> str:
    """The test cases as XML."""
    evidence = _evidence(record)
    cases = [_verdict(record, evidence), *(_checked(check, record, evidence) for check in record.checks if check.name != VERDICT)]
    counts = {"tests": len(cases)} | {
        f"{kind}s" if kind != "skipped" else kind: sum(case.find(kind) is not None for case in cases) for kind in _KINDS
    }
    seconds = sum(_seconds(check) for check in record.checks)
    written = {name: str(count) for name, count in counts.items()} | {"time": f"{seconds:.3f}"}
    root = ET.Element("testsuites", {"name": "evenhand", **written})
    named = f"evenhand {record.verb}: {words.text(record.header.data.name)}" if record.header.data.name else f"evenhand {record.verb}"
    suite = ET.SubElement(root, "testsuite", {"name": named, **written})
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


def _case(name: str, record: Record, seconds: float = 0.0) -> ET.Element:
    return ET.Element("testcase", {"classname": f"evenhand.{record.verb}", "name": words.text(name), "time": f"{seconds:.3f}"})


def _mark(case: ET.Element, kind: str, reason: str, body: str = "") -> ET.Element:
    mark = ET.SubElement(case, kind, {"message": words.text(reason, 600)} | ({"type": kind} if kind != "skipped" else {}))
    mark.text = body or None
    return case


def _verdict(record: Record, evidence: Evidence) -> ET.Element:
    """Inconclusive is an error: a build must not go green on it unseen."""
    case = _case(VERDICT, record)
    if record.outcome == "violation":
        return _mark(case, "failure", record.reason, _lines(evidence))
    return case if record.outcome == "pass" else _mark(case, "error", f"inconclusive: {record.reason}")


def _checked(check: CheckRecord, record: Record, evidence: Evidence) -> ET.Element:
    """What a check decided by itself; one that could decide nothing is skipped, for the verdict already says so."""
    case = _case(check.name, record, _seconds(check))
    if check.outcome == "violation":
        # A witness that does not say which method found it may be this one's.
        own = [(method, line) for method, line in evidence if method in ("", check.name)]
        return _mark(case, "failure", check.message, _lines(own))
    kind = {"failed": "error", "inconclusive": "skipped"}.get(check.outcome)
    return _mark(case, kind, check.message) if kind else case


def _seconds(check: CheckRecord) -> float:
    told = (check.model_extra or {}).get("seconds")
    return float(told) if isinstance(told, (int, float)) and not isinstance(told, bool) else 0.0


def _evidence(record: Record) -> Evidence:
    """Every pair in words, with the method that found it."""
    cards = zip(record.witnesses, witness_cards.pairs_of(record, MOST_EVIDENCE), strict=False)
    return [(w.method, f"{p.headline}: {p.outcome} becomes {p.twin_outcome} (evenhand replay {p.id})") for w, p in cards]


def _lines(evidence: Evidence) -> str:
    return "\n".join(line for _, line in evidence[:MOST_PAIRS])
