"""What every result promises, whatever verb it comes from: each check takes a result and a folder to write into."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from evenhand.contract import Result
from evenhand.report.record import VERSION, Record

ResultCheck = Callable[[Result, Path], None]
OUTCOMES = ("pass", "violation", "inconclusive")


def for_result() -> tuple[ResultCheck, ...]:
    """Every check, in the order in which a new result usually fails them."""
    return (
        check_has_an_outcome_and_a_reason,
        check_tells_a_person,
        check_its_dictionary_is_the_common_one,
        check_its_header_says_where_it_comes_from,
        check_writes_every_common_format,
    )


def check_has_an_outcome_and_a_reason(result: Result, _: Path) -> None:
    """One of three outcomes, and why."""
    assert isinstance(result, Result), f"{type(result).__name__} must have header, outcome, reason, summary, frame, as_dict and report"
    assert result.outcome in OUTCOMES, f"outcome={result.outcome!r} must be one of {', '.join(OUTCOMES)}"
    assert result.reason, "an outcome without a reason helps nobody"


def check_tells_a_person(result: Result, _: Path) -> None:
    """A summary in words, and a table."""
    assert result.summary().strip(), "the summary is empty"
    assert isinstance(result.frame(), pd.DataFrame), f"frame() gives a {type(result.frame()).__name__}, not a DataFrame"


def check_its_dictionary_is_the_common_one(result: Result, _: Path) -> None:
    """Plain JSON of the common version, which the reader of reports accepts, with the same outcome and reason."""
    told = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert told["evenhand_result"] == VERSION, f"evenhand_result={told.get('evenhand_result')!r}, expected {VERSION}"
    record = Record.model_validate(told)
    assert record.outcome == result.outcome, f"the dictionary says {record.outcome!r}, the result {result.outcome!r}"
    assert record.reason == result.reason, "the dictionary gives another reason than the result"


def check_its_header_says_where_it_comes_from(result: Result, _: Path) -> None:
    """Version, date, data and model are told."""
    header = result.as_dict()["header"]
    for name in ("evenhand", "date", "data", "model"):
        assert header.get(name), f"the header does not tell {name}"


def check_writes_every_common_format(result: Result, folder: Path) -> None:
    """A page, a table for a pull request, test cases, findings for code scanning, and the dictionary itself."""
    for name in ("page.html", "page.md", "cases.xml", "findings.sarif", "result.json"):
        path = result.report(folder / name)
        assert path.stat().st_size, f"{name} is empty"
