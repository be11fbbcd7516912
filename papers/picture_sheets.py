"""Pictures in rows with a caption each, as one SVG that a page can show."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import require

CAPTION = 18
"""Pixels of height for a line of words."""


def _jpeg_uri(picture: NDArray[np.uint8]) -> str:
    """As text that a page can hold; JPEG, since the grain of a drawn picture takes megabytes as PNG."""
    cv2 = require("cv2", "image")
    _, content = cv2.imencode(".jpg", picture[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, 82])
    return "data:image/jpeg;base64," + base64.b64encode(content.tobytes()).decode("ascii")


def captioned(pictures: Sequence[NDArray[np.uint8]], captions: Sequence[str], columns: int, width: int) -> str:
    """All pictures at the same width, each below its caption."""
    height, wide = pictures[0].shape[:2]
    tall = round(height * width / wide)
    rows = -(-len(pictures) // columns)
    parts = []
    for place, (picture, caption) in enumerate(zip(pictures, captions, strict=True)):
        left, top = place % columns * (width + 8), place // columns * (tall + CAPTION + 6)
        parts.append(f'<text x="{left}" y="{top + 13}" font-size="12" fill="#777">{escape(caption)}</text>')
        parts.append(f'<image x="{left}" y="{top + CAPTION}" width="{width}" height="{tall}" href="{_jpeg_uri(picture)}"/>')
    size = (columns * (width + 8) - 8, rows * (tall + CAPTION + 6))
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}">'
    return f"{opening}{''.join(parts)}</svg>\n"
