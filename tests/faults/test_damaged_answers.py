"""Kept answers that were damaged, cut, replaced by other files or cannot be written: never a wrong answer, and one clear line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.contract import Detection
from evenhand.errors import EvenhandError, StoreError
from evenhand.models.paid_answers import KeptAnswers, edition_of
from evenhand.models.recognisers.cache import Kept

ANSWERS = {f"key{place}": [float(place), 1 - place / 7, "é"] for place in range(80)}
PICTURES = [np.full((4, 4, 3), place, dtype=np.uint8) for place in range(12)]


class Recogniser:
    name = "small"
    price_per_thousand = 1.0

    def fingerprint(self) -> str:
        return "small-1"

    def recognise(self, pictures: Any) -> list[Any]:
        return [(Detection("cat", float(picture[0, 0, 0]) / 255, (0.0, 0.0, 1.0, 1.0)),) for picture in pictures]


def damaged(whole: bytes, seed: int) -> Iterator[bytes]:
    """Flipped bits, cut files, and files of other kinds."""
    rng = np.random.default_rng(seed)
    for _ in range(120):
        changed = bytearray(whole)
        changed[int(rng.integers(len(whole)))] ^= 1 << int(rng.integers(8))
        yield bytes(changed)
    yield from (whole[: int(rng.integers(len(whole)))] for _ in range(30))
    yield from (b"", b"\0" * 5_000, b"PK\3\4" + b"x" * 4_000, b"a,b\n1,2\n" * 500, b"[" * 50_000, b"SQLite format 3\0" + rng.bytes(4_000))


def test_a_damaged_book_of_answers_never_gives_a_wrong_one(tmp_path: Path) -> None:
    book = KeptAnswers(tmp_path / "good.sqlite")
    book.write(ANSWERS)
    book._base.close()  # empties the log into the file
    seen = set()
    for at, content in enumerate(damaged((tmp_path / "good.sqlite").read_bytes(), 0)):
        path = tmp_path / f"{at}.sqlite"
        path.write_bytes(content)
        try:
            told = KeptAnswers(path).read(list(ANSWERS))
        except EvenhandError as fault:
            assert f"the answer cache {path} cannot be used" in str(fault)  # noqa: PT017 - some are refused, some read in part
            seen.add("refused")
            continue
        assert all(ANSWERS[key] == value for key, value in told.items())
        seen.add("whole" if len(told) == len(ANSWERS) else "in part")
    assert seen == {"refused", "whole", "in part"}


def test_damaged_answers_about_pictures_are_refused_with_their_line_or_asked_again(tmp_path: Path) -> None:
    first = Kept(Recogniser(), tmp_path / "good")
    answers = first.recognise(PICTURES)
    for at, content in enumerate(damaged(first.path.read_bytes(), 1)):
        folder = tmp_path / str(at)
        folder.mkdir()
        (folder / first.path.name).write_bytes(content)
        try:
            again = Kept(Recogniser(), folder)
        except StoreError as fault:
            assert "kept answer" in str(fault)  # noqa: PT017
            continue
        assert again.recognise(PICTURES) == answers


@pytest.mark.parametrize("number", ["x", "-1", "", "1e3", "9" * 5_000, "１"], ids=lambda text: text[:4])
def test_an_edition_that_is_no_number_is_named(number: str, tmp_path: Path) -> None:
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "edition").write_text(number)
    with pytest.raises(StoreError, match="instead of a number; restore it, or remove it"):
        edition_of(tmp_path)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(EvenhandError, match="cannot be used: File exists; name another file"):
        KeptAnswers(tmp_path / "file" / "a.sqlite")
    with pytest.raises(StoreError, match=r"answers cannot be kept in .*: File exists; .* name another folder"):
        Kept(Recogniser(), tmp_path / "file").recognise(PICTURES)


def test_a_full_disk_while_answers_are_kept_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept(Recogniser(), tmp_path)
    monkeypatch.setattr(kept, "_file", lambda: open("/dev/full", "w"))  # noqa: SIM115 - closed by the caller
    with pytest.raises((StoreError, OSError), match="No space left"):
        kept.recognise(PICTURES)
