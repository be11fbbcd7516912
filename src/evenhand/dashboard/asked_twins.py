"""A row that a person has changed, and everything the model says of it: all its twins, what each is shown as, and the oracle's verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Rows
from evenhand.contract import Detecting, Medium, Model, Oracle, labels_of, outcome_names
from evenhand.dashboard.opened_subjects import OpenedSubject
from evenhand.domain.columns import Column
from evenhand.domain.tabular import TabularDomain
from evenhand.errors import EvenhandError, InvalidArgument, StoreError
from evenhand.media.album import as_bytes
from evenhand.media.png import data_uri
from evenhand.models.meter import Meter
from evenhand.report import words

MOST_TWINS = 120
MOST_PICTURES = 16
MOST_SCORES = 6


@dataclass(frozen=True)
class CellField:
    """One column as a person edits it: a choice among values by their place, or something to write."""

    name: str
    title: str
    label: str
    value: str
    choices: tuple[tuple[str, str], ...] = ()
    is_number: bool = False
    low: str = ""
    high: str = ""
    step: str = "any"
    is_protected: bool = False
    is_changed: bool = False
    fault: str = ""


@dataclass(frozen=True)
class TwinAnswer:
    """What the model says of one twin, before and after the change."""

    who: str
    label: str
    before: str
    scores: tuple[tuple[str, str, float], ...]  # class, in words, and the share that a bar shows
    is_own: bool
    is_possible: bool
    differs: bool  # from the row itself
    picture: str = ""
    text: str = ""


@dataclass(frozen=True)
class AskedTwins:
    """All twins of one row."""

    twins: tuple[TwinAnswer, ...]
    left_out: int
    is_unfair: bool
    gap: float
    broken: tuple[str, ...]  # rules that the row breaks
    changes: tuple[tuple[str, str, str], ...]  # column, before, after


def cell_text(column: Column, code: float) -> str:
    """A code as the form holds it: the place of a listed value, else the value."""
    if math.isnan(code):
        return ""
    if column.is_listed:
        return str(int(code))
    value = column.value(code)
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def cell_code(column: Column, text: str) -> float:
    """What a person wrote as a code; says what may stand there where it cannot."""
    text = text.strip()
    if not text:
        if not column.missing:
            raise InvalidArgument("must not be empty")
        return math.nan
    if column.is_listed:
        if not text.isdigit() or int(text) >= len(column.values):
            raise InvalidArgument("must be one of the listed values")
        return float(text)
    code = column.code(text) if column.is_moment else _number(text)
    if column.is_integral and not column.is_moment and code != int(code):
        raise InvalidArgument("must be a whole number")
    if not column.lowest <= code <= column.ceiling:
        raise InvalidArgument(f"must be from {words.text(column.value(column.lowest))} to {words.text(column.value(column.highest))}")
    return code


def _number(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        raise InvalidArgument("must be a number") from None
    if not math.isfinite(found):
        raise InvalidArgument("must be a finite number")
    return found


def fields_of(domain: TabularDomain, texts: Sequence[str], base: Sequence[str], faults: Mapping[int, str]) -> list[CellField]:
    """The form's fields, protected columns first."""
    made = [
        CellField(
            name=f"c{place}",
            title=words.text(column.name, 80),
            label=column.kind,
            value=texts[place],
            choices=_choices(column),
            is_number=not column.is_listed and not column.is_moment,
            low=cell_text(column, column.lowest) if not column.is_listed else "",
            high=cell_text(column, column.highest) if not column.is_listed else "",
            step="1" if column.is_integral else "any",
            is_protected=column.name in domain.protected,
            is_changed=texts[place] != base[place],
            fault=faults.get(place, ""),
        )
        for place, column in enumerate(domain.columns)
    ]
    return sorted(made, key=lambda field: not field.is_protected)


def _choices(column: Column) -> tuple[tuple[str, str], ...]:
    """Every value by its place; an empty one where a cell may be missing."""
    if not column.is_listed:
        return ()
    listed = tuple((str(place), words.text(value, 90)) for place, value in enumerate(column.values))
    return (("", words.MISSING), *listed) if column.missing else listed


def ask(subject: OpenedSubject, domain: TabularDomain, row: Rows, base: Rows) -> AskedTwins:
    """Ask the model about all twins of the row, and of what it was before."""
    if not subject.is_ready or subject.subject is None or subject.oracle is None:
        raise StoreError(subject.fault or "the model is still being opened")
    model, oracle = subject.subject.model, subject.oracle
    with subject.lock:
        now = _answers(row, domain, model, oracle)
        was = now if np.array_equal(row, base, equal_nan=True) else _answers(base, domain, model, oracle)
        twins = _twins(now, was, domain, subject.medium)
    broken = tuple(rule.text for rule in domain.constraints if not rule.holds(row)[0])
    return AskedTwins(
        twins[:MOST_TWINS], max(0, len(twins) - MOST_TWINS), now.is_unfair, now.gap,
        tuple(words.text(each, 300) for each in broken), _changes(domain, base[0], row[0]),
    )  # fmt: skip


@dataclass(frozen=True)
class _Answers:
    """Twins with labels and scores; a twin that is not possible has none."""

    rows: Rows
    possible: np.ndarray[Any, np.dtype[np.bool_]]
    labels: tuple[str, ...]
    scores: tuple[tuple[tuple[str, str, float], ...], ...]
    own: int
    is_unfair: bool
    gap: float


def _answers(row: Rows, domain: TabularDomain, model: Model, oracle: Oracle) -> _Answers:
    made = domain.twins(row)
    rows, possible, meter = made.rows[:, 0], made.valid[:, 0], Meter(model)
    verdict = oracle.judge(row, domain, meter)
    said = meter.scores(rows[possible]) if possible.any() else np.empty((0, len(model.classes)))
    places = np.cumsum(possible) - 1
    labels = [_label(said[places[k]], k, verdict.labels[0], model, oracle) if possible[k] else "" for k in range(len(rows))]
    told = _counts(said, model) if isinstance(model, Detecting) else [_scores(each, model) for each in said]
    scores = [told[places[k]] if possible[k] else () for k in range(len(rows))]
    return _Answers(
        rows, possible, tuple(labels), tuple(scores), int(domain.own_combination(row)[0]), bool(verdict.unfair[0]), float(verdict.gap[0])
    )


def _label(said: Any, twin: int, judged: Any, model: Model, oracle: Oracle) -> str:
    """The oracle's own word for a twin, else the class with the highest score; of one output the amount."""
    if len(model.classes) == 1:
        return f"{float(said[0]):,.6g}"
    names = outcome_names(oracle, model)
    if len(judged) > twin and 0 <= judged[twin] < len(names):
        return words.text(names[judged[twin]])
    return words.text(model.classes[int(labels_of(said[None])[0])])


def _counts(said: Any, model: Model) -> list[tuple[tuple[str, str, float], ...]]:
    """Objects that were counted in any twin, on one scale for all of them."""
    seen = [(place, words.text(name, 60)) for place, name in enumerate(model.classes) if said[:, place].any()]
    most = float(said.max(initial=1.0))
    return [tuple((name, f"{each[place]:g}", float(each[place]) / most) for place, name in seen) for each in said]


def _scores(said: Any, model: Model) -> tuple[tuple[str, str, float], ...]:
    """Shares of classes in words; nothing where only labels are known."""
    named = [(words.text(name, 60), float(score)) for name, score in zip(model.classes, said, strict=True)]
    if model.is_hard or len(named) == 1:
        return ()
    ranked = sorted(named, key=lambda pair: -pair[1])[:MOST_SCORES] if len(named) > MOST_SCORES else named
    return tuple((name, f"{score:.3f}", min(1.0, max(0.0, score))) for name, score in ranked)


def _twins(now: _Answers, was: _Answers, domain: TabularDomain, medium: Medium | None) -> tuple[TwinAnswer, ...]:
    own = now.labels[now.own] if now.own >= 0 else ""
    pictures, texts = _shown(now, medium)
    return tuple(
        TwinAnswer(
            who=_who(domain, now.rows[k]),
            label=now.labels[k],
            before=was.labels[k],
            scores=now.scores[k],
            is_own=k == now.own,
            is_possible=bool(now.possible[k]),
            differs=bool(own) and bool(now.possible[k]) and now.labels[k] != own,
            picture=pictures.get(k, ""),
            text=texts.get(k, ""),
        )
        for k in range(len(now.rows))
    )


def _who(domain: TabularDomain, row: Any) -> str:
    return ", ".join(
        f"{words.text(domain.columns[p].name, 60)} = {words.text(domain.columns[p].value(row[p]), 80)}" for p in domain.protected_places
    )


def _shown(now: _Answers, medium: Medium | None) -> tuple[dict[int, str], dict[int, str]]:
    """What each twin is shown as: pictures as far as they are few, or texts."""
    if medium is None or medium.kind == "table":
        return {}, {}
    chosen = [int(k) for k in np.flatnonzero(now.possible)][:MOST_PICTURES]
    try:
        shown = list(medium.show(now.rows[chosen])) if chosen else []
    except EvenhandError:
        return {}, {}
    pictures = {k: data_uri(as_bytes(np.asarray(one))) for k, one in zip(chosen, shown, strict=True) if getattr(one, "ndim", 0) == 3}
    return pictures, {k: words.text(one, 2000) for k, one in zip(chosen, shown, strict=True) if isinstance(one, str)}


def _changes(domain: TabularDomain, before: Any, after: Any) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        (words.text(column.name, 80), words.text(column.value(old)), words.text(column.value(new)))
        for column, old, new in zip(domain.columns, before, after, strict=True)
        if not (old == new or (math.isnan(old) and math.isnan(new)))
    )
