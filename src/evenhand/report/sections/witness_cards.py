"""Witnesses as cards: what differs between the two people first, what both share after it, and how far they are from a real row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from markupsafe import Markup

from evenhand.report import words
from evenhand.report.charts.canvas import short
from evenhand.report.charts.rows import BarRow, Mark, bars, length
from evenhand.report.frame import Section, filled
from evenhand.report.lead import nouns
from evenhand.report.marked_words import TextPart, marked_words
from evenhand.report.record import Record, WitnessRecord

MOST_SHARED = 14
"""Shared cells that a card shows at once; the others are folded."""

PAIRS_AT_ONCE = 6
MOST_COUNTED = 10_000  # pairs whose cells are counted
MOST_CARDS = 60  # on a page; a table of pairs (.csv) and the Parquet files of a run hold all
"""Pairs that are open at first; the others are folded."""

MOST_COLUMNS = 12
MOST_FOLDERS = 20
MOST_PICTURE_BYTES = 6_000_000  # of all pairs together: a page is to be sent around and opened at once
FOUND_AMONG = {"data": "asking the real rows"}
"""Who found a pair, where it was no method of search."""

ONLY_PROTECTED, BY_EDITOR = "nothing changed but the protected cells", "and what a learned editor made of it"

FATES = {
    "new": "New: only the second treats these two differently",
    "gone": "Gone: only the first treated these two differently",
}
"""What became of a pair from the first to the second of two models, which were both asked about it."""
LISTED_FATES = {"new": "New: only the second result lists this pair", "gone": "Gone: only the first result lists this pair"}
"""The same of two stored results, for which nobody was asked again."""

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
class OutcomeKinds:
    """What the outcomes of pairs are: classes in the order of their colours, or amounts in a unit."""

    classes: Sequence[str]
    unit: str


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
    pictures: dict[str, str]  # data URIs of what was shown: person, twin and, where it was kept, the difference
    texts: dict[str, list[TextPart]]  # what was shown, with the differing words told apart
    has_no_room: bool = False  # its pictures would make the page too large
    fate: str = ""  # in a comparison: whether it is new or gone
    readings: tuple[tuple[str, str, str], ...] = ()  # what is read by the jury, and what it sees in person and twin

    @property
    def weight(self) -> int:
        """How many bytes of a page its pictures are."""
        return sum(len(each) for each in self.pictures.values())


@dataclass(frozen=True)
class Direction:
    """Which protected values go with which outcomes, and in how many pairs."""

    sides: tuple[tuple[str, str], tuple[str, str]]
    count: int


def section(record: Record) -> Section | None:
    """The section of pairs; a verb that looks for none has none."""
    if not record.witnesses and record.verb not in ("scan", "certify"):
        return None
    cards = pairs_of(record, MOST_CARDS)
    one, many = nouns(record)
    html = filled(
        "sections/witnesses.html.j2",
        pairs=cards,
        total=len(record.witnesses),
        counted=min(len(record.witnesses), MOST_COUNTED),
        at_once=PAIRS_AT_ONCE,
        directions=directions(record),
        differences=picture(record) if not any(card.pictures for card in cards) else None,
        left_out=max(0, len(differences(record)) - MOST_COLUMNS),
        nothing=_nothing(record),
        one=one,
        many=many,
        can_replay=record.verb != "certify",
        is_compared=record.verb == "compare",
        were_asked=_were_asked(record),
        is_learned=bool(record.header.medium.learned_twins),
        findings=record.findings,
        parquet=[f"{words.text(folder, 300)}/findings/part-*.parquet" for folder in record.body.folders[:MOST_FOLDERS]],
    )
    return Section("evidence", f"Evidence: pairs of {many}", "Evidence", html)


def _were_asked(record: Record) -> bool:
    """Of a comparison: whether two models were asked about the same rows; otherwise two results were laid beside each other."""
    return "second" in record.header.details


def _nothing(record: Record) -> str:
    """Why there are no pairs to show."""
    body = record.body
    sampled = max((rate.unfair or 0 for rate in body.rates), default=0)
    if record.verb == "certify":
        proof = body.certificate or {}
        none = " There is none in the whole domain." if proof.get("exact") and not proof.get("upper") else ""
        return f"No pair was met.{none}"
    if record.findings:
        return (
            f"The searches have {record.findings:,} findings, but this result keeps no pairs to show. "
            "Scan with at least one witness to see them."
        )
    if sampled:
        opening = "The searches found nothing" if body.runs else "No search was completed"
        return (
            f"{opening}, but {sampled:,} of the people sampled for the rate are treated differently. "
            "This result keeps no pairs of them to show."
        )
    if body.runs:
        return (
            "No pair of people was found that the model treats differently. This shows that the searches below found none, "
            "not that there is none."
        )
    return "There are no pairs, because no search was completed."


def picture(record: Record) -> Markup | None:
    """In how many pairs each column differs between the twins, and from the real row; None without pairs."""
    every, total = differences(record), min(len(record.witnesses), MOST_COUNTED)
    if not every:
        return None
    rows = [_difference_row(name, twins, real, total) for name, twins, real in every[:MOST_COLUMNS]]
    return bars(rows, f"Cells that differ, of {words.plural(total, 'pair', 'pairs')}.", beside=True)


def _difference_row(name: str, twins: int, real: int, total: int) -> BarRow:
    marks = [Mark("candidates", 20, 100.0, 14), Mark("twins", 20, length(twins, total), 7), Mark("real", 27, length(real, total), 7)]
    shown = tuple(mark for mark in marks if mark.width)
    return BarRow(short(words.text(name, 400), 26), f"twins {twins:,} · real row {real:,}", shown)


def pairs_of(record: Record, most: int | None = None) -> list[PairCard]:
    """All witnesses, or the first ones, as cards in the result's order; pictures of the first ones, as many as a page may hold."""
    kinds = OutcomeKinds(_toned(record), words.unit(record.header.oracle or ""))
    cards = [_pair(place, witness, record.protected, kinds) for place, witness in enumerate(record.witnesses[:most], 1)]
    if not _were_asked(record):
        cards = [replace(card, fate=LISTED_FATES[card.fate[: card.fate.index(":")].lower()]) if card.fate else card for card in cards]
    if record.header.medium.learned_twins:
        cards = [replace(card, origin=card.origin.replace(ONLY_PROTECTED, BY_EDITOR)) for card in cards]
    weights = accumulate(card.weight for card in cards)
    return [
        card if weight <= MOST_PICTURE_BYTES or not card.pictures else replace(card, pictures={}, has_no_room=True)
        for card, weight in zip(cards, weights, strict=True)
    ]


def _pair(place: int, witness: WitnessRecord, protected: Sequence[str], kinds: OutcomeKinds) -> PairCard:
    cells = [_cell(name, witness, witness.protected or protected) for name in witness.columns]
    differing = [c for c in cells if c.role == "protected"] + [c for c in cells if c.role == "implied"]
    # The number of a picture that is shown says nothing.
    shared = [c for c in cells if c.role in ("held", "shared") and not (c.column == "picture" and witness.pictures)]
    if len(shared) > MOST_SHARED:  # too many to show them all: the telling ones come first
        shared.sort(key=lambda c: (c.role != "held", c.real is None))
    outcome, twin_outcome = _answers(witness, kinds.unit)
    fate, _, method = (witness.method or "").rpartition(": ")
    fate, method = (fate, method) if fate in FATES else ("", witness.method or "")
    return PairCard(
        number=place,
        id=words.text(witness.id, 40),
        headline="; ".join(f"{c.column}: {c.person} → {c.twin}" for c in differing if c.role == "protected") or "the same protected cells",
        outcome=outcome,
        twin_outcome=twin_outcome,
        tones=(_tone(outcome, kinds.classes), _tone(twin_outcome, kinds.classes)),
        is_flip=witness.outcome != witness.twin_outcome,
        gap=witness.gap,
        method=FOUND_AMONG.get(method, words.text(method, 60)) if method else "",
        fate=FATES.get(fate, ""),
        origin=_origin(witness, any(c.role == "implied" for c in cells)),
        departures=tuple(c for c in cells if c.real is not None),
        differing=tuple(differing),
        shown=tuple(shared[:MOST_SHARED]),
        folded=tuple(shared[MOST_SHARED:]),
        pictures={name: each for name, each in witness.pictures.items() if each.startswith("data:image/png;base64,")},
        texts=_texts(witness),
        readings=tuple(
            (words.text(name, 60), words.text(each[0], 60), words.text(each[1], 60))
            for name, each in witness.readings.items()
            if len(each) == 2
        ),
    )


def _texts(witness: WitnessRecord) -> dict[str, list[TextPart]]:
    shown = {name: words.text(each, 2000) for name, each in witness.texts.items()}
    if "person" not in shown or "twin" not in shown:
        return {name: [TextPart(each, differs=False)] for name, each in shown.items()}
    person, twin = marked_words(shown["person"], shown["twin"])
    return {"person": person, "twin": twin}


def _cell(name: str, witness: WitnessRecord, protected: Sequence[str]) -> CardCell:
    first, second = witness.person.get(name), witness.twin.get(name)
    is_different = first != second
    role = ("protected" if is_different else "held") if name in protected else ("implied" if is_different else "shared")
    person, twin = words.different(first, second) if is_different else (words.rounded(first), words.rounded(first))
    change = witness.changed.get(name)
    return CardCell(words.text(name, 80), person, twin, role, words.text(change.get("real")) if change is not None else None)


def _origin(witness: WitnessRecord, is_implied: bool) -> str:
    if witness.real_row is None:
        return "Not compared with a real row"
    file = f", file {words.text(witness.source, 120)}" if witness.source else ""
    row = f"a real row (row {witness.real_row:,} of the data{file})"
    if not witness.changed:
        also = " and what they imply" if is_implied else ""
        return f"{row[0].upper()}{row[1:]}, {ONLY_PROTECTED}{also}"
    return f"{row[0].upper()}{row[1:]} with {words.plural(len(witness.changed), 'cell', 'cells')} changed"


def _tone(outcome: str, classes: Sequence[str]) -> int:
    return min(classes.index(outcome), TONES - 1) if outcome in classes else TONES - 1


def _toned(record: Record) -> list[str]:
    """The classes in the order of the tones: what nobody hopes for is warm and comes first, what people hope for is cool."""
    domain = record.header.domain
    classes, hoped = [words.text(name) for name in domain.classes], {words.text(name) for name in domain.favourable}
    others = [name for name in classes if name not in hoped]
    return [*others[:1], *(name for name in classes if name in hoped), *others[1:]]


def directions(record: Record) -> list[Direction]:
    """Which protected values got which outcome in the pairs, the most frequent first; pairs whose outcomes agree are left out."""
    sides = Counter(
        tuple(sorted(zip((_protected(w, w.person, record), _protected(w, w.twin, record)), _gets(w), strict=True)))
        for w in record.witnesses[:MOST_COUNTED]
        if w.outcome != w.twin_outcome
    )
    return [Direction((side[0], side[1]), count) for side, count in sides.most_common()]


def _answers(witness: WitnessRecord, unit: str) -> tuple[str, str]:
    """Both outcomes in words; amounts are rounded and in their unit."""
    first, second = witness.outcome, witness.twin_outcome
    if not (isinstance(first, float) and isinstance(second, float)):
        return words.text(first), words.text(second)
    said = words.rounded(first), words.rounded(second)
    said = words.different(first, second) if said[0] == said[1] and first != second else said
    return f"{said[0]} {unit}".strip(), f"{said[1]} {unit}".strip()


def _gets(witness: WitnessRecord) -> tuple[str, str]:
    """What both get, as it is counted over pairs; of amounts, of which hardly any occurs twice, which one is more."""
    first, second = witness.outcome, witness.twin_outcome
    if isinstance(first, float) and isinstance(second, float):
        return ("more", "less") if first > second else ("less", "more")
    return words.text(first), words.text(second)


def _protected(witness: WitnessRecord, who: dict[str, object], record: Record) -> str:
    listed = witness.protected or record.protected
    names = [name for name in witness.differing if name in listed] or witness.differing
    return ", ".join(f"{words.text(name, 40)} = {words.text(who.get(name), 60)}" for name in names)


def differences(record: Record) -> list[tuple[str, int, int]]:
    """For each column that is not alike everywhere: in how many pairs the twins differ, and in how many the real row does."""
    twins = Counter(name for w in record.witnesses[:MOST_COUNTED] for name in w.differing)
    real = Counter(name for w in record.witnesses[:MOST_COUNTED] for name in w.changed)
    names = sorted({*twins, *real}, key=lambda name: (-twins[name], -real[name], name))
    return [(name, twins[name], real[name]) for name in names]
