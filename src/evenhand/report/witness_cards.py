"""Witnesses as cards: what differs between the two people first, what both share after it, and how far they are from a real row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.report import words
from evenhand.report.record import Record, WitnessRecord

MOST_SHARED = 14
"""Shared cells that a card shows at once; the others are folded."""

TONES = 4
"""Outcomes beyond this many share the last colour."""


@dataclass(frozen=True)
class CardCell:
    """One column of a pair."""

    column: str
    person: str
    twin: str
    role: str  # "protected" and "implied" differ between the two, "held" is protected but alike, "shared" is alike
    real: str | None  # the real row's value where the pair departs from it


@dataclass(frozen=True)
class PairCard:
    """One card."""

    number: int
    id: str
    headline: str
    outcome: str
    twin_outcome: str
    tones: tuple[int, int]
    is_flip: bool
    gap: float | None
    method: str
    origin: str
    departures: tuple[CardCell, ...]
    differing: tuple[CardCell, ...]
    shown: tuple[CardCell, ...]
    folded: tuple[CardCell, ...]


@dataclass(frozen=True)
class Direction:
    """Which protected values go with which outcomes, and in how many pairs."""

    sides: tuple[tuple[str, str], tuple[str, str]]
    count: int


def pairs_of(record: Record) -> list[PairCard]:
    """All witnesses as cards, in the result's order."""
    classes = [words.text(name) for name in record.header.domain.classes]
    return [_pair(place, witness, record.protected, classes) for place, witness in enumerate(record.witnesses, 1)]


def _pair(place: int, witness: WitnessRecord, protected: Sequence[str], classes: Sequence[str]) -> PairCard:
    cells = [_cell(name, witness, witness.protected or protected) for name in witness.columns]
    differing = [c for c in cells if c.role == "protected"] + [c for c in cells if c.role == "implied"]
    shared = [c for c in cells if c.role in ("held", "shared")]
    if len(shared) > MOST_SHARED:  # too many to show them all: the telling ones come first
        shared.sort(key=lambda c: (c.role != "held", c.real is None))
    outcome, twin_outcome = words.text(witness.outcome), words.text(witness.twin_outcome)
    return PairCard(
        number=place,
        id=words.text(witness.id, 40),
        headline="; ".join(f"{c.column}: {c.person} → {c.twin}" for c in differing if c.role == "protected") or "the same protected cells",
        outcome=outcome,
        twin_outcome=twin_outcome,
        tones=(_tone(outcome, classes), _tone(twin_outcome, classes)),
        is_flip=witness.outcome != witness.twin_outcome,
        gap=witness.gap,
        method=words.text(witness.method, 60) if witness.method else "",
        origin=_origin(witness),
        departures=tuple(c for c in cells if c.real is not None),
        differing=tuple(differing),
        shown=tuple(shared[:MOST_SHARED]),
        folded=tuple(shared[MOST_SHARED:]),
    )


def _cell(name: str, witness: WitnessRecord, protected: Sequence[str]) -> CardCell:
    first, second = witness.person.get(name), witness.twin.get(name)
    is_different = first != second
    role = ("protected" if is_different else "held") if name in protected else ("implied" if is_different else "shared")
    person, twin = words.different(first, second) if is_different else (words.text(first), words.text(first))
    change = witness.changed.get(name)
    return CardCell(words.text(name, 80), person, twin, role, words.text(change.get("real")) if change is not None else None)


def _origin(witness: WitnessRecord) -> str:
    if witness.real_row is None:
        return "Not compared with a real row"
    row = f"a real row (row {witness.real_row:,} of the data)"
    if not witness.changed:
        return f"{row[0].upper()}{row[1:]}, nothing changed but the protected cells"
    return f"{row[0].upper()}{row[1:]} with {words.plural(len(witness.changed), 'cell', 'cells')} changed"


def _tone(outcome: str, classes: Sequence[str]) -> int:
    return min(classes.index(outcome), TONES - 1) if outcome in classes else TONES - 1


def directions(record: Record) -> list[Direction]:
    """Which protected values got which outcome in the pairs, the most frequent first; pairs whose outcomes agree are left out."""
    sides = Counter(
        tuple(
            sorted([(_protected(w, w.person, record), words.text(w.outcome)), (_protected(w, w.twin, record), words.text(w.twin_outcome))])
        )
        for w in record.witnesses
        if w.outcome != w.twin_outcome
    )
    return [Direction((side[0], side[1]), count) for side, count in sides.most_common()]


def _protected(witness: WitnessRecord, who: dict[str, object], record: Record) -> str:
    listed = witness.protected or record.protected
    names = [name for name in witness.differing if name in listed] or witness.differing
    return ", ".join(f"{words.text(name, 40)} = {words.text(who.get(name), 60)}" for name in names)


def differences(record: Record) -> list[tuple[str, int, int]]:
    """For each column that is not alike everywhere: in how many pairs the twins differ, and in how many the real row does."""
    twins = Counter(name for w in record.witnesses for name in w.differing)
    real = Counter(name for w in record.witnesses for name in w.changed)
    names = sorted({*twins, *real}, key=lambda name: (-twins[name], -real[name], name))
    return [(name, twins[name], real[name]) for name in names]
