"""A finding shrunk to what matters: a real row, the fewest changed cells, and the flip; kept with an id, replayed by anyone.

How it is shrunk is the business of `shrunk_findings`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.arrays import Index, Reals, Rows
from evenhand.contract import Model, Oracle, PairOracle, Verdict, outcome_names
from evenhand.disk import private_folder, read_sealed, sealed, write_whole
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.exhibits import check_pictures, exhibit, picture_sums, read_pictures, restore_pair, write_pictures
from evenhand.engine.findings import Findings
from evenhand.engine.shrunk_findings import Hearing, differing, shrink
from evenhand.errors import InvalidArgument, StoreError, UnknownName
from evenhand.models.meter import Meter
from evenhand.oracles import oracle_of, oracle_text
from evenhand.oracles.flip import LabelFlip

FEW_CELLS = 2
"""So many cells beside the protected ones are told in a witness's sentence: a scene and what is changed in it."""

VERSION = 2
KINDS = {"id": str, "protected": list, "person": dict, "twin": dict, "changed": dict, "method": str}
KINDS |= dict.fromkeys(("pictures", "texts", "readings"), dict)
"""What a witness's file holds, where anything else would be met only later."""

MOST_LOOKED_AT = 8_000
"""Of more findings than twice this, so many with the widest gaps and so many spread over all are looked at for witnesses: to unpack
millions would take seconds after the search has ended."""


@dataclass(frozen=True)
class Witness:
    """Two people whom the oracle compared, usually alike but for what is protected and what that implies, and the two outcomes."""

    id: str
    protected: tuple[str, ...]
    person: dict[str, Any]
    twin: dict[str, Any]
    outcome: Any
    twin_outcome: Any
    gap: float
    changed: dict[str, dict[str, Any]]  # column -> {"real": ..., "witness": ...}: how the person differs from a real row
    real_row: int | None  # the position of that row in the data; None without data
    method: str = ""
    model: str = ""
    oracle: str = "flip"  # the line that makes the oracle again, which judges a replay
    answers: tuple[float, float] | None = None  # the scores or amounts that were compared; None where labels were
    pictures: dict[str, str] = field(default_factory=dict)  # of person and twin, where a row shows one: data URIs, in a file names
    texts: dict[str, str] = field(default_factory=dict)  # of person and twin, where a row shows one
    readings: dict[str, list[str]] = field(default_factory=dict)  # what the user's jury sees in person and twin, by what it reads
    source: str = ""  # the file of the picture that both come from

    @property
    def sentence(self) -> str:
        """For a reader."""
        differing = [name for name in self.person if self.person[name] != self.twin[name]]
        same = [str(self.person[name]) for name in self.person if name not in (*differing, *self.protected)]
        same = [self.source] if self.source else same
        about = f"{', '.join(same)}; " if len(same) <= FEW_CELLS and same else ""  # a scene and its change; a row of a table is too long
        change = ", ".join(f"{name} {self.person[name]!r} to {self.twin[name]!r}" for name in differing)
        return f"{about}{change}: {_change_said((self.outcome, self.twin_outcome), self.answers)}"


def _change_said(outcomes: tuple[Any, Any], answers: tuple[float, float] | None) -> str:
    """Labels that change, amounts that change, or scores that change whatever the labels do."""
    first, second = outcomes
    if isinstance(first, float) and answers is not None:
        return f"{first:,.6g} becomes {second:,.6g}"
    labels = f"{first!r} becomes {second!r}" if first != second else f"{first!r} stays"
    return labels if answers is None else f"score {answers[0]:.3g} becomes {answers[1]:.3g} ({labels})"


@dataclass(frozen=True)
class Replay:
    """What the model says of a witness now, and what its oracle says of that."""

    witness: Witness
    outcome: Any
    twin_outcome: Any
    is_unfair: bool
    gap: float


def select(findings: Findings, domain: TabularDomain, most: int) -> Index:
    """Up to `most` findings for people to look at: possible people first, each kind of change in turn, widest gap first."""
    if not len(findings):
        return np.empty(0, dtype=np.intp)
    pool = _looked_at(findings)
    if len(pool) == len(findings):
        return _in_turn(findings, domain)[:most]
    return pool[_in_turn(findings[pool], domain)[:most]]


def _looked_at(findings: Findings) -> Index:
    """All of them, or of very many the possible people with the widest gaps and others spread evenly, in their order."""
    count = len(findings)
    if count <= 2 * MOST_LOOKED_AT:
        return np.arange(count)
    rank = np.where(findings.valid, findings.gap, -np.inf)
    widest = np.argpartition(rank, count - MOST_LOOKED_AT)[count - MOST_LOOKED_AT :]
    return np.union1d(widest, np.linspace(0, count - 1, MOST_LOOKED_AT).astype(np.intp))


def _in_turn(findings: Findings, domain: TabularDomain) -> Index:
    """Their positions, the best of every kind of change first, then the second of each."""
    protected = domain.protected_places
    first, second = (domain.combination_of(cells) for cells in (findings.pairs.rows_at(protected), findings.pairs.twins_at(protected)))
    change = first * len(domain.combinations) + second
    order = np.lexsort((-findings.gap, ~findings.valid, change))
    starts = np.flatnonzero(np.diff(change[order], prepend=np.iinfo(np.intp).min))
    turn = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return order[np.lexsort((-findings.gap[order], turn, ~findings.valid[order]))]


def witnesses_of(findings: Findings, real: Rows | None, hearing: Hearing) -> list[Witness]:
    """Shrink findings and write them down, with what the medium shows; findings that shrink to the same pair become one witness.

    A finding's phase is kept as the witness's origin; pass findings whose phase names the method.
    """
    domain, model, oracle, medium = hearing.domain, hearing.model, hearing.oracle, hearing.medium
    shrunk, real_rows, cells = shrink(findings, real, hearing)
    names, fingerprint = outcome_names(oracle, model), model.fingerprint()
    kept: dict[str, Witness] = {}
    rows, twins = shrunk.rows, shrunk.twins
    people, partners, real_people = (_cells(each, domain) for each in (rows, twins, cells))
    differs, every = differing(rows, cells, domain), np.array(domain.names)
    gaps = _pair_gaps(shrunk, hearing)
    for place, (person, twin, real_cells) in enumerate(zip(people, partners, real_people, strict=True)):
        changed = {}
        if real_rows[place] >= 0:
            changed = {name: {"real": real_cells[name], "witness": person[name]} for name in every[differs[place]]}
        first, second = shrunk.said(place, names)
        answers = (float(shrunk.answers[place, 0]), float(shrunk.answers[place, 1]))
        witness = Witness(
            id=witness_id(domain.protected, person, twin),
            protected=domain.protected,
            person=person,
            twin=twin,
            outcome=first,
            twin_outcome=second,
            gap=float(gaps[place]),
            changed=changed,
            real_row=int(real_rows[place]) if real_rows[place] >= 0 else None,
            method=str(findings.phase[place]),
            model=fingerprint,
            oracle=oracle_text(oracle),
            answers=answers if np.isfinite(answers).all() else None,
            **asdict(exhibit(np.stack([rows[place], twins[place]]), medium)),
        )
        kept.setdefault(witness.id, witness)
    return list(kept.values())


def _pair_gaps(findings: Findings, hearing: Hearing) -> Reals:
    """How far apart the answers to the two of every pair are; a finding's own gap is that of the furthest two of all its twins."""
    has_one_twin = len(hearing.domain.combinations) == 2 and hearing.oracle.rows_per_candidate(hearing.domain) == 2
    if has_one_twin or not len(findings) or not isinstance(hearing.oracle, PairOracle):
        return findings.gap
    return hearing.oracle.judge_pairs(findings.rows, findings.twins, hearing.domain, hearing.model).gap


def witness_id(protected: tuple[str, ...], person: dict[str, Any], twin: dict[str, Any]) -> str:
    """Ten hexadecimal digits that are equal for equal pairs."""
    text = json.dumps([protected, person, twin], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def replay(witness: Witness, domain: TabularDomain, model: Model) -> Replay:
    """Ask the model again about both people; pictures that a method made are taken from the witness where they are no longer known."""
    rows = np.array([[column.code(who.get(column.name)) for column in domain.columns] for who in (witness.person, witness.twin)])
    if not domain.inside(rows).all():
        raise StoreError(f"witness {witness.id} does not fit the domain: a cell is outside its column's range; has the domain changed?")
    restore_pair(rows, witness.pictures, getattr(model, "medium", None))
    oracle, meter = _oracle_of(witness), Meter(model)
    verdict, labels = _judged_again(oracle, rows, domain, meter)
    if len(model.classes) == 1 and verdict.pairs is not None:
        said = [float(amount) for amount in meter.scores(rows)[:, 0]]
    else:
        said = [_plain(outcome_names(oracle, model)[label]) for label in labels]
    return Replay(witness, said[0], said[1], bool(verdict.unfair[0]), float(verdict.gap[0]))


def _oracle_of(witness: Witness) -> Oracle:
    """The oracle that found it; where it is not known here, labels decide."""
    try:
        return oracle_of(witness.oracle)
    except UnknownName:
        return LabelFlip()


def _judged_again(oracle: Oracle, rows: Rows, domain: TabularDomain, model: Model) -> tuple[Verdict, Sequence[int]]:
    """The verdict on the two people and their labels; an oracle that judges no given pairs judges the first one's twins again."""
    if isinstance(oracle, PairOracle):
        verdict = oracle.judge_pairs(rows[:1], rows[1:], domain, model)
        return verdict, [int(label) for label in verdict.labels[0]]
    verdict = oracle.judge(rows[:1], domain, model)
    return verdict, [int(verdict.labels[0, own]) for own in domain.own_combination(rows)]


def save(witness: Witness, folder: Path) -> Path:
    """Write the witness as JSON, its pictures beside it; an equal one that is there already is left as it is."""
    path = folder / f"{witness.id}.json"
    try:
        private_folder(folder)
        if not path.exists():
            told = {"witness": VERSION, **asdict(witness), "pictures": write_pictures(witness.pictures, witness.id, folder)}
            told |= {"picture_sums": picture_sums(witness.pictures)} if witness.pictures else {}
            write_whole(path, sealed(told), private=True)
    except OSError as fault:
        raise StoreError(f"cannot write witness {path}: {fault.strerror or fault}") from fault
    return path


def load(path: Path) -> Witness:
    """Read one witness; a file that is not one is named with what is wrong."""
    content = read_sealed(path, required=False)
    version = content.get("witness") if isinstance(content, dict) else None
    if isinstance(version, bool) or version not in (1, VERSION):
        raise StoreError(f'{path} is not a witness file (expected a JSON object with "witness": {VERSION})')
    content = content if version == 1 else read_sealed(path)  # those of version 1 have no checksum
    del content["witness"]
    sums = content.pop("picture_sums", {})
    known = set(Witness.__dataclass_fields__)
    later = {"oracle", "answers", "pictures", "texts", "readings"}  # which files of earlier versions lack
    if set(content) | later != known:
        raise StoreError(f"{path}: fields {sorted((set(content) | later) ^ known)} are missing or unknown")
    wrong = [name for name, kind in KINDS.items() if not isinstance(content.get(name, kind()), kind)]
    answers = content.get("answers")
    if wrong or not (answers is None or (isinstance(answers, list) and len(answers) == 2)):
        raise StoreError(f"{path}: field {(wrong or ['answers'])[0]!r} is not what a witness holds there")
    told = {**content, "protected": tuple(content["protected"]), "answers": tuple(answers) if answers else None}
    pictures = read_pictures(content.get("pictures", {}), path.parent)
    check_pictures(pictures, sums if isinstance(sums, dict) else {}, path)
    return Witness(**{**told, "pictures": pictures})


def find(identity: str, folders: list[Path]) -> list[Path]:
    """The witness files that a person means: a file, a folder, or an id to look for below the given folders."""
    path = Path(identity)
    if path.is_file():
        return [path]
    if path.is_dir():
        found = sorted(p for p in path.rglob("*.json") if re.fullmatch(r"[0-9a-f]{10}", p.stem))
        if not found:
            raise StoreError(f"no witnesses in {path}; `evenhand scan` writes them to the run folder's witnesses/")
        return found
    if not re.fullmatch(r"[0-9a-f]{4,10}", identity):
        raise InvalidArgument(f"{identity!r} is neither a file, nor a folder, nor a witness id (4 to 10 hexadecimal digits)")
    hits = {
        p.name: p
        for folder in folders
        if folder.is_dir()
        for p in sorted(folder.rglob(f"{identity}*.json"))
        if p.parent.name == "witnesses"
    }
    if not hits:
        raise StoreError(f"no witness {identity!r} below {', '.join(str(f) for f in folders)}")
    return list(hits.values())


def _cells(rows: Rows, domain: TabularDomain) -> list[dict[str, Any]]:
    """Each row's cells by name; column by column, for a table may have a thousand of them."""
    told = [[_plain(cell) for cell in column.cells(rows[:, place])] for place, column in enumerate(domain.columns)]
    return [dict(zip(domain.names, cells, strict=True)) for cells in zip(*told, strict=True)]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
