"""Run-length masks and polygons of the COCO format, to and from arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.datasets.open_picture import MOST_PIXELS
from evenhand.errors import DataError, require
from evenhand.media.scene import Stencil

FARTHEST = 1_000_000


def mask_from_polygons(polygons: Sequence[Sequence[float]], shape: tuple[int, int]) -> Stencil:
    """Filled polygons, each a flat list x0 y0 x1 y1 and so on."""
    cv2 = require("cv2", "image")
    canvas = np.zeros(shape, np.uint8)
    for polygon in polygons:
        points = np.asarray(polygon, np.float64).reshape(-1, 2)
        if not (np.abs(points) < FARTHEST).all():
            raise DataError(f"a polygon has a corner that is no number, or farther than {FARTHEST:,} pixels away")
        if len(points) >= 3:
            cv2.fillPoly(canvas, [np.round(points * 16).astype(np.int32)], 1, cv2.LINE_8, 4)
    return canvas.astype(bool)


def mask_from_rle(rle: Mapping[str, Any]) -> Stencil:
    """A run-length mask, with plain or compressed counts; columns run first, as COCO stores them."""
    height, width = (int(value) for value in rle["size"])
    if not (0 < height * width <= MOST_PIXELS and height > 0):
        raise DataError(f"a run-length mask of {height} x {width} pixels cannot be read; at most {MOST_PIXELS:,} are")
    counts = rle["counts"]
    runs = (
        _expanded(counts if isinstance(counts, str) else counts.decode())
        if isinstance(counts, str | bytes)
        else [int(value) for value in counts]
    )
    if sum(runs) != height * width or min(runs, default=0) < 0:
        raise DataError(f"a run-length mask counts {sum(runs)} pixels; its size {height} x {width} has {height * width}")
    values = np.repeat(np.arange(len(runs)) % 2 == 1, runs)
    return np.ascontiguousarray(values.reshape(width, height).T)


def _expanded(text: str) -> list[int]:
    """COCO's compressed counts: five bits a character, from the third run on as differences to the run before the last."""
    runs: list[int] = []
    place = 0
    while place < len(text):
        value, shift, more = 0, 0, True
        while more:
            if place >= len(text) or shift > 12:
                raise DataError("a run-length mask has counts that end too early or are too large")
            bits = ord(text[place]) - 48
            value |= (bits & 0x1F) << (5 * shift)
            more = bool(bits & 0x20)
            place, shift = place + 1, shift + 1
            if not more and bits & 0x10:
                value |= -1 << (5 * shift)
        runs.append(value + runs[-2] if len(runs) > 2 else value)
    return runs


def rle_from_mask(mask: Stencil) -> dict[str, Any]:
    """Plain counts of a mask."""
    flat = np.concatenate([[False], mask.T.ravel(), [False]])
    edges = np.flatnonzero(flat[1:] != flat[:-1])
    runs = np.diff(np.concatenate([[0], edges, [mask.size]]))
    if len(edges) and edges[-1] == mask.size:
        runs = runs[:-1]
    return {"size": [int(mask.shape[0]), int(mask.shape[1])], "counts": [int(run) for run in runs]}
