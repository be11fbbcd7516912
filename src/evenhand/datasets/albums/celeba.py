"""The layout of CelebA: `img_align_celeba/` beside `list_attr_celeba.txt` (or its CSV form), forty attributes of -1 and 1.

As it is published the pictures are in `Img/` and the table in `Anno/`; copies have both in one folder, or the pictures one folder deeper.
"""

from __future__ import annotations

from pathlib import Path

from evenhand.datasets.albums.reading import Listing, Reading, album_from, named_files, read_table
from evenhand.errors import DataError
from evenhand.media.album import Album

TRIED = 100
"""So many files of the table are looked for before its pictures are taken to be missing."""
WORDS = {"1": "yes", "-1": "no", "0": "no"}


TABLES = ("list_attr_celeba.txt", "list_attr_celeba.csv", "Anno/list_attr_celeba.txt", "Anno/list_attr_celeba.csv")
FOLDERS = (
    "img_align_celeba/img_align_celeba",
    "img_align_celeba",
    "Img/img_align_celeba",
    "Img/img_align_celeba_png",
)
"""Where the pictures are; some are PNG files, though the table names JPEGs."""


def fits(root: Path) -> bool:
    """By its table of attributes."""
    return _table(root) is not None


def _table(root: Path) -> Path | None:
    return next((root / name for name in TABLES if (root / name).exists()), None)


def read(root: Path | str, reading: Reading) -> Album:
    """Pictures with attributes "yes" and "no"; the label is one of them, such as Young or Smiling."""
    root = Path(root)
    table = _table(root) or root / TABLES[0]
    rows = _rows_of_text(table) if table.suffix == ".txt" else read_table(table, ("image_id",))
    names = _names(root, [row["image_id"] for row in rows])
    listing = Listing("CelebA")
    for file, row in zip(named_files(root, names, table), rows, strict=True):
        listing.add(file, {name: WORDS.get(word, "") for name, word in row.items() if name != "image_id"})
    return album_from(listing, reading)


def _names(root: Path, named: list[str]) -> list[str]:
    """The files below the folder that the table names: in the folder that has the first one that is found anywhere."""
    kinds = {folder: ".png" if folder.endswith("_png") else "" for folder in FOLDERS}
    for one in named[:TRIED]:
        for folder, kind in kinds.items():
            if (root / folder / _file(one, kind)).exists():
                return [f"{folder}/{_file(each, kind)}" for each in named]
    return [f"{FOLDERS[1]}/{each}" for each in named]


def _file(name: str, kind: str) -> str:
    return name if not kind else f"{name.removesuffix('.jpg')}{kind}"


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
