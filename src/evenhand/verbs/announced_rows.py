"""How many rows a verb sends to a model, told before it is asked where asking may cost something.  Asks nothing itself."""

from __future__ import annotations

from evenhand.contract import Model
from evenhand.engine.preflight import FIRST_ROWS, further_size, trial_size
from evenhand.engine.subject import Data
from evenhand.engine.wiring_checks import COSTLY_ROWS
from evenhand.measures.rates import DRAWN
from evenhand.models.budget import Budget
from evenhand.models.paid_answers import is_asked_remotely
from evenhand.models.trial_rows import PAID_TRIAL
from evenhand.verbs.measure_result import MeasureOptions

ALONE = 16
"""Rows that are asked one by one, some of them twice."""
LATENCY_TIMES = 5
"""How often a single row is asked to see how long that takes."""
OTHER_COLUMNS = 20_000
"""Rows that a model in this process may be asked to see which columns it uses."""
SIDE_BY_SIDE = 10
"""How often the people of the comparison of oracles are asked, over all of them."""


def checked_rows(model: Model, data: Data) -> int:
    """At most so many before anything is believed: how answers are read, and every check, the one at the end included."""
    size = min(len(data.rows), trial_size(model, getattr(data, "medium", None)))
    twins = max(2 * len(data.domain.combinations), size // 2) if data.domain.protected else 0
    further = min(len(data.rows) - size, further_size(model, getattr(data, "medium", None)))
    return PAID_TRIAL + 4 * size + FIRST_ROWS + ALONE + twins + further


def examined_rows(model: Model, data: Data) -> int:
    """At most so many in an examination by `doctor`, which looks at every column and at the speed too."""
    return checked_rows(model, data) + max(rows_for_columns(model), 2 * len(data.domain.columns)) + LATENCY_TIMES


def rows_for_columns(model: Model) -> int:
    """How many rows may be spent on finding out which columns are used."""
    return COSTLY_ROWS if getattr(model, "is_costly", False) else OTHER_COLUMNS


def scan_in_words(model: Model, data: Data, budget: Budget, rate_rows: int | None) -> str:
    """What a scan asks, as a sentence; empty for a model that is not asked over a network."""
    if not is_asked_remotely(model):
        return ""
    per, drawn = _values(data), rate_rows or DRAWN
    rates = per * (min(len(data.rows), drawn) + drawn)
    search = _searched(budget, per)
    return (
        f"The model is asked about at most {checked_rows(model, data):,} rows to check it, about {rates:,} for the rates (fewer with "
        f"`scan: {{rate_rows: ...}}` in evenhand.yaml), and {search} by the search; answers that are kept cost nothing."
    )


def _searched(budget: Budget, per: int) -> str:
    if budget.model_rows is not None:
        return f"{budget.model_rows:,}"
    return "as many as its seconds allow" if budget.candidates is None else f"{per * budget.candidates:,}"


def measurement_in_words(model: Model, data: Data, options: MeasureOptions) -> str:
    """The same of a measurement."""
    if not is_asked_remotely(model):
        return ""
    per, drawn = _values(data), options.rate_rows or DRAWN
    people = min(len(data.rows), drawn)
    if not options.groups_only:
        people += 4 * drawn + options.natural_candidates + options.rare_people
    further = per * people + (0 if options.groups_only else SIDE_BY_SIDE * options.compare_rows)
    return (
        f"The model is asked about at most {checked_rows(model, data):,} rows to check it, and about {further:,} for the figures (fewer "
        "with `scan: {rate_rows: ...}` in evenhand.yaml); answers that are kept cost nothing."
    )


def _values(data: Data) -> int:
    """How many rows one person is asked as."""
    return len(data.domain.combinations) if data.domain.protected else 1
