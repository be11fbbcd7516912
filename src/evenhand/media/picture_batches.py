"""How many pictures are worked on at once: bounded by their bytes, so that large pictures take no more memory than small ones."""

from __future__ import annotations

from collections.abc import Iterator

PICTURES_AT_ONCE = 256
BYTES_AT_ONCE = 8 << 20
"""Bytes of pictures that are worked on at once; their numbers take several times as much."""


def pictures_at_once(picture_bytes: int) -> int:
    """So many pictures of this size; at least one.

    >>> pictures_at_once(32 * 32 * 3), pictures_at_once(512 * 512 * 3)
    (256, 10)
    """
    return max(1, min(PICTURES_AT_ONCE, BYTES_AT_ONCE // max(1, picture_bytes)))


def batches(count: int, picture_bytes: int) -> Iterator[slice]:
    """Slices that go through so many pictures of this size.

    >>> [(part.start, part.stop) for part in batches(25, 512 * 512 * 3)]
    [(0, 10), (10, 20), (20, 25)]
    """
    step = pictures_at_once(picture_bytes)
    yield from (slice(start, min(start + step, count)) for start in range(0, count, step))
