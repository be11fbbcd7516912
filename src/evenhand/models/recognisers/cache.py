"""Answers kept on disk: a picture that was once answered is never asked again, whether the run was repeated or broken off."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from evenhand.contract import Answer, Detection, Recogniser
from evenhand.disk import private_folder, write_whole
from evenhand.errors import StoreError
from evenhand.media.scene import Picture
from evenhand.models.paid_answers import in_edition


def picture_key(picture: Picture) -> str:
    """A digest of the pixels."""
    return hashlib.sha256(repr(picture.shape).encode() + picture.tobytes()).hexdigest()[:32]


@dataclass(frozen=True)
class CallEstimate:
    """What a run would cost before anything is sent."""

    pictures: int
    kept: int
    price_per_thousand: float

    @property
    def to_ask(self) -> int:
        """Pictures that must be sent."""
        return self.pictures - self.kept

    @property
    def cost(self) -> float:
        """In the currency of the price."""
        return self.to_ask * self.price_per_thousand / 1000

    def __str__(self) -> str:
        return f"{self.pictures} pictures, {self.kept} already answered, {self.to_ask} to send, about {self.cost:.2f} USD"


class Kept:
    """A recogniser whose answers are appended to a file as they come; a copy in another process only reads them."""

    def __init__(self, recogniser: Recogniser, folder: Path, edition: int = 1) -> None:
        self.recogniser, self.edition = recogniser, edition
        self.path = folder / f"{''.join(c if c.isalnum() else '-' for c in self.fingerprint())}.jsonl"
        self.asked = 0
        self.home = os.getpid()  # the process that writes
        self._answers = _read(self.path)

    @property
    def name(self) -> str:
        """The recogniser's own."""
        return self.recogniser.name

    @property
    def names(self) -> tuple[str, ...]:
        """The classes that the recogniser says it knows; none where it says nothing."""
        return tuple(getattr(self.recogniser, "names", ()))

    @property
    def price_per_thousand(self) -> float:
        """What a thousand pictures cost."""
        return float(getattr(self.recogniser, "price_per_thousand", 0.0))

    def without_memory(self) -> Recogniser:
        """The recogniser itself, which is asked again."""
        return self.recogniser

    def in_edition(self, edition: int) -> Kept:
        """The same recogniser with the answers of another edition, in a file beside this one."""
        return Kept(self.recogniser, self.path.parent, edition)

    def fingerprint(self) -> str:
        """The recogniser's own, with the edition of its answers."""
        return in_edition(self.recogniser.fingerprint(), self.edition)

    def estimate(self, pictures: Sequence[Picture]) -> CallEstimate:
        """How many of these must still be asked, and at what price."""
        kept = sum(picture_key(picture) in self._answers for picture in pictures)
        return CallEstimate(len(pictures), kept, self.price_per_thousand)

    @property
    def _at_once(self) -> int:
        """How many pictures are asked about together: what the recogniser takes; one where each is paid for."""
        return 1 if self.price_per_thousand else max(1, int(getattr(self.recogniser, "batch", 1)))

    def recognise(self, pictures: Sequence[Picture]) -> list[Answer]:
        """Kept answers, and new ones batch by batch, each on disk before the next is asked."""
        keys = [picture_key(picture) for picture in pictures]
        new = [(key, picture) for key, picture in dict(zip(keys, pictures, strict=True)).items() if key not in self._answers]
        with self._file() as file:
            for start in range(0, len(new), self._at_once):
                some = new[start : start + self._at_once]
                for (key, _), answer in zip(some, self.recogniser.recognise([picture for _, picture in some]), strict=True):
                    self._append(file, _line(key, answer))
                    self._answers[key] = answer
                    self.asked += 1
        return [self._answers[key] for key in keys]

    def _append(self, file: IO[str], line: str) -> None:
        try:
            file.write(line)
            file.flush()
        except OSError as fault:
            raise _unwritten(self.path, fault) from fault

    def _file(self) -> IO[str]:
        if os.getpid() != self.home:
            return io.StringIO()
        try:
            private_folder(self.path.parent)
            return os.fdopen(os.open(self.path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600), "a", encoding="utf-8")
        except OSError as fault:
            raise _unwritten(self.path, fault) from fault


def _unwritten(path: Path, fault: OSError) -> StoreError:
    told = fault.strerror or fault
    return StoreError(f"answers cannot be kept in {path}: {told}; those before are intact: make room, or name another folder")


def _line(key: str, answer: Answer) -> str:
    """One answer with its own checksum."""
    told = json.dumps({"picture": key, "answer": [[one.label, one.score, one.box] for one in answer]})
    return f'{told[:-1]}, "check": {zlib.crc32(told.encode())}}}\n'


def _checked(line: str) -> Any:
    """The entry of a line; ValueError where its checksum does not fit.  Lines of earlier releases have none."""
    entry: Any = json.loads(line)
    if set(entry) == {"picture", "answer"}:
        return entry
    told = line[: line.rindex(', "check"')] + "}"
    if entry["check"] != zlib.crc32(told.encode()):
        raise ValueError("its checksum does not fit")
    return entry


def _read(path: Path) -> dict[str, Answer]:
    """Every whole line; a last line that a kill cut short is dropped, and removed so that the next append starts cleanly."""
    if not path.exists():
        return {}
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise StoreError(f"{path} cannot be read as kept answers ({fault}); remove it to ask again") from fault
    if content and not content.endswith("\n"):
        content = content[: content.rfind("\n") + 1]
        try:
            write_whole(path, content, private=True)
        except OSError as fault:
            raise _unwritten(path, fault) from fault
    answers: dict[str, Answer] = {}
    for number, line in enumerate(content.splitlines(), 1):
        try:
            entry = _checked(line)
            answers[entry["picture"]] = tuple(Detection(label, score, tuple(box) if box else None) for label, score, box in entry["answer"])
        except (ValueError, KeyError, TypeError, RecursionError) as fault:
            raise StoreError(f"{path}:{number} is not a kept answer ({fault}); remove the line to ask again") from fault
    return answers
