"""A finding shrunk to what matters: a real row, the fewest changed cells, and the flip; kept with an id, replayed by anyone."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.arrays import Index, Mask, Rows
from evenhand.contract import Medium, Model, Oracle, PairOracle, Restoring, Verdict, outcome_names
from evenhand.deadline import NEVER, Deadline, TimeOver, stopping, unstopped
from evenhand.disk import private_folder, read_sealed, sealed, write_whole
from evenhand.domain.tabular import TabularDomain
from evenhand.engine.exhibits import check_pictures, exhibit, picture_sums, read_pictures, restore_pair, write_pictures
from evenhand.engine.findings import Findings, findings_of
from evenhand.engine.kept_pairs import CELLS_AT_ONCE
from evenhand.errors import InvalidArgument, StoreError, UnknownName
from evenhand.models.meter import Meter
from evenhand.oracles import oracle_of, oracle_text
from evenhand.oracles.flip import LabelFlip

MOST_CHOICES = 10_000
"""Choices of cells of one finding that are tried one by one; a table of some hundred columns has more."""
EXHAUSTIVE = 2
"""Up to this many changed cells every choice is tried; beyond it cells are put back one by one, greedily."""

MANY_CELLS = 64
"""Where a finding differs in more cells than this, they are put back in blocks first."""

FEW_CELLS = 2
"""So many cells beside the protected ones are told in a witness's sentence: a scene and what is changed in it."""

VERSION = 2
KINDS = {"id": str, "protected": list, "person": dict, "twin": dict, "changed": dict, "method": str}
KINDS |= dict.fromkeys(("pictures", "texts", "readings"), dict)
"""What a witness's file holds, where anything else would be met only later."""

NEAREST = 3
"""How many of the nearest real rows are tried for each finding."""

MOST_COMPARED = 40_000
"""Real rows that each finding is compared with at most."""

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

    @property
    def sentence(self) -> str:
        """For a reader."""
        differing = [name for name in self.person if self.person[name] != self.twin[name]]
        same = [str(self.person[name]) for name in self.person if name not in (*differing, *self.protected)]
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
class Hearing:
    """Before whom findings are heard again while they are shrunk."""

    domain: TabularDomain
    model: Model
    oracle: Oracle
    medium: Medium | None = None
    deadline: Deadline = NEVER  # what is not shrunk by then stays as it was found


@dataclass(frozen=True)
class Replay:
    """What the model says of a witness now, and what its oracle says of that."""

    witness: Witness
    outcome: Any
    twin_outcome: Any
    is_unfair: bool
    gap: float


def shrink(findings: Findings, real: Rows | None, hearing: Hearing) -> tuple[Findings, Index, Rows]:
    """Findings moved as close to real rows as still flips; with the real row of each (-1 without data) and that row's cells."""
    if real is None or not len(real) or not len(findings):
        return findings, np.full(len(findings), -1, dtype=np.intp), findings.rows
    if isinstance(hearing.medium, Restoring):
        return _shrink_to_parents(findings, real, hearing, hearing.medium)
    shrunk = _Shrunk(findings, hearing.domain)
    shrunk.recognise(real)
    try:
        with stopping(hearing.deadline):
            for neighbour in nearest(findings.rows, real, hearing.domain).T:
                moved = _shrink_towards(findings, real[neighbour], hearing)
                with unstopped():
                    shrunk.take(moved, neighbour, _differing(moved.rows, real[neighbour], hearing.domain).sum(axis=1))
    except TimeOver:
        pass  # what is shrunk so far is as true as what would have been shrunk further
    at = shrunk.real
    return shrunk.best, at, np.where((at >= 0)[:, None], real[at], findings.rows)


class _Shrunk:
    """The fewest changed cells so far of each finding, and the real row that they lead to; -1 before any was tried."""

    def __init__(self, findings: Findings, domain: TabularDomain) -> None:
        self._domain = domain
        self.best, self.real = findings, np.full(len(findings), -1, dtype=np.intp)
        self._fewest = np.full(len(findings), len(domain.columns) + 1)

    def recognise(self, real: Rows) -> None:
        """Findings that are real rows as they stand need no time: nothing of them can be put back."""
        for line, row in enumerate(self.best.rows):
            same = _same(row, real)[:1]
            if len(same):
                self.real[line], self._fewest[line] = same[0], 0

    def take(self, moved: Findings, neighbour: Index, changed: Index) -> None:
        """Keep what has fewer changed cells than before."""
        better = changed < self._fewest
        self.best = self.best.replaced(np.flatnonzero(better), moved[better], self._domain)
        self._fewest, self.real = np.where(better, changed, self._fewest), np.where(better, neighbour, self.real)


def _shrink_to_parents(findings: Findings, real: Rows, hearing: Hearing, medium: Restoring) -> tuple[Findings, Index, Rows]:
    """Numbers of pictures have no neighbours: a picture goes back to its own row or its parent's, where that one flips too."""
    keys, homes = hearing.domain.keys(real), hearing.domain.keys(medium.parents(findings.rows))
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys, homes, sorter=order).clip(0, len(keys) - 1)
    found = np.where(keys[order[at]] == homes, order[at], -1)
    cells = np.where((found >= 0)[:, None], real[found], findings.rows)
    return _shrink_towards(findings, cells, hearing), found, cells


def nearest(rows: Rows, real: Rows, domain: TabularDomain) -> Index:
    """For each row the positions of the real rows that share the most cells with it, nearest first, (n, NEAREST).

    Of a long table, rows spread evenly over it are compared, and the row itself where it is in the data.
    """
    if len(real) > MOST_COMPARED:
        spread = np.linspace(0, len(real) - 1, MOST_COMPARED).astype(np.intp)
        own = [place for row in rows for place in _same(row, real)[:1]]
        among = np.unique(np.concatenate([spread, np.array(own, dtype=np.intp)]))
        return among[_nearest(rows, real[among], domain)]
    return _nearest(rows, real, domain)


def _nearest(rows: Rows, real: Rows, domain: TabularDomain) -> Index:
    free = list(domain.free_places)
    count = min(NEAREST, len(real))
    span = np.where(domain.high > domain.low, domain.high - domain.low, 1.0)[free]
    places = np.empty((len(rows), count), dtype=np.intp)
    cells, has_gaps = np.ascontiguousarray(real[:, free]), bool(np.isnan(real).any() or np.isnan(rows).any())
    for line, row in enumerate(rows[:, free]):  # one pass over the data for each of a few dozen witnesses
        apart = cells - row
        differs = apart != 0
        if has_gaps:
            differs &= ~(np.isnan(cells) & np.isnan(row))
        # Fewest differing cells first, the size of the differences breaking ties.
        np.abs(apart, out=apart)
        apart /= span
        size = (np.nan_to_num(apart, nan=1.0, copy=False) if has_gaps else apart).sum(axis=1)
        distance = differs.sum(axis=1) + size / (len(free) + 1)
        near = np.argpartition(distance, count - 1)[:count]
        places[line] = near[np.argsort(distance[near], kind="stable")]
    return places


def _same(row: Rows, real: Rows) -> Index:
    """Where real rows equal a row, looked for column by column among those that are left."""
    left: Index = np.arange(len(real))
    for at, cell in enumerate(row):
        cells = real[left, at]
        left = left[np.isnan(cells) if np.isnan(cell) else cells == cell]
        if len(left) <= 1:
            break
    equal: Mask = np.array([np.array_equal(real[place], row, equal_nan=True) for place in left], dtype=bool)
    return np.asarray(left[equal], dtype=np.intp)


def _shrink_towards(findings: Findings, target: Rows, hearing: Hearing) -> Findings:
    """First every choice of at most EXHAUSTIVE cells; where none flips, cells are put back while the flip survives."""
    differs = _differing(findings.rows, target, hearing.domain)
    best, solved = findings, np.zeros(len(findings), dtype=bool)
    for size in range(EXHAUSTIVE + 1):
        best, solved = _try_choices(best, findings.rows, target, _Choices(differs, solved, size), hearing)
    left = _put_back(findings, target, differs & ~solved[:, None], hearing)
    return left.replaced(np.flatnonzero(solved), best[solved], hearing.domain)


@dataclass(frozen=True)
class _Choices:
    """Which cells differ, for which findings that is settled already, and how many cells are kept at once."""

    differs: Mask
    solved: Mask
    size: int


def _try_choices(best: Findings, rows: Rows, target: Rows, choices: _Choices, hearing: Hearing) -> tuple[Findings, Mask]:
    """Every choice in turn, of as many findings at once as are no burden; the first that is still unfair is taken."""
    solved = choices.solved.copy()
    for trials, owners in _chosen_trials(rows, target, choices):
        judged, hit_owner = _judge(trials, owners, hearing)
        first_hit, at = np.unique(hit_owner, return_index=True)
        solved[first_hit] = True
        best = best.replaced(first_hit, judged[at], hearing.domain)
    return best, solved


def _chosen_trials(rows: Rows, target: Rows, choices: _Choices) -> Iterator[tuple[Rows, Index]]:
    """The trials of some findings and whose they are; of one finding all at once."""
    trials: list[Rows] = []
    owners: list[Any] = []
    for line in np.flatnonzero(~choices.solved):
        differs = choices.differs[line]
        if comb(int(differs.sum()), choices.size) > MOST_CHOICES:
            continue  # too many to try each: its cells are put back one after the other
        for choice in combinations(np.flatnonzero(differs), choices.size):
            trial = _mixed(target[line], rows[line], differs)
            trial[list(choice)] = rows[line, list(choice)]
            trials.append(trial)
            owners.append(line)
        if len(trials) * rows.shape[1] >= CELLS_AT_ONCE:
            yield np.array(trials), np.array(owners)
            trials, owners = [], []
    if trials:
        yield np.array(trials), np.array(owners)


def _mixed(target: Rows, row: Rows, differs: Mask) -> Rows:
    """The real row's cells wherever the two differ, the finding's own elsewhere (protected cells are its own)."""
    return np.where(differs, target, row)


def _put_back(findings: Findings, target: Rows, differs: Mask, hearing: Hearing) -> Findings:
    """Cells are put back while the flip survives: where they are many, first in large blocks, then in smaller ones, then one by one."""
    best, differs = findings, differs.copy()
    size = 1 << max(0, int(differs.sum(axis=1).max(initial=0)).bit_length() - 2)
    while size > 1 and differs.sum(axis=1).max(initial=0) > MANY_CELLS and not hearing.deadline.is_over:
        best = _put_back_blocks(best, target, differs, size, hearing)
        size //= 2
    while differs.any() and not hearing.deadline.is_over:
        owners, cells = np.nonzero(differs)
        one = np.zeros((len(owners), differs.shape[1]), dtype=bool)
        one[np.arange(len(owners)), cells] = True
        judged, hits = _judge_each(best.rows, target, _CellsBack(owners, one), hearing)
        differs[:] = False if not len(hits) else differs
        if not len(hits):
            break
        # One cell per finding and round: of the survivors, the one that keeps the largest gap.
        order = np.lexsort((-judged.gap, owners[hits]))
        winner_of, at = np.unique(owners[hits][order], return_index=True)
        picked = order[at]
        best = best.replaced(winner_of, judged[picked], hearing.domain)
        alive = np.zeros_like(differs)
        alive[owners[hits], cells[hits]] = True
        differs &= alive
        differs[winner_of, cells[hits[picked]]] = False
    return best


def _put_back_blocks(best: Findings, target: Rows, differs: Mask, size: int, hearing: Hearing) -> Findings:
    """Of each finding, as many blocks of so many cells as survive together; `differs` loses what was put back.

    Every block is tried by itself.  Then those that survived are tried together: all, half of them with the widest gaps, a quarter.
    """
    blocks, rows = _blocks_of(differs, size), best.rows
    judged, hits = _judge_each(rows, target, blocks, hearing)
    order = hits[np.lexsort((-judged.gap, blocks.owners[hits]))]
    starts = np.flatnonzero(np.diff(blocks.owners[order], prepend=-1))
    counts = np.diff(np.append(starts, len(order)))
    turn = np.arange(len(order)) - np.repeat(starts, counts)
    most = np.repeat(counts, counts)
    while len(order):
        together = blocks.joined(order[turn < most])
        judged, hits = _judge_each(rows, target, together, hearing)
        differs[together.owners[hits]] &= ~together.cells[hits]
        best = best.replaced(together.owners[hits], judged, hearing.domain)
        left = ~np.isin(blocks.owners[order], together.owners[hits]) & (most > 1)
        order, turn, most = order[left], turn[left], most[left] // 2
    return best


def _blocks_of(differs: Mask, size: int) -> _CellsBack:
    """The differing cells of every finding in blocks of so many."""
    owners, cells = [], []
    for line in np.flatnonzero(differs.any(axis=1)):
        places = np.flatnonzero(differs[line])
        for at in range(0, len(places), size):
            owners.append(line)
            cells.append(np.isin(np.arange(differs.shape[1]), places[at : at + size]))
    return _CellsBack(np.array(owners, dtype=np.intp), np.array(cells, dtype=bool).reshape(-1, differs.shape[1]))


@dataclass(frozen=True)
class _CellsBack:
    """Trials: which finding gets which of its cells back."""

    owners: Index  # (trials,)
    cells: Mask  # (trials, columns)

    def __len__(self) -> int:
        return len(self.owners)

    def joined(self, chosen: Index) -> _CellsBack:
        """Of the chosen trials, those of one finding as one."""
        owners, own = np.unique(self.owners[chosen], return_inverse=True)
        cells = np.zeros((len(owners), self.cells.shape[1]), dtype=bool)
        np.logical_or.at(cells, own, self.cells[chosen])
        return _CellsBack(owners, cells)

    def stretches(self) -> Iterator[slice]:
        """In turn, so few at once that their rows are no burden."""
        step = max(1, CELLS_AT_ONCE // max(1, self.cells.shape[1]))
        return (slice(at, at + step) for at in range(0, len(self), step))


def _judge_each(rows: Rows, target: Rows, back: _CellsBack, hearing: Hearing) -> tuple[Findings, Index]:
    """The trials that are still unfair, and which ones these are."""
    found, hits = [], [np.empty(0, dtype=np.intp)]
    for part in back.stretches():
        owners = back.owners[part]
        judged, hit = _judge(np.where(back.cells[part], target[owners], rows[owners]), np.arange(len(back))[part], hearing)
        found.append(judged)
        hits.append(hit)
    return Findings.join(found, rows.shape[1]), np.concatenate(hits)


def _judge(rows: Rows, owners: Index, hearing: Hearing) -> tuple[Findings, Index]:
    domain, model, oracle = hearing.domain, hearing.model, hearing.oracle
    verdict: Verdict = oracle.judge(rows, domain, model)
    # A witness must be a possible person: rows that break a constraint do not count.
    verdict = verdict.only(domain.contains(rows))
    return findings_of(rows, verdict, domain, owners, "witness"), owners[verdict.unfair]


def _differing(rows: Rows, target: Rows, domain: TabularDomain) -> Mask:
    differs: Mask = (rows != target) & ~(np.isnan(rows) & np.isnan(target))
    differs[:, list(domain.protected_places)] = False
    return differs


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
    differs, every = _differing(rows, cells, domain), np.array(domain.names)
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
            gap=float(shrunk.gap[place]),
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
