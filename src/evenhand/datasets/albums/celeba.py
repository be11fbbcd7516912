"""The layout of CelebA: `img_align_celeba/` beside `list_attr_celeba.txt` (or its CSV form), forty attributes of -1 and 1."""

from __future__ import annotations

from pathlib import Path

from evenhand.datasets.albums.reading import Listing, Reading, album_from, named_files, read_table
from evenhand.errors import DataError
from evenhand.media.album import Album

WORDS = {"1": "yes", "-1": "no", "0": "no"}


def fits(root: Path) -> bool:
    """By its table of attributes."""
    return (root / "list_attr_celeba.txt").exists() or (root / "list_attr_celeba.csv").exists()


def read(root: Path | str, reading: Reading) -> Album:
    """Pictures with attributes "yes" and "no"; the label is one of them, such as Young or Smiling."""
    root = Path(root)
    text, table = root / "list_attr_celeba.txt", root / "list_attr_celeba.csv"
    rows = _rows_of_text(text) if text.exists() else read_table(table, ("image_id",))
    files = [_place(root, row["image_id"]) for row in rows]
    named_files(root, [str(file.relative_to(root)) for file in files], text if text.exists() else table)
    listing = Listing("CelebA")
    for file, row in zip(files, rows, strict=True):
        listing.add(file, {name: WORDS.get(word, "") for name, word in row.items() if name != "image_id"})
    return album_from(listing, reading)


def _place(root: Path, name: str) -> Path:
    plain, nested = root / "img_align_celeba" / name, root / "img_align_celeba" / "img_align_celeba" / name
    return nested if nested.exists() else plain


def _rows_of_text(file: Path) -> list[dict[str, str]]:
    lines = file.read_text(encoding="utf-8").splitlines()
    if len(lines) < 2:
        raise DataError(f"{file} must start with the number of pictures and a line of attribute names")
    names = lines[1].split()
    rows = []
    for number, line in enumerate(lines[2:], start=3):
        cells = line.split()
        if len(cells) != len(names) + 1:
            raise DataError(f"{file}:{number}: {len(cells)} cells where a file name and {len(names)} attributes were expected")
        rows.append({"image_id": cells[0], **dict(zip(names, cells[1:], strict=True))})
    return rows
