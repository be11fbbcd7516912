"""Opening a picture that somebody else made: known formats only, and no more pixels than a camera takes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evenhand.errors import DataError, EvenhandError, require

MOST_PIXELS = 40_000_000
FORMATS = ("JPEG", "PNG", "BMP", "WEBP", "TIFF")
"""Not all that Pillow reads: some formats start other programs."""


PNG_HEAD = b"\x89PNG\r\n\x1a\n"


@contextmanager
def open_picture(path: Path) -> Iterator[Any]:
    """The picture, not yet read; DataError, in one line, for what is none, too large, or broken inside the block."""
    image = require("PIL.Image", "image")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            opened = image.open(path, formats=FORMATS)
        with opened:
            width, height = opened.size
            if width * height > MOST_PIXELS:
                raise DataError(f"{path} has {width} x {height} pixels; at most {MOST_PIXELS:,} are read.  Scale it down first")
            yield opened
    except EvenhandError:
        raise
    except image.DecompressionBombError:
        raise DataError(f"{path} has far more than the {MOST_PIXELS:,} pixels that are read.  Scale it down first") from None
    except image.UnidentifiedImageError as fault:
        raise DataError(f"{path} cannot be read as a picture: it is none of {', '.join(FORMATS)}") from fault
    except (OSError, SyntaxError, ValueError, TypeError, KeyError, IndexError, OverflowError, ZeroDivisionError, MemoryError) as fault:
        raise DataError(f"{path} cannot be read as a picture: {' '.join(str(fault).split())[:200] or type(fault).__name__}") from fault


def check_picture(path: Path) -> None:
    """Refuse a picture by its head, before anybody unfolds it."""
    with open_picture(path):
        pass
    _check_chunks(path)


def _check_chunks(path: Path) -> None:
    """Refuse a PNG file whose chunks are longer than it is: readers make room for what a chunk promises."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(len(PNG_HEAD)) != PNG_HEAD:
            return
        while len(head := file.read(8)) == 8:
            length = int.from_bytes(head[:4], "big")
            if length > size - file.tell():
                raise DataError(f"{path} cannot be read as a picture: a part of it promises {length:,} bytes, and it has {size:,} in all")
            file.seek(length + 4, os.SEEK_CUR)
