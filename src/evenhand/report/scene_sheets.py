"""Contact sheets: original beside mutated, with what changed written above."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.errors import require
from evenhand.limits import Count, check_argument
from evenhand.media.operators.parts.mutated import Mutation
from evenhand.media.scene import Picture, PixelBox

BAND = 22
GAP = 4
INK = (30, 30, 30)
MARK = (255, 214, 0)


def pair(made: Mutation, caption: str = "", width: int = 480) -> Picture:
    """Original | mutated, with boxes on the original where something changes."""
    cv2 = require("cv2", "image")
    scale = width / made.before.shape[1]
    size = (width, round(made.before.shape[0] * scale))
    first = cv2.resize(made.before.picture, size, interpolation=cv2.INTER_AREA)
    second = cv2.resize(made.after.picture, size, interpolation=cv2.INTER_AREA)
    for box in made.boxes:
        _frame(cv2, first, box, scale)
    row = np.hstack([first, np.full((size[1], GAP, 3), 255, np.uint8), second])
    band = np.full((BAND, row.shape[1], 3), 255, np.uint8)
    cv2.putText(
        band, _drawable(f"{made.operator}: {made.label}  {caption}")[:130], (4, 15), cv2.FONT_HERSHEY_SIMPLEX, 0.42, INK, 1, cv2.LINE_AA
    )
    return np.vstack([band, row])


def _drawable(text: str) -> str:
    """The text in the letters that OpenCV can draw: accents are dropped, what is left over becomes a question mark."""
    parts = unicodedata.normalize("NFKD", text.replace("\u00df", "ss"))
    return "".join(letter for letter in parts if not unicodedata.combining(letter)).encode("ascii", "replace").decode()


def _frame(cv2: Any, picture: Picture, box: PixelBox, scale: float) -> None:
    left, top, right, bottom = (round(value * scale) for value in box)
    cv2.rectangle(picture, (left, top), (right, bottom), MARK, 1)


def sheet(pictures: Sequence[Picture], columns: int = 2) -> Picture:
    """Equal pictures in rows; the last row is filled with white."""
    check_argument(Count, pictures=len(pictures), columns=columns)
    height = max(one.shape[0] for one in pictures)
    width = max(one.shape[1] for one in pictures)
    cells = []
    for one in pictures:
        cell = np.full((height, width, 3), 255, np.uint8)
        cell[: one.shape[0], : one.shape[1]] = one
        cells.append(cell)
    cells += [np.full((height, width, 3), 255, np.uint8)] * (-len(cells) % columns)
    return np.vstack([np.hstack(cells[at : at + columns]) for at in range(0, len(cells), columns)])
