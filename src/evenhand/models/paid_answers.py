"""What a model behind a network has answered, kept so that nothing is paid twice: in memory for one run, or in a file that outlives it.

Some rows are asked again on purpose, to see whether a model is steady.  Each such asking has its number, so that a run that was killed
finds the answers of these, too; they are forgotten when the run has ended, and asked again by the next one.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import weakref
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.contract import Model
from evenhand.disk import locked, private_folder, read_utf8, write_whole
from evenhand.errors import ModelFailed, StoreError

WAIT_SECONDS = 1.0
"""After which a thread that waits for another one's answers looks again, however that one ended."""
AGAIN = " again "
"""Between a question's key and the occasion on which it is asked once more."""
KEYS_AT_ONCE = 500
"""In one question to the file; SQLite takes so many in all its versions."""
FOLDER = "answers"
"""Where answers are kept, below the folder of the runs."""
LONGEST_EDITION = 9
"""Digits of the number of an edition."""
EDITION = "edition"
"""The file there that says how often everything was asked afresh; none before the first time."""


class AnswerBook:
    """Answers by the key of their question, for all threads that share it, and which questions are being asked."""

    path: Path | None = None  # of the file that outlives this process
    edition: int = 1  # counts up each time that a model which was changed on purpose is asked afresh

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._asking: set[str] = set()  # keys that some thread is asking about
        self._told = threading.Condition()
        self._turns: Counter[str] = Counter()  # how often a question was asked again, by its key and the occasion

    def __reduce__(self) -> tuple[Any, ...]:
        return (
            (AnswerBook, ()) if self.path is None else (kept_answers, (self.path, self.edition))
        )  # what is shared in one process stays there

    def named(self, keys: list[str]) -> list[str]:
        """The keys themselves: whoever asks again, names them by its turn."""
        return keys

    def read(self, keys: Sequence[str]) -> dict[str, Any]:
        """The known answers among these keys."""
        return {key: self._values[key] for key in keys if key in self._values}

    def write(self, values: Mapping[str, Any]) -> None:
        """Keep new answers; one that is there already stays."""
        for key, value in values.items():
            self._values.setdefault(key, value)

    @contextmanager
    def claimed(self, keys: list[str]) -> Iterator[list[str]]:
        """The keys that nobody else is asking about, for this thread; where there is none, it waits for the others."""
        with self._told:
            mine = [key for key in keys if key not in self._asking]
            self._asking.update(mine)
            if keys and not mine:
                self._told.wait(WAIT_SECONDS)
        try:
            yield mine
        finally:
            with self._told:
                self._asking.difference_update(mine)
                self._told.notify_all()

    def next_turns(self, keys: list[str], occasion: str) -> list[str]:
        """Each key with the number of its turn; a key that stands here several times has one turn."""
        turns: dict[str, str] = {}
        with self._told:
            for key in dict.fromkeys(keys):
                name = f"{key}{AGAIN}{occasion}"
                self._turns[name] += 1
                turns[key] = f"{name} {self._turns[name]}"
        return [turns[key] for key in keys]

    def first_turn(self, occasion: str) -> None:
        """Count from the beginning: whoever starts again asks the same questions in the same order."""
        with self._told:
            for name in [name for name in self._turns if name.endswith(f"{AGAIN}{occasion}")]:
                del self._turns[name]

    def forget_turns(self, occasion: str) -> None:
        """What was asked again on this occasion is no longer needed."""
        self.first_turn(occasion)


class KeptAnswers(AnswerBook):
    """A book in a file: one row for each answer, with a checksum.  What is written is there after a kill; threads take turns."""

    def __init__(self, path: Path, edition: int = 1) -> None:
        super().__init__()
        self.path, self.edition = path, edition
        self._lock = threading.Lock()
        try:
            private_folder(path.parent)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._base = sqlite3.connect(path, timeout=30, check_same_thread=False)
        except (OSError, sqlite3.Error) as fault:
            raise ModelFailed(
                f"the answer cache {path} cannot be used: {getattr(fault, 'strerror', None) or fault}; name another file"
            ) from fault
        weakref.finalize(self, self._base.close)
        self._with(_prepared)

    def _with(self, use: Callable[[sqlite3.Connection], Any]) -> Any:
        try:
            with self._lock, self._base:
                return use(self._base)
        except sqlite3.Error as fault:
            if "full" in str(fault):
                raise StoreError(
                    f"cannot write to {self.path}: {fault}; the answers that were saved before are intact, and the same command continues "
                    "once there is room"
                ) from fault
            raise ModelFailed(f"the answer cache {self.path} cannot be used: {fault}; delete it or name another file") from fault

    def read(self, keys: Sequence[str]) -> dict[str, Any]:
        """The known answers among these keys; one whose checksum does not fit is not known."""
        found: dict[str, Any] = {}
        for at in range(0, len(keys), KEYS_AT_ONCE):
            some = keys[at : at + KEYS_AT_ONCE]
            asked = f"SELECT key, value, checksum FROM sealed_answers WHERE key IN ({', '.join('?' * len(some))})"  # noqa: S608 - marks only
            kept = self._with(partial(_fetched, asked=asked, keys=some))
            found |= {key: json.loads(value) for key, value, checksum in kept if checksum == _checksum(key, value)}
        return found

    def write(self, values: Mapping[str, Any]) -> None:
        """Keep new answers; one that is there already stays, unless it is damaged."""
        known = self.read(list(values))
        told = {key: json.dumps(value) for key, value in values.items() if key not in known}
        rows = [(key, value, _checksum(key, value)) for key, value in told.items()]
        self._with(lambda base: base.executemany("INSERT OR REPLACE INTO sealed_answers VALUES (?, ?, ?)", rows))

    def forget_turns(self, occasion: str) -> None:
        """What was asked again on this occasion is no longer needed."""
        super().forget_turns(occasion)
        self._with(lambda base: base.execute("DELETE FROM sealed_answers WHERE instr(key, ?) > 0", (f"{AGAIN}{occasion} ",)))


@dataclass(frozen=True)
class AskedAgain:
    """A book for questions that are put once more: nothing that is known is taken for an answer, but what comes is kept.

    On an occasion that has a name, the n-th asking of one that was killed is found again.
    """

    book: AnswerBook
    occasion: str

    def named(self, keys: list[str]) -> list[str]:
        """The keys, each with the number of its turn."""
        return self.book.next_turns(keys, self.occasion)

    def read(self, keys: Sequence[str]) -> dict[str, Any]:
        """What was answered at the same turn, before an interruption."""
        return self.book.read(keys) if self.occasion else {}

    def write(self, values: Mapping[str, Any]) -> None:
        """Under its turn, and as the answer where none was known."""
        if self.occasion:
            self.book.write(values)
        self.book.write({key.split(AGAIN)[0]: value for key, value in values.items()})

    def claimed(self, keys: list[str]) -> Any:
        """As the book has it."""
        return self.book.claimed(keys)


OPEN_BOOKS: weakref.WeakValueDictionary[Path, KeptAnswers] = weakref.WeakValueDictionary()
OPENING = threading.Lock()


def kept_answers(path: Path, edition: int = 1) -> KeptAnswers:
    """The one book of this process for a file, so that all its threads know what is being asked."""
    with OPENING:
        book = OPEN_BOOKS.get(path.absolute())
        if book is None:
            book = OPEN_BOOKS[path.absolute()] = KeptAnswers(path, edition)
        return book


@dataclass(frozen=True)
class PaidModel:
    """A model whose answers are kept, and the way to let go of what was asked again on purpose, once all is done."""

    model: Model
    book: KeptAnswers | None = None
    occasion: str = ""

    def settle(self) -> None:
        """All is done: what was asked again on purpose is known no longer."""
        if self.book is not None:
            self.book.forget_turns(self.occasion)


@contextmanager
def paid_once(model: Model, folder: Path | None, fixed: Mapping[str, Any], fresh: bool = False) -> Iterator[PaidModel]:
    """The model, which pays for no answer twice: within this run, and with a folder within all runs that are kept there.

    fixed: what tells this run from others; two processes that make the same one would pay twice, so the second is refused.
    fresh: take nothing that was kept before for an answer; the runs that follow go on from here.
    A model of this process, or what will be one, is handed on as it is.
    """
    keeping = _keeping(model)
    if keeping is None:
        yield PaidModel(model)
        return
    if folder is None:
        yield PaidModel(keeping(AnswerBook(), ""))
        return
    edition = ask_afresh(folder) if fresh else edition_of(folder)
    told = json.dumps([model.fingerprint(), edition, fixed], sort_keys=True, default=repr)
    occasion = hashlib.sha256(told.encode()).hexdigest()[:16]
    with ExitStack() as held:
        try:
            place = private_folder(private_folder(folder) / FOLDER)
            held.enter_context(locked(place / f"{occasion}.lock"))
        except OSError as fault:
            raise StoreError(f"cannot write to {folder}: {fault.strerror or fault}; paid answers would be lost") from fault
        book = _book(model, folder, edition)
        book.first_turn(occasion)
        yield PaidModel(keeping(book, occasion), book, occasion)


def kept_model(model: Model, folder: Path | None) -> Model:
    """The model, whose answers are kept in the folder, or where there is none for as long as it lasts; others as they are."""
    keeping = _keeping(model)
    if keeping is None:
        return model
    return keeping(AnswerBook() if folder is None else _book(model, folder, edition_of(folder)), "")


def edition_of(folder: Path) -> int:
    """Which edition of their models' answers the runs in a folder are at."""
    file = folder / FOLDER / EDITION
    told = read_utf8(file).strip() if file.exists() else "1"
    if not (told.isascii() and told.isdecimal() and len(told) <= LONGEST_EDITION):
        raise StoreError(f"{file} holds {told[:20]!r} instead of a number; restore it, or remove it to go on with the first edition")
    return int(told)


def ask_afresh(folder: Path) -> int:
    """Begin the next edition: models that are asked over a network may have been changed, and what they said before stays apart.

    >>> import pathlib, tempfile
    >>> runs = pathlib.Path(tempfile.mkdtemp())
    >>> edition_of(runs), ask_afresh(runs), edition_of(runs)
    (1, 2, 2)
    """
    try:
        place = private_folder(private_folder(folder) / FOLDER)
        with locked(place / f"{EDITION}.lock"):
            edition = edition_of(folder) + 1
            write_whole(place / EDITION, f"{edition}\n", private=True)
    except OSError as fault:
        raise StoreError(f"cannot write to {folder}: {fault.strerror or fault}; nothing was asked") from fault
    return edition


def is_asked_remotely(model: object) -> bool:
    """Whether it, or what it shows rows to, is asked over a network."""
    if getattr(model, "is_remote", False) or getattr(model, "price_per_thousand", 0.0):
        return True
    return any(is_asked_remotely(inner) for name in ("reader", "recogniser") if (inner := getattr(model, name, None)) is not None)


def _keeping(model: Model) -> Callable[[AnswerBook, str], Model] | None:
    """How its answers are kept, where it is asked over a network and can say so."""
    return getattr(model, "keeping", None) if is_asked_remotely(model) else None


def _book(model: Model, folder: Path, edition: int) -> KeptAnswers:
    """This model's answers below a folder of runs; each edition has a file of its own, and the first one the plain name."""
    name = "".join(c if c.isalnum() else "-" for c in in_edition(model.fingerprint(), edition))
    return kept_answers(folder / FOLDER / f"{name}.sqlite", edition)


def in_edition(fingerprint: str, edition: int) -> str:
    """A model's fingerprint, which tells what stands behind an address now from what stood there before."""
    return fingerprint if edition == 1 else f"{fingerprint}-{edition}"


def _fetched(base: sqlite3.Connection, asked: str, keys: Sequence[str]) -> list[Any]:
    return base.execute(asked, keys).fetchall()


def _prepared(base: sqlite3.Connection) -> None:
    """The table; what is written goes to a log first, which neither a kill nor two processes can spoil, without waiting for the disk."""
    base.execute("PRAGMA journal_mode=WAL")
    base.execute("PRAGMA synchronous=NORMAL")
    base.execute("CREATE TABLE IF NOT EXISTS sealed_answers (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL)")


def _checksum(key: str, value: str) -> int:
    """An answer that does not fit its own is asked for again."""
    return zlib.crc32(f"{key} {value}".encode())
