"""Pictures to PNG files and back to text for a page, with nothing but zlib; and sheets of many pictures."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import InvalidArgument


def png_bytes(picture: NDArray[np.uint8]) -> bytes:
    """One picture (height, width, 3) as a PNG file's content."""
    if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8:
        raise InvalidArgument(f"a picture of shape {picture.shape} and kind {picture.dtype} must be (height, width, 3) bytes")
    height, width, _ = picture.shape
    lines = np.zeros((height, 1 + 3 * width), np.uint8)
    lines[:, 1:] = picture.reshape(height, 3 * width)
    lines[:, 4:] -= picture.reshape(height, 3 * width)[:, :-3]  # filter 1: difference to the pixel on the left
    lines[:, 0] = 1
    parts = [
        _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        _chunk(b"IDAT", zlib.compress(lines.tobytes(), 6)),
        _chunk(b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def write_png(file: Path, picture: NDArray[np.uint8]) -> None:
    """Write one picture."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(png_bytes(picture))


def data_uri(picture: NDArray[np.uint8]) -> str:
    """One picture as text that a page can hold."""
    return "data:image/png;base64," + base64.b64encode(png_bytes(picture)).decode("ascii")


def sheet(pictures: NDArray[np.uint8], columns: int, gap: int = 1) -> NDArray[np.uint8]:
    """Many pictures (n, height, width, 3) as one, row by row, on white."""
    if columns < 1:
        raise InvalidArgument(f"columns={columns!r} must be at least 1")
    count, height, width, _ = pictures.shape
    rows = -(-count // columns)
    whole = np.full((rows * (height + gap) - gap, columns * (width + gap) - gap, 3), 255, np.uint8)
    for place, picture in enumerate(pictures):
        top, left = place // columns * (height + gap), place % columns * (width + gap)
        whole[top : top + height, left : left + width] = picture
    return whole
