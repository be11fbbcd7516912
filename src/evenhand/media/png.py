"""Pictures to PNG files and back, with nothing but zlib; and sheets of many pictures."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenhand.disk import write_whole
from evenhand.errors import DataError, InvalidArgument
from evenhand.limits import Count, check_argument

MOST_BYTES = 120_000_000
SIGNATURE = b"\x89PNG\r\n\x1a\n"


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
    return SIGNATURE + b"".join(parts)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def write_png(file: Path, picture: NDArray[np.uint8]) -> None:
    """Write one picture."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, png_bytes(picture))


def picture_of(content: bytes) -> NDArray[np.uint8]:
    """The picture (height, width, 3) in a PNG file of eight bits and three colours, which is what is written here."""
    if not content.startswith(SIGNATURE):
        raise DataError("the content is no PNG file")
    at, packed, head = len(SIGNATURE), b"", b""
    while at + 8 <= len(content):
        length, kind = struct.unpack(">I4s", content[at : at + 8])
        body = content[at + 8 : at + 8 + length]
        head, packed = (body, packed) if kind == b"IHDR" else (head, packed + body if kind == b"IDAT" else packed)
        at += 12 + length
    try:
        width, height, depth, colour, *rest = struct.unpack(">IIBBBBB", head)
    except struct.error:
        raise DataError("the PNG file has no head") from None
    if (depth, colour, rest[2]) != (8, 2, 0):
        raise DataError(f"a PNG file of depth {depth} and colour type {colour} cannot be read back; expected eight bits and three colours")
    lines = np.frombuffer(_inflated(packed, height * (1 + 3 * width)), np.uint8).reshape(height, 1 + 3 * width)
    return _unfiltered(lines[:, 0], lines[:, 1:].reshape(height, width, 3))


def _inflated(packed: bytes, size: int) -> bytes:
    """Exactly so many bytes; a picture that says one size and unfolds to another is refused before it fills the memory."""
    if not 0 < size <= MOST_BYTES:
        raise DataError(f"a PNG file of {size:,} bytes cannot be read back; at most {MOST_BYTES:,} are")
    inflater = zlib.decompressobj()
    try:
        content = inflater.decompress(packed, size + 1)
    except zlib.error as fault:
        raise DataError(f"the PNG file is damaged: {fault}") from None
    if len(content) != size:
        raise DataError("the PNG file unfolds to another size than its head tells")
    return content


def _unfiltered(filters: NDArray[np.uint8], lines: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Lines as they were before filter 0 (none), 1 (left) or 2 (above) was applied; sums go round at 256."""
    picture = np.zeros_like(lines)
    for place, (kind, line) in enumerate(zip(filters, lines, strict=True)):
        if kind > 2:
            raise DataError(f"a PNG file with line filter {kind} cannot be read back; it was not written by this package")
        above = picture[place - 1] if place else np.zeros_like(line)
        picture[place] = line if kind == 0 else np.cumsum(line, axis=0, dtype=np.uint8) if kind == 1 else line + above
    return picture


def data_uri(picture: NDArray[np.uint8]) -> str:
    """One picture as text that a page can hold."""
    return "data:image/png;base64," + base64.b64encode(png_bytes(picture)).decode("ascii")


def sheet(pictures: NDArray[np.uint8], columns: int, gap: int = 1) -> NDArray[np.uint8]:
    """Many pictures (n, height, width, 3) as one, row by row, on white."""
    check_argument(Count, columns=columns)
    count, height, width, _ = pictures.shape
    rows = -(-count // columns)
    whole = np.full((rows * (height + gap) - gap, columns * (width + gap) - gap, 3), 255, np.uint8)
    for place, picture in enumerate(pictures):
        top, left = place // columns * (height + gap), place % columns * (width + gap)
        whole[top : top + height, left : left + width] = picture
    return whole
